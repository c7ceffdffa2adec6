"""Controllers of the captured cluster, rebuilt from what they knew at a time, with our core in them."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Any

from metashell.common.values import OffsetAndEpoch, ReplicaKey
from metashell.quorum.raft import messages as flat
from metashell.quorum.raft.messages import RaftConfig
from metashell.quorum.raft.node import RaftNode
from metashell.quorum.raft.ready import ElectionState
from metashell.quorum.raft.voters import KRaftVersion, LeaderChange, SnapshotFooter, SnapshotHeader, Voter, VoterSet, write_control_batch
from tests.quorum.raft import captured
from tests.quorum.raft.captured import Batch, Exchange, View
from tests.quorum.raft.solo import START_MS, Solo

CLUSTER_ID = "Z29sZGVuLXdpcmUtY2x1cw"
LISTENER = "CONTROLLER"


def endpoint(id: int) -> flat.Endpoint:
    """Where a controller listened at first, as the capture's configuration says."""
    return "localhost", 20200 + id


def key(id: int) -> ReplicaKey:
    return ReplicaKey(id, captured.directory_ids()[id])


class Rebuilt(Solo):
    """Controller `id` with a log up to an offset and a quorum-state."""

    def __init__(self, id: int, log_end: int, election: ElectionState, wall_ms: int = START_MS) -> None:
        self.id = id
        self.now_ms = START_MS
        self.log = captured.memory_log(log_end)
        self.election = election
        self.sent, self.replies, self.notices = [], [], []
        self.flush_to = None
        self.writes = 0
        if id == 1:
            self.log.add_snapshot(OffsetAndEpoch(0, 0), standalone_snapshot())
        config = RaftConfig(
            cluster_id=CLUSTER_ID,
            local=key(id),
            listeners={LISTENER: endpoint(id)},
            bootstrap_servers=tuple(endpoint(other) for other in captured.CONTROLLERS),
            append_linger_ms=0,
        )
        self.node = RaftNode(config, self.log, election, random=Random(7), now_ms=START_MS, wall_ms=wall_ms)
        self.work(self.node.take_ready())

    def answer_to(self, exchange: Exchange) -> Any:
        """What our core answers, at once or when the request's waiting time is over."""
        before = len(self.replies)
        self.work(self.node.handle_request(exchange, exchange.request, LISTENER, self.now_ms))
        if len(self.replies) == before:
            self.now_ms += exchange.request.max_wait_ms
            self.poll()
        return next(reply.message for reply in self.replies[before:] if reply.token is exchange)

    def grant(self, state: str, *granting: int) -> None:
        """Have votes or pre-votes granted until the node is in another state."""
        for id in granting:
            if self.node.state_name != state:
                self.vote_from(id)
                self.poll()


def standalone_snapshot() -> bytes:
    """The (0, 0) snapshot of a controller that was formatted with --standalone."""
    head = [SnapshotHeader(0), KRaftVersion(1), VoterSet([Voter(key(1), {LISTENER: endpoint(1)}, 0, 1)])]
    return write_control_batch(0, 0, 0, head) + write_control_batch(3, 0, 0, [SnapshotFooter()])


def rebuilt(id: int, view: View) -> Rebuilt:
    """A controller in the state that it was in; a leader has the log that it began with."""
    epoch, others = view.epoch, [other for other in captured.CONTROLLERS if other != id]
    found: Rebuilt
    match view.state:
        case "leader":
            found = RebuiltLeader(epoch)
        case "resigned":
            found = Rebuilt(id, view.log_end, ElectionState(epoch, id))
        case "candidate":
            found = Rebuilt(id, view.log_end, ElectionState(epoch - 1)).stand()
            found.grant("candidate", *others)
        case _:
            found = Rebuilt(id, view.log_end, ElectionState(epoch, view.leader_id, view.voted))
    if view.state == "follower" and view.has_fetched:
        found.poll()
        send, _ = found.take(flat.FetchRequest)[0]
        found.answer(send, flat.FetchResponse(leader_id=view.leader_id, epoch=epoch, high_watermark=0, log_start_offset=0))
    elif view.state == "prospective":
        found.stand()
    assert found.node.epoch == epoch and found.node.state_name == view.state, view
    return found


class RebuiltLeader(Rebuilt):
    """The leader of an epoch: it was elected, and appends what its log got in the capture."""

    def __init__(self, epoch: int) -> None:
        self.first = captured.log()[[batch.epoch for batch in captured.log()].index(epoch)]
        change = self.first.controls[0]
        assert isinstance(change, LeaderChange)
        super().__init__(change.leader_id, self.first.base_offset, ElectionState(epoch - 1), self.first.timestamp)
        self.changes = deque(exchange for exchange in captured.changes() if self.leads_at(exchange))
        others = [id for id in change.granting if id != change.leader_id]
        if others:
            self.stand()
            self.grant("candidate", *others)
            self.at(self.first.timestamp)
            self.grant("leader", *others)
        self.poll()
        self.flush()
        assert self.node.state_name == "leader" and self.node.epoch == epoch

    def leads_at(self, exchange: Exchange) -> bool:
        """Whether a change was asked for in this epoch: its voters are in one of its batches, which bears the time of the request."""
        return captured.change_batch(exchange).epoch == self.first.epoch

    def at(self, timestamp: int) -> None:
        """From now on it is that time, Unix ms."""
        self.node.wall_offset_ms = timestamp - self.now_ms

    def grow_to(self, offset: int) -> None:
        """Append the values that were appended up to an offset, at the times at which they were; voters change as they were asked to."""
        for batch in captured.log():
            if batch.end_offset <= self.log.end_offset:
                continue
            if offset <= self.log.end_offset or batch.epoch > self.node.epoch:
                break
            if batch.controls:
                self.change_voters(self.changes.popleft(), batch)
            else:
                self.append(batch, offset)
            self.poll()
            self.flush()

    def append(self, batch: Batch, before: int) -> None:
        """Append the values of a batch; of a filler only those up to an offset."""
        values = batch.values[self.log.end_offset - batch.base_offset : before - batch.base_offset]
        assert batch.is_filler or len(values) == batch.end_offset - batch.base_offset, "a batch is appended whole"
        self.at(batch.timestamp)
        self.node.prepare_append(self.node.epoch, values)
        self.work(self.node.schedule_append(self.now_ms))

    def change_voters(self, exchange: Exchange, batch: Batch) -> None:
        """Give it the request that led to a batch; all before is committed, and who is added has fetched it."""
        self.hear_from_voters(batch.base_offset)
        if exchange.request.voter_id not in self.node.voters:
            self.hear_from(exchange.request.voter_id, batch.base_offset)
        self.at(batch.timestamp)
        self.work(self.node.handle_request(exchange, exchange.request, LISTENER, self.now_ms))
        for send, _ in self.take(flat.ApiVersionsRequest):
            self.answer(send, flat.ApiVersionsResponse(0, (0, 1)))

    def hear_from(self, id: int, offset: int) -> None:
        """A replica fetches from an offset; what it is answered is left aside."""
        last_epoch = max((batch.epoch for batch in captured.log() if batch.base_offset < offset), default=0)
        request = flat.FetchRequest(CLUSTER_ID, id, key(id).directory_id, self.node.epoch, offset, last_epoch, 0, 1)
        self.ask(request, token=None)

    def hear_from_voters(self, offset: int) -> None:
        for id in self.node.voters.ids:
            if id != self.id:
                self.hear_from(id, offset)

    def answer_to_fetch(self, exchange: Exchange) -> Any:
        """The answer with the log and the high watermark that the captured answer shows."""
        response = exchange.response
        ends = [batch.end_offset for batch in captured.batches_of(response)]
        self.grow_to(max(ends, default=exchange.request.fetch_offset))
        id = response.snapshot_id
        if id is not None and id not in self.log.snapshots():
            self.grow_to(id.offset)
            self.hear_from_voters(id.offset)
            self.log.add_snapshot(id, captured.snapshots()[id])
            self.work(self.node.snapshot_frozen(id, self.now_ms))
        self.grow_to(response.high_watermark)
        self.hear_from_voters(response.high_watermark)
        return self.answer_to(exchange)

    def description(self, exchange: Exchange) -> Any:
        """What it says of the quorum after it heard from each replica what and when the captured answer says."""
        states = {state.id: state for state in (*exchange.response.voters, *exchange.response.observers)}
        own = states.pop(self.id)
        began_ms = self.now_ms
        first = min((state.last_fetch_timestamp for state in states.values() if state.log_end_offset >= 0), default=0)
        for state in sorted(states.values(), key=lambda state: state.last_fetch_timestamp):
            if state.log_end_offset >= 0:
                self.grow_to(state.log_end_offset)
                self.now_ms = began_ms + state.last_fetch_timestamp - first
                self.hear_from(state.id, state.log_end_offset)
        self.grow_to(own.log_end_offset)
        self.now_ms = began_ms + own.last_fetch_timestamp - first
        self.at(own.last_fetch_timestamp)
        return self.answer_to(exchange)
