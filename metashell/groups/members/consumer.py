"""A member of the consumer protocol (KIP-848) that behaves like the Java consumer.

It sends heartbeats only; each answer may hold a new assignment. The member adopts it step by step: commit, revoke, assign, and a heartbeat
that confirms. A heartbeat that joins has all fields, a later one only those that changed.
Source: AbstractMembershipManager, ConsumerMembershipManager and ConsumerHeartbeatRequestManager of
org.apache.kafka.clients.consumer.internals; KIP-848."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, NamedTuple

from metashell.codec import error_codes
from metashell.codec.codes import CONSUMER_GROUP_HEARTBEAT
from metashell.codec.consumer_protocol import Partition
from metashell.codec.messages import ConsumerGroupHeartbeatRequest
from metashell.groups.members import CommitIdentity, MemberSettings, Output
from metashell.groups.members.member import RETRIABLE, MemberMachine

UNSUBSCRIBED: Final = "UNSUBSCRIBED"
JOINING: Final = "JOINING"
RECONCILING: Final = "RECONCILING"
ACKNOWLEDGING: Final = "ACKNOWLEDGING"
STABLE: Final = "STABLE"
FENCED: Final = "FENCED"
LEAVING: Final = "LEAVING"
STALE: Final = "STALE"
FATAL: Final = "FATAL"

LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2
HEARTBEAT_VERSION: Final = 1
_OUTSIDE: Final = frozenset({UNSUBSCRIBED, FENCED, STALE, FATAL})
_URGENT: Final = frozenset({JOINING, ACKNOWLEDGING, LEAVING})
_COMMITTING, _AGAIN, _READY, _CALLING = "committing", "again", "ready", "calling"
"""The steps in which a member adopts an assignment."""
_FENCING: Final = frozenset({error_codes.FENCED_MEMBER_EPOCH, error_codes.UNKNOWN_MEMBER_ID})


class ConsumerMember(MemberMachine):
    """See the module. Shape: `state` is the state's name in Kafka, `generation` the member's epoch; the member id is the client's own."""

    def __init__(self, settings: MemberSettings) -> None:
        super().__init__(settings)
        assert settings.member_id, "the client makes the member id"
        self.state = UNSUBSCRIBED
        self.generation = 0
        self.subscription: frozenset[str] | None = None
        self._pattern: str | None = None
        self._target: Target | None = None
        self._current: Target | None = None
        self._reporter = Reporter(settings)
        self._is_in_flight = False
        self._interval_ms = 0
        self._due_ms = 0
        self._retry_ms = 0
        self._poll_until_ms: int | None = None
        self._step = ""
        self._is_aborted = False
        self._commit_until_ms = 0
        self._commit_again_ms = 0
        self._must_release = False

    # ---- inputs

    def subscribe(self, topics: Collection[str], now_ms: int) -> list[Output]:
        self.subscription, self._pattern = frozenset(topics), None
        return self._taken(now_ms)

    def subscribe_pattern(self, pattern: str, now_ms: int) -> list[Output]:
        """Subscribe by a pattern. In this protocol the broker matches topics."""
        self.subscription, self._pattern = frozenset(), pattern
        return self._taken(now_ms)

    def enforce_rebalance(self, reason: str, now_ms: int) -> list[Output]:
        """Ignore it: in this protocol the broker decides when to rebalance."""
        return self._taken(now_ms)

    def run_due(self, now_ms: int) -> list[Output]:
        if not self.is_over and not self._closing:
            self._look_if_needed(now_ms)
            if self._poll_until_ms is not None and now_ms >= self._poll_until_ms and self._can_send():
                self._leave_unpolled(now_ms)
            elif self._can_send() and not self._is_in_flight and now_ms >= max(self._due_ms, self._retry_ms):
                self._send_heartbeat(now_ms)
        return self._taken(now_ms)

    # ---- queries

    @property
    def giving_up(self) -> frozenset[Partition]:
        """Owned partitions that are not in the assignment being adopted."""
        return self.owned - frozenset(self._resolved().values()) if self._step and self._target is not None else frozenset()

    def next_due_ms(self) -> int | None:
        if self.is_over or self._closing or self.state in _OUTSIDE:
            return None
        if not self._is_coordinator_known:
            return None if self._is_looking else self._look_ms
        times = [] if self._poll_until_ms is None else [self._poll_until_ms]
        if not self._is_in_flight:
            times.append(max(self._due_ms, self._retry_ms))
        return min(times, default=None)

    def next_poll_ms(self) -> int | None:
        if self.is_over or self._then is not None or self.subscription is None:
            return None
        if self._closing:
            return self._close_again_ms if self._closing == "again" else None
        rest_ms = self._polled_ms + self.settings.max_poll_interval_ms // 2
        if self._must_release or self._has_new_topics or self.state == UNSUBSCRIBED or self._step == _READY:
            return 0
        if self._step == _AGAIN:
            return self._commit_again_ms
        if self.state == RECONCILING and not self._step and not self._waits_for_topics():
            return 0
        if self._lacks_positions():
            return self._fetch_ms
        return min(rest_ms, self._commit_due_ms) if self.settings.auto_commit and self.positions else rest_ms

    # ---- the application's thread

    def _poll(self, now_ms: int) -> None:
        self._polled_ms = now_ms
        self._poll_until_ms = now_ms + self.settings.max_poll_interval_ms
        self._go_on(now_ms)

    def _go_on(self, now_ms: int) -> None:
        if self._closing:
            self._close_on(now_ms)
            return
        if self.subscription is None:
            return
        if self._must_release:
            self._release(now_ms)
            if self._then is not None:
                return
        if self.state == UNSUBSCRIBED:
            self._commit_due_ms = now_ms + self.settings.auto_commit_interval_ms
            self._join(now_ms)
        if self._step == _AGAIN and now_ms >= self._commit_again_ms:
            self._commit_first()
        elif self.state == RECONCILING and not self._step:
            self._reconcile(now_ms)
        if self._step == _READY:
            self._take_up(now_ms)
        self._has_new_topics = False
        if self._then is None and self.state not in _OUTSIDE:
            self._fetch_positions(now_ms)
            if not self._step:
                self._commit_when_due(now_ms)

    def _release(self, now_ms: int) -> None:
        """Give up the partitions of a fenced or stale member as lost; then it joins again."""
        self._must_release = False

        def released(now_ms: int) -> None:
            self._own(())
            self._join(now_ms)

        if self.owned:
            self._call("lost", self.owned, released)
        else:
            released(now_ms)

    def _join(self, now_ms: int) -> None:
        self.state = JOINING
        self.generation = 0
        self._target = self._current = None
        self._is_aborted = bool(self._step)
        self._due_ms = self._retry_ms = now_ms

    def _resolved(self) -> dict[tuple[bytes, int], Partition]:
        """Return the partitions of the target whose topics this client knows."""
        assert self._target is not None
        known = {id: self._topics.with_id(id) for id, _ in self._target.partitions}
        return {(id, partition): (topic.name, partition) for id, partition in self._target.partitions if (topic := known[id]) is not None}

    def _waits_for_topics(self) -> bool:
        return self._target == self._current or (
            self._current is not None and self._target is not None and self._current.number == self._target.number
        )

    def _reconcile(self, now_ms: int) -> None:
        if self._target is None or self._target == self._current:
            return
        if self._current is not None and self._current.partitions == frozenset(self._resolved()):
            if self._current.number != self._target.number:
                self._acknowledge(Target(self._target.number, self._current.partitions))
            return
        self._is_aborted = False
        self._commit_until_ms = now_ms + self.settings.max_poll_interval_ms
        self._commit_first()

    def _commit_first(self) -> None:
        wants = self.settings.auto_commit and self._commit(self._reconciling_commit)
        self._step = _COMMITTING if wants else _READY

    def _reconciling_commit(self, code: int, now_ms: int) -> None:
        # A commit before the revocation saves the next owner from reading records twice, so it is retried, also when the epoch was stale:
        # the next heartbeat's answer brings the new one. It is not worth more than max.poll.interval.ms: the coordinator would fence us.
        # A topic that was deleted stays away, so its error ends the commit: classic members of Java retry that one too, and wait.
        is_deleted = code == error_codes.UNKNOWN_TOPIC_OR_PARTITION
        is_worth_it = (code in RETRIABLE and not is_deleted) or code == error_codes.STALE_MEMBER_EPOCH
        if is_worth_it and now_ms < self._commit_until_ms and not self._has_aborted():
            self._step, self._commit_again_ms = _AGAIN, now_ms + self.settings.retry_backoff_ms
        else:
            self._step = _READY

    def _has_aborted(self) -> bool:
        return self.state != RECONCILING or self._is_aborted

    def _take_up(self, now_ms: int) -> None:
        """Drop revoked partitions, then call the application with the new ones, even if there are none."""
        self._step = "" if self._has_aborted() else _CALLING
        if not self._step:
            return
        assert self._target is not None
        resolved = self._resolved()
        taken = Target(self._target.number, frozenset(resolved))
        given = frozenset(resolved.values())
        revoked, added = self.owned - given, given - self.owned

        def assigned(_: int) -> None:
            self._step = ""
            if not self._has_aborted():
                self._acknowledge(taken)

        def assign(_: int) -> None:
            if self._has_aborted():
                self._step = ""
                return
            self._own(given)
            self._call("assigned", added, assigned)

        if revoked:
            self._call("revoked", revoked, assign)
        else:
            assign(now_ms)

    def _acknowledge(self, taken: Target) -> None:
        self._current = taken
        self.state = ACKNOWLEDGING

    # ---- heartbeats

    def _settled(self, now_ms: int) -> None:
        if self.is_over or self._closing:
            return
        self._look_if_needed(now_ms)
        if self.state in _URGENT and self._can_send() and not self._is_in_flight and now_ms >= self._retry_ms:
            self._send_heartbeat(now_ms)

    def _look_if_needed(self, now_ms: int) -> None:
        if self.state not in _OUTSIDE:
            self._look(now_ms)

    def _can_send(self) -> bool:
        return self._is_coordinator_known and self.state not in _OUTSIDE

    def _send_heartbeat(self, now_ms: int) -> None:
        said = ReportedFields(
            self.settings.max_poll_interval_ms,
            self.subscription or frozenset(),
            self._pattern,
            self.settings.server_assignor,
            self._current,
        )
        body = self._reporter.request(self.member_id, self.generation, said, self.state == JOINING)
        self._is_in_flight = True
        self._due_ms = now_ms + self._interval_ms
        if self.state == ACKNOWLEDGING:
            self.state = STABLE if self._target == self._current else RECONCILING
        self._send(CONSUMER_GROUP_HEARTBEAT, HEARTBEAT_VERSION, body, self._take_heartbeat)

    def _take_heartbeat(self, body: Any, now_ms: int) -> None:
        self._is_in_flight = False
        code = error_codes.NETWORK_EXCEPTION if body is None else body.error_code
        self._heard(code)
        if code == error_codes.NONE:
            if body.heartbeat_interval_ms != self._interval_ms:
                self._interval_ms = body.heartbeat_interval_ms
                self._due_ms = now_ms + self._interval_ms
            if self.state not in _OUTSIDE and self.state != LEAVING and body.member_epoch >= 0:
                self.generation = body.member_epoch
                if body.assignment is not None:
                    self._take_assignment(body.assignment)
            return
        self._reporter.forget()
        if code in RETRIABLE:
            self._due_ms = self._retry_ms = now_ms + self.settings.retry_backoff_ms
        elif self.state in _OUTSIDE or self.state == LEAVING:
            return
        elif code in _FENCING:
            self._put_out(FENCED, now_ms)
        else:
            self._die(code, body.error_message)

    def _take_assignment(self, assignment: Any) -> None:
        partitions = frozenset((topic.topic_id, partition) for topic in assignment.topic_partitions for partition in topic.partitions)
        if self._target is None or self._target.partitions != partitions:
            self._target = Target(0 if self._target is None else self._target.number + 1, partitions)
        if self._target != self._current:
            self.state = RECONCILING
        elif self.state in (RECONCILING, JOINING):
            self.state = STABLE

    def _put_out(self, state: str, now_ms: int) -> None:
        """Leave the group until owned partitions are reported lost. A member without any joins at once, unless it must be polled first."""
        self.state = state
        self.generation = 0
        # The callback for lost partitions runs in poll, on the application's thread, so the member cannot join before that.
        if state == FENCED and not self.owned and self._then is None:
            self._join(now_ms)
        else:
            self._must_release = True

    def _die(self, code: int, message: str | None) -> None:
        self.state = FATAL

        def dead(_: int) -> None:
            self._own(())
            self._fail(code, message)

        if self.owned and self._then is None:
            self._call("lost", self.owned, dead)
        else:
            dead(0)

    def _leave_unpolled(self, now_ms: int) -> None:
        """Leave because the application has not polled for max.poll.interval.ms, and join again when it polls."""
        self._poll_until_ms = None
        self.state, self._current = LEAVING, None
        self._send_leave(lambda _body, _now_ms: None, now_ms)
        self._is_in_flight = False
        self._reporter.forget()
        self._put_out(STALE, now_ms)

    def _send_leave(self, handler: Any, now_ms: int) -> None:
        self.generation = LEAVE_EPOCH if self.settings.instance_id is None else STATIC_LEAVE_EPOCH
        said = ReportedFields(
            self.settings.max_poll_interval_ms, self.subscription or frozenset(), self._pattern, self.settings.server_assignor, None
        )
        body = self._reporter.request(self.member_id, self.generation, said, is_joining=False)
        self._send(CONSUMER_GROUP_HEARTBEAT, HEARTBEAT_VERSION, body, handler)

    def _claim(self) -> CommitIdentity:
        return CommitIdentity(self.settings.group_id, self.member_id, self.generation, self.settings.instance_id, uses_ids=True)

    def _loses_what_it_owns(self) -> bool:
        return self.generation <= 0

    def _depart(self, now_ms: int) -> None:
        if not self._can_send():
            self._end()
            return
        self.subscription, self._pattern, self._current, self.state = frozenset(), None, None, LEAVING
        self._send_leave(lambda _body, _now_ms: self._end(), now_ms)

    def _may_commit(self) -> bool:
        return self.state not in _OUTSIDE and self.generation > 0

    def _committed(self, code: int, claim: CommitIdentity) -> None:
        """Ignore it: heartbeats report the membership."""


class Target(NamedTuple):
    """Partitions by topic id in a heartbeat's answer. `number` grows with each assignment that differs from the last."""

    number: int
    partitions: frozenset[tuple[bytes, int]]


class ReportedFields(NamedTuple):
    """The optional fields of a heartbeat. None for a pattern or assignor that the member does not have."""

    rebalance_timeout_ms: int
    topics: frozenset[str]
    pattern: str | None
    assignor: str | None
    current: Target | None


class Reporter:
    """Remembers the fields that the coordinator already has, since a heartbeat has only changed ones."""

    def __init__(self, settings: MemberSettings) -> None:
        self._settings = settings
        self._said: ReportedFields | None = None

    def forget(self) -> None:
        """Send all fields again, because the last request failed."""
        self._said = None

    def request(self, member_id: str, epoch: int, said: ReportedFields, is_joining: bool) -> ConsumerGroupHeartbeatRequest:
        old = None if is_joining else self._said
        body = ConsumerGroupHeartbeatRequest(
            group_id=self._settings.group_id,
            member_id=member_id,
            member_epoch=epoch,
            instance_id=self._settings.instance_id,
            rack_id=self._settings.rack if is_joining else None,
            rebalance_timeout_ms=said.rebalance_timeout_ms if old is None or old.rebalance_timeout_ms != said.rebalance_timeout_ms else -1,
            subscribed_topic_names=tuple(sorted(said.topics)) if old is None or old.topics != said.topics else None,
            # An empty expression removes the earlier one.
            subscribed_topic_regex=(said.pattern or "") if said.pattern != (old.pattern if old else None) else None,
            server_assignor=said.assignor if old is None or old.assignor != said.assignor else None,
            topic_partitions=_reported_partitions(said.current, old),
        )
        self._said = said
        return body


def _reported_partitions(
    current: Target | None, old: ReportedFields | None
) -> tuple[ConsumerGroupHeartbeatRequest.TopicPartitions, ...] | None:
    """Return the partitions once for each adopted assignment, even if they are the same as before."""
    if current is None:
        return ()
    if old is not None and old.current == current:
        return None
    by_id: dict[bytes, list[int]] = {}
    for topic_id, partition in sorted(current.partitions):
        by_id.setdefault(topic_id, []).append(partition)
    return tuple(
        ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=topic_id, partitions=tuple(partitions))
        for topic_id, partitions in by_id.items()
    )
