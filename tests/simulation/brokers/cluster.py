"""Controllers, brokers and clients of one seed, and what goes wrong among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metashell.codec import messages
from tests.simulation.brokers.broker import Broker
from tests.simulation.brokers.checks import Checks
from tests.simulation.brokers.clients import Client, Consumer, Producer, Times
from tests.simulation.brokers.options import Options
from tests.simulation.brokers.quorum import Controller, Quorum
from tests.simulation.brokers.replica import Key
from tests.simulation.brokers.world import Link, Node, World
from tests.simulation.controller.calls import elect, reassign
from tests.simulation.trace import Trace

CREATE_TOPICS, ELECT_LEADERS, REASSIGN, UNREGISTER = 19, 43, 45, 64
MOMENT_MS = 2_000
CUTS = ("controllers", "brokers", "clients", "controllers brokers", "all", "some")
"""From whom a broker can be cut off."""


class Cluster:
    """All nodes. `faults_on` says whether anything goes wrong at present."""

    def __init__(self, options: Options, trace: Trace | None = None) -> None:
        self.options = options
        self.world = World(options, trace)
        self.world.cluster = self
        self.topic_names = [f"t{number}" for number in range(options.topics)]
        self.keys: list[Key] = [(name, number) for name in self.topic_names for number in range(options.partitions)]
        self.brokers: dict[int, Broker] = {}
        self.times = Times(MOMENT_MS)
        self.checks = Checks(self)
        self.quorum = Quorum(self.world, self.checks)
        for id in range(1, options.brokers + 1):
            self.brokers[id] = Broker(self, id)
        self.clients: list[Client] = [Producer(self, f"producer-{number}") for number in range(options.producers)]
        self.clients += [Consumer(self, f"consumer-{number}") for number in range(options.consumers)]
        self.operator = Node(self.world, "operator")
        self.faults_on = False
        self._value = 0

    def next_value(self) -> int:
        self._value += 1
        return self._value

    def begin(self) -> None:
        """Start everything, and make the topics once the brokers are there."""
        self.quorum.begin()
        for broker in self.brokers.values():
            broker.start()
        self.world.run(3_000)
        made = messages.CreateTopicsRequest
        topics = tuple(
            made.CreatableTopic(name=name, num_partitions=self.options.partitions, replication_factor=self.options.replication)
            for name in self.topic_names
        )
        self.ask(CREATE_TOPICS, 7, made(topics=topics, timeout_ms=10_000))
        self.world.run(4_000)
        for client in self.clients:
            client.begin()
        self.world.at(500, self._sweep)

    def ask(self, key: int, version: int, body: Any) -> None:
        """An operator asks whoever leads; the answer is of no interest."""
        leader = self.quorum.leader
        if leader is not None and leader.is_up:
            leader.take(key, version, body, _ignored)

    def _sweep(self) -> None:
        self.checks.sweep()
        self.world.at(200, self._sweep)

    # Faults

    def trouble(self) -> None:
        """Let every kind of fault that the options name happen, again and again."""
        self.faults_on = True
        options = self.options
        for every, act in (
            (options.cut_every, self._cut_somebody),
            (options.crash_every, self._kill_somebody),
            (options.leave_every, self._send_somebody_away),
            (options.pause_every, self._hold_somebody),
            (options.rest_every, self._let_somebody_rest),
            (options.failover_every, self._fail_over),
            (options.operator_every, self._operate),
        ):
            if every:
                self.world.at(self.world.about(every), self._again, every, act)

    def _again(self, every: int, act: Callable[[], None]) -> None:
        if self.faults_on:
            act()
            self.world.at(self.world.about(every), self._again, every, act)

    def _somebody(self) -> Broker:
        return self.brokers[1 + self.world.random.randrange(len(self.brokers))]

    def _cut_somebody(self) -> None:
        broker = self._somebody()
        links = links_of(
            self, broker, self.world.random.choice(("controllers", "brokers", "clients", "controllers brokers", "all", "some"))
        )
        if self.world.chance(0.25):
            # One way only: what is sent arrives, and no answer comes back; or the other way round.
            outward = self.world.chance(0.5)
            links = [link for link in links if (link[0] == broker.name) == outward]
        for_ms = self.world.about(self.options.cut_ms)
        self.world.note(f"{broker.name} is cut from {sorted({end for link in links for end in link} - {broker.name})} for {for_ms} ms")
        self.world.counts["cuts"] += 1
        self.world.cut(links, for_ms)

    def _kill_somebody(self) -> None:
        broker = self._somebody()
        if not broker.is_up:
            return
        self.world.counts["crashes"] += 1
        broker.die(power=self.world.chance(self.options.power_part))
        if self.world.chance(self.options.unregister_part):
            self.ask(UNREGISTER, 0, messages.UnregisterBrokerRequest(broker_id=broker.id))
        self.world.at(self.world.about(self.options.down_ms), broker.come_back)

    def _send_somebody_away(self) -> None:
        broker = self._somebody()
        if broker.is_up:
            broker.leave()

    def _let_somebody_rest(self) -> None:
        broker = self._somebody()
        if broker.is_up:
            broker.rest(self.world.about(800))
            if self.world.chance(0.4):
                # It asks to go while it asks to be fenced.
                broker.leave()

    def _hold_somebody(self) -> None:
        broker = self._somebody()
        if broker.is_up:
            self.world.counts["pauses"] += 1
            broker.paused_until = self.world.now + self.world.about(self.options.pause_ms)
            self.world.note(f"{broker.name} stands still to {broker.paused_until} ms")

    def _fail_over(self) -> None:
        if self.quorum.leader is None:
            return
        self.quorum.depose()
        self.world.at(self.world.about(self.options.failover_ms), self.elect_controller)

    def elect_controller(self) -> None:
        """Somebody of those who are up leads again, or everybody waits."""
        if self.quorum.leader is not None:
            return
        up = [controller for controller in self.quorum.controllers if controller.is_up]
        if not up:
            self.world.at(100, self.elect_controller)
            return
        self.quorum.elect(up[self.world.random.randrange(len(up))])

    def _operate(self) -> None:
        name, number = self.keys[self.world.random.randrange(len(self.keys))]
        if self.world.chance(0.5):
            self.ask(ELECT_LEADERS, 2, elect(name, number))
            return
        ids = sorted(self.brokers)
        self.world.random.shuffle(ids)
        self.ask(REASSIGN, 0, reassign(name, number, tuple(ids[: self.options.replication])))

    def heal(self) -> None:
        """Nothing fails from now on, and everybody is there."""
        self.faults_on = False
        world = self.world
        world.note("everything heals")
        world.mend_all()
        world.options.slow_part = world.options.overload_part = 0.0
        for controller in self.quorum.controllers:
            if not controller.is_up:
                controller.restart()
            elif controller is not self.quorum.leader:
                controller.renounce()
        self.elect_controller()
        for broker in self.brokers.values():
            broker.paused_until = min(broker.paused_until, world.now)
            broker.come_back()

    def stop_writing(self) -> None:
        for client in self.clients:
            client.is_stopped = True


def _ignored(answer: Any) -> None:
    """Nobody waits for this answer."""


def links_of(cluster: Cluster, broker: Broker, what: str) -> list[Link]:
    """The links of a broker to controllers, brokers and clients, in both directions; `some` are half of all, by chance."""
    ends: list[Node] = []
    controllers: list[Controller] = cluster.quorum.controllers
    if "controllers" in what or what in ("all", "some"):
        ends += controllers
    if "brokers" in what or what in ("all", "some"):
        ends += [other for other in cluster.brokers.values() if other is not broker]
    if "clients" in what or what in ("all", "some"):
        ends += cluster.clients
    if what == "some":
        ends = [end for end in ends if cluster.world.chance(0.5)]
    return [link for end in ends for link in ((broker.name, end.name), (end.name, broker.name))]
