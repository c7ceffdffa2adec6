"""Where a module is, and what it is called."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BESIDE = ("spark_reports",)
"""Packages that stand beside metashell."""


def path_of(module: str, root: Path = ROOT) -> Path:
    """The file of a module."""
    return root / module if module.startswith(BESIDE) else root / "metashell" / module


def name_of(module: str) -> str:
    """The name that a module is imported by."""
    dotted = module.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    return dotted if module.startswith(BESIDE) else f"metashell.{dotted}"
