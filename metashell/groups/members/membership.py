"""Membership in a classic group: joins, syncs, heartbeats, leaving, and their answers.

`classic` decides what its application has to do. The reasons for a rejoin are in the words of the Java consumer (KIP-800).
Source: org.apache.kafka.clients.consumer.internals.AbstractCoordinator and Heartbeat."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Final

from metashell.codec import error_codes
from metashell.codec.codes import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP
from metashell.codec.messages import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest
from metashell.groups.members import CommitIdentity, MemberSettings, Output
from metashell.groups.members.member import RETRIABLE, MemberMachine

UNJOINED: Final = "UNJOINED"
PREPARING: Final = "PREPARING_REBALANCE"
COMPLETING: Final = "COMPLETING_REBALANCE"
STABLE: Final = "STABLE"

PROTOCOL_TYPE: Final = "consumer"
JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, LEAVE_VERSION = 9, 5, 4, 5
_AT_ONCE: Final = frozenset(
    {error_codes.UNKNOWN_MEMBER_ID, error_codes.ILLEGAL_GENERATION, error_codes.REBALANCE_IN_PROGRESS, error_codes.MEMBER_ID_REQUIRED}
)
"""Errors of a join or sync after which the member joins again at once."""
_RESETTING: Final = frozenset({error_codes.UNKNOWN_MEMBER_ID, error_codes.ILLEGAL_GENERATION, error_codes.FENCED_INSTANCE_ID})


class Membership(MemberMachine):
    """Shape: `state` is the state's name in Kafka, `protocol` the assignor that the coordinator chose."""

    def __init__(self, settings: MemberSettings) -> None:
        super().__init__(settings)
        self.state = UNJOINED
        self.protocol: str | None = None
        self._heartbeats = Heartbeats(settings)
        self._reason = ""
        self._is_rejoin_needed = True
        self._needs_prepare = True
        self._is_joining = False
        self._arrived: Callable[[int], None] | None = None
        self._retry_ms = 0

    def run_due(self, now_ms: int) -> list[Output]:
        beats = self._heartbeats
        if self.is_over or self._closing or not beats.is_on:
            return self._taken(now_ms)
        if not self._is_coordinator_known:
            self._look(now_ms)
        elif beats.has_session_expired(now_ms):
            self._is_coordinator_known = not self.settings.finds_coordinator
            beats.received(now_ms)
            self._look(now_ms)
        elif beats.has_poll_expired(now_ms):
            self._leave("consumer poll timeout has expired.", None)
        elif beats.is_due(now_ms):
            self._send_heartbeat(now_ms)
        return self._taken(now_ms)

    def next_due_ms(self) -> int | None:
        if self.is_over or self._closing:
            return None
        due_ms = self._heartbeats.next_due_ms(self._is_coordinator_known)
        if due_ms is not None and not self._is_coordinator_known and not self._is_looking:
            return min(due_ms, self._look_ms)
        return due_ms

    @abstractmethod
    def _protocols(self) -> tuple[JoinGroupRequest.JoinGroupRequestProtocol, ...]:
        """Return the protocols for a join."""

    @abstractmethod
    def _joined(self, body: Any) -> None:
        """Sync as leader or follower, because a generation has begun."""

    @abstractmethod
    def _complete(self, raw: bytes, now_ms: int) -> None:
        """Adopt the assignment."""

    # ---- joining

    def _send_join(self) -> None:
        self._heartbeats.switch_off()
        self.state = PREPARING
        self._is_joining = True
        body = JoinGroupRequest(
            group_id=self.settings.group_id,
            session_timeout_ms=self.settings.session_timeout_ms,
            rebalance_timeout_ms=self.settings.max_poll_interval_ms,
            member_id=self.member_id,
            group_instance_id=self.settings.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=self._protocols(),
            reason=self._reason[:255],
        )
        sent = (self.generation, self.member_id)

        def keep(body: Any, _: int) -> None:
            # Heartbeats are off, so only the application's poll reads the answer.
            self._arrived = lambda now_ms: self._take_join(body, sent, now_ms)

        self._send(JOIN_GROUP, JOIN_VERSION, body, keep)

    def _take_join(self, body: Any, sent: tuple[int, str], now_ms: int) -> None:
        code = error_codes.NETWORK_EXCEPTION if body is None else body.error_code
        self._heard(code)
        if code == error_codes.NONE:
            if self.state != PREPARING:
                self._join_failed(None, now_ms)
                return
            self.state = COMPLETING
            self.generation, self.member_id, self.protocol = body.generation_id, body.member_id, body.protocol_name
            self._heartbeats.switch_on(now_ms)
            self._joined(body)
            return
        if code == error_codes.MEMBER_ID_REQUIRED:
            self.generation, self.member_id = -1, body.member_id
            self._request_rejoin(f"need to re-join with the given member-id: {body.member_id}")
        elif code == error_codes.UNKNOWN_MEMBER_ID and sent == (self.generation, self.member_id):
            self._reset_after("JOIN_GROUP", code)
        self._join_failed(code, now_ms)

    def _send_sync(self, assignments: tuple[SyncGroupRequest.SyncGroupRequestAssignment, ...]) -> None:
        body = SyncGroupRequest(
            group_id=self.settings.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.settings.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=self.protocol,
            assignments=assignments,
        )
        sent = (self.generation, self.member_id)
        self._send(SYNC_GROUP, SYNC_VERSION, body, lambda body, now_ms: self._take_sync(body, sent))

    def _take_sync(self, body: Any, sent: tuple[int, str]) -> None:
        code = error_codes.NETWORK_EXCEPTION if body is None else body.error_code
        self._heard(code)
        if code == error_codes.NONE and self._has_no_generation():
            code = error_codes.ILLEGAL_GENERATION
        elif code == error_codes.NONE and self.state == COMPLETING and body.protocol_name == self.protocol:
            self.state = STABLE
            self._reason = ""
            self._is_rejoin_needed = False
            self._arrived = lambda now_ms: self._complete(body.assignment, now_ms)
            return
        elif code == error_codes.NONE:
            code = error_codes.INCONSISTENT_GROUP_PROTOCOL if self.state == COMPLETING else error_codes.ILLEGAL_GENERATION
        elif code in (error_codes.UNKNOWN_MEMBER_ID, error_codes.ILLEGAL_GENERATION) and sent == (self.generation, self.member_id):
            self._reset_after("SYNC_GROUP", code)
        self._arrived = lambda now_ms: self._join_failed(code, now_ms)

    def _join_failed(self, code: int | None, now_ms: int) -> None:
        """Join again at once, later or never. `code` is None if the member was removed from its group meanwhile."""
        self._is_joining = False
        if code != error_codes.MEMBER_ID_REQUIRED:
            self._request_rejoin(rebalance_failed(code))
        if code in _AT_ONCE:
            return
        if code is None or code in RETRIABLE:
            self._retry_ms = now_ms + self.settings.retry_backoff_ms
        else:
            self._fail(code)

    # ---- the membership

    def _has_no_generation(self) -> bool:
        return self.generation == -1 or not self.member_id

    def _claim(self) -> CommitIdentity:
        return CommitIdentity(self.settings.group_id, self.member_id, self.generation, self.settings.instance_id, uses_ids=False)

    def _request_rejoin(self, reason: str) -> None:
        self._is_rejoin_needed = True
        self._reason = reason

    def _request_rejoin_if_none(self, reason: str) -> None:
        if not self._is_rejoin_needed:
            self._request_rejoin(reason)

    def _reset(self, reason: str, keeps_id: bool) -> None:
        """Leave the group; the next join reports owned partitions as lost."""
        self.state = UNJOINED
        self.generation = -1
        if not keeps_id:
            self.member_id = ""
        self._heartbeats.switch_off()
        self._request_rejoin(reason)
        self._needs_prepare = True

    def _reset_after(self, api: str, code: int) -> None:
        name = {getattr(error_codes, name): name for name in ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_INSTANCE_ID")}[code]
        self._reset(f"encountered {name} from {api} response", keeps_id=code == error_codes.ILLEGAL_GENERATION)

    def _may_commit(self) -> bool:
        return self.state == STABLE

    def _committed(self, code: int, claim: CommitIdentity) -> None:
        if code == error_codes.REBALANCE_IN_PROGRESS:
            self._request_rejoin("offset commit failed since group is already rebalancing")
        elif code in (error_codes.UNKNOWN_MEMBER_ID, error_codes.ILLEGAL_GENERATION) and self._is_still(claim):
            self._reset_after("OFFSET_COMMIT", code)

    def _is_still(self, claim: CommitIdentity) -> bool:
        return (claim.generation, claim.member_id) == (self.generation, self.member_id)

    def _send_heartbeat(self, now_ms: int) -> None:
        body = HeartbeatRequest(
            group_id=self.settings.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.settings.instance_id,
        )
        claim = self._claim()
        self._heartbeats.sent(now_ms)
        self._send(HEARTBEAT, HEARTBEAT_VERSION, body, lambda body, now_ms: self._take_heartbeat(body, claim, now_ms))

    def _take_heartbeat(self, body: Any, claim: CommitIdentity, now_ms: int) -> None:
        code = error_codes.NETWORK_EXCEPTION if body is None else body.error_code
        self._heard(code)
        if code == error_codes.REBALANCE_IN_PROGRESS and self.state == STABLE:
            self._request_rejoin("group is already rebalancing")
        if code in (error_codes.NONE, error_codes.REBALANCE_IN_PROGRESS) or (code in _RESETTING and not self._is_still(claim)):
            self._heartbeats.received(now_ms)
        elif code in _RESETTING:
            self._reset_after("HEARTBEAT", code)
            if code == error_codes.FENCED_INSTANCE_ID:
                self._fail(code)
        elif code in RETRIABLE:
            self._heartbeats.failed(now_ms)
        else:
            self._fail(code)

    def _leave(self, reason: str, then: Callable[[int], None] | None) -> None:
        """Send LeaveGroup if that is needed. `then` runs after the answer, or at once."""
        is_told = self.settings.instance_id is None and self._is_coordinator_known and self.state != UNJOINED and bool(self.member_id)
        if is_told:
            body = LeaveGroupRequest(
                group_id=self.settings.group_id,
                members=(LeaveGroupRequest.MemberIdentity(member_id=self.member_id, reason=reason[:255]),),
            )
            self._send(LEAVE_GROUP, LEAVE_VERSION, body, lambda _, now_ms: then(now_ms) if then is not None else None)
        self._reset("consumer pro-actively leaving the group", keeps_id=False)
        if not is_told and then is not None:
            then(0)

    def _loses_what_it_owns(self) -> bool:
        return self._has_no_generation() or self.state in (PREPARING, COMPLETING)

    def _depart(self, now_ms: int) -> None:
        self._leave("the consumer is being closed", lambda _: self._end())

    def _settled(self, now_ms: int) -> None:
        """Do nothing: joins wait for a poll, heartbeats for their time."""


class Heartbeats:
    """The timers of heartbeats. Units: ms. They run only while `is_on`: from the answer of a join until the next join is sent."""

    def __init__(self, settings: MemberSettings) -> None:
        self._settings = settings
        self.is_on = False
        self.is_in_flight = False
        self._due_ms = 0
        self._session_ms = 0
        self._poll_ms = 0

    def switch_on(self, now_ms: int) -> None:
        """Start the timers, unless they run already."""
        if not self.is_on:
            self.is_on = True
            self.is_in_flight = False
            self._due_ms = now_ms + self._settings.heartbeat_interval_ms
            self._session_ms = now_ms + self._settings.session_timeout_ms
            self._poll_ms = now_ms + self._settings.max_poll_interval_ms

    def switch_off(self) -> None:
        self.is_on = False

    def polled(self, now_ms: int) -> None:
        self._poll_ms = now_ms + self._settings.max_poll_interval_ms

    def sent(self, now_ms: int) -> None:
        self.is_in_flight = True
        self._due_ms = now_ms + self._settings.heartbeat_interval_ms

    def received(self, now_ms: int) -> None:
        self.is_in_flight = False
        self._session_ms = now_ms + self._settings.session_timeout_ms

    def failed(self, now_ms: int) -> None:
        self.is_in_flight = False
        self._due_ms = now_ms + self._settings.retry_backoff_ms

    def is_due(self, now_ms: int) -> bool:
        return not self.is_in_flight and now_ms >= self._due_ms

    def has_session_expired(self, now_ms: int) -> bool:
        return now_ms >= self._session_ms

    def has_poll_expired(self, now_ms: int) -> bool:
        return now_ms >= self._poll_ms

    def next_due_ms(self, has_coordinator: bool) -> int | None:
        """Return when the first timer is due. Without a coordinator only max.poll.interval.ms counts."""
        if not self.is_on:
            return None
        if not has_coordinator:
            return self._poll_ms
        return min(self._session_ms, self._poll_ms, *(() if self.is_in_flight else (self._due_ms,)))


_EXCEPTIONS: Final = {
    error_codes.UNKNOWN_SERVER_ERROR: "UnknownServerException",
    error_codes.REQUEST_TIMED_OUT: "TimeoutException",
    error_codes.NETWORK_EXCEPTION: "DisconnectException",
    error_codes.COORDINATOR_LOAD_IN_PROGRESS: "CoordinatorLoadInProgressException",
    error_codes.COORDINATOR_NOT_AVAILABLE: "CoordinatorNotAvailableException",
    error_codes.NOT_COORDINATOR: "NotCoordinatorException",
    error_codes.ILLEGAL_GENERATION: "IllegalGenerationException",
    error_codes.UNKNOWN_MEMBER_ID: "UnknownMemberIdException",
    error_codes.REBALANCE_IN_PROGRESS: "RebalanceInProgressException",
}


def rebalance_failed(code: int | None) -> str:
    """Return a reason with the class of Java's exception. `code` is None if the member left its group before the answer came."""
    name = "UnjoinedGroupException" if code is None else _EXCEPTIONS.get(code, "KafkaException")
    return f"rebalance failed due to {name}"
