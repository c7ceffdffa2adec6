"""A folder of this machine."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from shutil import copyfileobj, rmtree
from stat import S_ISDIR
from typing import TYPE_CHECKING
from urllib.parse import unquote

from metashell.common.errors import PathError, UsageError
from metashell.common.runtime import sync_file, sync_path
from metashell.common.uris import URI_MARK, expand_braces, is_uri, shown_uri
from metashell.disk.file_system import errors_naming, refuse_folder_of_logs
from metashell.disk.inputs import paths_of
from metashell.tables.stores.locks import folder_lock
from metashell.tables.stores.store import LOCK, Held, StoreFile, checked_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager
    from typing import BinaryIO


PART = ".part"


def path_of_uri(uri: str) -> str:
    """Return the path of a `file://` URI. Errors: UsageError for one of another machine."""
    rest = uri.partition(URI_MARK)[2].partition("?")[0]
    if not rest.startswith("/"):
        host, _, rest = rest.partition("/")
        if host.lower() != "localhost":
            raise UsageError(f"{shown_uri(uri)}: file:// has no host; a path of this machine has three slashes, as in file:///data", uri)
        rest = f"/{rest}"
    return unquote(rest)


class LocalStore:
    """A folder of this machine: files are written beside their names first, and then renamed."""

    is_local = True

    def __init__(self, folder: str) -> None:
        self.place = folder
        self.shown = folder
        self._folder = folder

    def __reduce__(self) -> tuple[type[LocalStore], tuple[str]]:
        return type(self), (self._folder,)

    def shown_name(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, checked_name(name))

    def require_writable(self) -> None:
        """Check that files can be written. A missing folder is not created: the nearest folder above it is checked."""
        path = self._folder
        while not os.path.lexists(path):
            path = os.path.dirname(path.rstrip("/")) or "."
        unfinished = os.path.join(path, _unfinished("probe"))
        try:
            if not S_ISDIR(os.stat(path).st_mode):
                raise PathError(f"{path}: Not a directory", path)
            # Rights say nothing about a disk that is read-only or has no room for a name.
            os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            os.unlink(unfinished)
        except OSError as error:
            raise PathError.of(path, error) from error

    @contextmanager
    def create(self, name: str, *, durable: bool = False) -> Iterator[BinaryIO]:
        path = self._path(name)
        folder, base = os.path.split(path)
        unfinished = os.path.join(folder, _unfinished(base))
        with _errors_of(path, unfinished):
            os.makedirs(folder, exist_ok=True)
            try:
                with open(unfinished, "xb") as file:
                    yield file
                    if durable:
                        file.flush()
                        sync_file(file.fileno())
                os.replace(unfinished, path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(unfinished)
                raise
            if durable:
                self.sync_folders([folder])

    def put(self, name: str, data: bytes, *, durable: bool = False) -> None:
        with self.create(name, durable=durable) as file:
            file.write(data)

    def put_file(self, name: str, path: str, *, durable: bool = False) -> None:
        target = self._path(name)
        with _errors_of(target, path):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if durable:
                sync_path(path)
            if os.stat(path).st_dev != os.stat(os.path.dirname(target)).st_dev:
                with open(path, "rb") as source, self.create(name, durable=durable) as file:
                    copyfileobj(source, file, 1 << 20)
                os.unlink(path)
                return
            os.replace(path, target)
            if durable:
                self.sync_folders([os.path.dirname(target)])

    def put_files(self, files: Iterable[tuple[str, str]]) -> None:
        for name, path in files:
            self.put_file(name, path)

    def read(self, name: str) -> bytes | None:
        path = self._path(name)
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise PathError.of(path, error) from error

    def get_file(self, name: str, path: str) -> None:
        source = self._path(name)
        with _errors_of(source), open(source, "rb") as file, errors_naming(path), open(path, "wb") as copy:
            copyfileobj(file, copy, 1 << 20)

    def files(self, below: str = "") -> list[StoreFile]:
        top = self._path(below) if below else self._folder
        found = []
        for folder, _, names in os.walk(top, onerror=_refuse_unreadable):
            for name in names:
                path = os.path.join(folder, name)
                if name == LOCK or (name.startswith(".") and name.endswith(PART)):
                    continue
                with _errors_of(path), suppress(FileNotFoundError):
                    status = os.stat(path)
                    relative = os.path.relpath(path, self._folder).replace(os.sep, "/")
                    found.append(StoreFile(relative, status.st_size, status.st_mtime_ns // 1_000_000))
        return sorted(found)

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        found = {}
        for name in names:
            path = self._path(name)
            with _errors_of(path):
                if (size := _size(path)) is not None:
                    found[name] = size
        return found

    def move(self, source: str, target: str, size: int | None = None) -> None:
        old, new = self._path(source), self._path(target)
        with _errors_of(old):
            os.makedirs(os.path.dirname(new), exist_ok=True)
            try:
                os.replace(old, new)
            except FileNotFoundError:
                if size not in (None, _size(new)) or not os.path.lexists(new):
                    raise

    def move_all(self, moves: Iterable[tuple[str, str, int | None]]) -> None:
        """The new names are on disk afterwards."""
        folders = set()
        for source, target, size in moves:
            self.move(source, target, size)
            folders.add(os.path.dirname(self._path(target)))
        self.sync_folders(folders)

    def remove(self, name: str) -> None:
        path = self._path(name)
        with _errors_of(path), suppress(FileNotFoundError):
            os.unlink(path)

    def remove_all(self, names: Iterable[str]) -> None:
        """Folders that hold nothing any more go too: a table without rows would look as if it were there.

        The names are gone from the disk afterwards.
        """
        folders = set()
        for name in names:
            self.remove(name)
            folders.add(name.rpartition("/")[0])
        left = set()
        for folder in folders:
            with suppress(OSError):
                while folder:
                    os.rmdir(self._path(folder))
                    folder = folder.rpartition("/")[0]
            left.add(folder)
        self.sync_folders(path for folder in left if os.path.isdir(path := self._path(folder) if folder else self._folder))

    def remove_below(self, folder: str) -> None:
        path = self._path(folder)
        with _errors_of(path), suppress(FileNotFoundError):
            rmtree(path)

    def sink(self, name: str) -> str:
        path = self._path(name)
        with _errors_of(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def lock(self, purpose: str) -> AbstractContextManager[Held]:
        return folder_lock(self._folder, LOCK, purpose)

    def sync_names(self, names: Iterable[str]) -> None:
        self.sync_folders({os.path.dirname(self._path(name)) for name in names})

    def sync_folders(self, folders: Iterable[str]) -> None:
        """Return when the names in some folders are on disk, and those of the folders themselves, up to this store's own."""
        top = self._folder.rstrip("/")
        done: set[str] = set()
        for folder in folders:
            while folder not in done and folder.startswith(top) and folder:
                done.add(folder)
                with _errors_of(folder):
                    sync_path(folder)
                folder = os.path.dirname(folder)
        if top in done:
            # Its own name lies in a folder that we may not be allowed to open.
            with suppress(OSError):
                sync_path(os.path.dirname(top) or ".")


def _unfinished(base: str) -> str:
    """Return a name that no other process has and that readers of tables ignore; a long name is cut to what file systems take."""
    return f".{os.fsdecode(os.fsencode(base)[:180])}.{os.getpid()}-{os.urandom(4).hex()}{PART}"


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return None


def _refuse_unreadable(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise PathError.of(str(error.filename), error) from error


@contextmanager
def _errors_of(path: str, *others: str) -> Iterator[None]:
    """Errors of the operating system about a file, its folder, or no file at all (a full disk) as one line that names it."""
    try:
        yield
    except OSError as error:
        about = error.filename
        if about is None or about in (path, *others):
            raise PathError.of(path, error) from error
        raise PathError.of(str(about), error) from error


# ---- refused places

SCHEMES = ("file", "s3", "s3a", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
_SAME = {"s3a": "s3", "gcs": "gs", "abfss": "abfs"}


def require_scheme(uri: str) -> None:
    """Errors: UsageError for the URI of a store that we do not know, before anything is loaded."""
    scheme = uri.partition(URI_MARK)[0].lower()
    if scheme not in SCHEMES:
        raise UsageError(f"{shown_uri(uri)}: no store is known for {scheme}://; there are {', '.join(f'{one}://' for one in SCHEMES)}", uri)


def refuse_sources(place: str, sources: Iterable[str]) -> None:
    """Errors: PathError for a folder of output in one of the sources, or on this machine in any directory of logs."""
    read = list(sources)
    if not is_uri(place):
        refuse_folder_of_logs(place, [path for source in read for path in _local(source)])
        return
    own = _parts(place)
    for source in read:
        if is_uri(source) and any(_lies_in(own, _parts(each)) for each in (source, *expand_braces(source))):
            raise PathError(f"{shown_uri(place)}: lies in {shown_uri(source)}, which is only read", shown_uri(place))


def _local(source: str) -> list[str]:
    """Return the paths of this machine that a source stands for: none for a store, and for a pattern that matches nothing."""
    if is_uri(source):
        return [path_of_uri(source)] if source.partition(URI_MARK)[0].lower() == "file" else []

    try:
        return paths_of(source)
    except PathError:
        return []


def _lies_in(own: list[str], parts: list[str]) -> bool:
    """Return whether a place is, or lies in, one that the parts of a path stand for, which may be patterns."""
    if not parts or not own:
        return not parts
    if parts[0] == "**" and (_lies_in(own, parts[1:]) or _lies_in(own[1:], parts)):
        return True
    return (own[0] == parts[0] or fnmatchcase(own[0], parts[0])) and _lies_in(own[1:], parts[1:])


def _parts(uri: str) -> list[str]:
    """Return the scheme and the parts of a path, without what opens the store."""
    scheme, _, rest = shown_uri(uri).partition(URI_MARK)
    path = unquote(rest.partition("?")[0])
    return [_SAME.get(scheme.lower(), scheme.lower()), *filter(None, path.split("/"))]
