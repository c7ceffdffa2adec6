"""Snapshots: written here, downloaded from the leader, sent page by page to followers, and removed when they are old.

A snapshot stands for all before its end offset, so that has to be committed, and to lie between two batches: a follower that loads one
which ends inside a batch could never append the next (KAFKA-19112).

The last page of a download asks the driver to freeze the file; when that is durable the log begins anew at the snapshot. A download ends
with the state of the replica: none is resumed under another leader.

Old snapshots and the log before them go, by size first and then by age; the newest snapshot always stays.

Source: KIP-630; org.apache.kafka.snapshot.RecordsSnapshotWriter; KafkaRaftClient.handleFetchSnapshotRequest, handleFetchSnapshotResponse;
KafkaRaftLog.createNewSnapshot, maybeClean, cleanSnapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from metashell.codec.error_codes import NONE, POSITION_OUT_OF_RANGE, SNAPSHOT_NOT_FOUND, UNKNOWN_TOPIC_OR_PARTITION
from metashell.common.errors import UnknownRecordError
from metashell.common.values import BOOTSTRAP_SNAPSHOT_ID, ZERO_UUID, OffsetAndEpoch
from metashell.quorum.raft import appending, progress, transitions
from metashell.quorum.raft.accumulator import HEADER_SIZE, encode_records, encoded_size, join_batch
from metashell.quorum.raft.messages import BATCH_SIZE_MAX, FetchSnapshotRequest, FetchSnapshotResponse, RecordBatchTooLargeError
from metashell.quorum.raft.partition_state import PartitionState, read_snapshot_head
from metashell.quorum.raft.ready import NEVER
from metashell.quorum.raft.replica import Replica
from metashell.quorum.raft.replicated_log import PartialSnapshot, ReplicatedLog
from metashell.quorum.raft.roles import Download, Follower, Leader
from metashell.quorum.raft.voters import ControlValue, KRaftVersion, SnapshotFooter, SnapshotHeader, write_control_batch

RECORDS_MAX: Final = 10_000
"""Records of one batch, so that no reader has to hold too many at once."""


class SnapshotWriter:
    """Writes one snapshot: header when made, then data, then the footer with `freeze`; `close` without it drops it.

    Records are encoded when they are given, so that no call takes much longer than its own values ask for.
    Units: `last_contained_log_timestamp` and `timestamp` are Unix ms.
    """

    __slots__ = ("_count", "_next_offset", "_part", "_records", "_size", "_timestamp", "id")

    def __init__(self, part: PartialSnapshot, head: Sequence[ControlValue], timestamp: int) -> None:
        self.id = part.id
        self._part = part
        self._timestamp = timestamp
        self._next_offset = 0
        self._records: list[bytes] = []
        self._count = 0
        self._size = HEADER_SIZE
        self._append_control(head)

    def append(self, values: Iterable[bytes]) -> None:
        """Add the values of data records. Errors: RecordBatchTooLargeError for one that fits in no batch; the rest before it is written."""
        fitting: list[bytes] = []
        for value in values:
            count = self._count + len(fitting)
            size = encoded_size(value, count)
            if self._size + size > BATCH_SIZE_MAX or count >= RECORDS_MAX:
                self._encode(fitting)
                self._flush()
                fitting = []
                size = encoded_size(value, 0)
                if HEADER_SIZE + size > BATCH_SIZE_MAX:
                    raise RecordBatchTooLargeError(f"snapshot {self.id}: a record of {len(value)} bytes fits in no batch")
            fitting.append(value)
            self._size += size
        self._encode(fitting)

    def freeze(self) -> None:
        """Write the footer and make the snapshot complete; durable on return."""
        self._finish()
        self._part.freeze()

    def begin_freeze(self) -> Callable[[], None]:
        """Write the footer; see PartialSnapshot for the rest."""
        self._finish()
        return self._part.begin_freeze()

    def end_freeze(self) -> None:
        """See PartialSnapshot."""
        self._part.end_freeze()

    def close(self) -> None:
        self._part.close()

    def _append_control(self, values: Sequence[ControlValue]) -> None:
        self._part.append(write_control_batch(self._next_offset, self.id.epoch, self._timestamp, values))
        self._next_offset += len(values)

    def _finish(self) -> None:
        self._flush()
        self._append_control([SnapshotFooter()])

    def _encode(self, values: Sequence[bytes]) -> None:
        if values:
            self._records.append(encode_records(values, self._count))
            self._count += len(values)

    def _flush(self) -> None:
        if self._count:
            self._part.append(join_batch(self._next_offset, self.id.epoch, self._timestamp, self._count, b"".join(self._records)))
            self._next_offset += self._count
            self._records.clear()
            self._count = 0
            self._size = HEADER_SIZE


def snapshot_head(partition: PartitionState, id: OffsetAndEpoch, last_contained_log_timestamp: int) -> list[ControlValue]:
    """The control records that a snapshot begins with: the level and voters in force at the last offset it stands for."""
    head: list[ControlValue] = [SnapshotHeader(last_contained_log_timestamp)]
    level = partition.kraft_version_at(id.offset - 1)
    if level > 0:
        head.append(KRaftVersion(level))
        voters = partition.voters_at(id.offset - 1)
        if voters is not None:
            head.append(voters)
    return head


def snapshot_refusal(node: Replica, id: OffsetAndEpoch) -> str | None:
    """Return the reason why no snapshot of that id may be made, in one line."""
    log = node.log
    if id in log.snapshots():
        return f"snapshot {id} is there"
    if id.offset < log.start_offset:
        return f"snapshot {id} would end before the log, which starts at {log.start_offset}"
    if node.high_watermark is None or id.offset > node.high_watermark:
        return f"snapshot {id} would hold what is not committed"
    latest = node.latest_snapshot()
    if latest is not None and (id.epoch < latest.epoch or id.offset < latest.offset):
        # The voters and the level of that time are forgotten: `frozen` and a start keep those of the latest one.
        return f"snapshot {id} would be older than {latest}"
    if id.offset <= 0:
        return f"snapshot {id} would hold nothing"
    if node.epochs.epoch_at(id.offset - 1) != id.epoch:
        return f"snapshot {id} has another epoch than the last record before its end"
    if node.epochs.end_offset_for(id.epoch, node.log_end, node.last_epoch, node.earliest_snapshot())[0] != id.epoch:
        return f"snapshot {id} has an epoch that is not in the log"
    if not log.is_batch_boundary(id.offset):
        return f"snapshot {id} would end inside a batch"
    return None


def create_snapshot(node: Replica, id: OffsetAndEpoch, last_contained_log_timestamp: int) -> SnapshotWriter | None:
    """Return the writer of a new snapshot, None where `snapshot_refusal` has a reason. After its `freeze` call `complete_own_snapshot`."""
    if snapshot_refusal(node, id) is not None:
        return None
    head = snapshot_head(node.partition, id, last_contained_log_timestamp)
    return SnapshotWriter(node.log.create_snapshot(id), head, node.wall_ms())


def complete_own_snapshot(node: Replica, id: OffsetAndEpoch) -> None:
    """Note a complete snapshot of the own log: of the voters and levels before it only the last ones are kept."""
    node.partition.truncate_old(id.offset)


# Download from the leader


def begin_download(node: Replica, role: Follower, id: OffsetAndEpoch) -> bool:
    """Download the leader's snapshot, unless it is here already: the leader's log begins behind ours."""
    if id.epoch < 0 or id.offset < 0:
        node.complain("a leader names half a snapshot id")
        return False
    if id.epoch > role.epoch:
        node.complain("a leader names a snapshot of an epoch that is to come")
        return False
    if id.offset < node.committed or id == OffsetAndEpoch(node.log_end, node.last_epoch):
        node.complain("a leader offers a snapshot of what is here")
        return False
    if id in node.log.snapshots():
        appending.adopt_snapshot(node, id)
    else:
        role.download = Download(id, node.log.create_snapshot(id))
    return True


def next_snapshot_request(node: Replica, role: Follower, download: Download) -> FetchSnapshotRequest:
    """Ask for the bytes behind those that are here."""
    config, local = node.config, node.local_key
    return FetchSnapshotRequest(
        config.cluster_id,
        node.local_id,
        ZERO_UUID if local is None else local.directory_id,
        role.epoch,
        download.id,
        download.part.size,
        config.fetch_snapshot_max_size,
    )


def handle_snapshot_response(node: Replica, source: int, response: FetchSnapshotResponse) -> bool:
    """Add a page; return whether the connection is fine."""
    is_fine = transitions.handle_response(node, response)
    if is_fine is not None:
        return is_fine
    role = node.role
    download = role.download if isinstance(role, Follower) else None
    if not isinstance(role, Follower) or download is None or download.is_complete:
        node.complain("a snapshot was answered that nobody asked for")
        return False
    if response.error == SNAPSHOT_NOT_FOUND or response.snapshot_id.offset < 0 or response.snapshot_id.epoch < 0:
        give_up_download(role, download)
        role.fetch_deadline_ms = node.now_ms + role.fetch_timeout_ms
        return True
    if response.error != NONE:
        node.complain("a snapshot was answered by an error")
        return False
    if not is_next_page(download, response):
        node.complain("a snapshot was answered by another page than the one asked for")
        return False
    download.check.feed(response.records)
    is_last = response.position + len(response.records) == response.size
    if download.check.fault is not None and download.check.is_newer:
        # All of a snapshot is committed: this replica can never follow on.
        raise UnknownRecordError(f"snapshot {download.id}", download.check.next_offset, download.check.fault)
    if download.check.fault is not None or (is_last and not download.check.is_complete):
        node.complain(download.check.fault or "a snapshot ends without its footer")
        give_up_download(role, download)
        return False
    download.part.append(response.records)
    role.fetch_deadline_ms = node.now_ms + role.fetch_timeout_ms
    role.has_fetched = True
    if is_last:
        download.is_complete = True
        node.freezing = download.part
        node.ready.freeze = download.id
    return True


def is_next_page(download: Download, response: FetchSnapshotResponse) -> bool:
    """Whether a page is of the snapshot asked for, begins where the last one ended, and brings something that fits."""
    if response.snapshot_id != download.id or response.position != download.part.size:
        return False
    end = response.position + len(response.records)
    return end <= response.size and (len(response.records) > 0 or end == response.size)


def give_up_download(role: Follower, download: Download) -> None:
    """Forget a download that the leader no longer has, and fetch again."""
    download.part.close()
    role.download = None


def complete_download(node: Replica, id: OffsetAndEpoch) -> None:
    """Begin the log with a complete and durable download, if it is still ahead of the log."""
    role = node.role
    node.freezing = None
    is_awaited = isinstance(role, Follower) and role.download is not None and role.download.id == id
    if isinstance(role, Follower) and is_awaited:
        # The leader said that this log is of no use: it may be longer, or of a later epoch that nobody else knew.
        if role.download is not None and not role.download.is_complete:
            # It was asked for again under this leader, while the same snapshot of an earlier one was made durable.
            role.download.part.close()
        role.download = None
        role.fetch_deadline_ms = node.now_ms + role.fetch_timeout_ms
    # The state may be another one meanwhile, or a follower may have come further. A leader has all that is committed anywhere.
    is_useful = is_awaited or (not isinstance(role, Leader) and id.offset > node.log_end)
    if is_useful and id.offset >= node.committed:
        appending.adopt_snapshot(node, id)


# Pages for followers


def handle_snapshot_request(node: Replica, token: object, request: FetchSnapshotRequest, listener: str) -> None:
    """Answer with a page or an error."""
    if error := transitions.check_addressed(node, request):
        node.reply(token, FetchSnapshotResponse(error))
        return
    error = check_snapshot_request(node, request)
    response = transitions.response_with_leader(node, FetchSnapshotResponse, error, listener, request.replica_id)
    response.snapshot_id = request.snapshot_id
    leader = node.role
    if error == NONE and isinstance(leader, Leader):
        id = request.snapshot_id
        response.size = node.log.snapshot_size(id)
        response.position = request.position
        response.records = node.log.read_snapshot(id, request.position, max(min(request.max_size, BATCH_SIZE_MAX), 0))
        note_snapshot_reader(node, leader, request)
    node.reply(token, response)


def check_snapshot_request(node: Replica, request: FetchSnapshotRequest) -> int:
    """The error of a request, in Kafka's order."""
    if not request.is_known_partition:
        return UNKNOWN_TOPIC_OR_PARTITION
    error = transitions.check_leader_request(node, request.epoch)
    if error != NONE:
        return error
    # The bootstrap snapshot is never replicated: the first leader writes what it says into the log.
    if request.snapshot_id == BOOTSTRAP_SNAPSHOT_ID or request.snapshot_id not in node.log.snapshots():
        return SNAPSHOT_NOT_FOUND
    size = node.log.snapshot_size(request.snapshot_id)
    return NONE if 0 <= request.position < size else POSITION_OUT_OF_RANGE


def note_snapshot_reader(node: Replica, leader: Leader, request: FetchSnapshotRequest) -> None:
    """Count a voter that downloads for check-quorum, not for the high watermark."""
    entry = leader.voters.get(request.replica_id)
    if entry is not None and (not any(entry.key.directory_id) or entry.key.directory_id == request.directory_id):
        progress.count_for_quorum(node, leader, request.replica_id)


# Retention


def clean_log(node: Replica) -> bool:
    """Drop the old snapshots and segments that retention allows; return whether any were."""
    log, config, wall_ms = node.log, node.config, node.wall_ms()
    start = log.start_offset
    needed = needed_from(node)
    if config.retention_size >= 0:
        while may_drop_oldest(log, needed) and is_too_large(log, config.retention_size):
            log.delete_before(log.snapshots()[1])
    if config.retention_ms >= 0:
        while may_drop_oldest(log, needed) and is_too_old(log, log.snapshots()[0], config.retention_ms, wall_ms):
            log.delete_before(log.snapshots()[1])
    if log.start_offset == start:
        return False
    if node.epochs.truncate_from_start(log.start_offset):
        log.write_leader_epochs(node.epochs.entries)
    node.partition.truncate_old(log.start_offset)
    return True


def needed_from(node: Replica) -> int:
    """The first offset that a listener still has to read as log: one that knows that this replica leads must not be given a snapshot.

    It acts on what it has applied; Kafka's replica stops where such a one fell behind the log's start.
    """
    role = node.role
    if not isinstance(role, Leader):
        return NEVER
    told = [listener.next_offset for listener in node.listeners.values() if listener.epoch == role.epoch and listener.leader_id >= 0]
    return min(told, default=NEVER)


def may_drop_oldest(log: ReplicatedLog, needed: int) -> bool:
    """Whether there is a snapshot to begin with instead, and nobody reads what lies before it."""
    snapshots = log.snapshots()
    return len(snapshots) > 1 and snapshots[1].offset <= needed


def is_too_large(log: ReplicatedLog, retention_size: int) -> bool:
    """Whether a snapshot can go, and log and snapshots take more than `retention_size` bytes."""
    snapshots = log.snapshots()
    return len(snapshots) > 1 and log.size + sum(map(log.snapshot_size, snapshots)) > retention_size


def is_too_old(log: ReplicatedLog, id: OffsetAndEpoch, retention_ms: int, wall_ms: int) -> bool:
    """Whether what a snapshot stands for is older than the retention; one without a readable header is not."""
    timestamp = read_snapshot_head(log, id).last_contained_log_timestamp
    return timestamp is not None and wall_ms - timestamp > retention_ms
