"""One replica of the quorum, without I/O: each call goes to the part that decides it, and what is to be done comes out.

`RaftNode` decides and never waits. Every call gives one `Ready`; the driver works them off in the order in which they came (`ready` says
how), and makes the next call when the election state of the one before is on disk. A step that changes the role appends nothing, so the
log is never ahead of quorum-state.
Times are those of one monotonic clock, in ms. Nothing that a peer sends raises; what it must not send is counted in `complaints`.

The functions that decide (who gets a vote, what is committed, where to truncate, ...) are small and stand in a module each:
`elections`, `transitions`, `progress`, `fetch`, `snapshots`, `reconfiguration`.
Source: org.apache.kafka.raft.KafkaRaftClient; KIP-595, KIP-630, KIP-853, KIP-996, KIP-1166.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from metashell.codec.error_codes import BROKER_NOT_AVAILABLE, NONE, UNSUPPORTED_VERSION
from metashell.common.values import Epoch, NodeId, Offset, OffsetAndEpoch
from metashell.quorum.raft import elections, fetch, polling, progress, reconfiguration, snapshots, transitions
from metashell.quorum.raft.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    NotLeaderError,
    RaftConfig,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    Request,
    Response,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
    VoteRequest,
    VoteResponse,
)
from metashell.quorum.raft.progress import Metrics, metrics, progress_listeners
from metashell.quorum.raft.ready import NEVER, CorrelationId, ElectionState, Listener, ListenerId, Ready
from metashell.quorum.raft.replica import INQUIRIES_BELOW, Random, Replica
from metashell.quorum.raft.replicated_log import PartialSnapshot, ReplicatedLog
from metashell.quorum.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached

RequestHandler: TypeAlias = Callable[[Replica, object, Any, str], object]
ResponseHandler: TypeAlias = Callable[[Replica, int, Any], bool]


class RaftNode(Replica):
    """A replica as its driver holds it. All attributes are to be read only, but for `wall_offset_ms`."""

    __slots__ = ("_clean_at_ms", "_shut_down")

    def __init__(
        self,
        config: RaftConfig,
        log: ReplicatedLog,
        election: ElectionState,
        *,
        random: Random,
        now_ms: int,
        wall_ms: int = 0,
    ) -> None:
        """Start from what is on disk; `take_ready` returns the first Ready.

        Errors: UsageError for a quorum-state that does not fit the configuration, LogCorruptError for a log that cannot be read.
        """
        super().__init__(config, log, election, random, now_ms, wall_ms)
        self._clean_at_ms = now_ms + config.clean_interval_ms
        self._shut_down = False
        polling.start_replica(self, election)

    def take_ready(self) -> Ready:
        """Return the Ready of the start. Call it once, before any other call."""
        return self.ready

    # What the driver reports

    def handle_request(self, token: object, request: Request, listener: str, now_ms: int) -> Ready:
        """Take a request; the answer, in this Ready or a later one, has `token`. `listener` is where the request came in."""
        ready = self.begin(now_ms)
        _REQUESTS[request.__class__](self, token, request, listener.upper())
        self._finish()
        return ready

    def handle_response(self, destination: int, correlation_id: CorrelationId, response: Response, now_ms: int) -> Ready:
        """Take the answer to a Send. One that is not awaited any more changes nothing."""
        ready = self.begin(now_ms)
        awaited = self.connections_to(destination).find_awaited(destination, correlation_id)
        if awaited is None:
            return ready
        request, self.answering = awaited.request, awaited.endpoint
        awaited_class, handle = _RESPONSES[request.__class__] if destination > INQUIRIES_BELOW else _INQUIRY_RESPONSE
        if response.__class__ is not awaited_class:
            self.complain("a request was answered by an answer to another one")
            is_fine = False
        elif not getattr(response, "shape_ok", True):
            self.complain("a request was answered for another partition than the metadata log's")
            is_fine = False
        elif getattr(response, "top_error", NONE) != NONE and handle is not reconfiguration.handle_api_versions:
            is_fine = self._handle_top_error(request, response.top_error)  # type: ignore[union-attr]
        else:
            is_fine = handle(self, destination, response)
        self._settle(destination, correlation_id, is_fine)
        self._finish()
        return ready

    def handle_failure(self, destination: int, correlation_id: CorrelationId, error_code: int, now_ms: int) -> Ready:
        """Note that a Send got no answer: BROKER_NOT_AVAILABLE, NETWORK_EXCEPTION, or UNSUPPORTED_VERSION where it could not be encoded."""
        ready = self.begin(now_ms)
        awaited = self.connections_to(destination).find_awaited(destination, correlation_id)
        if awaited is None:
            return ready
        request = awaited.request
        is_fine = self._handle_top_error(request, error_code)
        is_old = error_code == UNSUPPORTED_VERSION and isinstance(request, VoteRequest) and request.pre_vote
        if (isinstance(request, VoteRequest) and not is_old) or destination <= INQUIRIES_BELOW:
            self.miss(destination)
        if request.__class__ is ApiVersionsRequest:
            reconfiguration.handle_api_versions(self, destination, ApiVersionsResponse(error_code))
        elif request.__class__ is UpdateRaftVoterRequest and error_code == UNSUPPORTED_VERSION:
            is_fine = reconfiguration.handle_update_response(
                self, UpdateRaftVoterResponse(error_code, self.role.leader_id, self.role.epoch)
            )
        elif request.__class__ in _JOIN_REQUESTS and error_code == UNSUPPORTED_VERSION:
            # A leader that does not know auto-join is a leader all the same: what it has is fetched from it without a pause.
            is_fine = True
        self._settle(destination, correlation_id, is_fine)
        self._finish()
        return ready

    def poll(self, now_ms: int) -> Ready:
        """Time has passed."""
        ready = self.begin(now_ms)
        self._finish()
        return ready

    def next_poll_ms(self) -> int:
        """Return the time when `poll` is due, unless another call comes before."""
        return self.next_poll

    def flushed(self, now_ms: int) -> Ready:
        """Look how far the log is durable, after an fsync of it was done.

        The log alone knows: a step that stood in line between the fsync and this one may have cut the log and grown it again, and then
        what the fsync covered is gone. So no offset of the fsync's time can be handed in; each cut lowers `flushed_offset` at once.
        """
        ready = self.begin(now_ms)
        offset = self.log.flushed_offset
        if offset > self.durable_end:
            self.durable_end = offset
            if isinstance(self.role, Leader):
                progress.update_high_watermark(self, self.role)
        self._finish()
        return ready

    def snapshot_frozen(self, id: OffsetAndEpoch, now_ms: int) -> Ready:
        """Note that a downloaded or an own snapshot is complete and durable."""
        ready = self.begin(now_ms)
        snapshots.complete_download(self, id)
        if id.offset <= self.committed:
            snapshots.complete_own_snapshot(self, id)
        self._finish()
        return ready

    def downloaded_part(self) -> PartialSnapshot | None:
        """The file that a Ready wants frozen."""
        return self.freezing

    def forget(self, token: object) -> None:
        """Forget a token: its connection was closed."""
        self.parked.forget(token)

    # What the own application asks

    def register(self, now_ms: int) -> tuple[ListenerId, Ready]:
        """A new listener's id. It begins as after a restart: with a snapshot, if there is one."""
        ready = self.begin(now_ms)
        id = self.last_listener_id = ListenerId(self.last_listener_id + 1)
        self.listeners[id] = Listener(id)
        self.has_news = True
        self._finish()
        return id, ready

    def consumed(self, listener: ListenerId, end_offset: int, now_ms: int) -> Ready:
        """Note that a listener has taken in all before `end_offset`, of what it was handed."""
        ready = self.begin(now_ms)
        found = self.listeners[listener]
        assert found.is_busy and end_offset >= found.next_offset, "a listener consumes what it was handed"
        found.is_busy = False
        found.next_offset = end_offset
        self.has_news = True
        self._finish()
        return ready

    def prepare_append(self, epoch: Epoch, values: Sequence[bytes], now_ms: int = 0) -> Offset:
        """The offset of the last of `values`, which will lie in one batch; they leave after `schedule_append`.

        Their timestamp is that of `now_ms`, or of the last step where that was later.
        Errors: NotLeaderError, RecordBatchTooLargeError, BufferAllocationError; ValueError for no values, or for an epoch that is to come.
        """
        role = self.role
        if not isinstance(role, Leader) or role.resign_requested:
            raise NotLeaderError(f"append in epoch {epoch}, which this replica does not lead")
        self.now_ms = max(self.now_ms, now_ms)
        return Offset(role.accumulator.prepare(epoch, values, self.now_ms, self.wall_ms()))

    def schedule_append(self, now_ms: int) -> Ready:
        """Release the prepared batches; they leave when the linger time is over."""
        ready = self.begin(now_ms)
        if isinstance(self.role, Leader):
            self.role.accumulator.schedule()
        self._finish()
        return ready

    def resign(self, epoch: Epoch) -> None:
        """Give up leading `epoch` at the next poll, which is due at once.

        Errors: ValueError for an epoch that is to come, or that this replica knows and does not lead.
        """
        role = self.role
        if epoch < 0 or epoch > role.epoch or (epoch == role.epoch and not isinstance(role, Leader | Resigned)):
            raise ValueError(f"cannot resign in epoch {epoch}: the epoch is {role.epoch}, the state {role.name}")
        if epoch == role.epoch and isinstance(role, Leader):
            role.resign_requested = True
            self.next_poll = self.now_ms

    def stand(self, now_ms: int) -> Ready:
        """Ask for pre-votes now, without waiting for an election timeout; nothing where a leader is heard from, or it may not stand.

        Always safe: an election timeout only keeps replicas from standing at the same time. For who starts a quorum and knows that all of
        it is there. A replica that led the latest epoch (`Resigned`) waits for its timeout, or for another.
        """
        ready = self.begin(now_ms)
        role = self.role
        is_free = isinstance(role, Unattached) or (isinstance(role, Follower) and not role.has_fetched)
        if is_free and self.may_stand() and not self.is_shutting_down:
            transitions.become_prospective(self)
        self._finish()
        return ready

    def create_snapshot(self, id: OffsetAndEpoch, last_contained_log_timestamp: int) -> snapshots.SnapshotWriter | None:
        """A writer of a snapshot, None where none may be made; after its `freeze`, call `snapshot_frozen`."""
        return snapshots.create_snapshot(self, id, last_contained_log_timestamp)

    def upgrade_kraft_version(self, epoch: Epoch, version: int, validate_only: bool) -> int | None:
        """Finalize a level of kraft.version. Shape and errors: `reconfiguration.upgrade_kraft_version`. A poll is due then."""
        offset = reconfiguration.upgrade_kraft_version(self, epoch, version, validate_only)
        self.next_poll = self.now_ms
        return offset

    def begin_shutdown(self, timeout_ms: int, now_ms: int) -> Ready:
        """Stop within `timeout_ms`: a leader resigns first and stays until another leads."""
        ready = self.begin(now_ms)
        if not self.is_shutting_down:
            self.shutdown_deadline_ms = self.now_ms + timeout_ms
            if isinstance(self.role, Leader):
                self.role.resign_requested = True
        self._finish()
        return ready

    # What may be asked

    @property
    def is_shut_down(self) -> bool:
        """Whether nothing is left to do before the process may end."""
        return self._shut_down

    @property
    def epoch(self) -> Epoch:
        return Epoch(self.role.epoch)

    @property
    def state_name(self) -> str:
        return self.role.name

    @property
    def leader_id(self) -> NodeId:
        """-1 where none is known."""
        return NodeId(self.role.leader_id)

    @property
    def downloading(self) -> OffsetAndEpoch | None:
        """The snapshot that is being fetched from the leader."""
        role = self.role
        return role.download.id if isinstance(role, Follower) and role.download is not None else None

    @property
    def log_end_offset(self) -> int:
        return self.log_end

    @property
    def kraft_version(self) -> int:
        return self.partition.kraft_version

    def describe(self) -> DescribeQuorumResponse:
        """The quorum as this replica sees it."""
        return progress.describe_quorum(self, DescribeQuorumRequest())

    def metrics(self) -> Metrics:
        return metrics(self)

    # The end of every step

    def _finish(self) -> None:
        if self.has_new_watermark and isinstance(self.role, Leader):
            polling.watermark_advanced(self, self.role)
        if self.recovering is not None:
            polling.maybe_end_recovery(self)
        self.next_poll = polling.poll_role(self)
        if self.has_new_watermark:
            self._catch_up()
        if self.ended is not None:
            reconfiguration.leadership_ended(self, self.ended)
            self.ended = None
        if self.now_ms >= self._clean_at_ms:
            self._clean_at_ms = self.now_ms + self.config.clean_interval_ms
            snapshots.clean_log(self)
        if self._clean_at_ms < self.next_poll:
            self.next_poll = self._clean_at_ms
        if self.shutdown_deadline_ms != NEVER:
            self._shut_down_if_possible()
        if self.has_news:
            self.has_news = False
            if not self._shut_down:
                progress_listeners(self)

    def _catch_up(self) -> None:
        """Repeat while the high watermark rises: the state's work may raise it, and so may the consequences of that."""
        while self.has_new_watermark:
            if not isinstance(self.role, Leader):
                self.has_new_watermark = False
                return
            polling.watermark_advanced(self, self.role)
        self.next_poll = self.now_ms

    def _settle(self, destination: int, correlation_id: CorrelationId, is_fine: bool) -> None:
        # A transition, or a new request to the same destination, has replaced what was awaited.
        connections = self.connections_to(destination)
        if connections.find_awaited(destination, correlation_id) is None:
            return
        if is_fine:
            connections.succeeded(destination)
        else:
            connections.failed(destination, self.now_ms)

    def _handle_top_error(self, request: Request, error: int) -> bool:
        """Handle an error in place of a whole answer; return False, for a pause of the connection, unless there is a way on."""
        if error == UNSUPPORTED_VERSION and isinstance(request, VoteRequest) and request.pre_vote:
            elections.without_pre_vote(self)
            return True
        if error not in (BROKER_NOT_AVAILABLE, UNSUPPORTED_VERSION):
            self.complain(f"a request was answered by error {error} as a whole")
        return False

    def _shut_down_if_possible(self) -> None:
        """Stop when nobody waits for this replica's part in an election, or when the time is over."""
        role = self.role
        is_needed = isinstance(role, Leader | Candidate | Prospective) or role.leader_id in (-1, self.local_id)
        if self.now_ms >= self.shutdown_deadline_ms or not is_needed or not self.is_voter or self.voters.is_only_voter(self.local_key):
            self._shut_down = True
        self.next_poll = min(self.next_poll, self.shutdown_deadline_ms)


def _describe(node: Replica, token: object, request: DescribeQuorumRequest, listener: str) -> None:
    node.reply(token, progress.describe_quorum(node, request))


def _tell_versions(node: Replica, token: object, request: ApiVersionsRequest, listener: str) -> None:
    config = node.config
    node.reply(token, ApiVersionsResponse(0, (config.min_kraft_version, config.max_kraft_version)))


def _update_voter(node: Replica, token: object, request: UpdateRaftVoterRequest, listener: str) -> None:
    leader = node.role
    is_heard = reconfiguration.handle_update_request(node, token, request, listener)
    if is_heard and isinstance(leader, Leader) and request.voter_id in leader.voters:
        progress.count_for_quorum(node, leader, request.voter_id)


_REQUESTS: Final[dict[type, RequestHandler]] = {
    VoteRequest: elections.handle_vote_request,
    BeginQuorumEpochRequest: elections.handle_begin_request,
    EndQuorumEpochRequest: elections.handle_end_request,
    FetchRequest: fetch.handle_fetch_request,
    FetchSnapshotRequest: snapshots.handle_snapshot_request,
    AddRaftVoterRequest: reconfiguration.handle_add,
    RemoveRaftVoterRequest: reconfiguration.handle_remove,
    UpdateRaftVoterRequest: _update_voter,
    DescribeQuorumRequest: _describe,
    ApiVersionsRequest: _tell_versions,
}
_INQUIRY_RESPONSE: Final[tuple[type, ResponseHandler]] = (FetchResponse, elections.handle_inquiry_response)
_JOIN_REQUESTS: Final = frozenset((AddRaftVoterRequest, RemoveRaftVoterRequest))
_RESPONSES: Final[dict[type, tuple[type, ResponseHandler]]] = {
    VoteRequest: (VoteResponse, elections.handle_vote_response),
    BeginQuorumEpochRequest: (BeginQuorumEpochResponse, elections.handle_begin_response),
    EndQuorumEpochRequest: (EndQuorumEpochResponse, elections.handle_end_response),
    FetchRequest: (FetchResponse, fetch.handle_fetch_response),
    FetchSnapshotRequest: (FetchSnapshotResponse, snapshots.handle_snapshot_response),
    AddRaftVoterRequest: (AddRaftVoterResponse, lambda node, _, response: reconfiguration.handle_join_response(node, response)),
    RemoveRaftVoterRequest: (RemoveRaftVoterResponse, lambda node, _, response: reconfiguration.handle_join_response(node, response)),
    UpdateRaftVoterRequest: (UpdateRaftVoterResponse, lambda node, _, response: reconfiguration.handle_update_response(node, response)),
    DescribeQuorumRequest: (DescribeQuorumResponse, lambda *_: True),
    ApiVersionsRequest: (ApiVersionsResponse, reconfiguration.handle_api_versions),
}
