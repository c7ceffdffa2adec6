"""A member of the classic protocol, eager or cooperative, as the Java consumer is one.

It joins, syncs and calls its application back in poll; heartbeats go on beside it. KIP-429 is here: a cooperative member keeps what it
owns while it rejoins, gives up only what it was not given again, and rejoins at once after that.

Source: org.apache.kafka.clients.consumer.internals.AbstractCoordinator, ConsumerCoordinator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from metashell.codec import error_codes
from metashell.codec.api_keys import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP
from metashell.codec.blobs.consumer_protocol import (
    Partition,
    Subscription,
    assignment_bytes,
    read_assignment,
    read_subscription,
    subscription_bytes,
)
from metashell.codec.messages import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest
from metashell.errors import DecodeError, MetashellError
from metashell.groups.members import offsets
from metashell.groups.members.heartbeats import Heartbeats
from metashell.groups.members.member import RETRIABLE, Member
from metashell.groups.members.outputs import Event, Output
from metashell.groups.members.reasons import rebalance_failed
from metashell.groups.members.settings import MemberSettings
from metashell.groups.members.strategy import Joined, Strategy

UNJOINED: Final = "UNJOINED"
PREPARING: Final = "PREPARING_REBALANCE"
COMPLETING: Final = "COMPLETING_REBALANCE"
STABLE: Final = "STABLE"

PROTOCOL_TYPE: Final = "consumer"
JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, LEAVE_VERSION = 9, 5, 4, 5
_AT_ONCE: Final = frozenset(
    {error_codes.UNKNOWN_MEMBER_ID, error_codes.ILLEGAL_GENERATION, error_codes.REBALANCE_IN_PROGRESS, error_codes.MEMBER_ID_REQUIRED}
)
"""Errors of a join or a sync after which the member joins again without waiting."""
_RESETTING: Final = frozenset({error_codes.UNKNOWN_MEMBER_ID, error_codes.ILLEGAL_GENERATION, error_codes.FENCED_INSTANCE_ID})


class ClassicMember(Member):
    """See the module. Shape: `state` is the state's name in Kafka."""

    def __init__(self, settings: MemberSettings, strategies: Sequence[Strategy]) -> None:
        super().__init__(settings)
        assert strategies, "a consumer has at least one assignor"
        self.strategies = list(strategies)
        self.is_cooperative = all(one.is_cooperative for one in strategies)
        self.state = UNJOINED
        self.protocol: str | None = None
        self.is_leader = False
        self.subscription: frozenset[str] | None = None
        self._pattern: re.Pattern[str] | None = None
        self._heartbeats = Heartbeats(settings)
        self._reason = ""
        self._is_rejoin_needed = True
        self._needs_prepare = True
        self._prepare_until_ms: int | None = None
        self._prepare_commit = ""
        self._is_joining = False
        self._arrived: Callable[[int], None] | None = None
        self._retry_ms = 0
        self._joined_subscription: frozenset[str] | None = None
        self._snapshot: dict[str, object] | None = None
        self._assigned_from: frozenset[str] = frozenset()

    # What goes in.

    def subscribe(self, topics: Collection[str], now_ms: int) -> list[Output]:
        self._pattern = None
        self.subscription = frozenset(topics)
        return self._taken(now_ms)

    def subscribe_pattern(self, pattern: str, now_ms: int) -> list[Output]:
        """The client itself finds the topics that match. Errors: re.error."""
        self._pattern = re.compile(pattern)
        self._has_new_topics = True
        if self.subscription is None:
            self.subscription = frozenset()
        return self._taken(now_ms)

    def enforce_rebalance(self, reason: str, now_ms: int) -> list[Output]:
        self._request_rejoin(reason or "rebalance enforced by user")
        return self._taken(now_ms)

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

    # What can be asked.

    @property
    def giving_up(self) -> frozenset[Partition]:
        """All, between an eager member's commit and its callback. A cooperative one learns only later what it has to give up."""
        return self.owned if self._prepare_commit in ("sent", "done") and not self.is_cooperative else frozenset()

    def next_due_ms(self) -> int | None:
        if self.is_over or self._closing:
            return None
        due_ms = self._heartbeats.next_due_ms(self._is_coordinator_known)
        if due_ms is not None and not self._is_coordinator_known and not self._is_looking:
            return min(due_ms, self._look_ms)
        return due_ms

    def next_poll_ms(self) -> int | None:
        if self.is_over or self._then is not None or self.subscription is None:
            return None
        if self._closing:
            return self._close_again_ms if self._closing == "again" else None
        rest_ms = self._polled_ms + self.settings.max_poll_interval_ms // 2
        if not self._is_coordinator_known:
            return rest_ms if self._is_looking else self._look_ms
        if self._arrived is not None or self._has_new_topics:
            return 0
        if self._is_joining:
            return rest_ms
        if self._is_rejoin_needed or self._joined_subscription != self.subscription:
            return rest_ms if self._prepare_commit == "sent" else self._retry_ms
        if self._without_position():
            return self._fetch_ms
        return min(rest_ms, self._commit_due_ms) if self.settings.auto_commit and self.positions else rest_ms

    # The application's side.

    def _poll(self, now_ms: int) -> None:
        self._polled_ms = now_ms
        self._heartbeats.polled(now_ms)
        self._go_on(now_ms)

    def _go_on(self, now_ms: int) -> None:
        """Kafka's poll: everything up to where it has to wait."""
        if self._closing:
            self._heartbeats.switch_off()
            self._close_on(now_ms)
            return
        if self.subscription is None:
            return
        self._see_topics()
        while not self.is_over and self._then is None:
            if not self._is_coordinator_known:
                self._look(now_ms)
                return
            if self._arrived is not None:
                arrived, self._arrived = self._arrived, None
                arrived(now_ms)
            elif not self._is_rejoin_needed_or_pending():
                self._fetch_positions(now_ms)
                self._commit_when_due(now_ms)
                return
            elif self._is_joining or now_ms < self._retry_ms or (self._needs_prepare and not self._prepare(now_ms)):
                return
            else:
                self._send_join()

    def _see_topics(self) -> None:
        self._has_new_topics = False
        if self._pattern is not None:
            self.subscription = frozenset(name for name in self._topics.names() if self._pattern.fullmatch(name))

    def _is_rejoin_needed_or_pending(self) -> bool:
        if self._snapshot is not None and self._snapshot != self._seen(self._assigned_from):
            self._request_rejoin_if_none("cached metadata has changed")
        elif self._joined_subscription is not None and self._joined_subscription != self.subscription:
            self._request_rejoin_if_none("subscription has changed")
        return self._is_rejoin_needed or self._is_joining

    def _seen(self, names: Collection[str]) -> dict[str, object]:
        """What a leader compares: partition counts, and racks where it has one itself."""
        known = {name: self._topics.named(name) for name in names}
        return {name: topic.racks if self.settings.rack else topic.partition_count for name, topic in known.items() if topic is not None}

    def _prepare(self, now_ms: int) -> bool:
        """Commit, and give up what has to be given up before joining. False while that takes its time."""
        if self._prepare_until_ms is None:
            self._prepare_until_ms = now_ms + self.settings.max_poll_interval_ms
            self._prepare_commit = "wanted" if self.settings.auto_commit else "done"
        if self._prepare_commit == "wanted":
            self._prepare_commit = "sent" if self._commit(self._prepared_commit) else "done"
        if self._prepare_commit == "sent" and now_ms < self._prepare_until_ms:
            return False
        event, dropped, is_called = self._given_up()

        def prepared(now_ms: int) -> None:
            self._own(self.owned - dropped)
            self._prepare_until_ms, self._prepare_commit = None, ""
            self.is_leader = self._needs_prepare = False

        if is_called:
            self._call(event, dropped, prepared)
        else:
            prepared(now_ms)
        return not is_called

    def _prepared_commit(self, code: int, now_ms: int) -> None:
        if self._prepare_commit != "sent":
            return  # it took too long, and was not waited for
        if code in RETRIABLE:
            self._prepare_commit, self._retry_ms = "wanted", now_ms + self.settings.retry_backoff_ms
        else:
            self._prepare_commit = "done"

    def _given_up(self) -> tuple[Event, frozenset[Partition], bool]:
        """What is given up before a join: how, which partitions, and whether the application hears of it."""
        if self._has_no_generation():
            return "lost", self.owned, bool(self.owned)
        if not self.is_cooperative:
            return "revoked", self.owned, True
        assert self.subscription is not None
        foreign = frozenset(partition for partition in self.owned if partition[0] not in self.subscription)
        return "revoked", foreign, bool(foreign)

    # Joining.

    def _send_join(self) -> None:
        assert self.subscription is not None
        self._heartbeats.switch_off()
        self.state = PREPARING
        self._is_joining = True
        self._joined_subscription = self.subscription
        claims = () if not self.owned else tuple(self.owned)
        protocols = tuple(
            JoinGroupRequest.JoinGroupRequestProtocol(
                name=strategy.name,
                metadata=subscription_bytes(
                    Subscription(
                        tuple(self.subscription), strategy.user_data(self.subscription), claims, self.generation, self.settings.rack
                    )
                ),
            )
            for strategy in self.strategies
        )
        body = JoinGroupRequest(
            group_id=self.settings.group_id,
            session_timeout_ms=self.settings.session_timeout_ms,
            rebalance_timeout_ms=self.settings.max_poll_interval_ms,
            member_id=self.member_id,
            group_instance_id=self.settings.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=protocols,
            reason=self._reason[:255],
        )
        sent = (self.generation, self.member_id)

        def keep(body: Any, _: int) -> None:
            # Nobody reads it before the application polls: the heartbeats are off.
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
            if body.leader == body.member_id:
                self._lead(body)
            else:
                self._snapshot = None
                self._send_sync(())
            return
        if code == error_codes.MEMBER_ID_REQUIRED:
            self.generation, self.member_id = -1, body.member_id
            self._request_rejoin(f"need to re-join with the given member-id: {body.member_id}")
        elif code == error_codes.UNKNOWN_MEMBER_ID and sent == (self.generation, self.member_id):
            self._reset_after("JOIN_GROUP", code)
        self._join_failed(code, now_ms)

    def _lead(self, body: Any) -> None:
        """Assign for everyone, unless the coordinator says that nothing has changed."""
        self.is_leader = True
        try:
            subscriptions = {member.member_id: read_subscription(member.metadata) for member in body.members}
            self._assigned_from = frozenset(name for one in subscriptions.values() for name in one.topics) | (self.subscription or set())
            self._snapshot = self._seen(self._assigned_from)
            if body.skip_assignment:
                self._send_sync(())
                return
            members = {member.member_id: Joined(subscriptions[member.member_id], member.group_instance_id) for member in body.members}
            given = self._strategy().assign(self._topics, members)
        except MetashellError as error:
            self._fail(error_codes.UNKNOWN_SERVER_ERROR, str(error))
            return
        self._send_sync(
            tuple(
                SyncGroupRequest.SyncGroupRequestAssignment(member_id=member_id, assignment=assignment_bytes(assignment))
                for member_id, assignment in given.items()
            )
        )

    def _strategy(self) -> Strategy:
        return next(one for one in self.strategies if one.name == self.protocol)

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
        """Join again at once, or later, or never. No code: the member was put out of its group meanwhile."""
        self._is_joining = False
        if code != error_codes.MEMBER_ID_REQUIRED:
            self._request_rejoin(rebalance_failed(code))
        if code in _AT_ONCE:
            return
        if code is None or code in RETRIABLE:
            self._retry_ms = now_ms + self.settings.retry_backoff_ms
        else:
            self._fail(code)

    def _complete(self, raw: bytes, now_ms: int) -> None:
        """The application hears what it has now: first what is revoked, then what is new."""
        self._is_joining = False
        self._needs_prepare = True
        if self._has_no_generation() or self.state != STABLE:
            self._reset(
                "rebalance failed since the generation/state was modified by heartbeat thread to "
                f"{self.generation}/{self.state} before the rebalance callback triggered",
                keeps_id=True,
            )
            return
        try:
            given = read_assignment(raw)
        except DecodeError as error:
            self._fail(error_codes.UNKNOWN_SERVER_ERROR, str(error))
            return
        if not all(topic in (self.subscription or ()) for topic, _ in given.partitions):
            self._request_rejoin("received assignment does not match the current subscription")
            return
        revoked = self.owned - frozenset(given.partitions) if self.is_cooperative else frozenset[Partition]()

        def assign(now_ms: int) -> None:
            wants_more = self._strategy().on_assignment(given, self.generation)
            added = frozenset(given.partitions) - self.owned
            self._own(given.partitions)
            self._commit_due_ms = now_ms + self.settings.auto_commit_interval_ms
            self._call("assigned", added, lambda _: self._request_rejoin(wants_more) if wants_more is not None else None)

        def revoke(now_ms: int) -> None:
            self._request_rejoin("need to revoke partitions and re-join")
            assign(now_ms)

        if revoked:
            self._call("revoked", revoked, revoke)
        else:
            assign(now_ms)

    # The membership.

    def _has_no_generation(self) -> bool:
        return self.generation == -1 or not self.member_id

    def _claim(self) -> offsets.Claim:
        return offsets.Claim(self.settings.group_id, self.member_id, self.generation, self.settings.instance_id, uses_ids=False)

    def _request_rejoin(self, reason: str) -> None:
        self._is_rejoin_needed = True
        self._reason = reason

    def _request_rejoin_if_none(self, reason: str) -> None:
        if not self._is_rejoin_needed:
            self._request_rejoin(reason)

    def _reset(self, reason: str, keeps_id: bool) -> None:
        """Out of the group: what is owned is lost with the next join."""
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

    def _committed(self, code: int, claim: offsets.Claim) -> None:
        if code == error_codes.REBALANCE_IN_PROGRESS:
            self._request_rejoin("offset commit failed since group is already rebalancing")
        elif code in (error_codes.UNKNOWN_MEMBER_ID, error_codes.ILLEGAL_GENERATION) and self._is_still(claim):
            self._reset_after("OFFSET_COMMIT", code)

    def _is_still(self, claim: offsets.Claim) -> bool:
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

    def _take_heartbeat(self, body: Any, claim: offsets.Claim, now_ms: int) -> None:
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
        """Leave, if there is somebody to tell. `then` follows the answer, or comes at once."""
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
        """Nothing: joins wait for a poll, heartbeats for their time."""
