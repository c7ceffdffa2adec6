"""Files of object stores and HDFS, through pyarrow's file systems: `file://`, `s3://`, `hdfs://`, `gs://`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from os.path import basename, dirname
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from pyarrow import ArrowException
from pyarrow.fs import FileSelector, FileSystem, FileType

from metashell.codec.uris import shown_uri, without_credentials
from metashell.columns.inputs import URI_MARK, InputFile, chosen_names, needed_checkpoint
from metashell.columns.logs import METADATA, log_of_directory
from metashell.errors import UsageError
from metashell.log.files import GZIP_MAGIC, OpenFile
from metashell.log.meta_properties import META_PROPERTIES, meta_properties_of
from metashell.log.properties import parse_properties

_FIRST_PIECE = 2
_PROPERTIES_MAX = 1 << 16
_TROUBLE = (OSError, ValueError, ArrowException)
"""What pyarrow's file systems raise, each its own: all of them when credentials or the network are missing."""
_RETRIES = {"gs": "retry_limit_seconds=20", "gcs": "retry_limit_seconds=20"}
"""Google's client asks a quarter of an hour for credentials that are not there."""


def file_system(uri: str) -> tuple[Any, str]:
    """The file system of a URI and the path in it. Errors: UsageError for one that pyarrow does not know, or cannot reach."""
    try:
        system, path = FileSystem.from_uri(_with_limit(uri))
    except _TROUBLE as error:
        raise told(uri, error) from error
    return system, path


def _with_limit(uri: str) -> str:
    """The URI with an end to the patience of its file system, unless it says one."""
    limit = _RETRIES.get(uri.partition(URI_MARK)[0])
    return uri if limit is None or "retry_limit_seconds" in uri else f"{uri}{'&' if '?' in uri else '?'}{limit}"


def told(uri: str, error: Exception) -> UsageError:
    """The error of a store in one line, without what opens it: stores quote what they were given."""
    said = (str(error).splitlines() or [type(error).__name__])[0]
    return _refused(uri, without_credentials(said, uri))


def _refused(uri: str, reason: str) -> UsageError:
    return UsageError(f"{shown_uri(uri)}: {reason}", shown_uri(uri))


def remote_files(uri: str, log: str | None) -> Iterator[InputFile]:
    """The files that a URI stands for: itself, or the segments and checkpoints below it."""
    system, path = file_system(uri)
    try:
        info = system.get_file_info(path)
        is_folder = info.type == FileType.Directory
        below = system.get_file_info(FileSelector(path, recursive=True)) if is_folder else []
    except _TROUBLE as error:
        raise told(uri, error) from error
    if info.type == FileType.NotFound:
        raise _refused(uri, "No such file or directory")
    clusters = _Clusters(system)
    if not is_folder:
        directory = dirname(path)
        cluster_id = clusters.of(directory) or _folder_of(uri)
        yield InputFile(path=uri, log=log or log_of_directory(directory), cluster_id=cluster_id, is_named=True)
        return
    directories: dict[str, list[str]] = {}
    for entry in below:
        if entry.type == FileType.File:
            directories.setdefault(dirname(entry.path), []).append(basename(entry.path))
    found = False
    for directory, names in sorted(directories.items()):
        segments, checkpoints = chosen_names(names)
        uri_of = partial(_uri_below, uri, directory[len(path.rstrip("/")) :].strip("/"))
        chosen = [*needed_checkpoint(uri_of, segments, checkpoints), *segments]
        cluster_id = (clusters.of(directory) or _folder_of(uri_of("x"))) if chosen else ""
        for name in chosen:
            found = True
            yield InputFile(
                path=uri_of(name),
                log=METADATA if ".checkpoint" in name else log or log_of_directory(directory),
                cluster_id=cluster_id,
                may_end_early=bool(segments) and name == segments[-1],
            )
    if not found:
        raise _refused(uri, "no log here that can be decoded: neither segments nor checkpoints")


def _folder_of(uri: str) -> str:
    """What stands for the id of a cluster that has none: the folder of its log, whoever opened it."""
    return dirname(shown_uri(uri).partition("?")[0])


def _uri_below(uri: str, folder: str, name: str) -> str:
    """The URI of a file in a folder below a URI, whose query stays behind it."""
    base, mark, query = uri.partition("?")
    return "/".join(filter(None, (base.rstrip("/"), quote(folder), quote(name)))) + mark + query


class _Clusters:
    """The ids of the clusters that folders are of, by the meta.properties in them or above them."""

    def __init__(self, system: Any) -> None:
        self._system = system
        self._known: dict[str, str | None] = {}

    def of(self, folder: str) -> str | None:
        return self._told(folder) or self._told(dirname(folder))

    def _told(self, folder: str) -> str | None:
        if folder not in self._known:
            self._known[folder] = self._read(f"{folder}/{META_PROPERTIES}")
        return self._known[folder]

    def _read(self, path: str) -> str | None:
        try:
            with self._system.open_input_file(path) as file:
                return meta_properties_of(parse_properties(file.read(_PROPERTIES_MAX))).cluster_id
        except _TROUBLE:
            return None


def open_remote(uri: str) -> OpenFile:
    """A remote file, read by position. Errors: UsageError where it cannot be opened."""
    system, path = file_system(uri)
    try:
        file: OpenFile = RemoteFile(uri, system.open_input_file(path))
    except _TROUBLE as error:
        raise told(uri, error) from error
    if file.read_at(0, _FIRST_PIECE) == GZIP_MAGIC:
        raise _refused(uri, "compressed files are read from local disks only")
    return file


class RemoteFile:
    """A file of a pyarrow file system in the form of our opened files."""

    batch_size_max = (1 << 31) + 11

    def __init__(self, name: str, file: Any) -> None:
        self.name = shown_uri(name)
        self._uri = name
        self.trouble: str | None = None
        self._file = file
        self._size = int(file.size())

    def read_at(self, position: int, size: int) -> bytes:
        size = min(size, self._size - position)
        if size <= 0:
            return b""
        try:
            return bytes(self._file.read_at(size, position))
        except _TROUBLE as error:
            self.trouble = str(told(self._uri, error))
            return b""

    def size(self) -> int | None:
        return self._size

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
