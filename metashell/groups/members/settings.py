"""A client's settings that its membership goes by, with the defaults of Kafka's Java consumer.

Source: org.apache.kafka.clients.consumer.ConsumerConfig.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemberSettings:
    """Units: ms. Shape: `member_id` only for the consumer protocol, where the client makes it: a uuid as Kafka's text."""

    group_id: str
    client_id: str = ""
    member_id: str = ""
    instance_id: str | None = None
    rack: str | None = None
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    retry_backoff_ms: int = 100
    server_assignor: str | None = None
    finds_coordinator: bool = True
    """Without it the member takes the coordinator as known, and asks again at once when it has moved."""
    first_offset: int = 0
    """Where a partition is read from that has no committed offset."""
