"""The settings of a replica, in the units and with the defaults of Kafka 4.3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from metashell.raft.messages import Endpoint, Endpoints
from metashell.values import ReplicaKey

BATCH_SIZE_MAX = 8 * 1024 * 1024
"""Bytes of one batch, which is also the most that one atomic append may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaftConfig:
    """Who this replica is, whom it knows at first, and its timing.

    `local` is None for an anonymous observer (replica id -1). `listeners` are all own controller listeners as advertised, the default one
    first. `static_voters` is controller.quorum.voters by id; `bootstrap_servers` controller.quorum.bootstrap.servers.
    `may_stand` False never leaves Unattached, Follower or Resigned: it votes and replicates but asks for no vote and no pre-vote.
    Units: ms, bytes. Source: QuorumConfig, KRaftConfigs.
    """

    cluster_id: str
    local: ReplicaKey | None
    listeners: Endpoints = field(default_factory=dict)
    default_listener: str = "CONTROLLER"
    static_voters: Mapping[int, Endpoint] = field(default_factory=dict)
    bootstrap_servers: tuple[Endpoint, ...] = ()
    is_controller: bool = True
    may_stand: bool = True
    auto_join: bool = False
    election_timeout_ms: int = 1_000
    fetch_timeout_ms: int = 2_000
    election_backoff_max_ms: int = 1_000
    append_linger_ms: int = 25
    request_timeout_ms: int = 2_000
    retry_backoff_ms: int = 20
    fetch_max_wait_ms: int = 500
    fetch_max_size: int = 1024 * 1024
    fetch_snapshot_max_size: int = 1024 * 1024
    retention_size: int = 100 * 1024 * 1024
    retention_ms: int = 7 * 24 * 3_600_000
    clean_interval_ms: int = 60_000
    min_kraft_version: int = 0
    max_kraft_version: int = 1

    def __post_init__(self) -> None:
        """Listener names are compared upper-cased, so they are upper-cased here once."""
        object.__setattr__(self, "default_listener", self.default_listener.upper())
        object.__setattr__(self, "listeners", {name.upper(): endpoint for name, endpoint in self.listeners.items()})
