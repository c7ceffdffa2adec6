"""Small text files that a log directory holds beside its logs."""

from __future__ import annotations

from metashell.errors import LogCorruptError

SIZE_MAX = 16 * 1024 * 1024
"""No such file is ever larger: the largest has a line for each partition of a broker."""


def read_text_file(path: str) -> bytes:
    """All of a small file.

    Errors: OSError as the system gives it; LogCorruptError for a file too large to be one of these.
    """
    with open(path, "rb") as file:
        data = file.read(SIZE_MAX + 1)
    if len(data) > SIZE_MAX:
        raise LogCorruptError(path, SIZE_MAX, f"is larger than {SIZE_MAX} bytes")
    return data
