"""What the generators share: they write files, or list those that are out of date."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def stale(files: Mapping[str, str], folder: str) -> list[str]:
    """The files, relative to the checkout, that differ from what would be generated or should not be there."""
    top = ROOT / folder
    present = {str(path.relative_to(ROOT)) for path in ([top] if top.is_file() else top.rglob("*")) if path.is_file()}
    differing = [name for name, text in files.items() if name not in present or (ROOT / name).read_text(encoding="utf-8") != text]
    return sorted([*differing, *(present - set(files))])


def write(files: Mapping[str, str]) -> None:
    """Write the files, by their paths in the checkout."""
    for name, text in files.items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write_or_check(files: Mapping[str, str], folder: str) -> int:
    """Write the files; with `--check` only name those that are out of date, status 1."""
    if "--check" in sys.argv[1:]:
        for name in stale(files, folder):
            print(f"{name} is out of date")
        return 1 if stale(files, folder) else 0
    write(files)
    return 0
