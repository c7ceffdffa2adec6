"""The broker's settings that the coordinator goes by, with Kafka 4.4's defaults.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorConfig.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

NO_LIMIT: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class KindSettings:
    """What consumer, share and streams groups each have. Units: ms."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    max_size: int = NO_LIMIT
    assignment_interval_ms: int = 1_000
    is_assignor_offloaded: bool = True
    assignors: tuple[str, ...] = ("uniform", "range")
    initial_rebalance_delay_ms: int = 0
    standby_replicas: int = 0
    task_offset_interval_ms: int = 60_000
    acceptable_recovery_lag: int = 10_000


@dataclass(frozen=True, slots=True)
class Settings:
    """Units: ms and bytes."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = NO_LIMIT
    new_member_join_timeout_ms: int = 300_000
    migration_policy: str = "bidirectional"
    consumer: KindSettings = KindSettings()
    share: KindSettings = KindSettings(max_size=200, assignors=("simple",))
    streams: KindSettings = KindSettings(assignors=("sticky",), initial_rebalance_delay_ms=3_000)
    regex_refresh_interval_ms: int = 10_000
    regex_refresh_max_ms: int = 600_000
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_ms: int = 10_080 * 60_000
    offsets_retention_check_interval_ms: int = 600_000
    partitions: int = 50
    node_id: int = 1
    host: str = "localhost"
    port: int = 9092
    """Where the coordinator listens, as FindCoordinator says."""
    has_transactions: bool = False
    """Whether FindCoordinator names this node for transactions too: their state is in memory only."""
