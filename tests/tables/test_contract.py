"""What the package says of itself: its names are there, and planning imports nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import metashell.tables


def test_every_name_is_there() -> None:
    for name in metashell.tables.__all__:
        assert getattr(metashell.tables, name).__name__ == name
    assert set(metashell.tables._HOMES) == set(metashell.tables.__all__)


def test_planning_needs_neither_numpy_nor_pyarrow() -> None:
    script = "import sys; from metashell.tables import Piece, Split, plan_splits; print({'numpy', 'pyarrow', 'duckdb'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60).stdout == "set()\n"
