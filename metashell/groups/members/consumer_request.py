"""What a member of the consumer protocol puts into its next heartbeat: all of it when it joins, later only what has changed.

Source: org.apache.kafka.clients.consumer.internals.ConsumerHeartbeatRequestManager.HeartbeatState.
"""

from __future__ import annotations

from typing import NamedTuple

from metashell.codec.messages import ConsumerGroupHeartbeatRequest
from metashell.groups.members.settings import MemberSettings


class Target(NamedTuple):
    """Partitions by topic id, as a heartbeat's answer gave them. `number` grows with each that differs from the last."""

    number: int
    partitions: frozenset[tuple[bytes, int]]


class Said(NamedTuple):
    """What can stand in a heartbeat beside who the member is. None for a pattern or assignor that it does not have."""

    rebalance_timeout_ms: int
    topics: frozenset[str]
    pattern: str | None
    assignor: str | None
    current: Target | None


class Reporter:
    """Remembers what the coordinator was told."""

    def __init__(self, settings: MemberSettings) -> None:
        self._settings = settings
        self._said: Said | None = None

    def forget(self) -> None:
        """The last request failed: say everything again."""
        self._said = None

    def request(self, member_id: str, epoch: int, said: Said, is_joining: bool) -> ConsumerGroupHeartbeatRequest:
        old = None if is_joining else self._said
        body = ConsumerGroupHeartbeatRequest(
            group_id=self._settings.group_id,
            member_id=member_id,
            member_epoch=epoch,
            instance_id=self._settings.instance_id,
            rack_id=self._settings.rack if is_joining else None,
            rebalance_timeout_ms=said.rebalance_timeout_ms if old is None or old.rebalance_timeout_ms != said.rebalance_timeout_ms else -1,
            subscribed_topic_names=tuple(sorted(said.topics)) if old is None or old.topics != said.topics else None,
            # An empty expression takes one back.
            subscribed_topic_regex=(said.pattern or "") if said.pattern != (old.pattern if old else None) else None,
            server_assignor=said.assignor if old is None or old.assignor != said.assignor else None,
            topic_partitions=_told(said.current, old),
        )
        self._said = said
        return body


def _told(current: Target | None, old: Said | None) -> tuple[ConsumerGroupHeartbeatRequest.TopicPartitions, ...] | None:
    """The partitions once for each assignment that the member has taken up, also where they are the same ones."""
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
