"""One group on a virtual clock: its members, the network, the coordinator, and the running scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Final

from metashell.common.runtime import PausedCollector
from metashell.common.values import uuid_text
from metashell.groups.members import MemberSettings
from metashell.groups.members.classic import ClassicMember
from metashell.groups.members.consumer import ConsumerMember
from metashell.groups.members.member import MemberMachine
from metashell.groups.members.strategy import StreamsStrategy, strategies
from metashell.groups.simulation import Outcome, Plan, StrategyConfig
from metashell.groups.simulation.checkers import Checkers
from metashell.groups.simulation.client import Client
from metashell.groups.simulation.node import Clock, CoordinatorNode, Network, NodeState
from metashell.groups.state import Settings
from metashell.groups.topics import KnownTopics, Topic

GROUP_ID: Final = "group"
RACK: Final = "rack-1"
LOOK_MS: Final = 100
REST_MS: Final = 500
Steps = Iterator[int | None]
"""A scenario: it acts, and yields the ms to wait, or None to wait until the group has settled."""


class World:
    """See the module. Shape: `clients` has the newest process of each slot, including ended ones."""

    def __init__(self, plan: Plan, settings: Settings | None = None) -> None:
        self.plan = plan
        self.chance = Random(plan.seed)
        self.clock = Clock()
        self.clients: dict[str, Client] = {}
        self._topics = {name: Topic(self.chance.randbytes(16), name, ((RACK,),) * count) for name, count in plan.topic_sizes().items()}
        self._version = 1
        self._known = KnownTopics(self._topics.values(), self._version)
        self._expected: tuple[frozenset[str], int] = (frozenset(), 0)
        self.network = Network(self.clock, self.chance, plan.latency_ms)
        self.watch = Checkers(self.clock, GROUP_ID, self._known)
        self.node = CoordinatorNode(
            self.clock, self.network, settings or Settings(), self.chance, self._known, commit_ms=plan.commit_ms, listener=self.watch
        )
        self.watch.gone = self.expect
        self.watch.groups = self.node.coordinator.state.groups
        self._steps: Steps = iter(())
        self._is_over = False
        self._last_step_ms = 0
        self._deadline_ms = 0

    # ---- actions of scenarios

    @property
    def live(self) -> list[Client]:
        """The running processes in the order of their start."""
        return list(self.watch.ledger.live)

    def start(self, slot: str, strategy: StrategyConfig | None = None, *, is_static: bool | None = None, pattern: str = "") -> Client:
        """Start a process whose consumer subscribes to all topics or to a pattern."""
        plan = self.plan
        strategy = strategy or plan.strategy
        is_static = plan.is_static if is_static is None else is_static
        instance_id = slot if is_static else None
        settings = MemberSettings(
            group_id=GROUP_ID,
            client_id=slot,
            member_id=uuid_text(self.chance.randbytes(16)) if strategy.is_consumer else "",
            instance_id=instance_id,
            session_timeout_ms=plan.session_timeout_ms,
            heartbeat_interval_ms=plan.heartbeat_interval_ms,
            max_poll_interval_ms=plan.max_poll_interval_ms,
            auto_commit_interval_ms=plan.auto_commit_interval_ms,
            server_assignor=strategy.assignors[0] if strategy.is_consumer else None,
        )
        member = new_member(strategy, settings, self.chance.randbytes(16))
        client = Client(self.clock, self.network, self.node, self.watch, slot=slot, member=member, rate=plan.rate, instance_id=instance_id)
        client.is_modern = strategy.is_consumer
        client.is_incremental = strategy.is_consumer or getattr(member, "is_cooperative", False)
        client.revoke_ms = client.assign_ms = plan.callback_ms
        self.clients[slot] = client
        self.watch.ledger.started(client, self.clock.now_ms)
        client.see(self._known)
        if pattern:
            client.subscribe_pattern(pattern)
        else:
            client.subscribe(name for name in self._topics)
        self.expect()
        return client

    def start_all(self, count: int, first: int = 0) -> Steps:
        """Start members one after the other."""
        for number in range(first, first + count):
            self.start(slot_name(number))
            if self.plan.join_gap_ms:
                yield self.plan.join_gap_ms

    def kill(self, client: Client) -> None:
        client.kill()
        self.watch.ledger.died(client, self.clock.now_ms)
        self.expect()

    def mark(self, text: str) -> None:
        self.watch.mark(text)

    def move_coordinator(self, away_ms: int, load_ms: int) -> None:
        """Move the leadership of the group's log to another broker, unless that is in progress."""
        if self.node.state is NodeState.ACTIVE:
            self.node.move(away_ms, load_ms)

    def crash_coordinator(self, away_ms: int, load_ms: int) -> None:
        """Let the leader of the group's log die, unless its leadership is moving."""
        if self.node.state is NodeState.ACTIVE:
            self.node.crash(away_ms, load_ms)

    def set_topic(self, name: str, count: int) -> None:
        """Create a topic or add partitions. The coordinator sees it now, clients after their metadata delay."""
        before = self._topics.get(name)
        id = self.chance.randbytes(16) if before is None else before.id
        self._set({**self._topics, name: Topic(id, name, ((RACK,),) * count)}, [name], [])

    def delete_topic(self, name: str) -> None:
        self._set({other: topic for other, topic in self._topics.items() if other != name}, [], [name])

    def _set(self, topics: dict[str, Topic], changed: list[str], deleted: list[str]) -> None:
        self._topics = topics
        self._version += 1
        self._known = KnownTopics(topics.values(), self._version)
        self.watch.records.topics = self._known
        self.node.topics_changed(self._known, changed, deleted)
        for client in self.live:
            self.clock.after(int(self.chance.random() * self.plan.metadata_ms), self._tell, client)
        self.expect()

    def _tell(self, client: Client) -> None:
        """Deliver the newest metadata to a client."""
        client.see(self._known)
        self.watch.records.cause()

    def expect(self) -> None:
        """Tell the ledger which partitions have subscribers."""
        live = self.live
        wanted = frozenset(name for name in self._topics if any(client.wants(name) for client in live))
        if (wanted, self._version) != self._expected:
            self._expected = (wanted, self._version)
            partitions = (
                (name, number) for name, topic in self._topics.items() if name in wanted for number in range(topic.partition_count)
            )
            self.watch.ledger.expect(partitions, self.clock.now_ms)

    # ---- running

    @property
    def is_consumer_group(self) -> bool:
        """Return whether the group uses the consumer protocol now."""
        group = self.node.coordinator.state.groups.get(GROUP_ID)
        return group is not None and group.type == "consumer" and not group.is_empty

    @property
    def is_settled(self) -> bool:
        """Return whether every partition has an owner, and no member is busy with a rebalance."""
        ledger = self.watch.ledger
        if not ledger.is_whole:
            return False
        group = self.node.coordinator.state.groups.get(GROUP_ID)
        state = "Empty" if group is None else group.state_name()
        return state == ("Stable" if ledger.live else "Empty") and not any(client.is_busy for client in ledger.live)

    def run(self, scenario: str, steps: Callable[[World], Steps], *, is_warm: bool = True) -> Outcome:
        """Run a scenario and return its outcome. With `is_warm`, the group has settled before."""
        self._steps = self._play(steps, is_warm)
        self.clock.at(0, self._advance)
        with PausedCollector():
            self.clock.run_until(1 << 62, self._ask_over)
        return self._outcome(scenario)

    def _ask_over(self) -> bool:
        return self._is_over

    def _play(self, steps: Callable[[World], Steps], is_warm: bool) -> Steps:
        if is_warm:
            yield from self.start_all(self.plan.members)
            yield None
            # Spread the heartbeats, as in a group that has run for long.
            spread_ms = max(self.plan.heartbeat_interval_ms, self.plan.consumer_heartbeat_interval_ms)
            for client in self.live:
                interval_ms = self.plan.consumer_heartbeat_interval_ms if client.is_modern else self.plan.heartbeat_interval_ms
                client.delay_heartbeats(self.clock.now_ms + interval_ms + int(self.chance.random() * interval_ms))
            yield 3 * spread_ms
            yield None
        self.watch.begin()
        yield from steps(self)

    def _advance(self, nothing: None) -> None:
        """Continue the scenario."""
        self.clock.events -= 1
        self._last_step_ms = self.clock.now_ms
        self._deadline_ms = self._last_step_ms + self.plan.patience_ms
        try:
            wait_ms = next(self._steps)
        except StopIteration:
            self._last_step_ms = self.clock.now_ms
            self.clock.after(LOOK_MS, self._look_at_end)
        else:
            if wait_ms is None:
                self.clock.after(LOOK_MS, self._look)
            else:
                self.clock.after(wait_ms, self._advance)

    def _look(self, nothing: None) -> None:
        """Wait until the group has settled."""
        self.clock.events -= 1
        # Answers that change nothing may still be in flight.
        if self.clock.now_ms - self.watch.changed_ms >= REST_MS and self.is_settled:
            self.clock.after(0, self._advance)
        elif self.clock.now_ms >= self._deadline_ms:
            self._report_unsettled()
            self._is_over = True
        else:
            self.clock.after(LOOK_MS, self._look)

    def _look_at_end(self, nothing: None) -> None:
        """After the scenario, wait until the group has settled for good."""
        self.clock.events -= 1
        now_ms = self.clock.now_ms
        if self.is_settled and now_ms - max(self.watch.changed_ms, self._last_step_ms) >= self.plan.quiet_ms:
            self._is_over = True
        elif now_ms >= self._deadline_ms:
            self._report_unsettled()
            self._is_over = True
        else:
            self.clock.after(LOOK_MS, self._look_at_end)

    def _report_unsettled(self) -> None:
        ledger = self.watch.ledger
        group = self.node.coordinator.state.groups.get(GROUP_ID)
        state = "missing" if group is None else group.state_name()
        busy = [client.slot for client in ledger.live if client.is_busy]
        without = [f"{topic}-{partition}" for topic, partition in list(ledger.without)[:3]]
        parts = [f"the group is {state} {self.plan.patience_ms // 1000} s after the last change"]
        if without:
            parts.append(f"{len(ledger.without)} partitions have no owner ({', '.join(without)})")
        if busy:
            parts.append(f"busy: {', '.join(busy[:3])}")
        self.watch.report("settles", "; ".join(parts))

    def _outcome(self, scenario: str) -> Outcome:
        watch, ledger = self.watch, self.watch.ledger
        ledger.end(self.clock.now_ms)
        begin_ms = watch.begin_ms
        is_settled = not any(one.rule == "settles" for one in watch.violations)
        ledger.figures.rounds = watch.records.round_count
        return Outcome(
            strategy=self.plan.strategy.name,
            scenario=scenario,
            seed=self.plan.seed,
            figures=replace(ledger.figures),
            took_ms=max(watch.changed_ms, self._last_step_ms) - begin_ms,
            settled_ms=max(watch.changed_ms - self._last_step_ms, 0) if is_settled else None,
            events=self.clock.events,
            violations=tuple(watch.violations),
            rounds=tuple(one._replace(at_ms=one.at_ms - begin_ms) for one in watch.records.rounds),
            marks=tuple(watch.marks),
            lanes={slot: tuple(lane) for slot, lane in ledger.lanes.items()},
            unowned=tuple(ledger.unowned),
            moves=tuple(ledger.moves),
            failures=tuple(watch.failures),
            final=tuple((client.slot, len(client.held)) for client in ledger.live),
        )


def slot_name(number: int) -> str:
    return f"member-{number + 1}"


_STREAM: Final = "stream:"


def new_member(strategy: StrategyConfig, settings: MemberSettings, process_id: bytes) -> MemberMachine:
    """Make a member machine for a strategy. Kafka Streams identifies members by `process_id`."""
    if strategy.is_consumer:
        return ConsumerMember(settings)
    if strategy.assignors[0].startswith(_STREAM):
        release, _, upgrade_from = strategy.assignors[0].removeprefix(_STREAM).partition(":")
        return ClassicMember(settings, [StreamsStrategy(process_id, release, upgrade_from or None)])
    return ClassicMember(settings, strategies(strategy.assignors))
