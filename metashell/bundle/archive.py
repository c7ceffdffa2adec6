"""A directory as one compressed archive that tells nothing of who made it, and is never half there."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from metashell.errors import MetashellError, PathError
from metashell.system import sync_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

_MODE: Final = 0o600
_COMPRESSION: Final = 6


def pack(folder: str, name: str, out: BinaryIO) -> None:
    """Write a folder as a gzipped tar archive whose top folder is `name`.

    Shape: no user, group, time or path of this machine is in it, nor the archive's own name. Errors: OSError.
    """
    import tarfile
    from gzip import GzipFile

    def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.uid = info.gid = info.mtime = 0
        info.uname = info.gname = ""
        info.mode = 0o755 if info.isdir() else 0o644
        return info

    with (
        GzipFile(filename="", mode="wb", compresslevel=_COMPRESSION, fileobj=out, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        archive.add(folder, arcname=name, filter=plain)


@contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """A file that appears at `path`, for its owner alone, once the block has ended well; another one there is never replaced.

    Errors: PathError where a file is there already or none can be made; MetashellError where the disk is full.
    """
    if os.path.lexists(path):
        raise PathError(f"{path}: is there already; nothing was written", path)
    folder, name = os.path.split(path)
    beside = os.path.join(folder, f".{name}.{os.getpid()}.partial")
    try:
        fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _MODE)
    except OSError as error:
        raise PathError.of(path, error) from None
    try:
        try:
            # Closing it writes what its buffer still holds.
            with open(fd, "wb") as file:
                yield file
                file.flush()
                sync_file(fd)
        except OSError as error:
            raise MetashellError(f"{path}: {error.strerror or error}; nothing was written") from None
        _appear(beside, path)
    finally:
        with suppress(OSError):
            os.unlink(beside)


def _appear(beside: str, path: str) -> None:
    try:
        os.link(beside, path)
    except FileExistsError:
        raise PathError(f"{path}: is there already; nothing was written", path) from None
    except OSError:
        # A file system without hard links: between this look and the renaming somebody else could make the file.
        if os.path.lexists(path):
            raise PathError(f"{path}: is there already; nothing was written", path) from None
        os.rename(beside, path)
