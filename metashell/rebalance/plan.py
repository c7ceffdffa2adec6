"""What is simulated: how many members and partitions, how members share them, how fast everything is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from metashell.options.simulate_tools import STRATEGIES as SUMMARIES


class Strategy(NamedTuple):
    """How the members of a group share partitions. Shape: `assignors` are those of the client, in the order of its configuration; for the
    consumer protocol the one that it asks the coordinator for; for Kafka Streams `stream:RELEASE`, or `stream:RELEASE:UPGRADE_FROM`."""

    name: str
    protocol: str
    """`classic` or `consumer`."""
    assignors: tuple[str, ...]

    @property
    def summary(self) -> str:
        return SUMMARIES[self.name]

    @property
    def is_consumer(self) -> bool:
        return self.protocol == "consumer"


STRATEGIES: Final = {
    one.name: one
    for one in (
        Strategy("eager", "classic", ("range",)),
        Strategy("eager-roundrobin", "classic", ("roundrobin",)),
        Strategy("eager-sticky", "classic", ("sticky",)),
        Strategy("cooperative", "classic", ("cooperative-sticky",)),
        Strategy("consumer", "consumer", ("uniform",)),
        Strategy("consumer-range", "consumer", ("range",)),
        Strategy("streams", "classic", ("stream:4.3",)),
        Strategy("streams-2.0", "classic", ("stream:2.0",)),
    )
}
assert list(STRATEGIES) == list(SUMMARIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Shape: partitions are spread over the topics as evenly as they go. Units: ms; `rate` in records a second and partition."""

    strategy: Strategy
    members: int = 10
    partitions: int = 60
    topics: int = 4
    seed: int = 0
    is_static: bool = False
    latency_ms: tuple[int, int] = (1, 4)
    commit_ms: int = 3
    callback_ms: int = 20
    away_ms: int = 5_000
    """How long a member that is restarted is off."""
    join_gap_ms: int = 200
    metadata_ms: int = 2_000
    """Clients see another topic or partition within this time."""
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    consumer_heartbeat_interval_ms: int = 5_000
    max_poll_interval_ms: int = 300_000
    auto_commit_interval_ms: int = 5_000
    rate: int = 10
    patience_ms: int = 900_000
    """So long after the last change a group may take to settle."""
    quiet_ms: int = 20_000
    """So long nothing may change before a group counts as settled."""

    def topic_sizes(self) -> dict[str, int]:
        """Partitions of each topic, by name."""
        count = max(1, min(self.topics, self.partitions))
        each, more = divmod(self.partitions, count)
        return {f"topic-{number + 1}": each + (number < more) for number in range(count)}
