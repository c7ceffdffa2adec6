"""The packages that columns, reports and Spark need, which the base install does not have."""

from __future__ import annotations

from importlib.util import find_spec

from metashell.errors import MetashellError


def require_packages(extra: str, *names: str) -> None:
    """Errors: MetashellError that says what to install, for the first package that is missing."""
    for name in names:
        if find_spec(name) is None:
            raise MetashellError(f"{name} is not installed; install it by: pip install 'metashell[{extra}]'")
