"""Changes files of a log directory so that the changes can be taken back, also after a power failure in the middle.

`write_changes` carries out a list of changes, each of one file:

1. The journal, `repair.json`, lists all changes with the size and checksum of each file before and after. It is durable first.
2. Each file that is to change is copied whole to `NAME.damaged-N`, and new contents are written to `NAME.repair-new`. All are synced.
3. One change after the other is made in a single step: a rename over the file, a truncation, or a rename of a file to its kept name. Each
   is synced before the next one.
4. The journal says `done`.

So each file has its old or its new content at any moment, never none and never a part. Example: the power fails while the second of three
files is renamed. The journal says `begun`; `take_back` finds the first file new, the second new or old and the third old, gives all three
their old content and removes the journal. The next repair then starts from the beginning.

A change is taken back only while nobody has used the directory since. A node that ran on it has voted and acknowledged records with the
new files; with the old ones it would forget both. So `undo` compares every changed file with the journal, and also the quorum-state and the
segments beside it. Where an interrupted repair is followed by such a node, its changes stay: each one is safe by itself.

Kafka ignores the journal and both kinds of names."""

from __future__ import annotations

import json
import os
import zlib
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from metashell.common.errors import LogCorruptError, MetashellError, StorageError
from metashell.disk.file_system import FILE_MODE, DirectoryLock, Disk, replace_file
from metashell.disk.names import METADATA_DIRECTORY, QUORUM_STATE, REPAIR_JOURNAL, parse_name
from metashell.disk.properties import read_json_file
from metashell.disk.recovery import aside_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


Action = Literal["write", "copy", "cut", "move"]
"""`write` puts bytes into a file, `copy` the content of another file; `cut` shortens a file; `move` gives it its kept name."""
State = Literal["begun", "done", "undoing"]
ACTIONS: Final[tuple[Action, ...]] = ("write", "copy", "cut", "move")
_STATES: Final[tuple[State, ...]] = ("begun", "done", "undoing")
NEW_SUFFIX: Final = ".repair-new"
_VERSION: Final = 1
_PIECE: Final = 1 << 20


class FileChange(NamedTuple):
    """One change that is planned. `file` is relative to the log directory; `data` is for `write`, `source` for `copy`, `size` for `cut`."""

    action: Action
    file: str
    data: bytes = b""
    source: str = ""
    size: int = 0


class Digest(NamedTuple):
    """The size of a file and the CRC-32 of its content."""

    size: int
    crc: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One change in the journal. `before` and `after` are None where there is no file; `kept_as` is empty if nothing had to be kept."""

    action: Action
    file: str
    kept_as: str
    before: Digest | None
    after: Digest | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRun:
    """One repair in the journal. `witness` are files that a running node changes, with their digests.

    Units: Unix milliseconds.
    """

    state: State
    time_ms: int
    entries: tuple[JournalEntry, ...]
    witness: tuple[tuple[str, Digest], ...]


# ---- the lock


@contextmanager
def locked(directory: str, disk: Disk) -> Iterator[None]:
    """Hold the lock of a log directory as a running server does. Errors: MetashellError if a process holds it; OSError."""
    try:
        lock = DirectoryLock(directory, disk)
    except BlockingIOError:
        raise MetashellError(f"{directory}: in use by a running process, which holds its .lock") from None
    try:
        yield
    finally:
        lock.release()


# ---- writing


def write_changes(directory: str, changes: Sequence[FileChange], now_ms: int, disk: Disk | None = None) -> tuple[JournalEntry, ...]:
    """Carry out the changes in order and return what the journal says of them. The caller holds the lock.

    Errors: StorageError that names the file; then everything is as before.
    """
    disk = disk or Disk()
    runs = read_journal(directory)
    assert all(run.state == "done" for run in runs), "an interrupted repair is taken back first"
    entries = tuple(_entry(directory, change) for change in changes)
    run = RepairRun(state="begun", time_ms=now_ms, entries=entries, witness=_witness(directory, entries))
    at = REPAIR_JOURNAL
    try:
        _write_journal(disk, directory, [*runs, run])
        for change, entry in zip(changes, entries, strict=True):
            at = entry.file
            _prepare(disk, directory, change, entry)
        for folder in _folders(directory, entries):
            disk.sync_directory(folder)
        for change, entry in zip(changes, entries, strict=True):
            at = entry.file
            _carry_out(disk, directory, change, entry)
        at = REPAIR_JOURNAL
        _write_journal(disk, directory, [*runs, replace(run, state="done")])
    except OSError as error:
        with suppress(OSError):
            take_back(directory, disk)
        raise StorageError(f"{os.path.join(directory, at)}: {error.strerror or error}") from None
    return entries


def _entry(directory: str, change: FileChange) -> JournalEntry:
    path = os.path.join(directory, change.file)
    before = digest_of(path)
    kept = os.path.relpath(aside_path(path), directory) if before is not None else ""
    after: Digest | None = None
    match change.action:
        case "write":
            after = Digest(len(change.data), zlib.crc32(change.data))
        case "copy":
            after = digest_of(change.source)
        case "cut":
            after = digest_of(path, change.size)
        case "move":
            pass
    return JournalEntry(action=change.action, file=change.file, kept_as=kept, before=before, after=after)


def _prepare(disk: Disk, directory: str, change: FileChange, entry: JournalEntry) -> None:
    """Write the copy of the old file and the new content, both whole and synced, under names of their own."""
    path = os.path.join(directory, entry.file)
    if entry.kept_as and change.action != "move":
        kept = os.path.join(directory, entry.kept_as)
        _copy(disk, path, kept + NEW_SUFFIX, like=path)
        disk.rename(kept + NEW_SUFFIX, kept)
    like = path if entry.before is not None else os.path.dirname(path)
    if change.action == "copy":
        _copy(disk, change.source, path + NEW_SUFFIX, like=like)
        if digest_of(path + NEW_SUFFIX) != entry.after:
            raise OSError(0, "changed while it was copied", change.source)
    elif change.action == "write":
        _write(disk, path + NEW_SUFFIX, [change.data], like)


def _carry_out(disk: Disk, directory: str, change: FileChange, entry: JournalEntry) -> None:
    path = os.path.join(directory, entry.file)
    if change.action == "cut":
        fd = disk.open_file(path)
        try:
            disk.truncate(fd, change.size)
            disk.sync_file(fd)
        finally:
            disk.close_file(fd)
        return
    if change.action == "move":
        disk.rename(path, os.path.join(directory, entry.kept_as))
    else:
        disk.rename(path + NEW_SUFFIX, path)
    disk.sync_directory(os.path.dirname(path))


def _copy(disk: Disk, source: str, target: str, like: str) -> None:
    with open(source, "rb") as file:
        _write(disk, target, iter(lambda: file.read(_PIECE), b""), like)


def _write(disk: Disk, path: str, pieces: Iterable[bytes], like: str) -> None:
    """Write a new file, durably, with the mode of the file `like` and the owner of `like`, which may be a folder."""
    status = os.stat(like)
    fd = disk.create_file(path, FILE_MODE)
    try:
        for piece in pieces:
            disk.append(fd, piece)
        if os.path.isfile(like):
            disk.set_mode(fd, status.st_mode & 0o777)
        if os.geteuid() == 0 and (status.st_uid, status.st_gid) != (0, 0):
            # A file of root would keep the node's own user from starting.
            disk.set_owner(fd, status.st_uid, status.st_gid)
        disk.sync_file(fd)
    finally:
        disk.close_file(fd)


# ---- taking back


class TakenBack(NamedTuple):
    """The files that have their old content again, and whether the changes of an interrupted repair stay because a node ran since."""

    files: tuple[str, ...]
    stays: bool = False


def take_back(directory: str, disk: Disk | None = None) -> TakenBack | None:
    """Take back a repair or an undo that was interrupted; None if there is none. The caller holds the lock.

    Errors: LogCorruptError for an unreadable journal; OSError.
    """
    runs = read_journal(directory)
    if not runs or runs[-1].state == "done":
        return None
    disk = disk or Disk()
    run = runs[-1]
    if _used_since(directory, run, ("before", "after")):
        _drop_new(disk, directory, run)
        _write_journal(disk, directory, runs[:-1])
        return TakenBack((), stays=True)
    return TakenBack(_restore(disk, directory, runs))


def undo(directory: str, disk: Disk | None = None) -> TakenBack:
    """Take back the last repair. The caller holds the lock.

    Errors: MetashellError if there is none, or a node used the directory since; LogCorruptError for an unreadable journal; OSError.
    """
    disk = disk or Disk()
    runs = read_journal(directory)
    if not runs:
        raise MetashellError(f"{directory}: there is no repair to undo ({REPAIR_JOURNAL} is not there)")
    if runs[-1].state != "done":
        taken = take_back(directory, disk)
        assert taken is not None
        return taken
    changed = _used_since(directory, runs[-1], ("after",))
    if changed:
        raise MetashellError(
            f"{os.path.join(directory, changed)}: has changed since the repair, so a node has run on it: it has voted and acknowledged "
            "records with what is there now, and would forget them"
        )
    return TakenBack(_restore(disk, directory, runs))


def _restore(disk: Disk, directory: str, runs: list[RepairRun]) -> tuple[str, ...]:
    """Give every file of the last run its old content, the last change first, and drop the run. May be repeated after a crash."""
    run = replace(runs[-1], state="undoing")
    _write_journal(disk, directory, [*runs[:-1], run])
    for entry in reversed(run.entries):
        path, kept = os.path.join(directory, entry.file), os.path.join(directory, entry.kept_as)
        if entry.before is None:
            if os.path.lexists(path):
                disk.remove_file(path)
        elif digest_of(path) != entry.before:
            if digest_of(kept) != entry.before:
                raise LogCorruptError(kept, 0, "is not the file as the repair kept it")
            disk.rename(kept, path)
        elif os.path.lexists(kept):
            disk.remove_file(kept)
        disk.sync_directory(os.path.dirname(path))
    _drop_new(disk, directory, run)
    _write_journal(disk, directory, runs[:-1])
    return tuple(entry.file for entry in run.entries)


def _drop_new(disk: Disk, directory: str, run: RepairRun) -> None:
    """Remove what was prepared and not put in place."""
    for entry in run.entries:
        for name in (entry.file, entry.kept_as):
            path = os.path.join(directory, name + NEW_SUFFIX)
            if name and os.path.lexists(path):
                disk.remove_file(path)


def _used_since(directory: str, run: RepairRun, sides: Sequence[Literal["before", "after"]]) -> str:
    """The first file that is not as the repair left it on one of the sides, or that only a running node changes; empty without one."""
    for entry in run.entries:
        allowed = [getattr(entry, side) for side in sides]
        if digest_of(os.path.join(directory, entry.file)) not in allowed:
            return entry.file
    known = dict(run.witness)
    found = dict(_witness(directory, run.entries))
    return next((name for name in sorted(known.keys() | found.keys()) if known.get(name) != found.get(name)), "")


def _witness(directory: str, entries: Iterable[JournalEntry]) -> tuple[tuple[str, Digest], ...]:
    """Files beside the changed ones that a running node changes: quorum-state by its content, segments by their sizes."""
    changed = {entry.file for entry in entries}
    found: dict[str, Digest] = {}
    for folder in _folders(directory, entries):
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            file = os.path.relpath(path, directory)
            parsed = parse_name(name)
            if file in changed or not os.path.isfile(path):
                continue
            if name == QUORUM_STATE:
                digest = digest_of(path)
                assert digest is not None
                found[file] = digest
            elif parsed is not None and parsed.kind == "segment" and parsed.is_in_use:
                found[file] = Digest(os.path.getsize(path), 0)
    return tuple(found.items())


def _folders(directory: str, entries: Iterable[JournalEntry]) -> list[str]:
    """The folders of the changed files and of the metadata log, the log directory last."""
    names = {os.path.dirname(entry.file) for entry in entries} | {METADATA_DIRECTORY}
    inner = [os.path.join(directory, name) for name in sorted(names) if name]
    return [*(path for path in inner if os.path.isdir(path)), directory]


def digest_of(path: str, limit: int | None = None) -> Digest | None:
    """The digest of a regular file, or of its first `limit` bytes; None if there is no file. Errors: OSError."""
    try:
        with open(path, "rb") as file:
            size, crc = 0, 0
            while data := file.read(_PIECE if limit is None else min(_PIECE, limit - size)):
                size, crc = size + len(data), zlib.crc32(data, crc)
            return Digest(size, crc)
    except FileNotFoundError:
        return None


# ---- the journal


def read_journal(directory: str) -> list[RepairRun]:
    """The repairs that can be taken back, the newest last; empty without a journal. Errors: LogCorruptError; OSError."""
    path = os.path.join(directory, REPAIR_JOURNAL)
    try:
        return read_json_file(path, _runs) or []
    except (LogCorruptError, TypeError, KeyError, AttributeError) as error:
        reason = error.reason if isinstance(error, LogCorruptError) else error
        raise LogCorruptError(path, 0, f"is no journal of repairs: {reason}") from None


def _runs(fields: dict[str, Any]) -> list[RepairRun]:
    if fields.get("version") != _VERSION or not isinstance(fields.get("runs"), list):
        raise ValueError(f"is not a journal of version {_VERSION}")
    return [_run(run) for run in fields["runs"]]


def _run(fields: dict[str, Any]) -> RepairRun:
    if fields["state"] not in _STATES:
        raise ValueError(f"state {fields['state']!r}")
    entries = tuple(
        JournalEntry(
            action=_known(entry["action"]),
            file=_inside(entry["file"]),
            kept_as=_inside(entry["keptAs"]) if entry["keptAs"] else "",
            before=_digest(entry["before"]),
            after=_digest(entry["after"]),
        )
        for entry in fields["entries"]
    )
    witness = {_inside(name): _digest(value) for name, value in fields["witness"].items()}
    known = tuple((name, digest) for name, digest in witness.items() if digest is not None)
    return RepairRun(state=fields["state"], time_ms=int(fields["timeMs"]), entries=entries, witness=known)


def _known(action: str) -> Action:
    if action not in ACTIONS:
        raise ValueError(f"action {action!r}")
    return action


def _inside(name: str) -> str:
    """A name below the log directory: a journal from elsewhere must not reach other files. Errors: ValueError."""
    if os.path.isabs(name) or ".." in name.split("/") or not name or "\0" in name:
        raise ValueError(f"{name!r} is no name in this directory")
    return name


def _digest(value: list[int] | None) -> Digest | None:
    return None if value is None else Digest(int(value[0]), int(value[1]))


def _write_journal(disk: Disk, directory: str, runs: Sequence[RepairRun]) -> None:
    """Replace the journal, durably; without runs, remove it."""
    path = os.path.join(directory, REPAIR_JOURNAL)
    if not runs:
        with suppress(FileNotFoundError):
            disk.remove_file(path)
        disk.sync_directory(directory)
        return
    value = {
        "version": _VERSION,
        "runs": [
            {
                "state": run.state,
                "timeMs": run.time_ms,
                "entries": [
                    {
                        "action": entry.action,
                        "file": entry.file,
                        "keptAs": entry.kept_as,
                        "before": entry.before,
                        "after": entry.after,
                    }
                    for entry in run.entries
                ],
                "witness": dict(run.witness),
            }
            for run in runs
        ],
    }
    replace_file(disk, path, json.dumps(value, separators=(",", ":")).encode() + b"\n")
