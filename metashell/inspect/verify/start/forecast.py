"""Forecasts the start on one log directory: what recovery cuts and deletes, whether that is held elsewhere, and what replay finds.

A started server reads the newest snapshot and the log after it twice: for control records, then to replay all records. It does not look
for a snapshot's footer, so a snapshot that was cut off between batches passes as whole. Here, unlike in recovery, an unknown magic number
or record type makes the server exit. The server reads from an offset to the end of the segment that holds it. If no batch has that
offset, it reads the same place again forever.

Source: RecordsIterator, RecordsSnapshotReader, KRaftControlRecordStateMachine.maybeLoadLog, MetadataLoader, QuorumController."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from metashell.codec.batch_writer import KRAFT_VERSION_RECORD, LEADER_CHANGE, SNAPSHOT_FOOTER, SNAPSHOT_HEADER, read_control_record
from metashell.codec.batches import RecordBatch
from metashell.codec.metadata_records import RECORD_TYPE_NAMES, FrameError, UnknownRecord, read_metadata_record, refuse_newer_structs
from metashell.codec.releases import (
    KRAFT_VERSION,
    METADATA_VERSION,
    NEWEST_RELEASE,
    Release,
    knows_record_type,
    level_name,
    releases_from,
    unsupported_features,
)
from metashell.common.errors import DecodeError, LogCorruptError
from metashell.common.values import BOOTSTRAP_SNAPSHOT_ID
from metashell.disk.files import RegularFile, open_regular
from metashell.disk.names import BOOTSTRAP_SNAPSHOT, LEADER_EPOCH_CHECKPOINT, METADATA_DIRECTORY, QUORUM_STATE, checkpoint_name
from metashell.disk.properties import directory_id_of, find_loss, read_acknowledged
from metashell.disk.segment import BadBatch, OrderCheck, Tail, read_batches
from metashell.disk.state_files import read_leader_epochs
from metashell.inspect.verify.start import (
    Action,
    BadLengthError,
    Change,
    Placed,
    Segment,
    ServerExit,
    StartVerdict,
    placed_batches,
    read_placed,
)
from metashell.inspect.verify.start.load import Start, StartLog
from metashell.metadata.image import MetadataImage
from metashell.metadata.image.loader import ImageLoader

JUDGED_RELEASES = releases_from("3.9")
_IGNORING_CHECKPOINT = releases_from("4.3")
"""Releases that do not replay the records of the checkpoint 0-0. Earlier ones treat it as a snapshot like any other."""
_BOOTSTRAPPED_BY_CHECKPOINT = releases_from("4.4")
"""Releases whose first leader writes the records of the checkpoint 0-0 into the log."""


def forecast(
    log_directory: str,
    directory: str,
    not_judged: tuple[str, ...] = (),
    release: Release = NEWEST_RELEASE,
) -> StartVerdict:
    """Forecast what Kafka does with the metadata log in `directory` when it starts on `log_directory`. Errors: OSError."""
    return _Forecast(log_directory, directory, not_judged, release).make_verdict()


class _Forecast:
    def __init__(self, log_directory: str, directory: str, not_judged: tuple[str, ...], release: Release) -> None:
        self._directory = directory
        self._release = release
        self._verdict = StartVerdict(log_directory, release.name, not_judged=not_judged)
        self._start = Start(log_directory, directory)
        self._lost: list[tuple[int, int]] = []

    def make_verdict(self) -> StartVerdict:
        verdict = self._verdict
        log = self._start.log
        try:
            self._start.follow()
            self._add_changes(log)
            verdict.start_offset, verdict.end_offset, verdict.epoch = log.start_offset, log.end_offset, log.epoch
            self._add_missing(log)
            replay = Replay(log)
            try:
                replay.build_image()
            finally:
                verdict.unnoticed += replay.concerns
            verdict.releases = tuple(release.name for release in JUDGED_RELEASES if self._is_right(replay, release))
            refusal = self._refusal(replay, self._release)
            if refusal is not None:
                raise refusal
            verdict.unnoticed += self._ignored(replay, self._release)
        except ServerExit as end:
            if not verdict.changes:
                self._add_changes(log)
            verdict.starts = False if end.is_known else None
            verdict.reason = _reason(end)
        segments = [*log.kept, *(segment for segment, _ in log.dropped)]
        batches = [batch for segment in segments for batch in segment.batches]
        verdict.counts = len(segments) + len(log.snapshots), len(batches), sum(max(batch.record_count, 0) for batch in batches)
        verdict.lost[:0] = [f"offsets {first} to {last}" for first, last in _merged(self._lost)]
        return verdict

    # ---- the release

    def _is_right(self, replay: Replay, release: Release) -> bool:
        """Return whether a server of the release starts and reads everything."""
        return self._refusal(replay, release) is None and not self._ignored(replay, release)

    def _refusal(self, replay: Replay, release: Release) -> ServerExit | None:
        """Return the exit of a server whose release lacks the log's records, or those its first leader would write; None if it starts."""
        replays_first = release not in _IGNORING_CHECKPOINT
        levels = replay.bootstrap or {} if replays_first else {}
        if replay.is_empty and not (replays_first and levels):
            first = self._first_levels(replay, release)
            if first is not None and METADATA_VERSION not in first:
                return ServerExit(self._directory, "the records that formatting left end it: they have no metadata.version")
            levels = first or {}
        found = unsupported_features(levels, release)
        return (
            ServerExit(self._directory, f"the records that formatting left end it: {found[0].text}") if found else replay.refusal(release)
        )

    def _first_levels(self, replay: Replay, release: Release) -> dict[str, int] | None:
        """The feature levels that formatting left for the first leader; None if the release finds none, and takes its own newest level."""
        bootstrap = self._start.log.bootstrap
        return replay.bootstrap if replay.bootstrap is not None and release in _BOOTSTRAPPED_BY_CHECKPOINT else bootstrap

    def _ignored(self, replay: Replay, release: Release) -> list[str]:
        """Records that formatting left and a server of the release does not read."""
        is_seen = release not in _IGNORING_CHECKPOINT or self._first_levels(replay, release) is not None
        if is_seen or not replay.is_empty or replay.bootstrap is None:
            return []
        begun = level_name(METADATA_VERSION, release.newest_level)
        left = ", ".join(level_name(name, level) for name, level in replay.bootstrap.items())
        what = f"ignores the records that formatting left ({left}) and begins with {begun} alone"
        return [f"{BOOTSTRAP_SNAPSHOT}: Kafka {release.name} {what}"]

    # ---- changes

    def _add_changes(self, log: StartLog) -> None:
        last = max((segment.base_offset for segment in (*log.kept, *(segment for segment, _ in log.dropped))), default=0)
        for segment in log.kept:
            if segment.split_at is not None:
                what = segment.split_at
                self._add_change(
                    segment, "split", what.position, what.base_offset, (1, what.record_count), loses=True, reason=segment.reason
                )
                self._verdict.unnoticed.append(f"{os.path.basename(segment.path)}: the log jumps to offset {what.base_offset}")
            elif segment.valid_size < segment.size:
                self._cut(segment, is_last=segment.base_offset == last)
        for segment, reason in log.dropped:
            if segment.size or os.path.exists(segment.path):
                self._drop(segment, reason)
        for name, reason in log.dropped_files:
            path = os.path.join(self._directory, name)
            self._verdict.changes.append(
                Change(file=path, action="delete", position=0, bytes=os.path.getsize(path) if os.path.isfile(path) else 0, reason=reason)
            )

    def _cut(self, segment: Segment, *, is_last: bool) -> None:
        contents = _Contents(segment.path, segment.valid_size, self._covered)
        offset = segment.next_offset
        loses = bool(contents.lost) or not (is_last and contents.is_torn)
        if contents.lost:
            self._lost += contents.lost
        elif loses and not contents.is_zero:
            self._verdict.lost.append(f"{segment.size - segment.valid_size} bytes of {os.path.basename(segment.path)} that are not a batch")
        else:
            loses = False
        self._add_change(segment, "cut", segment.valid_size, offset, contents.counts, loses=loses, reason=segment.reason)

    def _drop(self, segment: Segment, reason: str) -> None:
        contents = _Contents(segment.path, 0, self._covered)
        self._lost += contents.lost
        self._add_change(segment, "delete", 0, segment.base_offset, contents.counts, loses=bool(contents.lost), reason=reason)

    def _add_change(
        self, segment: Segment, action: Action, position: int, offset: int, counts: tuple[int, int], *, loses: bool, reason: str
    ) -> None:
        self._verdict.changes.append(
            Change(
                file=segment.path,
                action=action,
                position=position,
                bytes=segment.size - position,
                offset=offset,
                batches=counts[0],
                records=counts[1],
                loses=loses,
                reason=reason,
            )
        )

    @property
    def _covered(self) -> int:
        """The end of the snapshot that the server loads: it holds all offsets below."""
        snapshot = self._start.log.snapshot
        return 0 if snapshot is None else snapshot.offset

    # ---- what is lost already

    def _add_missing(self, log: StartLog) -> None:
        lost = self._verdict.lost
        if not log.knows_vote:
            lost.append(f"the vote of this node, which may then vote twice: {QUORUM_STATE} is missing, or older than the log")
        forgotten = self._forgotten(log)
        if forgotten is not None:
            lost.append(f"what this node has acknowledged, and it would vote without that: {forgotten}")
        if self._lost:
            return
        is_new = log.snapshot == BOOTSTRAP_SNAPSHOT_ID  # Only the files that formatting leaves are there.
        is_empty = log.end_offset == 0 and not is_new and not os.path.exists(os.path.join(self._directory, QUORUM_STATE))
        if is_empty and os.path.isdir(self._directory):
            lost.append(f"all of the log: {METADATA_DIRECTORY} is empty, and a new one would begin at offset 0")
        elif log.end_offset == 0 and os.path.exists(os.path.join(self._directory, QUORUM_STATE)):
            lost.append("all of the log: there is no segment, and a new one would begin at offset 0")
        for offset, what in self._promised():
            if offset > log.end_offset:
                lost.append(f"offsets {log.end_offset} to {offset - 1}, according to {what}: the log ends at {log.end_offset}")

    def _forgotten(self, log: StartLog) -> str | None:
        """The loss that only the proof outside of the metadata directory shows; None without one."""
        directory_id = directory_id_of(self._verdict.path)
        try:
            proof = read_acknowledged(self._verdict.path)
        except (OSError, LogCorruptError):
            return None
        if proof is None or proof.directory_id != directory_id:
            return None
        return find_loss(proof, log.end_offset, log.epoch, log.quorum_epoch)

    def _promised(self) -> list[tuple[int, str]]:
        """Offsets that other files say the log had reached."""
        found = []
        try:
            entries = read_leader_epochs(os.path.join(self._directory, LEADER_EPOCH_CHECKPOINT))
        except (OSError, LogCorruptError):
            entries = ()
        found += [(entry.start_offset, f"epoch {entry.epoch} in {LEADER_EPOCH_CHECKPOINT}") for entry in entries[-1:]]
        names = os.listdir(self._directory) if os.path.isdir(self._directory) else []
        stems = [name.removesuffix(".snapshot") for name in names if name.endswith(".snapshot")]
        found += [(int(stem), f"{stem}.snapshot") for stem in sorted(stems) if len(stem) == 20]
        return found


class _Contents:
    """The batches of a file from a byte on: counts of sound ones, and the offsets of all that no snapshot covers."""

    def __init__(self, path: str, position: int, covered: int) -> None:
        self.counts = 0, 0
        self.lost: list[tuple[int, int]] = []
        self.is_torn = False
        self.is_zero = False
        if not os.path.isfile(path):
            return
        with open_regular(path) as file:
            self._read(file, position, covered)

    def _read(self, file: RegularFile, position: int, covered: int) -> None:
        batches = records = 0
        for number, item in enumerate(read_batches(file, start=position)):
            if isinstance(item, Tail):
                self.is_zero = item.kind == "zero-tail"
                self.is_torn = number == 0 and item.may_be_tail
                if item.behind is not None:
                    rest = _Contents(file.name, item.behind, covered)
                    batches, records = batches + rest.counts[0], records + rest.counts[1]
                    # A batch whose length is wrong is taken to reach to the next good one.
                    first = covered if item.offset is None else max(item.offset, covered)
                    self.lost += [(first, rest.lost[-1][1])] if rest.lost and first <= rest.lost[-1][1] else rest.lost
                break
            header = item.batch.header if isinstance(item, BadBatch) else item.header
            if not isinstance(item, BadBatch):
                batches += 1
                records += max(header.count, 0)
            if header.last_offset >= covered:
                self.lost.append((max(header.base_offset, covered), header.last_offset))
        self.counts = batches, records


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of offsets in order; ranges that touch are joined."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return found


def _reason(end: ServerExit) -> str:
    place = f"byte {end.position}: " if end.position >= 0 else ""
    return f"{end.file}: {place}{end.reason}"


MAGIC = 2
_FEATURE_LEVEL = "FEATURE_LEVEL_RECORD"
_NO_OP = next(type for type, name in RECORD_TYPE_NAMES.items() if name == "NO_OP_RECORD")
_HEAD_SIZE = 3
"""Frame version, type and version of a record, one byte each."""


class Seen(NamedTuple):
    """The place where a record type or version was replayed first."""

    file: str
    position: int
    offset: int


class Replay:
    """Replays the log that a start keeps, for all releases at once. `concerns` are faults that Kafka accepts silently.

    `levels` has every feature level that a record sets, even if a later record changes it: a controller checks each one as it is
    replayed. `bootstrap` are the levels in the checkpoint that formatting left, None if it has no records.
    """

    def __init__(self, log: StartLog) -> None:
        self.levels: dict[tuple[str, int], Seen] = {}
        self.types: dict[int, Seen] = {}
        self.bootstrap: dict[str, int] | None = None
        self._usual: set[bytes] = set()
        self._log = log
        self._loader = ImageLoader(snapshot_id=log.snapshot)
        self._order = OrderCheck(log.start_offset if log.snapshot is None else None)
        self._is_past_snapshot = False
        self.concerns: list[str] = []

    def build_image(self) -> MetadataImage:
        """Build the image that the server would have. Errors: ServerExit; OSError."""
        if self._log.snapshot is not None:
            self._read_snapshot(os.path.join(self._log.directory, checkpoint_name(self._log.snapshot)))
        for path, batches in groupby(self._in_order(), key=lambda place: place[0]):
            with open_regular(path) as file:
                for _, placed in batches:
                    batch = self._checked(file, placed)
                    self._watch(batch)
                    self._replay_batch(batch, from_snapshot=False)
        image = self._loader.image()
        for fault in image.unread:
            self.concerns.append(f"{os.path.basename(fault.file)}: offset {fault.offset}: {fault.record_type}: {fault.reason}")
        for fault in image.faults:
            what = f"{fault.record_type}: {fault.reason}" if fault.record_type else fault.reason
            raise ServerExit(fault.file, f"replay fails at offset {fault.offset}: {what}", position=fault.position, offset=fault.offset)
        if not self.is_empty and image.features.metadata_version is None:
            raise ServerExit(self._log.directory, "no metadata.version record is left, so replay fails")
        return image

    @property
    def is_empty(self) -> bool:
        """Return whether only NoOpRecords and control records were replayed, so that the first leader writes the first records."""
        return not self.types.keys() - {_NO_OP}

    def refusal(self, release: Release) -> ServerExit | None:
        """Return the exit of a server whose release knows less than the log needs, None if it knows all."""
        found = [(seen, one.text) for (name, level), seen in self.levels.items() for one in unsupported_features({name: level}, release)]
        found += [
            (seen, f"{RECORD_TYPE_NAMES[type]} is a type of record that Kafka {release.name} does not know")
            for type, seen in self.types.items()
            if type in RECORD_TYPE_NAMES and not knows_record_type(release, type)
        ]
        if not found:
            return None
        seen, what = min(found, key=lambda one: one[0].offset)
        return ServerExit(seen.file, f"replay fails at offset {seen.offset}: {what}", position=seen.position, offset=seen.offset)

    # ---- a snapshot

    def _read_snapshot(self, path: str) -> None:
        if not os.path.isfile(path):
            raise ServerExit(path, "is not a regular file")
        with open_regular(path) as file:
            first = last = None
            end = 0
            try:
                for placed in placed_batches(file):
                    batch = self._checked(file, placed)
                    last = batch.first_control_type()
                    first = last if placed.position == 0 else first
                    end = placed.end
                    self._replay_batch(batch, from_snapshot=True)
            except BadLengthError as error:
                raise ServerExit(path, str(error), position=error.position) from None
        if end == 0:
            raise ServerExit(path, "has no whole batch", position=0)
        if first != SNAPSHOT_HEADER:
            raise ServerExit(path, "does not begin with a snapshot header", position=0)
        if last != SNAPSHOT_FOOTER:
            self.concerns.append(f"{os.path.basename(path)} has no footer; Kafka would load the incomplete checkpoint without noticing")

    # ---- the log

    def _in_order(self) -> Iterator[tuple[str, Placed]]:
        """The batches in the order of reading, each with its file. Errors: ServerExit where the server reads forever."""
        log = self._log
        next_offset = log.start_offset if log.snapshot is None else log.snapshot.offset
        while next_offset < log.end_offset:
            place = self._place_of(next_offset)
            if place is None:
                what = f"no batch has offset {next_offset} or more, and the log ends at {log.end_offset}: Kafka would search for it forever"
                raise ServerExit(log.kept[-1].path, what, offset=next_offset)
            segment, index = place
            for batch in segment.batches[index:]:
                yield segment.path, batch
            reached = segment.next_offset
            if reached <= next_offset:
                what = f"offsets go back to {reached - 1} at the segment's end, so Kafka would read it again forever"
                raise ServerExit(segment.path, what, offset=next_offset)
            next_offset = reached

    def _place_of(self, offset: int) -> tuple[Segment, int] | None:
        segments = self._log.kept
        at = max((number for number, segment in enumerate(segments) if segment.base_offset <= offset), default=0)
        for segment in segments[at:]:
            for index, batch in enumerate(segment.batches):
                if batch.last_offset >= offset:
                    return segment, index
        return None

    def _watch(self, batch: RecordBatch) -> None:
        """Note faults that Kafka never checks, since no checksum covers them: gaps in offsets, and epochs that begin without a leader."""
        header = batch.header
        name = os.path.basename(batch.file)
        snapshot = self._log.snapshot
        if self._order.expected_offset is None and snapshot is not None and header.base_offset > snapshot.offset:
            self._order.expected_offset = snapshot.offset
        epoch = self._order.epoch
        fault = self._order.check(batch)
        if fault is not None:
            self.concerns.append(f"{name}: byte {batch.position}: {fault.reason}")
        elif epoch is not None and header.leader_epoch != epoch and batch.first_control_type() != LEADER_CHANGE:
            what = f"epoch {header.leader_epoch} begins at offset {header.base_offset} without a leader"
            self.concerns.append(f"{name}: byte {batch.position}: {what}")

    def _checked(self, file: RegularFile, placed: Placed) -> RecordBatch:
        if placed.magic != MAGIC:
            raise ServerExit(file.name, f"magic {placed.magic} is not known", position=placed.position, offset=placed.base_offset)
        if placed.flaw:
            raise ServerExit(file.name, placed.flaw, position=placed.position, offset=placed.base_offset)
        return read_placed(file, placed)

    def _replay_batch(self, batch: RecordBatch, *, from_snapshot: bool) -> None:
        snapshot = self._log.snapshot
        is_bootstrap = from_snapshot and snapshot == BOOTSTRAP_SNAPSHOT_ID and not batch.header.is_control
        from_offset = 0 if from_snapshot or snapshot is None or self._is_past_snapshot else snapshot.offset
        try:
            if is_bootstrap:
                self._note_bootstrap(batch)
                return
            if from_snapshot:
                self._loader.load_snapshot_batch(batch)
            else:
                self._loader.load_batch(batch, from_offset)
                self._is_past_snapshot = True
            self._note(batch, from_offset)
        except DecodeError as error:
            raise ServerExit(batch.file, str(error), position=batch.position, offset=batch.header.base_offset) from None

    def _note_bootstrap(self, batch: RecordBatch) -> None:
        """Errors: DecodeError for a record that no release can read."""
        self.bootstrap = self.bootstrap or {}
        for record in batch.records():
            read = read_metadata_record(record.value or b"")
            if isinstance(read.body, UnknownRecord):
                raise DecodeError(f"{read.type_name}: {read.fault}")
            if read.type_name == _FEATURE_LEVEL:
                self.bootstrap[read.body.name] = read.body.feature_level

    def _note(self, batch: RecordBatch, from_offset: int) -> None:
        """Remember the types of the records and the levels that they set. Records that cannot be read are faults of the image."""
        if batch.crc_fault() is not None:
            return
        for record in batch.records():
            value = record.value or b""
            seen = Seen(batch.file, batch.position, record.offset)
            if batch.header.is_control:
                control = read_control_record(record.key, value)
                if control.type == KRAFT_VERSION_RECORD:
                    self.levels.setdefault((KRAFT_VERSION, control.body.k_raft_version), seen)
            elif record.offset >= from_offset and value[:_HEAD_SIZE] not in self._usual:
                self._note_record(value, seen)

    def _note_record(self, value: bytes, seen: Seen) -> None:
        """Errors: DecodeError for a version that Kafka refuses although its fields could be read."""
        try:
            read = read_metadata_record(value)
        except FrameError:
            return
        if read.message is None or read.family != "metadata":
            return
        refuse_newer_structs(read.message, read.version, read.body)
        self.types.setdefault(read.type_id, seen)
        if read.type_name == _FEATURE_LEVEL:
            self.levels.setdefault((read.body.name, read.body.feature_level), seen)
        elif not read.newer:
            self._usual.add(value[:_HEAD_SIZE])
