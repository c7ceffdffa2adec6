"""Checks of input files: the log of each, conflicts with the lake or another input, offsets that the lake lacks, and changes of a file.

A log is compared by the batches that both sides have, and by the epochs of their offsets. Where a lake lacks all of a log, two inputs may
still contradict each other: then `--replace` cannot help. A running node cuts and cleans its log, and a dump is copied again, so a piece
carries when its file was written and which batches it begins and ends with: what a log lost in between must not count as read. A file
that has been appended to since, or that is gone after it was read, is no change.

Logs of groups are read up to their last stable offsets. A row of a lake never changes, so it is written once the outcome of its transaction
is known. What follows the first record of an open transaction comes with the append after its end. A compressed file does not grow: its
open transactions stay open, and it is read whole."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.common.terminal import writable
from metashell.common.uris import file_name, folder_of, is_uri, path_below, place_and_query, shown_uri
from metashell.common.values import uuid_text
from metashell.disk.files import OpenFile
from metashell.disk.inputs import InputFile
from metashell.disk.names import COMPRESSED_SUFFIXES, METADATA, METADATA_DIRECTORY, OFFSETS, PARTITION_METADATA, parse_name
from metashell.tables.input_files import is_remote, open_input
from metashell.tables.lake.log_state import Anchor, Coverage, Epochs, FileMark, LogKey, LogState, checkpoint_end
from metashell.tables.lake.remote_probe import KEPT_MAX, CachedFile, anchor_of, batch_at, first_timestamp, visit_batches
from metashell.tables.splits import Piece
from metashell.tables.stores.store import is_transient
from metashell.tables.transactions import first_held


class BatchJudge:
    """Sees the batches of a file in order, and holds them against the anchors of its log.

    `fault` is the first batch that differs, `good_to` the offset after the last one before it that is equal. Along a metadata log epochs
    grow: a batch of an older one than is known before it differs too, unless it `may_fall`.
    """

    def __init__(self, file: InputFile, known: LogState, *, may_fall: bool = False) -> None:
        self.file = file
        self.fault: Anchor | None = None
        self.good_to = 0
        self.is_proved = False
        self._is_exact = file.log == METADATA
        self._may_fall = may_fall
        self._offsets = known.offsets
        self._anchors = known.anchors
        self._lasts = sorted(known.anchors)
        self._epochs = known.epochs

    def see(self, batch: Anchor) -> None:
        at = bisect_left(self._lasts, batch.base)
        while at < len(self._lasts) and self._lasts[at] <= batch.last:
            self._hold(batch, self._anchors[self._lasts[at]])
            at += 1
        if self._is_exact and at < len(self._lasts) and self._anchors[self._lasts[at]].base <= batch.last:
            self._differs(batch)  # it ends within a batch that the lake has
        if batch.epoch >= 0 and any(self._epochs.at(offset) not in (None, batch.epoch) for offset in (batch.base, batch.last)):
            self._differs(batch)
        if self._is_exact and not self._may_fall and self._newer_before(batch) is not None:
            self._differs(batch)

    def _newer_before(self, batch: Anchor) -> int | None:
        """Return the newest epoch that is known before a batch, if its own is older; else None."""
        newest = self._epochs.newest_before(batch.base)
        return newest if 0 <= batch.epoch < newest else None

    def _hold(self, batch: Anchor, anchor: Anchor) -> None:
        is_same = batch == anchor if self._is_exact else -1 in (batch.epoch, anchor.epoch) or batch.epoch == anchor.epoch
        if not is_same:
            self._differs(batch)
        elif self.fault is None:
            self.is_proved = True
            self.good_to = max(self.good_to, batch.last + 1)

    def _differs(self, batch: Anchor) -> None:
        if self.fault is None:
            self.fault = batch

    def require(self, lake: LogState | None, given: InputConflicts, key: LogKey) -> None:
        """Errors: UsageError where a batch is not the one that the lake, or a file that was `given` before, has at its offsets."""
        if self.fault is None:
            return
        path, there = self.file.path, self._epoch_there(self.fault)
        newer = self._newer_before(self.fault) if there is None else None
        if lake is None or not self._is_at_odds(self.fault, lake):
            other = given.at(key, self.fault.base) or given.at(key, self.fault.last) or given.before(key, self.fault.base)
            raise batch_conflict(path, self.fault, other, there, newer)
        what = "not what the lake has there" if newer is None else f"epoch {self.fault.epoch}, and the lake has epoch {newer} before it"
        raise UsageError(
            f"{path}: offset {self.fault.base}: {what}: the log was cut and written anew, or it is another log; "
            "--replace removes what differs and writes it anew",
            path,
        )

    def _is_at_odds(self, batch: Anchor, known: LogState) -> bool:
        """Return whether a batch differs from what the lake itself has."""
        judge = BatchJudge(self.file, known)
        judge.see(batch)
        return judge.fault is not None

    def _epoch_there(self, batch: Anchor) -> int | None:
        """Return the epoch that is known of a batch's offsets and is not its own; None where there is no such."""
        at = bisect_left(self._lasts, batch.base)
        anchor = self._anchors[self._lasts[at]] if at < len(self._lasts) else None
        known = [self._epochs.at(batch.base), self._epochs.at(batch.last)]
        known += [anchor.epoch] if anchor is not None and anchor.base <= batch.last else []
        return next((epoch for epoch in known if epoch not in (None, batch.epoch)), None)


_ONE = "give only one of them"


class InputConflicts:
    """The files that were planned so far, with the offsets that each gave, and the id of the disk or topic that it lies in."""

    def __init__(self) -> None:
        self._files: dict[LogKey, list[tuple[str, Coverage, str]]] = {}

    def add(self, key: LogKey, path: str, found: LogState) -> None:
        self._files.setdefault(key, []).append((path, found.offsets, found.directory))

    def at(self, key: LogKey, offset: int) -> str:
        """Return a file that gave an offset, as messages name it; empty where none did."""
        return next((shown_path(path) for path, offsets, _ in self._files.get(key, ()) if offsets.has(offset, offset + 1)), "")

    def before(self, key: LogKey, offset: int) -> str:
        """Return the file that gave the last offsets before one, as messages name it; empty where none did."""
        found = [(offsets.end, path) for path, offsets, _ in self._files.get(key, ()) if offsets and offsets.end <= offset]
        return shown_path(max(found)[1]) if found else ""

    def elsewhere(self, key: LogKey, directory: str) -> tuple[str, str]:
        """Return a file that lies in a disk or topic of another id, and that id; empty where there is none."""
        found = self._files.get(key, ()) if directory else ()
        return next(((shown_path(path), other) for path, _, other in found if other not in ("", directory)), ("", ""))


def batch_conflict(path: str, batch: Anchor, other: str, epoch: int | None, newer: int | None) -> UsageError:
    """Return the error for a batch that is not the one that another file of the run has at its offset; `epoch` is the one that this has.

    `newer` is a newer one that it has before that offset.
    """
    there = other or "another of the files here"
    if newer is not None:
        why = (
            f"epoch {batch.epoch}, and {there} has epoch {newer} before it: one of the two was cut off and written anew, where the higher "
            "epoch is the newer, or they are two logs"
        )
    elif epoch is None or epoch < 0 or batch.epoch in (-1, epoch):
        why = f"another batch than {there} has there: one of the two is damaged, was cut off and written anew, or is another log"
    else:
        why = (
            f"epoch {batch.epoch}, and {there} has epoch {epoch} there: one of the two was cut off and written anew, where the higher "
            "epoch is the newer, or they are two logs"
        )
    return UsageError(f"{shown_path(path)}: offset {batch.base}: {why}: {_ONE}", path)


def topic_conflict(path: str, topic_id: str, other: str, other_id: str) -> UsageError:
    """Return the error for a log of another topic than another file of the run."""
    return UsageError(
        f"{shown_path(path)}: topic id {topic_id}, and {other} has topic id {other_id}: the topic was created anew between them: {_ONE}",
        path,
    )


def disk_conflict(path: str, directory: str, other: str, other_id: str) -> UsageError:
    """Return the error for a log of another disk than another file of the run, where no batch shows that it is the same one."""
    return UsageError(
        f"{shown_path(path)}: directory.id {directory}, and {other} has directory.id {other_id}, and nothing shows that both have the same "
        f"log: {_ONE}, or both with --replace",
        path,
    )


def packed_conflict(path: str, other: str) -> UsageError:
    """Return the error for a compressed file of which another file of the run has a part."""
    return UsageError(f"{shown_path(path)}: {other} has a part of it, and a compressed file is read as a whole: unpack it, or {_ONE}", path)


_HEAD = 61
_HEAD_OF_TEXT = 256
_TOPIC_ID = re.compile(rb"^topic_id: *([\w-]{22})$", re.MULTILINE | re.ASCII)


def names_of(path: str) -> tuple[str, str]:
    """Return the name of a file's folder, and its own; a compressed file has the name of what it holds."""
    place = place_and_query(path)[0] if is_uri(path) else os.path.abspath(path)
    folder, _, name = place.rpartition("/")
    stem, _, suffix = name.rpartition(".")
    return folder.rpartition("/")[2], stem if stem and suffix in COMPRESSED_SUFFIXES else name


def shown_path(path: str) -> str:
    """Return a path or URI as the column `file` has it."""
    return writable(shown_uri(path))


def known_log(file: InputFile) -> LogKey | None:
    """Return the log of a file whose meta.properties names cluster and node; None without them, or outside a log's folder."""
    node = file.node
    if node is None or not node.cluster_id or node.node_id is None:
        return None
    folder, name = names_of(file.path)
    if file.log == METADATA:
        return LogKey(node.cluster_id, str(node.node_id), METADATA_DIRECTORY)
    topic, _, partition = folder.rpartition("-")
    if not topic or not partition.isdigit() or parse_name(name) is None:
        return None
    return LogKey(node.cluster_id, str(node.node_id), folder)


def log_of_file(file: InputFile, opened: Callable[[], OpenFile]) -> LogKey:
    """Return the log of a file; one that is not known otherwise is known by its name and its first batch."""
    found = known_log(file)
    if found is not None:
        return found
    with opened() as content:
        first, time = anchor_of(content.peek(_HEAD)[:_HEAD]), first_timestamp(content)
    _, name = names_of(file.path)
    mark = "empty" if first is None else f"{first.base}-{first.epoch}-{first.crc:08x}-{time}"
    return LogKey("", "", f"{name}@{mark}")


def directory_of(file: InputFile) -> str:
    """Return the id of the disk's directory that a metadata log lies in; empty where nothing says it."""
    if file.log != METADATA or file.node is None or file.node.directory_id is None:
        return ""
    return uuid_text(file.node.directory_id)


def topic_of(file: InputFile) -> str:
    """Return the id of the topic whose partition a file is of, from the partition.metadata beside it; empty where nothing says it."""
    try:
        with open_input(path_below(folder_of(file.path), PARTITION_METADATA), strict=True) as beside:
            found = _TOPIC_ID.search(beside.peek(_HEAD_OF_TEXT)[:_HEAD_OF_TEXT])
    except UsageError as error:
        if is_transient(str(error)):
            raise
        return ""
    return found[1].decode() if found is not None else ""


class LakeGaps:
    """Gathers the batches that are not covered to runs, each with its bytes, its first and its last batch, and where that starts.

    `known` is the first offset of a batch that is covered. `epochs` are those of the others; nothing
    is known of them where offsets or epochs do not grow: the log is damaged.
    """

    def __init__(self, now: LogState, judge: BatchJudge) -> None:
        self.runs: list[tuple[int, int, Anchor, Anchor, int]] = []
        self.first: Anchor | None = None
        self.last: Anchor | None = None
        self.position = -1
        self.reached = 0
        self.known: int | None = None
        self.epochs = Epochs()
        self._is_odd = False
        self._offsets = now.offsets
        self._judge = judge

    def visit(self, start: int, end: int, batch: Anchor) -> None:
        if self.first is None:
            self.first = batch
        if self.last is not None and (batch.base <= self.last.last or batch.epoch < self.last.epoch):
            self._is_odd, self.epochs = True, Epochs()
        self.last, self.position = batch, start
        self.reached = max(self.reached, batch.last + 1)
        self._judge.see(batch)
        if self._offsets.has(batch.base, batch.last + 1):
            self.known = batch.base if self.known is None else self.known
            return
        if not self._is_odd:
            self.epochs.add(batch.base, batch.last + 1, batch.epoch)
        if self.runs and self.runs[-1][1] == start:
            self.runs[-1] = (self.runs[-1][0], end, self.runs[-1][2], batch, start)
        else:
            self.runs.append((start, end, batch, batch, start))


# ---- input that changes while it is read

Batches = tuple[tuple[int, Anchor], ...]
"""The positions at which batches start in a file, each with the anchor that identifies its batch."""


def seal_of(file: InputFile, opened: OpenFile | None = None) -> str:
    """Return a text that changes when the file does, empty where nothing shows it. Call it before the file is read."""
    if isinstance(found := getattr(opened, "version", None), str):
        return found
    return _version_now(file.path) or ""


def changed_input_error(pieces: Iterable[Piece]) -> MetashellError | None:
    """Return the error of the first file that is not what it was when it was planned. Ask after its rows were read."""
    seen = set()
    for piece in pieces:
        key = piece.path, piece.seal
        if key in seen:
            continue
        seen.add(key)
        try:
            if _is_changed(piece):
                return MetashellError(f"{shown_uri(piece.path)}: was changed while it was read, so nothing is added: try it again")
        except MetashellError as error:
            return error
    return None


def _is_changed(piece: Piece) -> bool:
    version, batches = piece.seal
    if not version and not batches:
        return False
    now = _version_now(piece.path)
    if now is None or (now == version and now):
        return False
    try:
        with open_input(piece.path, strict=True) as opened:
            return not batches or any((batch_at(opened, position) or ((),))[0] != batch for position, batch in batches)
    except PathError:
        return False  # it went just now


def _version_now(path: str) -> str | None:
    """Return a text that changes with the file; None if the file is gone."""
    if is_uri(path):
        from metashell.tables.remote_files import version_now

        return version_now(path)
    try:
        found = os.stat(path)
    except OSError:
        return None
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}"


@contextmanager
def open_to_plan(file: InputFile) -> Iterator[OpenFile]:
    """A file to plan with. Errors: MetashellError where a disk or a store cannot be read: what is behind it must not count as read."""
    with open_input(file.path, strict=True) as opened:
        size = opened.size()
        yield CachedFile(opened, size) if is_remote(opened) and size is not None and size <= KEPT_MAX else opened
        if opened.trouble is not None and opened.size() is not None:
            raise PathError(f"{opened.name}: {opened.trouble}", file.path)


def is_as_read(opened: OpenFile, mark: FileMark, size: int) -> bool:
    """Return whether the last batch that was read is where it was."""
    last = batch_at(opened, mark.position) if size >= mark.end else None
    return last is not None and last == (mark.last, mark.end - mark.position)


@dataclass(slots=True)
class StablePart:
    """The files to read, each with its log. `ends_at` has for a file of which only a part is read the byte at which that ends.

    `held` says of each log that is not read to its end who holds it back.
    """

    files: list[InputFile]
    keys: list[LogKey]
    ends_at: dict[str, int] = field(default_factory=dict)
    held: dict[LogKey, str] = field(default_factory=dict)


def up_to_last_stable(files: Sequence[InputFile], keys: Sequence[LogKey], covered: Mapping[LogKey, LogState]) -> StablePart:
    """Return the files without what lies behind the last stable offset of a log of groups. `covered` is what the lake has."""
    found = StablePart(list(files), list(keys))
    gone: set[str] = set()
    # Where nothing names the node, each segment has a key of its own.
    for folder in dict.fromkeys(folder_of(file.path) for file in files if file.log == OFFSETS):
        own = [pair for pair in zip(files, keys, strict=True) if folder_of(pair[0].path) == folder and not _is_packed(pair[0])]
        first, start = _first_new(own, covered)
        held = first_held([file.path for file, _ in own[first:]], start)
        if held is None:
            continue
        number = first + held.number
        last, key = own[number]
        found.ends_at[last.path] = held.position
        gone.update(file.path for file, _ in own[number + (held.position > 0) :])
        found.held[key] = (
            f"{key}: read up to offset {held.offset}, where a transaction of producer {held.producer_id} is open: what follows is added "
            "once it has ended"
        )
    if gone:
        kept = [pair for pair in zip(files, keys, strict=True) if pair[0].path not in gone]
        found.files, found.keys = [file for file, _ in kept], [key for _, key in kept]
    return found


def up_to_committed(found: StablePart, checkpoints: Iterable[InputFile]) -> StablePart:
    """Return the files without what lies behind the newest checkpoint of a metadata log: nothing in a directory says that it is committed.

    `checkpoints` are all that lie beside them. A compressed file is read whole or not at all, so one that may hold more is left out.
    """
    kept = StablePart([], [], dict(found.ends_at), dict(found.held))
    ends: dict[str, int] = {}
    for file in checkpoints:
        if file.checkpoint:
            folder = folder_of(file.path)
            ends[folder] = max(ends.get(folder, 0), checkpoint_end(file.checkpoint))
    for file, key in zip(found.files, found.keys, strict=True):
        if file.log == METADATA and not file.checkpoint:
            end = ends.get(folder_of(file.path), 0)
            position, is_whole = _position_of(file, end)
            if not is_whole:
                kept.held[key] = f"{key}: read up to offset {end}, its newest checkpoint: what follows may not be committed"
                if position == 0 or _is_packed(file):
                    continue
                kept.ends_at[file.path] = position
        kept.files.append(file)
        kept.keys.append(key)
    return kept


def _position_of(file: InputFile, end: int) -> tuple[int, bool]:
    """Return the byte at which the first batch of a segment begins that reaches an offset, and whether there is none."""
    positions = [0]

    def visit(start: int, until: int, batch: Anchor) -> None:
        if batch.last < end and positions[-1] == start:
            positions.append(until)

    with open_to_plan(file) as opened:
        size = opened.size()
        reached = visit_batches(opened, -1 if size is None else size, visit)
    return positions[-1], positions[-1] == reached


def _is_packed(file: InputFile) -> bool:
    return file_name(file.path).rpartition(".")[2] in COMPRESSED_SUFFIXES


def _first_new(files: Sequence[tuple[InputFile, LogKey]], covered: Mapping[LogKey, LogState]) -> tuple[int, int]:
    """Return the number of the first file that may have new batches, and the place in it before which no transaction is open."""
    for number in reversed(range(len(files))):
        file, key = files[number]
        known = covered.get(key)
        mark = None if known is None else known.files.get(names_of(file.path)[1])
        if mark is None:
            continue
        with open_to_plan(file) as opened:
            size = opened.size()
            if size is not None and is_as_read(opened, mark, size):
                return number, mark.end
        break
    return 0, 0
