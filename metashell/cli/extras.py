"""The error of a command whose packages are not installed."""

from __future__ import annotations

from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def needed(extra: str, packages: str) -> Iterator[None]:
    """Turn a failed import inside into a UsageError that says what to install."""
    from metashell.errors import UsageError

    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "metashell":
            raise
        raise UsageError(f"needs {packages}, and {error.name} is not installed: pip install 'metashell[{extra}]'") from error
