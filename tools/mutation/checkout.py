"""A copy of the checkout that tests may write beside, and what a state of it is known by."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.mutation.modules import BESIDE, ROOT

COPIED = ("metashell", *BESIDE, "tests", "tools", "completions", "docs", "README.md", "pyproject.toml")


@contextmanager
def copy_of_checkout() -> Iterator[Path]:
    """A temporary copy of what the tests need, removed at the end: a mutation that writes where it should read hits only this."""
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copy = Path(folder)
        for name in COPIED:
            if (ROOT / name).is_dir():
                # With what is compiled, which holds as long as the times of its sources are kept.
                shutil.copytree(ROOT / name, copy / name)
            else:
                shutil.copy2(ROOT / name, copy / name)
        yield copy


def digest(paths: Iterable[Path], root: Path = ROOT) -> str:
    """One hash over the contents of files, in the order of their names."""
    total = hashlib.sha256()
    for path in sorted(paths):
        content = path.read_bytes() if path.is_file() else b""
        total.update(f"{path.relative_to(root)} {len(content)}\n".encode())
        total.update(content)
    return total.hexdigest()[:16]


def sources_digest() -> str:
    return digest(path for package in ("metashell", *BESIDE) for path in (ROOT / package).rglob("*.py"))


def tests_digest() -> str:
    return digest((ROOT / "tests").rglob("*.py"))
