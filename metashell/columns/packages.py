"""The packages that columns, reports and Spark need, which the base install does not have."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.util import find_spec

from metashell.errors import MetashellError
from metashell.installed import missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType


def require_packages(extra: str, *names: str) -> None:
    """Errors: MetashellError that says what to install, for the first package that is missing."""
    for name in names:
        if find_spec(name) is None:
            raise MetashellError(missing(name, extra))


@contextmanager
def only_what_we_use() -> Iterator[None]:
    """A block in which numpy and pyarrow load nothing that nothing here uses.

    For commands only: what else a program of somebody's does with numpy and pandas is not ours to slow down.

    - OpenBLAS, numpy's linear algebra, starts a thread for each core, which cost 0.1 s of CPU time. It reads this before numpy is imported.
    - pyarrow imports pandas, where it is installed, with the first array that it makes: 0.3 s of CPU time in each process.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    absent = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        yield
    finally:
        sys.meta_path.remove(absent)


def keep_to_one_allocator() -> None:
    """Let Arrow take memory where Python and numpy do: what one has freed serves the others. For commands, before pyarrow is imported.

    Arrow's own allocator gives back what it has freed, and clears it anew: a tenth of the CPU time of an export, and a fifth of one to a
    store, where each upload takes 10 MB.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def do_without_pandas() -> None:
    """Let no module of this process import pandas, for as long as it lives. For processes of our own."""
    sys.meta_path.insert(0, _Absent())


class _Absent(MetaPathFinder):
    """Whoever asks for pandas is told that it is not installed; where it has been imported, it stays."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"{name}: is not used here", name=name)
