"""A plan, carried out so that it may be interrupted at any moment.

1. Directories are made, each name synced in its parent, and locked.
2. Every file of every directory is written aside and synced, and so are the names they have there.
3. In one directory after the other, the files get their names and those are synced; then meta.properties gets its own, and that is synced.

What is cut off before the third step counts for nothing: no directory has a meta.properties, and the next format begins anew.
What is cut off in it leaves directories that are formatted beside directories that hold all they need under other names; a server
refuses to start on them, `info` explains them, and the next format completes them.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from metashell.errors import MetashellError
from metashell.log.disk import DirectoryLock, Disk
from metashell.log.meta_properties import META_PROPERTIES
from metashell.log.names import BOOTSTRAP_CHECKPOINT, METADATA_DIRECTORY
from metashell.storage.ensemble import ASIDE_SUFFIX, PREPARED
from metashell.storage.errors import StorageError
from metashell.storage.plan import FIRST_CHECKPOINT, has_log

if TYPE_CHECKING:
    from collections.abc import Callable

    from metashell.storage.plan import FormatPlan, PlannedDirectory, PlannedFile


_NEW_SUFFIX = ".new"


class Formatting:
    """One run of a plan."""

    def __init__(self, plan: FormatPlan, disk: Disk) -> None:
        self._plan = plan
        self._disk = disk
        self._locks: list[DirectoryLock] = []
        self._aside: list[str] = []
        self._made: list[str] = []
        self._seen: dict[tuple[int, int], str] = {}
        self._failed: PlannedDirectory | None = None

    def run(self, report: Callable[[PlannedDirectory], None]) -> None:
        """Write everything; `report` is called before each directory's third step, and if one cannot be written for those up to it.

        Errors: StorageError that names the directory; what was written aside until then is removed again.
        """
        try:
            try:
                self._prepare()
            except StorageError:
                self._report_tried(report)
                raise
            for directory in self._plan.directories:
                report(directory)
                self._attempt(directory, self._put_in_place)
        finally:
            for lock in self._locks:
                lock.release()

    def _report_tried(self, report: Callable[[PlannedDirectory], None]) -> None:
        """Name the directories as Kafka's tool does, which has tried them one after the other when one fails."""
        for directory in self._plan.directories:
            report(directory)
            if directory is self._failed:
                break

    def _prepare(self) -> None:
        try:
            for path in self._plan.formatted:
                # A server that runs on one directory of the node runs on the node.
                if os.path.exists(os.path.join(path, DirectoryLock.NAME)):
                    self._lock(path)
            for directory in self._plan.directories:
                self._attempt(directory, self._make_and_lock)
            for directory in self._plan.directories:
                self._attempt(directory, self._write_aside)
        except BaseException:
            self._undo()
            raise

    def _attempt(self, directory: PlannedDirectory, step: Callable[[PlannedDirectory], None]) -> None:
        try:
            step(directory)
        except OSError as error:
            self._failed = directory
            place = f"{error.filename}: " if isinstance(error.filename, str) and error.filename != directory.path else ""
            raise StorageError(f"Error while writing meta.properties file {directory.path}: {place}{error.strerror or error}") from None

    def _make_and_lock(self, directory: PlannedDirectory) -> None:
        self._make_directories(directory.path)
        self._lock(directory.path)
        if directory.holds_partition:
            # Its name is synced together with those of the files written aside.
            self._make_directory_below(directory.path)

    def _make_directory_below(self, path: str) -> None:
        partition = os.path.join(path, METADATA_DIRECTORY)
        if not os.path.isdir(partition):
            self._disk.make_directory(partition)
            self._made.append(partition)

    def _make_directories(self, path: str) -> None:
        """Make a directory and those above it; the names of all that are new are on disk when this returns."""
        missing = []
        while path and not os.path.isdir(path):
            missing.append(path)
            path = os.path.dirname(path.rstrip("/"))
        for new in reversed(missing):
            self._disk.make_directory(new)
            self._made.append(new)
            self._disk.sync_directory(_parent(new))

    def _lock(self, path: str) -> None:
        status = os.stat(path)
        other = self._seen.setdefault((status.st_dev, status.st_ino), path)
        if other != path:
            raise MetashellError(f"{path}: is the same directory as {other}")
        try:
            self._locks.append(DirectoryLock(path, self._disk))
        except BlockingIOError:
            raise MetashellError(f"{path}: in use by a running process, which holds its .lock") from None

    def _write_aside(self, directory: PlannedDirectory) -> None:
        for file in directory.files:
            path = aside(directory, file)
            if file.name == META_PROPERTIES:
                # By this name the next format knows an interrupted one. It is there whole or not at all, also while
                # this one finishes another.
                self._write(path + _NEW_SUFFIX, file)
                self._disk.rename(path + _NEW_SUFFIX, path)
                self._aside.append(path)
            else:
                self._write(path, file)
        for path in _places(directory):
            self._disk.sync_directory(path)

    def _write(self, path: str, file: PlannedFile) -> None:
        self._aside.append(path)
        fd = self._disk.create_file(path, file.mode)
        try:
            self._disk.append(fd, file.data)
            self._disk.sync_file(fd)
        finally:
            self._disk.close_file(fd)

    def _put_in_place(self, directory: PlannedDirectory) -> None:
        *others, meta = directory.files
        assert meta.name == META_PROPERTIES
        self._drop_stale(directory)
        for file in others:
            self._disk.rename(aside(directory, file), os.path.join(directory.path, file.name))
        for path in _places(directory):
            self._disk.sync_directory(path)
        self._disk.rename(aside(directory, meta), os.path.join(directory.path, meta.name))
        self._disk.sync_directory(directory.path)

    def _drop_stale(self, directory: PlannedDirectory) -> None:
        """Remove what an interrupted format left and this one does not write: a bootstrap snapshot would be believed.

        A partition that has a log was in use; then nothing in it is touched.
        """
        wanted = {file.name for file in directory.files}
        stale = [BOOTSTRAP_CHECKPOINT + ASIDE_SUFFIX] if BOOTSTRAP_CHECKPOINT not in wanted else []
        if FIRST_CHECKPOINT not in wanted and not has_log(directory.path):
            stale += [FIRST_CHECKPOINT, FIRST_CHECKPOINT + ASIDE_SUFFIX]
        for path in (os.path.join(directory.path, name) for name in stale):
            if os.path.lexists(path):
                self._disk.remove_file(path)
                self._disk.sync_directory(os.path.dirname(path))

    def _undo(self) -> None:
        """Remove what was written aside, the locks and the directories that were made, as far as that goes."""
        for path in self._aside:
            # What says that an earlier format waits to be finished stays.
            if not (self._plan.finishes and path.endswith(PREPARED)):
                with suppress(OSError):
                    self._disk.remove_file(path)
        for lock in self._locks:
            lock.release()
        for path in reversed(self._made):
            with suppress(OSError):
                self._disk.remove_directory(path)


def perform(plan: FormatPlan, report: Callable[[PlannedDirectory], None], disk: Disk | None = None) -> None:
    """Carry out a plan.

    Shape: `report` gets each directory just before it becomes a formatted one; `disk` replaces the file system in tests.
    Errors: StorageError where something cannot be written; MetashellError where a running process holds a directory.
    """
    Formatting(plan, disk or Disk()).run(report)


def aside(directory: PlannedDirectory, file: PlannedFile) -> str:
    """Where a file lies until it is whole."""
    return os.path.join(directory.path, file.name + ASIDE_SUFFIX)


def _places(directory: PlannedDirectory) -> list[str]:
    """The directories that hold the files, the innermost first."""
    inner = [os.path.join(directory.path, METADATA_DIRECTORY)] if directory.holds_partition else []
    return [*inner, directory.path]


def _parent(path: str) -> str:
    return os.path.dirname(path.rstrip("/")) or "."
