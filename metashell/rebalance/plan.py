"""What is simulated: how many members and partitions, how members share them, how fast everything is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

STRATEGY_SUMMARIES = {
    "eager": "everything is revoked before each rebalance; assignor range",
    "eager-roundrobin": "everything is revoked before each rebalance; assignor roundrobin",
    "eager-sticky": "everything is revoked before each rebalance; assignor sticky",
    "cooperative": "only what moves is revoked (KIP-429); assignor cooperative-sticky",
    "consumer": "the coordinator assigns (KIP-848); assignor uniform",
    "consumer-range": "the coordinator assigns (KIP-848); assignor range",
    "streams": "Kafka Streams 4.3: cooperative, metadata of version 11",
    "streams-2.0": "Kafka Streams 2.0: eager, metadata of version 3",
}
"""How members share partitions, by name."""
SCENARIO_SUMMARIES = {
    "cold-start": "all members start, one after the other",
    "late-join": "all members start, the last one after the first rebalance",
    "join": "one member joins",
    "leave": "one member leaves",
    "scale-out": "half as many members again join",
    "scale-in": "every other member leaves",
    "crash": "one member dies",
    "leader-crash": "the leader dies while the others wait for its assignment",
    "bounce": "a rolling restart: one member after the other",
    "static-bounce": "a rolling restart of static members: one after the other",
    "restart-all": "all members stop, and start again",
    "storm": "a member joins every 2 s, 20 times",
    "slow-member": "a member joins while another one needs 30 s to let go",
    "stuck-member": "a member joins while another one needs longer than the rebalance timeout to let go",
    "no-poll": "one member does not poll for longer than it may",
    "pause": "a process stops for longer than its session, and goes on",
    "twin": "two processes have the same instance id",
    "more-partitions": "a topic gets twice as many partitions",
    "topic-deleted": "a topic is deleted",
    "failover": "the coordinator moves, at rest and within a rebalance",
    "coordinator-crash": "the broker of the coordinator dies, at rest and within a rebalance",
    "bad-network": "connections break for two minutes",
    "to-cooperative": "from eager to cooperative in two bounces (KIP-429)",
    "to-cooperative-at-once": "from eager to cooperative in one bounce, which fails",
    "to-consumer": "from classic to consumer protocol in one bounce (KIP-848)",
    "to-classic": "from consumer to classic protocol in one bounce",
    "streams-upgrade": "Kafka Streams 2.0 to 3.9 in two bounces: versions 3 to 11 (KIP-268)",
}
"""What happens to a group, by name."""
ASSUMPTIONS = {
    "session-timeout": "45s: a member that is silent for so long is expelled",
    "heartbeat-interval": "3s: classic members send heartbeats this often",
    "max-poll-interval": "5m: also the rebalance timeout",
    "auto-commit-interval": "5s: offsets are committed this often",
    "callback": "20ms: the application needs this long in each callback",
    "away": "5s: a member that restarts is off for so long",
    "join-gap": "200ms: between two members that start together",
    "commit": "3ms: the broker needs this long to commit a record",
    "latency": "4ms: a message takes from 1 ms up to this",
    "metadata": "2s: clients see a new topic within this time",
    "rate": "10: records a second of each partition",
    "patience": "15m: a group that is not at rest by then is reported",
}
"""What is assumed, by name: the default and what it is."""


class Strategy(NamedTuple):
    """How the members of a group share partitions. Shape: `assignors` are those of the client, in the order of its configuration; for the
    consumer protocol the one that it asks the coordinator for; for Kafka Streams `stream:RELEASE`, or `stream:RELEASE:UPGRADE_FROM`."""

    name: str
    protocol: str
    """`classic` or `consumer`."""
    assignors: tuple[str, ...]

    @property
    def summary(self) -> str:
        return STRATEGY_SUMMARIES[self.name]

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
assert list(STRATEGIES) == list(STRATEGY_SUMMARIES)


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
