"""Fetch, on both sides: what a follower asks of whom and does with the answer, and how a leader answers.

A follower asks its leader for what follows the end of its log, and says of which epoch its last batch is. While the leader does not answer
it asks the bootstrap servers in turn, one of which may know another leader. Three kinds of answers:

- batches that begin at the end of the log: they are appended;
- a diverging epoch, where the logs part. Ours ends at 12, with epoch 3 from 8 on; the leader's epoch 3 ends at 10. It answers
  "epoch 3 ends at 10": our 10 and 11 were never committed, since that leader was elected without them, and are cut off. If the leader
  has no epoch 3 at all, it answers with the last epoch before it, and where that ends; the next fetch may be sent further back;
- a snapshot id, where the leader's log begins later than ours ends (`snapshots`).

What is committed is never cut, whoever asks for it. At most one fetch is in flight over all destinations: two could append the same offsets
twice.

At the leader: a log that ends at an offset with a batch of an epoch is the beginning of the leader's if the leader's log has that epoch and
it ends there or later, since an epoch has one leader, and a leader only appends. Where it ends earlier, or is not there, the logs part
(`check_fetch_position`). A fetch that finds nothing waits until there is something to say, at most as long as it asked to.

Source: KafkaRaftClient.buildFetchRequest, handleFetchRequest, tryCompleteFetchRequest, handleFetchResponse, maybeSendFetchToBestNode;
KafkaRaftLog.truncateToEndOffset, validateOffsetAndEpoch."""

from __future__ import annotations

from metashell.codec.error_codes import INVALID_REQUEST, NONE, UNKNOWN_LEADER_EPOCH, UNKNOWN_SERVER_ERROR
from metashell.common.errors import UnknownRecordError
from metashell.common.values import ZERO_UUID, OffsetAndEpoch
from metashell.quorum.raft import appending, epoch_guard, progress, snapshots, transitions
from metashell.quorum.raft.appending import check_fetched
from metashell.quorum.raft.messages import BATCH_SIZE_MAX, UNKNOWN_HIGH_WATERMARK, Endpoint, FetchRequest, FetchResponse
from metashell.quorum.raft.ready import NEVER, LogEnd
from metashell.quorum.raft.replica import ParkedFetch, Replica
from metashell.quorum.raft.roles import Follower, Leader


def fetch_as_follower(node: Replica, role: Follower) -> int:
    """Fetch from the leader, or from a bootstrap server while the leader cannot be asked; return when to look again."""
    now, connections = node.now_ms, node.connections
    leader_id = role.leader_id
    endpoint = role.endpoints.get(node.config.default_listener)
    if not connections.entries:
        # The usual case: nothing is outstanding and nothing failed.
        if endpoint is None:
            return fetch_from_bootstrap(node)
        return fetch_from_leader(node, role, leader_id, endpoint)
    if endpoint is None:
        return fetch_from_bootstrap(node)
    if connections.has_bootstrap:
        if now >= role.fetch_deadline_ms or connections.is_backing_off(leader_id, now):
            return fetch_from_bootstrap(node)
        if connections.has_timed_out(leader_id, now):
            connections.succeeded(leader_id)
            return fetch_from_bootstrap(node)
    if connections.has_in_flight(now):
        return connections.in_flight_until(now)
    if not connections.is_ready(leader_id, now):
        return connections.ready_at(leader_id, now)
    connections.give_up_late()
    return fetch_from_leader(node, role, leader_id, endpoint)


def fetch_from_leader(node: Replica, role: Follower, leader_id: int, endpoint: Endpoint) -> int:
    """Send the next Fetch, or the next FetchSnapshot of a download."""
    if role.download is not None:
        # A complete one is being made durable; `snapshot_frozen` goes on.
        if not role.download.is_complete:
            node.send(leader_id, endpoint, snapshots.next_snapshot_request(node, role, role.download))
    elif (end := node.log_end_to_claim()) is not None:
        node.send_claim(leader_id, endpoint, next_fetch(node, end), end)
    return node.now_ms + node.config.request_timeout_ms


def fetch_from_bootstrap(node: Replica) -> int:
    """Fetch from the next bootstrap server that is ready, to find a leader; return when to look again."""
    now = node.now_ms
    end = node.log_end_to_claim()
    if end is not None:
        server = node.connections.ready_bootstrap(now)
        if server is not None:
            node.send_claim(server[0], server[1], next_fetch(node, end), end)
        return node.connections.bootstrap_ready_at(now)
    return now + node.config.request_timeout_ms


def next_fetch(node: Replica, end: LogEnd) -> FetchRequest:
    """Ask for what follows the end of the log: that offset counts for the high watermark.

    A leader that has nothing new answers in half of the time in which its silence would depose it. Kafka asks it to wait 500 ms even where
    the fetch timeout is shorter, so that a quorum without load elects again and again.
    """
    config, local = node.config, node.local_key
    watermark = node.high_watermark
    return FetchRequest(
        config.cluster_id,
        node.local_id,
        ZERO_UUID if local is None else local.directory_id,
        node.role.epoch,
        end.offset,
        end.epoch,
        min(config.fetch_max_wait_ms, config.fetch_timeout_ms // 2),
        config.fetch_max_size,
        UNKNOWN_HIGH_WATERMARK if watermark is None else watermark,
    )


def handle_fetch_response(node: Replica, source: int, response: FetchResponse) -> bool:
    """Truncate, begin a snapshot, or append; return whether the connection is fine."""
    role = node.role
    is_fine = transitions.handle_response(node, response)
    if is_fine is not None:
        return is_fine
    if node.role is not role:
        # Whom it follows is not on disk yet. Were the batches written now and the process killed, the log would have an epoch of which
        # quorum-state says only for whom this replica voted: the leader is asked once more, as its follower.
        return True
    if response.error != NONE:
        node.complain("a fetch was answered by an error that it cannot have")
        return False
    if not isinstance(role, Follower) or response.epoch != role.epoch:
        node.complain("a fetch was answered by a leader that cannot be followed")
        return False
    if response.diverging is not None and response.diverging.epoch >= 0:
        done = truncate_to_leader(node, role, response.diverging)
    elif response.snapshot_id is not None and (response.snapshot_id.epoch >= 0 or response.snapshot_id.offset >= 0):
        done = snapshots.begin_download(node, role, response.snapshot_id)
    else:
        done = append_response(node, role, response)
    if done:
        heard_from_leader(node, role)
    return done


def heard_from_leader(node: Replica, role: Follower) -> None:
    """Restart the fetch timer: the leader answered as a leader."""
    role.fetch_deadline_ms = node.now_ms + role.fetch_timeout_ms
    role.has_fetched = True


def truncation_offset(node: Replica, diverging: OffsetAndEpoch) -> int:
    """Return the offset to truncate to, when the leader's log ends at `diverging` for the epoch asked for."""
    if diverging.epoch == 0:
        return min(diverging.offset, node.log_end)
    epoch, end_offset = node.epochs.end_offset_for(diverging.epoch, node.log_end, node.last_epoch, node.earliest_snapshot())
    return min(end_offset, diverging.offset) if epoch == diverging.epoch else end_offset


def truncate_to_leader(node: Replica, role: Follower, diverging: OffsetAndEpoch) -> bool:
    """Go back towards what this log has in common with the leader's; the next answer may go further back."""
    offset = truncation_offset(node, diverging)
    if offset < node.committed or diverging.offset < node.committed or not node.log.is_batch_boundary(offset):
        node.complain("a leader asks to truncate what is committed")
        return False
    has_more = offset < node.log_end
    appending.truncate(node, offset)
    if not has_more:
        # The leader still leads, but the same question would have the same answer.
        node.complain("a leader asks to truncate nothing")
        heard_from_leader(node, role)
    return has_more


def append_response(node: Replica, role: Follower, response: FetchResponse) -> bool:
    """Append the acceptable batches, then take the leader's high watermark."""
    if response.records:
        checked = check_fetched(response.records, node.log_end, node.last_epoch, role.epoch)
        if checked.fault is not None:
            if checked.newer_at is not None and checked.newer_at < response.high_watermark:
                # It is committed: this replica can never follow on. As with records, what is not committed yet ends nobody.
                raise UnknownRecordError("metadata log", checked.newer_at, checked.fault)
            # The leader is still the leader: it is followed, and asked again after a pause.
            node.complain(checked.fault)
            heard_from_leader(node, role)
            return False
        appending.append_fetched(node, checked)
        if node.durable_end < node.log_end and node.needs_flush():
            node.ready.flush_to = node.log_end
    elif node.durable_end >= node.log_end:
        # Nothing follows the end that was asked for, so the leader's log ends there, too.
        role.has_all = True
    return learn_high_watermark(node, response.high_watermark)


def follower_high_watermark(log_end: int, leader_high_watermark: int) -> int:
    """Return a follower's high watermark: the leader's, as far as the log is here."""
    return min(log_end, leader_high_watermark)


def learn_high_watermark(node: Replica, leader_high_watermark: int) -> bool:
    """Raise the own high watermark; return False for a leader's that went back."""
    if leader_high_watermark < 0:
        return True
    if isinstance(node.role, Follower):
        node.role.leader_high_watermark = leader_high_watermark
    offset = follower_high_watermark(node.log_end, leader_high_watermark)
    known = node.high_watermark
    if known is not None and offset < known:
        node.complain("a leader's high watermark went back")
        return False
    if known is None or offset > known:
        node.high_watermark = offset
        if offset > node.committed:
            node.committed = offset
        node.has_news = True
    return True


# At the leader


class Position:
    """The verdict on a fetch position: valid, or `diverging`, or served by `snapshot`."""

    __slots__ = ("diverging", "snapshot")

    def __init__(self, diverging: OffsetAndEpoch | None = None, snapshot: OffsetAndEpoch | None = None) -> None:
        self.diverging = diverging
        self.snapshot = snapshot


VALID_POSITION = Position()


def handle_fetch_request(node: Replica, token: object, request: FetchRequest, listener: str) -> None:
    """Answer a Fetch, now or later."""
    if error := transitions.check_addressed(node, request):
        node.reply(token, FetchResponse(error))
        return
    response = respond_to_fetch(node, request, listener)
    if response.error == UNKNOWN_LEADER_EPOCH and epoch_guard.knows_voter(node, request.replica_id, request.directory_id):
        # A voter that is ahead and has no vote cannot say so by asking for one.
        epoch_guard.ask_voter(node, request.replica_id)
    if is_answered_now(request, response):
        node.reply(token, response)
    else:
        node.parked.add(ParkedFetch(token, request, listener, node.now_ms + request.max_wait_ms, response))


def respond_to_fetch(node: Replica, request: FetchRequest, listener: str) -> FetchResponse:
    """Return the answer as of now, and note the replica's progress."""
    error = check_fetch_request(node, request)
    if error != NONE:
        return transitions.fetch_error_response(node, error, listener, request.replica_id)
    leader = node.role
    assert leader.__class__ is Leader, "only a leader gets here"
    log, offset = node.log, request.fetch_offset
    position = check_fetch_position(node, offset, request.last_epoch)
    records = b""
    if position is VALID_POSITION:
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


def check_fetch_request(node: Replica, request: FetchRequest) -> int:
    """Return the error of a request whose fields cannot be right, or that this replica does not lead; else NONE."""
    last_epoch = request.last_epoch
    if request.max_wait_ms < 0 or request.fetch_offset < 0 or last_epoch < 0 or last_epoch > request.epoch:
        return INVALID_REQUEST
    error = transitions.check_leader_request(node, request.epoch)
    if error == NONE and request.replica_id == node.local_id and request.replica_id >= 0:
        return UNKNOWN_SERVER_ERROR
    return error


def check_fetch_position(node: Replica, offset: int, last_epoch: int) -> Position:
    """Whether a log that ends at `offset` with a batch of `last_epoch` is a prefix of this one."""
    start = node.log.start_offset
    snapshots = node.log.snapshots()
    if offset == 0:
        if snapshots and (snapshots[-1].offset or snapshots[-1].epoch):
            return Position(snapshot=snapshots[-1])
        if start == 0:
            return VALID_POSITION
    earliest = snapshots[0] if snapshots else None
    if earliest is not None and (offset < start or (offset == start and last_epoch != earliest.epoch) or last_epoch < earliest.epoch):
        return Position(snapshot=snapshots[-1])
    epoch, end_offset = node.epochs.end_offset_for(last_epoch, node.log_end, node.last_epoch, earliest)
    if epoch != last_epoch or end_offset < offset:
        return Position(diverging=OffsetAndEpoch(end_offset, epoch))
    return VALID_POSITION


def is_answered_now(request: FetchRequest, response: FetchResponse) -> bool:
    """Whether the answer has news, so that it need not wait (KIP-1166: a higher high watermark is news too)."""
    return (
        response.error != NONE
        or response.records != b""
        or request.max_wait_ms == 0
        or response.diverging is not None
        or response.snapshot_id is not None
        or request.high_watermark < response.high_watermark
    )


def answer_parked_fetches(node: Replica, before_offset: int | None) -> None:
    """Answer the fetches that wait for what lies before an offset, or (None: the high watermark rose) all of them."""
    parked = node.parked
    for fetch in parked.take_all() if before_offset is None else parked.take_before(before_offset):
        node.reply(fetch.token, respond_to_fetch(node, fetch.request, fetch.listener))


def expire_parked_fetches(node: Replica) -> int:
    """Answer the expired fetches with the answer of when they came; return when the next one is due."""
    for fetch in node.parked.take_due(node.now_ms):
        node.reply(fetch.token, fetch.response)
    due_ms = node.parked.due_ms()
    return NEVER if due_ms is None else due_ms
