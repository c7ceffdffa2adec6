"""The log of a group server on disk: `__consumer_offsets-N` in the log directory of its controller, in Kafka's format.

Shape of the whole:
- The records that a coordinator decided are the truth. `open` replays them into a new state, as a broker that becomes the leader does:
  members keep their ids and epochs, and their sessions begin anew.
- A group's partition is Kafka's: the hash of its id, modulo `offsets.topic.num.partitions` (50). That number stands in `groups.json` in the
  log directory since the first start, because another one would look for groups in other partitions; as with a topic of Kafka that exists,
  the config is ignored from then on. A partition's files are made with its first record.
- A decision is acknowledged when its batches are synced. A broker with one replica answers when they are in the page cache: what it
  acknowledged survives kill -9, but not a power loss. There, other replicas are the remedy; here there are none, so this log syncs. All
  decisions that are made while one sync runs share the next one.
- A decision with records of several partitions is one batch in each. Nothing but a marker belongs together across them: if a crash left the
  marker of a transaction in one partition only, `open` writes it to the others, so no transaction is half committed. Transactions without
  any marker are aborted then, because the state of their coordinator was in memory.
- A cleaning (`disk.segmented_log`) keeps the files in proportion to what groups and offsets there are, and
  `compacted_log` decides what a crash may leave.
  Damage refuses to open, with one line: nothing else has these offsets.
- `.groups.lock` keeps a second process of ours away. The `.lock` of the directory is the controller's.

Real controllers of Kafka 4.3.1 and 4.4.0 start on such a directory and leave these directories alone. A combined node calls them strays,
since its metadata has no such topic id, and renames them to `-stray`: tests/interop/test_durable_groups.py.
Source: org.apache.kafka.coordinator.group.GroupCoordinatorService.partitionFor; CoordinatorLoaderImpl; KIP-98."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.batch_writer import ABORT, COMMIT, write_batch, write_control_record
from metashell.codec.batches import Record as BatchRecord
from metashell.codec.batches import RecordBatch
from metashell.codec.java import string_hash
from metashell.common.errors import DecodeError, LogCorruptError
from metashell.disk.directory import partition_name
from metashell.disk.file_system import DirectoryLock, Disk, FlushToken, UnsyncedDisk, replace_file
from metashell.disk.properties import read_json_file
from metashell.disk.recovery import Repair
from metashell.disk.segmented_log import INDEX_SIZE, Cleaning
from metashell.groups.coordinator.coordinator import Written
from metashell.groups.coordinator.replay import make_state, replay
from metashell.groups.decision import Place, Producer, Record
from metashell.groups.log import key_bytes, read_record, value_bytes
from metashell.groups.log.compacted_log import CLEAN_SIZE_MIN, SEGMENT_SIZE, CompactedLog
from metashell.groups.state import end_transaction

TOPIC: Final = "__consumer_offsets"
SETTINGS: Final = "groups.json"
_VERSION: Final = 1
_INT_MAX: Final = 0x7FFFFFFF
_EPOCH_MAX: Final = 0x7FFF
_ONE_BY_ONE_MAX: Final = 4
_SYNCS_MAX: Final = 16


class GroupsLock(DirectoryLock):
    """The lock of the group log in a log directory."""

    NAME = ".groups.lock"


class GroupFlush:
    """A flush of all partitions with new batches."""

    def __init__(self, logs: list[CompactedLog]) -> None:
        self.tokens: list[tuple[CompactedLog, FlushToken]] = [(log, log.begin_flush()) for log in logs]

    def sync(self) -> None:
        """Wait for the disk, in any thread. Errors: OSError, which ends the log.

        Several threads wait for many partitions: a file system that keeps a journal writes it once for all syncs that wait together.
        """
        if len(self.tokens) <= _ONE_BY_ONE_MAX:
            for log, token in self.tokens:
                log.sync(token)
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_SYNCS_MAX) as pool:
            for _ in pool.map(lambda each: each[0].sync(each[1]), self.tokens):
                pass


class GroupLog:
    """See the module. `state` is what the log holds, as it was opened; `repairs` are what recovery cut off, by partition.

    One thread calls it; `GroupFlush.sync` and `Cleaning.carry_out` run beside it. Errors of all writes: OSError, and the log has ended.
    """

    @classmethod
    def open(
        cls,
        log_directory: str,
        topic_id: bytes,
        partitions: int,
        disk: Disk | None = None,
        *,
        segment_size: int = SEGMENT_SIZE,
        delete_retention_ms: int = 86_400_000,
        index_size: int = INDEX_SIZE,
        clean_size_min: int = CLEAN_SIZE_MIN,
    ) -> GroupLog:
        """Open the log in a log directory, and create it if needed. It may take seconds, so call it in a thread.

        Errors: BlockingIOError if another process has it; LogCorruptError for damage and for logs of a broker; OSError.
        """
        disk = disk or Disk()
        lock = GroupsLock(log_directory, disk)
        made = cls(disk, log_directory, topic_id, lock)
        made._segment_size, made._index_size, made._clean_size_min = segment_size, index_size, clean_size_min
        made.delete_retention_ms = delete_retention_ms
        try:
            made._open(partitions)
        except BaseException:
            made.abandon()
            raise
        return made

    def __init__(self, disk: Disk, log_directory: str, topic_id: bytes, lock: GroupsLock) -> None:
        """See `open`."""
        self.log_directory = log_directory
        self.is_synced = not isinstance(disk, UnsyncedDisk)
        """Whether a flush waits for the disk."""
        self.partitions = 0
        self.state = make_state()
        self.repairs: list[tuple[int, Repair]] = []
        self.delete_retention_ms = 0
        self._disk = disk
        self._topic_id = topic_id
        self._lock = lock
        self._logs: dict[int, CompactedLog] = {}
        self._unflushed: dict[int, CompactedLog] = {}
        self._segment_size = self._index_size = self._clean_size_min = 0
        self._ends: dict[int, tuple[int, int, bool]] = {}
        """The newest marker of each producer, while the log is opened: its time and epoch, and whether it commits."""

    # Opening

    def _open(self, partitions: int) -> None:
        self.partitions = self._known_partitions(partitions)
        for name in sorted(os.listdir(self.log_directory)):
            named = partition_name(name)
            if named is not None and named[0] == TOPIC and name == self._name_of(named[1]):
                if named[1] >= self.partitions:
                    path = os.path.join(self.log_directory, name)
                    raise LogCorruptError(path, 0, f"{SETTINGS} beside it says that there are {self.partitions} partitions")
                self._open_partition(named[1])
        self._end_transactions()
        self._ends.clear()

    def _known_partitions(self, wanted: int) -> int:
        path = os.path.join(self.log_directory, SETTINGS)
        known = read_json_file(path, _partitions_of)
        if known is None:
            known = wanted
            data = json.dumps({"version": _VERSION, "partitions": known}, separators=(",", ":")).encode() + b"\n"
            replace_file(self._disk, path, data)
        return known

    def _name_of(self, partition: int) -> str:
        return f"{TOPIC}-{partition}"

    def _open_partition(self, partition: int) -> CompactedLog:
        log = CompactedLog.open(
            os.path.join(self.log_directory, self._name_of(partition)),
            self._topic_id,
            lambda batch: self._replay(partition, batch),
            self._disk,
            segment_size=self._segment_size,
            index_size=self._index_size,
        )
        self._logs[partition] = log
        self.repairs += [(partition, repair) for repair in log.repairs]
        return log

    def _replay(self, partition: int, batch: RecordBatch) -> None:
        header = batch.header
        if header.is_control:
            kind = batch.first_control_type()
            if kind in (ABORT, COMMIT):
                marker = header.max_timestamp, header.producer_epoch, kind == COMMIT
                self._ends[header.producer_id] = max(marker, self._ends.get(header.producer_id, marker))
                end_transaction(self.state, header.producer_id, kind == COMMIT, self._is_in(partition))
            return
        producer_id = header.producer_id if header.is_transactional else -1
        try:
            for record in batch.records():
                # As a broker, we skip records of a type that only a newer release knows.
                read = None if record.key is None else read_record(record.key, record.value)
                if read is not None:
                    replay(self.state, read, Place(record.offset, record.timestamp, producer_id))
        except DecodeError as error:
            raise LogCorruptError(batch.file, batch.position, str(error)) from error

    def _end_transactions(self) -> None:
        """End the transactions that have no marker: nobody else will.

        The process that coordinated them has ended, and their state was in its memory. Such a one is aborted, with the epoch after its own,
        as Kafka aborts at a timeout (KIP-890), unless it has a marker in another partition: then a crash came between the two, and it ends
        here as there. A marker is this transaction's if it is not older than the newest record, and of the same epoch or the next.
        """
        for partition, log in self._logs.items():
            for producer_id, transaction in list(log.open_transactions.items()):
                timestamp_ms, epoch, is_committed = self._ends.get(producer_id, (-1, -1, False))
                if timestamp_ms < transaction.timestamp_ms or epoch - transaction.producer_epoch not in (0, 1):
                    timestamp_ms, epoch, is_committed = transaction.timestamp_ms, min(transaction.producer_epoch + 1, _EPOCH_MAX), False
                marker = Written(log.end_offset, timestamp_ms, (), Producer(producer_id, epoch), is_committed)
                log.append(batch_bytes(marker), marker.base_offset + 1)
                log.flush()
                end_transaction(self.state, producer_id, is_committed, self._is_in(partition))

    def _is_in(self, partition: int) -> Callable[[str], bool]:
        return lambda group_id: self.partition_of(group_id) == partition

    # Appending

    def partition_of(self, group_id: str) -> int:
        hashed = string_hash(group_id)
        # Utils.abs: the smallest int has no positive counterpart, and counts as 0.
        return min(hashed, (1 << 32) - hashed) % (1 << 31) % self.partitions

    def append(self, batch: Written) -> list[Written]:
        """Append a decision, one batch a partition, and return these batches with their offsets. They are durable after a flush.

        Errors: EncodeError for records that do not fit their schema; nothing is appended then. OSError.
        """
        if batch.marker is not None:
            assert batch.producer is not None, "a transaction has a producer"
            partitions = [id for id, log in self._logs.items() if batch.producer.id in log.open_transactions]
            parts = dict.fromkeys(partitions, batch)
        else:
            records: dict[int, list[Record]] = {}
            for record in batch.records:
                records.setdefault(self.partition_of(group_of(record)), []).append(record)
            parts = {partition: batch._replace(records=tuple(own)) for partition, own in records.items()}
        logs = {partition: self._logs.get(partition) or self._open_partition(partition) for partition in parts}
        parts = {partition: part._replace(base_offset=logs[partition].end_offset, partition=partition) for partition, part in parts.items()}
        encoded = {partition: batch_bytes(part) for partition, part in parts.items()}
        for partition, part in parts.items():
            logs[partition].append(encoded[partition], part.base_offset + (len(part.records) or 1))
            self._unflushed[partition] = logs[partition]
        return list(parts.values())

    @property
    def is_flushed(self) -> bool:
        """Whether all that was appended is durable."""
        return not any(log.is_unflushed() for log in self._unflushed.values())

    def begin_flush(self) -> GroupFlush:
        """Start a flush of all that was appended so far; one at a time."""
        return GroupFlush([log for log in self._unflushed.values() if log.is_unflushed()])

    def finish_flush(self, flush: GroupFlush) -> None:
        """End a flush that was synced. Errors: LogStoppedError if that failed."""
        for log, token in flush.tokens:
            log.finish_flush(token)
        self._unflushed = {partition: log for partition, log in self._unflushed.items() if log.is_unflushed()}

    def flush(self) -> None:
        """Run all steps of a flush."""
        flush = self.begin_flush()
        flush.sync()
        self.finish_flush(flush)

    # Reading

    def bounds(self, partition: int) -> tuple[int, int] | None:
        """Return begin and end of a partition; None if there is no such partition."""
        if not 0 <= partition < self.partitions:
            return None
        log = self._logs.get(partition)
        return (0, 0) if log is None else (log.start_offset, log.end_offset)

    def read(self, partition: int, offset: int, size_max: int) -> bytes:
        """Return whole batches of a partition from `offset` on. Errors: OSError; LogCorruptError."""
        log = self._logs.get(partition)
        return b"" if log is None else log.read(offset, size_max)

    # Cleaning

    def take_cleaning(self, now_ms: int) -> tuple[CompactedLog, Cleaning] | None:
        """Return a partition that is due for cleaning, with the work for a thread."""
        for log in self._logs.values():
            cleaning = log.take_cleaning(now_ms, self.delete_retention_ms, self._clean_size_min)
            if cleaning is not None:
                return log, cleaning
        return None

    @property
    def size(self) -> int:
        """The bytes of all segments."""
        return sum(log.size for log in self._logs.values())

    # Closing

    def close(self) -> None:
        """Flush and close. No flush and no cleaning may be under way."""
        try:
            for log in self._logs.values():
                log.close()
            self._logs.clear()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the files as they are, after an error. No flush and no cleaning may run any more."""
        for log in self._logs.values():
            log.abandon()
        self._logs.clear()
        self._lock.release()


def _partitions_of(fields: dict[str, Any]) -> int:
    known = fields.get("partitions")
    if fields.get("version") != _VERSION or not isinstance(known, int) or not 0 < known <= _INT_MAX:
        raise ValueError(f"is not the settings of a group log of version {_VERSION}")
    return known


def group_of(record: Record) -> str:
    """Return the group of a record."""
    key = record.key
    group_id: str = key.group if hasattr(key, "group") else key.group_id
    return group_id


def batch_bytes(batch: Written) -> bytes:
    """Encode a batch of the log. Batches have no sequence numbers, because the coordinator has no producer."""
    producer = batch.producer
    if batch.marker is not None:
        assert producer is not None, "a transaction has a producer"
        key, value = write_control_record(COMMIT if batch.marker else ABORT, messages.EndTxnMarker(coordinator_epoch=0))
        records = [BatchRecord(batch.base_offset, batch.timestamp_ms, key, value)]
    else:
        pairs = [(key_bytes(record), value_bytes(record)) for record in batch.records]
        records = [BatchRecord(offset, batch.timestamp_ms, key, value) for offset, (key, value) in enumerate(pairs, batch.base_offset)]
    return write_batch(
        batch.base_offset,
        records,
        leader_epoch=0,
        producer_id=-1 if producer is None else producer.id,
        producer_epoch=-1 if producer is None else producer.epoch,
        is_control=batch.marker is not None,
        is_transactional=producer is not None,
    )
