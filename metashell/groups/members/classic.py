"""A member of the classic protocol, eager or cooperative, as the Java consumer is one.

It joins, syncs and calls its application back in poll; heartbeats go on beside it. KIP-429 is here: a cooperative member keeps what it
owns while it rejoins, gives up only what it was not given again, and rejoins at once after that.

Source: org.apache.kafka.clients.consumer.internals.ConsumerCoordinator.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from metashell.codec import error_codes
from metashell.codec.consumer_protocol import (
    Partition,
    Subscription,
    assignment_bytes,
    read_assignment,
    read_subscription,
    subscription_bytes,
)
from metashell.codec.messages import JoinGroupRequest, SyncGroupRequest
from metashell.common.errors import DecodeError, MetashellError
from metashell.groups.members import Event, MemberSettings, Output
from metashell.groups.members.member import RETRIABLE
from metashell.groups.members.membership import STABLE, Membership
from metashell.groups.members.strategy import Joined, Strategy


class ClassicMember(Membership):
    """See the module. Shape: `subscription` are the current topics, including those that match a pattern."""

    def __init__(self, settings: MemberSettings, strategies: Sequence[Strategy]) -> None:
        super().__init__(settings)
        assert strategies, "a consumer has at least one assignor"
        self.strategies = list(strategies)
        self.is_cooperative = all(one.is_cooperative for one in strategies)
        self.is_leader = False
        self.subscription: frozenset[str] | None = None
        self._pattern: re.Pattern[str] | None = None
        self._prepare_until_ms: int | None = None
        self._prepare_commit = ""
        self._joined_subscription: frozenset[str] | None = None
        self._snapshot: dict[str, object] | None = None
        self._assigned_from: frozenset[str] = frozenset()
        self._assigned_by = self._topics

    # ---- inputs

    def subscribe(self, topics: Collection[str], now_ms: int) -> list[Output]:
        self._pattern = None
        self.subscription = frozenset(topics)
        return self._taken(now_ms)

    def subscribe_pattern(self, pattern: str, now_ms: int) -> list[Output]:
        """Subscribe by a pattern. In this protocol the client itself matches topics. Errors: re.error."""
        self._pattern = re.compile(pattern)
        self._has_new_topics = True
        if self.subscription is None:
            self.subscription = frozenset()
        return self._taken(now_ms)

    def enforce_rebalance(self, reason: str, now_ms: int) -> list[Output]:
        self._request_rejoin(reason or "rebalance enforced by user")
        return self._taken(now_ms)

    # ---- queries

    @property
    def giving_up(self) -> frozenset[Partition]:
        """All, between an eager member's commit and its callback. A cooperative member learns only later what it must revoke."""
        return self.owned if self._prepare_commit in ("sent", "done") and not self.is_cooperative else frozenset()

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
        if self._lacks_positions():
            return self._fetch_ms
        return min(rest_ms, self._commit_due_ms) if self.settings.auto_commit and self.positions else rest_ms

    # ---- the application's thread

    def _poll(self, now_ms: int) -> None:
        self._polled_ms = now_ms
        self._heartbeats.polled(now_ms)
        self._go_on(now_ms)

    def _go_on(self, now_ms: int) -> None:
        """Do the consumer's poll, up to the point where it must wait."""
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
        if self._snapshot is not None and self._topics is not self._assigned_by and self._snapshot != self._seen(self._assigned_from):
            self._request_rejoin_if_none("cached metadata has changed")
        elif self._joined_subscription is not None and self._joined_subscription != self.subscription:
            self._request_rejoin_if_none("subscription has changed")
        return self._is_rejoin_needed or self._is_joining

    def _seen(self, names: Collection[str]) -> dict[str, object]:
        """Return the metadata that a leader compares: partition counts, and racks if it has a rack itself."""
        known = {name: self._topics.named(name) for name in names}
        return {name: topic.racks if self.settings.rack else topic.partition_count for name, topic in known.items() if topic is not None}

    def _prepare(self, now_ms: int) -> bool:
        """Commit and revoke before a join. Returns False while that is in progress.

        An eager member commits and revokes everything here, since another member may get its partitions in the next generation. A
        cooperative one keeps them: until the assignment comes, it continues to read.
        """
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
            return  # the join did not wait for a commit that took too long
        if code in RETRIABLE:
            self._prepare_commit, self._retry_ms = "wanted", now_ms + self.settings.retry_backoff_ms
        else:
            self._prepare_commit = "done"

    def _given_up(self) -> tuple[Event, frozenset[Partition], bool]:
        """Return how partitions are given up before a join, which ones, and whether the application gets a callback."""
        if self._has_no_generation():
            return "lost", self.owned, bool(self.owned)
        if not self.is_cooperative:
            return "revoked", self.owned, True
        assert self.subscription is not None
        foreign = frozenset(partition for partition in self.owned if partition[0] not in self.subscription)
        return "revoked", foreign, bool(foreign)

    # ---- joining

    def _protocols(self) -> tuple[JoinGroupRequest.JoinGroupRequestProtocol, ...]:
        assert self.subscription is not None
        self._joined_subscription = self.subscription
        topics, claims = tuple(self.subscription), tuple(self.owned)
        return tuple(
            JoinGroupRequest.JoinGroupRequestProtocol(
                name=strategy.name,
                metadata=subscription_bytes(
                    Subscription(topics, strategy.user_data(self.subscription), claims, self.generation, self.settings.rack)
                ),
            )
            for strategy in self.strategies
        )

    def _joined(self, body: Any) -> None:
        if body.leader == body.member_id:
            self._lead(body)
        else:
            self._snapshot = None
            self._send_sync(())

    def _lead(self, body: Any) -> None:
        """Assign partitions as leader, unless the coordinator says that nothing has changed (KIP-814)."""
        self.is_leader = True
        try:
            subscriptions = {member.member_id: read_subscription(member.metadata) for member in body.members}
            self._assigned_from = frozenset(name for one in subscriptions.values() for name in one.topics) | (self.subscription or set())
            self._snapshot, self._assigned_by = self._seen(self._assigned_from), self._topics
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

    def _complete(self, raw: bytes, now_ms: int) -> None:
        """Call the application with the new assignment: first revoked partitions, then new ones.

        A cooperative member that has revoked partitions joins again at once. The leader withheld these partitions from their new owners,
        and the next generation, in which nobody claims them, assigns them (KIP-429).
        """
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
            try:
                wants_more = self._strategy().on_assignment(given, self.generation)
            except MetashellError as error:
                self._fail(error_codes.UNKNOWN_SERVER_ERROR, str(error))
                return
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
