"""The packages that columns, reports and Spark need, which the base install does not have."""

from __future__ import annotations

import os
from importlib.util import find_spec

from metashell.errors import MetashellError


def require_packages(extra: str, *names: str) -> None:
    """Errors: MetashellError that says what to install, for the first package that is missing."""
    for name in names:
        if find_spec(name) is None:
            raise MetashellError(f"{name} is not installed; install it by: pip install 'metashell[{extra}]'")


def one_blas_thread() -> None:
    """Keep numpy's linear algebra, which nothing here uses, from starting a thread for each core: they cost 0.1 s of CPU time.

    For commands only, before numpy is imported: what else a program of somebody's does with numpy is not ours to slow down.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
