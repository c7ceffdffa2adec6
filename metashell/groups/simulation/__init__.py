"""Groups on a virtual clock: members, coordinator, assignors and network in one process, with checkers. This module has plan and outcome.

Promises:
- The code that decides is the real one: `groups.members` are the clients, `groups.coordinator` the broker's side. Only time, the network,
  the log in memory and the applications (which poll, run callbacks and process records) are modelled.
- Chance comes from a seed: the same `Plan` and scenario give the same outcome, event by event.
- The checkers (`RULES`) never stop a run: violations are in `Outcome`. They see callbacks, batches and commits as they happen, and never
  walk the whole group at each event.

Flow: `simulate(plan, scenario)` makes a `World`, which lets the group settle, plays the steps of one of `SCENARIOS`, and ends when the
group has settled again and nothing changes any more. The checkers get every callback of a client, and every batch and answer of the node;
`Ledger` knows who owns what since when, `GroupRecords` what the log says.

A member that the coordinator has removed, by a timeout or because it was replaced, may still believe that it owns partitions which another
member got. The protocol allows that, and it is counted as a zombie; a commit of a zombie that is accepted is a violation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from metashell.common.errors import UsageError
from metashell.common.options import one_of, whole_number
from metashell.common.values import duration_ms

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
"""Strategies: how members share partitions, by name."""
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
    "slow-member": "a member joins while another one needs 30 s to revoke",
    "stuck-member": "a member joins while another one needs longer than the rebalance timeout to revoke",
    "no-poll": "one member does not poll for longer than max.poll.interval.ms",
    "pause": "a process pauses for longer than its session, and continues",
    "twin": "two processes have the same instance id",
    "more-partitions": "a topic gets twice as many partitions",
    "topic-deleted": "a topic is deleted",
    "failover": "the coordinator moves, in a settled group and within a rebalance",
    "coordinator-crash": "the coordinator's broker dies, in a settled group and within a rebalance",
    "bad-network": "connections break for two minutes",
    "to-cooperative": "from eager to cooperative in two bounces (KIP-429)",
    "to-cooperative-at-once": "from eager to cooperative in one bounce, which fails",
    "to-consumer": "from classic to consumer protocol in one bounce (KIP-848)",
    "to-classic": "from consumer to classic protocol in one bounce",
    "streams-upgrade": "Kafka Streams 2.0 to 3.9 in two bounces: versions 3 to 11 (KIP-268)",
}
"""Scenarios: what happens to a group, by name."""
ASSUMPTIONS = {
    "session-timeout": "45s: a member that is silent for this long is removed",
    "heartbeat-interval": "3s: the interval of heartbeats of classic members",
    "max-poll-interval": "5m: also the rebalance timeout",
    "auto-commit-interval": "5s: the interval of commits of offsets",
    "callback": "20ms: the duration of each callback of the application",
    "away": "5s: the time that a restarted member is down",
    "join-gap": "200ms: the time between two members that start together",
    "commit": "3ms: the time in which the broker commits a record",
    "latency": "4ms: a message takes from 1 ms up to this",
    "metadata": "2s: clients see a new topic within this time",
    "rate": "10: records a second of each partition",
    "patience": "15m: a group that has not settled by then is reported",
}
"""Assumptions by name: the default and a description."""


class StrategyConfig(NamedTuple):
    """The strategy by which members share partitions. Shape: `assignors` are the client's, in the order of its configuration; for the
    consumer protocol, the one that it requests; for Kafka Streams `stream:RELEASE` or `stream:RELEASE:UPGRADE_FROM`.
    """

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
        StrategyConfig("eager", "classic", ("range",)),
        StrategyConfig("eager-roundrobin", "classic", ("roundrobin",)),
        StrategyConfig("eager-sticky", "classic", ("sticky",)),
        StrategyConfig("cooperative", "classic", ("cooperative-sticky",)),
        StrategyConfig("consumer", "consumer", ("uniform",)),
        StrategyConfig("consumer-range", "consumer", ("range",)),
        StrategyConfig("streams", "classic", ("stream:4.3",)),
        StrategyConfig("streams-2.0", "classic", ("stream:2.0",)),
    )
}
assert list(STRATEGIES) == list(STRATEGY_SUMMARIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A simulated group. Shape: partitions are spread evenly over topics. Units: ms; `rate` in records a second and partition."""

    strategy: StrategyConfig
    members: int = 10
    partitions: int = 60
    topics: int = 4
    seed: int = 0
    is_static: bool = False
    latency_ms: tuple[int, int] = (1, 4)
    commit_ms: int = 3
    callback_ms: int = 20
    away_ms: int = 5_000
    """The time for which a restarted member is down."""
    join_gap_ms: int = 200
    metadata_ms: int = 2_000
    """The time within which clients see a new topic or partition."""
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    consumer_heartbeat_interval_ms: int = 5_000
    max_poll_interval_ms: int = 300_000
    auto_commit_interval_ms: int = 5_000
    rate: int = 10
    patience_ms: int = 900_000
    """The time in which a group must settle after the last change."""
    quiet_ms: int = 20_000
    """The time without a change after which a group counts as settled."""

    def topic_sizes(self) -> dict[str, int]:
        """Return the number of partitions of each topic, by name."""
        count = max(1, min(self.topics, self.partitions))
        each, more = divmod(self.partitions, count)
        return {f"topic-{number + 1}": each + (number < more) for number in range(count)}


_ZERO_IS_FINE = frozenset({"callback", "join-gap", "commit", "metadata", "rate"})


def apply_assumptions(plan: Plan, named: Mapping[str, str]) -> Plan:
    """Return the plan with other assumptions. Errors: UsageError for an unknown name or an impossible value."""
    for name, text in named.items():
        try:
            plan = replace(plan, **_assumed_field(one_of(name, tuple(ASSUMPTIONS)), text))
        except UsageError as error:
            raise UsageError(f"option --assume: {error}", error.argument) from None
    return plan


def _assumed_field(name: str, text: str) -> dict[str, Any]:
    value = whole_number(text) if name == "rate" else duration_ms(text)
    if not value and name not in _ZERO_IS_FINE:
        raise UsageError(f"{text!r}: {name} cannot be nothing", text)
    if name == "rate":
        return {"rate": value}
    if name == "latency":
        return {"latency_ms": (1, value)}
    return {f"{name.replace('-', '_')}_ms": value}


class Violation(NamedTuple):
    """A broken rule. `rule` is one of `RULES`."""

    rule: str
    at_ms: int
    text: str


RULES = {
    "owners": "a partition has at most one owner at any time",
    "subscribed": "a member is assigned only partitions of topics that it subscribes to",
    "settles": "a group settles once changes stop",
    "rounds": "a group does not keep rebalancing without a cause",
    "keeps": "a cooperative member never revokes what it keeps",
    "commits": "a commit is accepted from the owner only",
    "offsets": "committed offsets never go back",
    "records": "the records of a group give each partition to one member",
    "failover": "a new coordinator has the state of the one before it",
    "members": "no member fails",
}
"""The checked rules by name."""


class Round(NamedTuple):
    """An assignment of the group: a generation, or a target of the coordinator. `moved` counts partitions that changed hands
    in it.
    """

    at_ms: int
    epoch: int
    member_count: int
    moved: int


class Span(NamedTuple):
    """A member's state from one time to another: `working`, `callback` or `idle`."""

    state: str
    from_ms: int
    to_ms: int


class Mark(NamedTuple):
    """A step of the scenario, or another event worth a line."""

    at_ms: int
    text: str


@dataclass(slots=True)
class Figures:
    """Counts from the scenario's first step on. Units: ms."""

    moved: int = 0
    """Partitions that went to another member."""
    given_back: int = 0
    """Partitions that a member revoked and then got again."""
    revoked: int = 0
    lost: int = 0
    rounds: int = 0
    idle_member_ms: int = 0
    """The summed time of members that run and own no partition."""
    unowned_partition_ms: int = 0
    """The summed time of partitions without an owner."""
    gap_max_ms: int = 0
    """The longest time that one partition had no owner."""
    unowned_ms: int = 0
    """The time in which any partition had no owner."""
    zombies: int = 0
    """Partitions that a member removed as dead still believed to own when another got them."""
    read_twice: int = 0
    """Records that two owners processed, one after the other."""
    refused_commits: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of one strategy. Shape: `settled_ms` is the time from the last change to its last effect, None if
    the group was still busy at the end. Times count from the first step, before which the group had settled.
    """

    strategy: str
    scenario: str
    seed: int
    figures: Figures
    took_ms: int
    settled_ms: int | None
    events: int
    violations: tuple[Violation, ...]
    rounds: tuple[Round, ...]
    marks: tuple[Mark, ...]
    lanes: dict[str, tuple[Span, ...]] = field(default_factory=dict)
    unowned: tuple[tuple[int, int], ...] = ()
    """Partitions without an owner, at each change: `(at_ms, count)`."""
    moves: tuple[tuple[int, int], ...] = ()
    """Partitions that have moved so far, at each change."""
    failures: tuple[str, ...] = ()
    """Members that failed, with the reason."""
    final: tuple[tuple[str, int], ...] = ()
    """Members at the end, with the number of their partitions."""
