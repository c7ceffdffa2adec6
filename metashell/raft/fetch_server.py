"""How a leader answers Fetch: with batches, with where the logs part, or with the snapshot to begin from.

A log that ends at an offset with a batch of an epoch is the beginning of the leader's if the leader's log has that epoch and it ends there
or later: an epoch has one leader, and a leader only appends. Where it ends earlier, or is not there, the logs part (`check_position`).
A fetch that finds nothing waits until there is something to say, at most as long as it asked to.

Source: KafkaRaftClient.handleFetchRequest, tryCompleteFetchRequest; KafkaRaftLog.validateOffsetAndEpoch.
"""

from __future__ import annotations

from metashell.codec.error_codes import INVALID_REQUEST, NONE, UNKNOWN_SERVER_ERROR
from metashell.raft import common, progress, replies
from metashell.raft.config import BATCH_SIZE_MAX
from metashell.raft.connections import NEVER
from metashell.raft.messages import UNKNOWN_HIGH_WATERMARK, FetchRequest, FetchResponse
from metashell.raft.parked import ParkedFetch
from metashell.raft.replica import Replica
from metashell.raft.roles import Leader
from metashell.values import OffsetAndEpoch


class Position:
    """What a fetch position is: valid, or `diverging`, or served by `snapshot`."""

    __slots__ = ("diverging", "snapshot")

    def __init__(self, diverging: OffsetAndEpoch | None = None, snapshot: OffsetAndEpoch | None = None) -> None:
        self.diverging = diverging
        self.snapshot = snapshot


VALID = Position()


def handle_request(node: Replica, token: object, request: FetchRequest, listener: str) -> None:
    """Answer a Fetch, now or later."""
    if error := common.check_addressed(node, request):
        node.reply(token, FetchResponse(error))
        return
    response = respond(node, request, listener)
    if is_answered_now(request, response):
        node.reply(token, response)
    else:
        node.parked.add(ParkedFetch(token, request, listener, node.now_ms + request.max_wait_ms, response))


def respond(node: Replica, request: FetchRequest, listener: str) -> FetchResponse:
    """The answer as of now, with what it does to the replica's progress."""
    error = check_request(node, request)
    if error != NONE:
        return replies.fetch_error(node, error, listener, request.replica_id)
    leader = node.role
    assert leader.__class__ is Leader, "only a leader gets here"
    log, offset = node.log, request.fetch_offset
    position = check_position(node, offset, request.last_epoch)
    records = b""
    if position is VALID:
        if offset < node.log_end:
            records = log.read(offset, node.log_end, min(request.max_size, BATCH_SIZE_MAX))
        progress.record_fetch(node, leader, request.replica_id, request.directory_id, offset)
    watermark = node.high_watermark
    endpoint = leader.endpoints.get(listener)
    return FetchResponse(
        0,
        0,
        leader.leader_id if endpoint is not None else -1,
        leader.epoch,
        endpoint,
        UNKNOWN_HIGH_WATERMARK if watermark is None else watermark,
        log.start_offset,
        position.diverging,
        position.snapshot,
        records,
    )


def check_request(node: Replica, request: FetchRequest) -> int:
    """Whether the fields can be meant, and whether this is the leader that is asked for."""
    last_epoch = request.last_epoch
    if request.max_wait_ms < 0 or request.fetch_offset < 0 or last_epoch < 0 or last_epoch > request.epoch:
        return INVALID_REQUEST
    error = common.check_leader_request(node, request.epoch)
    if error == NONE and request.replica_id == node.local_id and request.replica_id >= 0:
        return UNKNOWN_SERVER_ERROR
    return error


def check_position(node: Replica, offset: int, last_epoch: int) -> Position:
    """Whether a log that ends at `offset` with a batch of `last_epoch` is a prefix of this one."""
    start = node.log.start_offset
    snapshots = node.log.snapshots()
    if offset == 0:
        if snapshots and (snapshots[-1].offset or snapshots[-1].epoch):
            return Position(snapshot=snapshots[-1])
        if start == 0:
            return VALID
    earliest = snapshots[0] if snapshots else None
    if earliest is not None and (offset < start or (offset == start and last_epoch != earliest.epoch) or last_epoch < earliest.epoch):
        return Position(snapshot=snapshots[-1])
    epoch, end_offset = node.epochs.end_offset_for(last_epoch, node.log_end, node.last_epoch, earliest)
    if epoch != last_epoch or end_offset < offset:
        return Position(diverging=OffsetAndEpoch(end_offset, epoch))
    return VALID


def is_answered_now(request: FetchRequest, response: FetchResponse) -> bool:
    """Whether there is anything worth saying before the waiting time is over (KIP-1166: also a higher high watermark)."""
    return (
        response.error != NONE
        or response.records != b""
        or request.max_wait_ms == 0
        or response.diverging is not None
        or response.snapshot_id is not None
        or request.high_watermark < response.high_watermark
    )


def release(node: Replica, before_offset: int | None) -> None:
    """Answer the fetches that wait for what lies before an offset, or (None: the high watermark rose) all of them."""
    parked = node.parked
    for fetch in parked.take_all() if before_offset is None else parked.take_before(before_offset):
        node.reply(fetch.token, respond(node, fetch.request, fetch.listener))


def expire(node: Replica) -> int:
    """Answer the fetches whose time is up with what was computed when they came; when the next one is due."""
    for fetch in node.parked.take_due(node.now_ms):
        node.reply(fetch.token, fetch.response)
    due_ms = node.parked.due_ms()
    return NEVER if due_ms is None else due_ms
