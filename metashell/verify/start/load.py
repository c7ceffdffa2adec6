"""Kafka's start of the metadata log on paper, in Kafka's order: segments, snapshots, what the quorum knows, then every record.

Source: UnifiedLog.create, LogLoader.load, KafkaRaftLog.createLog, QuorumState.initialize.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from metashell.log.indexes import ABORTED_TRANSACTION, TRANSACTION_INDEX_VERSION, aborted_transactions
from metashell.log.names import (
    BOOTSTRAP_CHECKPOINT,
    LEADER_EPOCH_CHECKPOINT,
    PARTITION_METADATA,
    QUORUM_STATE,
    checkpoint_name,
    segment_name,
)
from metashell.values import OffsetAndEpoch
from metashell.verify.start.epochs import EpochCache
from metashell.verify.start.names import NameReader
from metashell.verify.start.segments import Segment, recover_segment
from metashell.verify.start.small_files import check_topic_id, read_bootstrap, read_election, read_epochs
from metashell.verify.start.verdict import Ends

_EPOCH_MAX = (1 << 31) - 1


@dataclass(slots=True)
class StartLog:
    """What a start has made of a directory so far; it holds what was done when Ends ended it.

    `kept` is the log, `dropped` are segments that go with the reason why, `snapshots` those in use by Kafka's order. `bootstrap` are the
    levels of bootstrap.checkpoint, None without one.
    """

    directory: str
    kept: list[Segment] = field(default_factory=list)
    dropped: list[tuple[Segment, str]] = field(default_factory=list)
    snapshots: list[OffsetAndEpoch] = field(default_factory=list)
    dropped_files: list[tuple[str, str]] = field(default_factory=list)
    start_offset: int = 0
    end_offset: int = 0
    epoch: int = 0
    knows_vote: bool = True
    is_loaded: bool = False
    bootstrap: dict[str, int] | None = None

    @property
    def snapshot(self) -> OffsetAndEpoch | None:
        """The newest one, which everything is loaded from."""
        return self.snapshots[-1] if self.snapshots else None


class Start:
    """One start on a log directory whose meta.properties the server took."""

    def __init__(self, log_directory: str, directory: str) -> None:
        self._log_directory = log_directory
        self._directory = directory
        self._names = NameReader(directory)
        self.log = StartLog(directory)

    def run(self) -> None:
        """Errors: Ends, where Kafka ends; OSError."""
        self.log.bootstrap = read_bootstrap(os.path.join(self._log_directory, BOOTSTRAP_CHECKPOINT))
        epochs = read_epochs(self._path(LEADER_EPOCH_CHECKPOINT))
        self._names.check_producer_snapshots()
        for name in self._names.leftovers():
            self.log.dropped_files.append((name, "was being removed"))
        self._recover(self._load_segments(epochs), epochs)
        check_topic_id(self._path(PARTITION_METADATA))
        self._recover_snapshots()
        self._start_at_snapshot(epochs)
        self._join_quorum(epochs)
        self.log.is_loaded = True

    def _path(self, name: str) -> str:
        return os.path.join(self._directory, name)

    # ---- segments

    def _load_segments(self, epochs: EpochCache) -> list[tuple[int, Segment | None]]:
        """The offsets of the segments; those that are recovered already, since they lack an index, are cut."""
        found: dict[int, Segment | None] = {}
        for name, base in self._names.segments():
            if not name.endswith(".log"):
                if not os.path.exists(self._path(segment_name(base))):
                    self.log.dropped_files.append((name, "is the index of no segment"))
                continue
            stem = self._path(segment_name(base)).removesuffix(".log")
            if base < 0:
                raise Ends(self._path(name), "a segment below offset 0", is_known=False)
            lacks_index = not os.path.exists(f"{stem}.index")
            if lacks_index or not _transactions_are_sane(f"{stem}.txnindex", base):
                early = found[base] = recover_segment(f"{stem}.log", base, epochs, is_early=True)
                self.log.kept.append(early)
            else:
                found[base] = None
        return sorted(found.items())

    def _recover(self, found: Sequence[tuple[int, Segment | None]], epochs: EpochCache) -> None:
        """Recover each segment; behind one that is cut all others go, but where it was cut when it was loaded: then nothing notices."""
        log = self.log
        log.kept.clear()
        is_cut = False
        for number, (base, early) in enumerate(found):
            path = self._path(segment_name(base))
            if is_cut:
                log.dropped.append((_whole(path, base), f"{os.path.basename(log.kept[-1].path)}, before it, is cut"))
                continue
            segment = early if early is not None else recover_segment(path, base, epochs)
            log.kept.append(segment)
            if segment.split_at is not None:
                self._split(segment, epochs, is_last=number == len(found) - 1)
                continue
            is_cut = early is None and segment.valid_size < segment.size
        if not log.kept:
            log.kept.append(Segment(self._path(segment_name(0)), 0, 0))
        log.kept.sort(key=lambda segment: segment.base_offset)
        log.start_offset = log.kept[0].base_offset
        log.end_offset = log.kept[-1].next_offset
        epochs.cut(log.end_offset)

    def _split(self, segment: Segment, epochs: EpochCache, *, is_last: bool) -> None:
        """The last batch becomes a segment of its own."""
        batch = segment.split_at
        assert batch is not None
        split = Segment(segment.path, batch.base_offset, batch.size, [batch], batch.size)
        self.log.kept.append(split)
        if is_last:
            epochs.found(batch.epoch, batch.base_offset, segment.path)

    # ---- snapshots

    def _recover_snapshots(self) -> None:
        log = self.log
        found = self._names.snapshots(log.start_offset)
        if log.start_offset > 0 and not (found.complete and found.complete[-1].offset >= log.start_offset):
            newest = f"the newest is {checkpoint_name(found.complete[-1])}" if found.complete else "there is none"
            raise Ends(self._directory, f"the log starts at offset {log.start_offset} and needs a checkpoint from there on: {newest}")
        log.snapshots = found.complete
        for name in found.leftovers:
            log.dropped_files.append((name, "is unfinished, or lies before the log"))

    def _start_at_snapshot(self, epochs: EpochCache) -> None:
        """Where the newest snapshot is ahead of the log's end, by epoch first, the log begins anew at it."""
        log = self.log
        newest = log.snapshot
        if newest is None:
            return
        latest = epochs.latest or 0
        if newest.epoch < latest or (newest.epoch == latest and newest.offset <= log.end_offset):
            return
        reason = f"the log begins anew at {checkpoint_name(newest)}"
        for segment in log.kept:
            log.dropped.append((_whole(segment.path, segment.base_offset), reason))
        for id in log.snapshots[:-1]:
            log.dropped_files.append((checkpoint_name(id), reason))
        log.snapshots = [newest]
        log.kept = [Segment(self._path(segment_name(newest.offset)), newest.offset, 0)]
        log.start_offset = log.end_offset = newest.offset
        epochs.entries.clear()

    # ---- the quorum

    def _join_quorum(self, epochs: EpochCache) -> None:
        log = self.log
        place = self._path(QUORUM_STATE)
        election = read_election(place)
        last_epoch = epochs.latest
        if last_epoch is None:
            newest = log.snapshot
            last_epoch = 0 if newest is None else newest.epoch
            if newest is not None and not newest.offset == log.start_offset == log.end_offset:
                raise Ends(self._directory, f"nothing says of what epoch the log is that ends at offset {log.end_offset}")
        log.epoch = last_epoch
        log.knows_vote = log.end_offset == 0 if election is None else election.leader_epoch >= last_epoch
        epoch = max(last_epoch, election.leader_epoch if election is not None else 0)
        if epoch >= _EPOCH_MAX:
            raise Ends(place, f"epoch {epoch} is the last there can be: the next election ends the server")


def _whole(path: str, base_offset: int) -> Segment:
    """All of a segment that goes: what recovery would have kept of it counts for what is lost, and changes no epoch."""
    try:
        return recover_segment(path, base_offset, EpochCache())
    except Ends as end:
        size = os.path.getsize(path) if os.path.exists(path) else 0
        return Segment(path, base_offset, size, reason=end.reason)


def _transactions_are_sane(path: str, base_offset: int) -> bool:
    """Whether a transaction index is taken as it is; a metadata log has none. Errors: Ends where its version is not known."""
    if not os.path.isfile(path):
        return True
    with open(path, "rb") as file:
        data = file.read(1 << 20)
    for number, aborted in enumerate(aborted_transactions(data)):
        if aborted.version != TRANSACTION_INDEX_VERSION:
            raise Ends(
                path, f"version {aborted.version} of an aborted transaction is not known", position=number * ABORTED_TRANSACTION.size
            )
        if aborted.last_offset < base_offset:
            return False
    return True
