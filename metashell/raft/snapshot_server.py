"""How a leader answers FetchSnapshot: a page of one of its snapshots.

Source: KafkaRaftClient.handleFetchSnapshotRequest; KIP-630.
"""

from __future__ import annotations

from metashell.codec.error_codes import (
    NONE,
    POSITION_OUT_OF_RANGE,
    SNAPSHOT_NOT_FOUND,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from metashell.raft import common, progress, replies
from metashell.raft.config import BATCH_SIZE_MAX
from metashell.raft.messages import FetchSnapshotRequest, FetchSnapshotResponse
from metashell.raft.replica import Replica
from metashell.raft.roles import Leader
from metashell.values import BOOTSTRAP_SNAPSHOT_ID


def handle_request(node: Replica, token: object, request: FetchSnapshotRequest, listener: str) -> None:
    """Answer with a page or an error."""
    if error := common.check_addressed(node, request):
        node.reply(token, FetchSnapshotResponse(error))
        return
    error = check_request(node, request)
    response = replies.answer(node, FetchSnapshotResponse, error, listener, request.replica_id)
    response.snapshot_id = request.snapshot_id
    leader = node.role
    if error == NONE and isinstance(leader, Leader):
        id = request.snapshot_id
        response.size = node.log.snapshot_size(id)
        response.position = request.position
        response.records = node.log.read_snapshot(id, request.position, max(min(request.max_size, BATCH_SIZE_MAX), 0))
        note_reader(node, leader, request)
    node.reply(token, response)


def check_request(node: Replica, request: FetchSnapshotRequest) -> int:
    """The error of a request, in Kafka's order."""
    if not request.is_known_partition:
        return UNKNOWN_TOPIC_OR_PARTITION
    error = common.check_leader_request(node, request.epoch)
    if error != NONE:
        return error
    # The bootstrap snapshot is never replicated: the first leader writes what it says into the log.
    if request.snapshot_id == BOOTSTRAP_SNAPSHOT_ID or request.snapshot_id not in node.log.snapshots():
        return SNAPSHOT_NOT_FOUND
    size = node.log.snapshot_size(request.snapshot_id)
    return NONE if 0 <= request.position < size else POSITION_OUT_OF_RANGE


def note_reader(node: Replica, leader: Leader, request: FetchSnapshotRequest) -> None:
    """A voter that downloads is alive: it counts for check-quorum, not for the high watermark."""
    entry = leader.voters.get(request.replica_id)
    if entry is not None and (not any(entry.key.directory_id) or entry.key.directory_id == request.directory_id):
        progress.count_for_quorum(node, leader, request.replica_id)
