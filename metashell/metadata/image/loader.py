"""Turns batches into an image: the only way from bytes to metadata, for files, directories and live quorums.

`PositionTracker` follows the position in the log, from which `Provenance` is made."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Generator, Sequence
from typing import Any

from metashell.codec.batch_writer import KRAFT_VERSION_RECORD, KRAFT_VOTERS, LEADER_CHANGE, SNAPSHOT_HEADER, read_control_record
from metashell.codec.batches import BatchHeader, RecordFields, walk_records
from metashell.codec.metadata_records import (
    NO_VALUE,
    FrameError,
    MetadataRecord,
    UnknownFrameVersionError,
    UnknownRecord,
    read_metadata_record,
)
from metashell.codec.primitives import MAX_DECOMPRESSED
from metashell.common.errors import DecodeError
from metashell.common.values import OffsetAndEpoch
from metashell.metadata.image.image import EMPTY_IMAGE, MetadataDelta, MetadataImage
from metashell.metadata.image.provenance import (
    Batch,
    Fault,
    Leader,
    Provenance,
    ReplayError,
    Source,
    SourceTrouble,
    batches_before,
    voter_set,
)
from metashell.metadata.image.scanner import BatchScanner, BrokenBatchError
from metashell.metadata.image.topics_delta import TopicsDelta


def load_image(
    source: Source, *, certain_only: bool = False, end_offset: int | None = None, max_decompressed: int = MAX_DECOMPRESSED
) -> MetadataImage:
    """The image of a source, with everything that could be read before and after its faults.

    Shape: `certain_only` leaves out the log from `certain_to` on, `end_offset` the log from that offset on; a batch larger than
    `max_decompressed` is a fault. The garbage collector is off meanwhile and ignores the new objects afterwards: there are millions of
    them and no cycles.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return _load(source, certain_only, end_offset, max_decompressed)
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


def _load(source: Source, certain_only: bool, end_offset: int | None, max_decompressed: int) -> MetadataImage:
    loader = ImageLoader(snapshot_id=source.snapshot_id, max_decompressed=max_decompressed)
    for batch in source.snapshot_batches():
        loader.load_snapshot_batch(batch)
    limit = (source.certain_to or 0) if certain_only else end_offset
    start = 0 if source.snapshot_id is None else source.snapshot_id.offset
    if limit is None or limit > start:
        batches = source.log_batches(start)
        for batch in batches if limit is None else batches_before(batches, limit):
            loader.load_batch(batch, start)
    # Where reading stops on purpose an open transaction is no fault: its end may come later in the log.
    return placed(loader.finish() if limit is None else loader.image(), source, is_cut=limit is not None)


def placed(image: MetadataImage, source: Source, *, is_cut: bool) -> MetadataImage:
    """The image with its provenance and the faults of its source; `is_cut` says that the log was not read to its end."""
    torn_tails = tuple(fault_of(trouble) for trouble in source.faults if trouble.is_tail)
    troubles = [fault_of(trouble) for trouble in source.faults if not trouble.is_tail]
    log_end = None if is_cut else source.end_offset
    provenance = image.provenance._replace(
        source_kind=source.kind,
        source=source.path,
        certain_to=source.certain_to,
        end_offset=image.provenance.end_offset if log_end is None else log_end,
    )
    return image._replace(provenance=provenance, faults=(*troubles, *image.faults), torn_tails=torn_tails)


def fault_of(trouble: SourceTrouble) -> Fault:
    """The fault of an image for a part of its source that could not be read."""
    return Fault(trouble.file, trouble.offset, trouble.position, "", trouble.reason)


class ImageLoader:
    """Replays batches, first those of a snapshot, then those of the log after it, and gives the image at any point.

    An image shows a metadata transaction once it has ended; it never shows an aborted one. So between BEGIN at offset 40 and END at 47 the
    image stays that of offset 39, while `provenance.end_offset` goes on: a reader can see that there is more.

    Nothing raises here. A record that cannot be applied becomes a fault with its place, and replay goes on: one bad record must not hide a
    whole cluster from the person who looks for it.
    """

    def __init__(
        self,
        image: MetadataImage = EMPTY_IMAGE,
        *,
        snapshot_id: OffsetAndEpoch | None = None,
        max_decompressed: int = MAX_DECOMPRESSED,
    ) -> None:
        self._max_decompressed = max_decompressed
        self._delta = MetadataDelta(image)
        self._base = image
        self._before_transaction: MetadataImage | None = None
        self._faults: list[Fault] = []
        self._unread = {_kind(fault): fault for fault in image.unread}
        self._voters = image.voters
        self._leader = image.leader
        self._kraft_version = image.features.kraft_version
        self._position = PositionTracker(image.provenance, snapshot_id)
        self._scanner = BatchScanner()
        self._batch: Batch | None = None
        self._in_snapshot = False

    @property
    def faults(self) -> Sequence[Fault]:
        """The faults of everything loaded so far, in order."""
        return self._faults

    @property
    def unread(self) -> tuple[Fault, ...]:
        """The newer parts of records that were applied; see MetadataImage."""
        return tuple(self._unread.values())

    # ---- batches

    def load_snapshot_batch(self, batch: Batch) -> None:
        """Replay one batch of a snapshot, whose offsets count from 0 in its own file."""
        deque(self.load_snapshot_steps(batch), 0)

    def load_snapshot_steps(self, batch: Batch) -> Generator[None, None, None]:
        """`load_snapshot_batch` in steps of some milliseconds; nothing else may be asked of the loader before the last one."""
        self._in_snapshot = True
        yield from self._load(batch, 0)
        self._in_snapshot = False

    def load_batch(self, batch: Batch, from_offset: int = 0) -> None:
        """Replay one batch of the log from `from_offset` on; the snapshot has the records before it.

        Example: a checkpoint ends at offset 120, and the log has a batch of offsets 118 to 125. Records 118 and 119 are in the checkpoint.
        Replayed twice, a partition change would raise its epochs twice.
        """
        deque(self.load_steps(batch, from_offset), 0)

    def load_steps(self, batch: Batch, from_offset: int = 0) -> Generator[None, None, None]:
        """`load_batch` in steps of some milliseconds; nothing else may be asked of the loader before the last one."""
        yield from self._load(batch, from_offset)

    def _load(self, batch: Batch, from_offset: int) -> Generator[None, None, None]:
        self._batch = batch
        header = batch.header
        try:
            if header.magic != 2:
                raise DecodeError(f"batch of magic {header.magic} holds no metadata")
            fault = batch.crc_fault()
            if fault is not None:
                raise DecodeError(fault)
            if header.is_control:
                self._load_control(batch)
            else:
                yield from self._load_data(batch, from_offset)
        except BrokenBatchError as error:
            self._add_fault(header.base_offset + error.index, "", str(error))
        except DecodeError as error:
            self._add_fault(header.base_offset, "", str(error))
        self._position.pass_batch(header, self._in_snapshot)

    def _load_data(self, batch: Batch, from_offset: int) -> Generator[None, None, None]:
        count = batch.header.count
        if count < 0:
            raise DecodeError(f"record count {count} is negative")
        buf, start, end = batch.records_area(self._max_decompressed)
        if batch.header.base_offset < from_offset:
            for fields in walk_records(buf, start, end, count):
                if batch.header.base_offset + fields[0] >= from_offset:
                    self.replay_value(buf, fields)
            return
        yield from self._scanner.replay_steps(buf if end == len(buf) else buf[:end], start, count, self)

    # ---- records, as the scanner's sink

    @property
    def topics(self) -> TopicsDelta:
        return self._delta.topics

    def replay_value(self, buf: bytes, fields: RecordFields) -> None:
        """Decode one record and replay it; an error becomes a fault."""
        assert self._batch is not None
        offset = self._batch.header.base_offset + fields[0]
        start, size = fields[4], fields[5]
        if size <= 0:
            self._add_fault(offset, "", NO_VALUE)
            return
        try:
            record = read_metadata_record(buf, start, start + size)
        except FrameError as error:
            self._add_fault(offset, "", str(error), error.newer if isinstance(error, UnknownFrameVersionError) else "")
            return
        if record.family != "metadata":
            self._add_fault(offset, record.type_name, "frame version 0 is that of KIP-631's text, which no image is made of")
            return
        newer = record.newer
        if isinstance(record.body, UnknownRecord):
            self._add_fault(offset, record.type_name, record.fault or "", newer)
            return
        if newer:
            # Kafka applies it too: a newer version or tag leaves the known fields where they are.
            self._note_newer(offset, record)
        elif record.fault is not None:
            self._add_fault(offset, record.type_name, record.fault)
        try:
            self._replay(record.body, offset)
        except ReplayError as error:
            self._add_fault(offset, record.type_name, str(error))

    def note_topic_fault(self, index: int, error: ReplayError) -> None:
        """Note a fault of the topic that record `index` of the batch adds."""
        assert self._batch is not None
        self._add_fault(self._batch.header.base_offset + index, "TOPIC_RECORD", str(error))

    def _replay(self, record: Any, offset: int) -> None:
        match type(record).__name__:
            case "BeginTransactionRecord":
                self._begin(offset)
            case "EndTransactionRecord":
                self._require_transaction()
                self._before_transaction = None
            case "AbortTransactionRecord":
                self._delta = MetadataDelta(self._require_transaction())
                self._before_transaction = None
            case _:
                self._delta.replay(record)

    def _begin(self, offset: int) -> None:
        assert self._batch is not None
        if self._in_snapshot:
            raise ReplayError("a snapshot has no transactions")
        if self._before_transaction is not None:
            raise ReplayError("a transaction is open already")
        self._before_transaction = self._delta.apply()
        self._delta = MetadataDelta(self._before_transaction)
        self._position.begin_transaction(offset, self._batch.header)

    def _require_transaction(self) -> MetadataImage:
        if self._before_transaction is None:
            raise ReplayError("no transaction is open")
        return self._before_transaction

    # ---- control records

    def _load_control(self, batch: Batch) -> None:
        for record in batch.records():
            try:
                control = read_control_record(record.key, record.value)
            except DecodeError as error:
                self._add_fault(record.offset, "", f"control record: {error}")
                continue
            if isinstance(control.body, bytes):
                self._add_fault(record.offset, control.type_name, control.fault or "", f"control record type {control.type}")
            else:
                self._apply_control(control.type, control.body, record.offset, batch.header)

    def _apply_control(self, type: int, body: Any, offset: int, header: BatchHeader) -> None:
        """Apply a control record. The end of a snapshot and the markers of producers' transactions say nothing about the quorum."""
        if type == SNAPSHOT_HEADER:
            self._position.header_timestamp_ms = body.last_contained_log_timestamp
        elif type == KRAFT_VERSION_RECORD:
            self._kraft_version = body.k_raft_version
        elif type == KRAFT_VOTERS:
            self._voters = voter_set(body, self._position.log_offset(offset, self._in_snapshot))
        elif type == LEADER_CHANGE:
            voter_ids = tuple(sorted(voter.voter_id for voter in body.voters))
            self._leader = Leader(body.leader_id, header.leader_epoch, voter_ids)

    # ---- images

    def image(self) -> MetadataImage:
        """The image of all that was replayed, without an open transaction."""
        if self._before_transaction is not None:
            applied = self._before_transaction
            provenance = self._position.provenance_before_transaction()
        else:
            applied = self._delta.apply()
            self._delta = MetadataDelta(applied)
            provenance = self._position.provenance()
        return applied._replace(
            features=applied.features._replace(kraft_version=self._kraft_version),
            voters=self._voters,
            leader=self._leader,
            provenance=provenance,
            faults=(*self._base.faults, *self._faults),
            unread=self.unread,
        )

    def finish(self) -> MetadataImage:
        """The image at the end of the input; a transaction that is still open is a fault, since its records are missing in the image."""
        if self._before_transaction is not None:
            reason = "the transaction that begins here has no end: what it holds is not shown"
            self._add_fault(self._position.transaction_start, "BEGIN_TRANSACTION_RECORD", reason)
        return self.image()

    def _note_newer(self, offset: int, record: MetadataRecord) -> None:
        """Count a record with its kind: a newer release may write millions of one kind."""
        reason = record.fault or f"{record.newer} is not known"
        fault = self._fault(offset, record.type_name, reason, record.newer)._replace(is_whole=not record.unknown_tags)
        first = self._unread.setdefault(_kind(fault), fault)
        if first is not fault:
            self._unread[_kind(fault)] = first._replace(record_count=first.record_count + 1)

    def _add_fault(self, offset: int, record_type: str, reason: str, newer: str = "") -> None:
        self._faults.append(self._fault(offset, record_type, reason, newer))

    def _fault(self, offset: int, record_type: str, reason: str, newer: str) -> Fault:
        batch = self._batch
        assert batch is not None
        return Fault(batch.file, offset, batch.position, record_type, reason, newer)


def _kind(fault: Fault) -> tuple[str, str, bool]:
    return fault.record_type, fault.newer, fault.is_whole


class PositionTracker:
    """Follows the batches that a loader replays.

    Only headers are kept per batch, and a Provenance is made when one is asked for: a log has millions of batches, and hardly any of their
    positions is read.
    """

    __slots__ = ("_before_transaction", "_data", "_log", "_snapshot", "_snapshot_id", "_start", "header_timestamp_ms", "transaction_start")

    def __init__(self, start: Provenance, snapshot_id: OffsetAndEpoch | None) -> None:
        self._start = start
        self._snapshot_id = snapshot_id
        self._data: BatchHeader | None = None
        self._log: BatchHeader | None = None
        self._snapshot: BatchHeader | None = None
        self._before_transaction = start
        self.header_timestamp_ms = -1
        """The largest timestamp of the log that a snapshot stands for, from its header; -1 before one was read."""
        self.transaction_start = -1

    def pass_batch(self, header: BatchHeader, in_snapshot: bool) -> None:
        """Note that a batch has been replayed."""
        if in_snapshot:
            self._snapshot = header
        else:
            # The first batch of all, without a snapshot or an image before it. If its base offset is 500, nothing has offsets 0 to 499,
            # and the image lacks them.
            if self._log is None and self._snapshot is None and self._snapshot_id is None and self._start.end_offset == 0:
                self._start = self._start._replace(begins_at=header.base_offset)
            self._log = header
        if header.count > 0 and not header.is_control:
            self._data = header

    def begin_transaction(self, offset: int, header: BatchHeader) -> None:
        """Note where a transaction begins, which may be inside a batch."""
        self.transaction_start = offset
        self._before_transaction = self.provenance()
        if offset > header.base_offset:
            self._before_transaction = self._before_transaction._replace(
                offset=offset - 1, epoch=header.leader_epoch, timestamp_ms=header.max_timestamp
            )

    def log_offset(self, offset: int, in_snapshot: bool) -> int:
        """The log offset of a control record; one in a snapshot counts at the snapshot's last contained offset."""
        if not in_snapshot:
            return offset
        return -1 if self._snapshot_id is None else self._snapshot_id.offset - 1

    def provenance(self) -> Provenance:
        """The position after everything that was replayed."""
        provenance = self._start
        if self._data is not None:
            provenance = provenance._replace(
                file_offset=self._data.last_offset,
                file_epoch=self._data.leader_epoch,
                file_timestamp_ms=self._data.max_timestamp,
            )
        if self._log is not None:
            end = self._log.last_offset + 1
            return _at(provenance, end, self._log.leader_epoch, self._log.max_timestamp)
        if self._snapshot is None:
            return provenance
        # A checkpoint's name has its offset and epoch in the log. A file of another name has only its own numbering.
        if self._snapshot_id is not None:
            return _at(provenance, self._snapshot_id.offset, self._snapshot_id.epoch, self.header_timestamp_ms)
        return _at(provenance, self._snapshot.last_offset + 1, self._snapshot.leader_epoch, self.header_timestamp_ms)

    def provenance_before_transaction(self) -> Provenance:
        """The position of an image without the open transaction, although replay has gone on."""
        return self._before_transaction._replace(end_offset=self.provenance().end_offset)


def _at(provenance: Provenance, end: int, epoch: int, timestamp_ms: int) -> Provenance:
    return provenance._replace(offset=end - 1, epoch=epoch, timestamp_ms=timestamp_ms, end_offset=end)
