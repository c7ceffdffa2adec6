"""What tests of formatting begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.disk.storage.formatting import configured


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with the configuration of a controller whose one directory is d1."""
    return configured(tmp_path, "d1")
