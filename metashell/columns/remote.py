"""Files of object stores and HDFS, through pyarrow's file systems: `file://`, `s3://`, `hdfs://`, `gs://`."""

from __future__ import annotations

from collections.abc import Iterator
from os.path import basename, dirname
from types import TracebackType
from typing import Any, Self

from pyarrow import ArrowInvalid
from pyarrow.fs import FileSelector, FileSystem, FileType

from metashell.columns.inputs import InputFile, chosen_names
from metashell.columns.logs import METADATA, log_of_directory
from metashell.errors import UsageError
from metashell.log.files import GZIP_MAGIC, OpenFile

_FIRST_PIECE = 2


def file_system(uri: str) -> tuple[Any, str]:
    """The file system of a URI and the path in it. Errors: UsageError for one that pyarrow does not know, or cannot reach."""
    try:
        system, path = FileSystem.from_uri(uri)
    except (ArrowInvalid, OSError, ValueError) as error:
        raise UsageError(f"{uri}: {str(error).splitlines()[0]}", uri) from error
    return system, path


def remote_files(uri: str, log: str | None) -> Iterator[InputFile]:
    """The files that a URI stands for: itself, or the segments and checkpoints below it."""
    system, path = file_system(uri)
    root = uri[: len(uri) - len(path)] if uri.endswith(path) else ""
    found = False
    try:
        info = system.get_file_info(path)
        if info.type == FileType.NotFound:
            raise UsageError(f"{uri}: No such file or directory", uri)
        if info.type == FileType.File:
            yield InputFile(path=uri, log=log or log_of_directory(dirname(path)), cluster_id=root + dirname(path), is_named=True)
            return
        directories: dict[str, list[str]] = {}
        for entry in system.get_file_info(FileSelector(path, recursive=True)):
            if entry.type == FileType.File:
                directories.setdefault(dirname(entry.path), []).append(basename(entry.path))
    except OSError as error:
        raise UsageError(f"{uri}: {str(error).splitlines()[0]}", uri) from error
    for directory, names in sorted(directories.items()):
        segments, checkpoints = chosen_names(names)
        starts_late = not segments or not segments[0].startswith("0" * 20)
        for name in [*(checkpoints[:1] if starts_late else []), *segments]:
            found = True
            yield InputFile(
                path=f"{root}{directory}/{name}",
                log=METADATA if ".checkpoint" in name else log or log_of_directory(directory),
                cluster_id=root + directory,
                may_end_early=bool(segments) and name == segments[-1],
            )
    if not found:
        raise UsageError(f"{uri}: no log here that can be decoded: neither segments nor checkpoints", uri)


def open_remote(uri: str) -> OpenFile:
    """A remote file, read by position. Errors: UsageError where it cannot be opened."""
    system, path = file_system(uri)
    try:
        file: OpenFile = RemoteFile(uri, system.open_input_file(path))
    except OSError as error:
        raise UsageError(f"{uri}: {str(error).splitlines()[0]}", uri) from error
    if file.read_at(0, _FIRST_PIECE) == GZIP_MAGIC:
        raise UsageError(f"{uri}: compressed files are read from local disks only", uri)
    return file


class RemoteFile:
    """A file of a pyarrow file system in the form of our opened files."""

    batch_size_max = (1 << 31) + 11

    def __init__(self, name: str, file: Any) -> None:
        self.name = name
        self.trouble: str | None = None
        self._file = file
        self._size = int(file.size())

    def read_at(self, position: int, size: int) -> bytes:
        size = min(size, self._size - position)
        if size <= 0:
            return b""
        try:
            return bytes(self._file.read_at(size, position))
        except OSError as error:
            self.trouble = str(error).splitlines()[0]
            return b""

    def size(self) -> int | None:
        return self._size

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
