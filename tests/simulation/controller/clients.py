"""Clients of a controller: they create and delete topics, change settings, credentials and leaders, move partitions, and note every answer.

At the end all that was answered must have an order (`linear`, `partitions`) that ends in what is there.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine, Hashable
from typing import TYPE_CHECKING, Any

from metashell.codec.codes import BROKER_RESOURCE, TOPIC_RESOURCE
from metashell.codec.error_codes import (
    ELECTION_NOT_NEEDED,
    NO_REASSIGNMENT_IN_PROGRESS,
    NONE,
    NOT_CONTROLLER,
    REQUEST_TIMED_OUT,
    TOPIC_ALREADY_EXISTS,
    UNKNOWN_SERVER_ERROR,
)
from metashell.codec.releases import REGISTER_CONTROLLER_LEVEL
from metashell.metadata.image import MetadataImage, PartitionRegistration
from tests.simulation.checkers import liveness
from tests.simulation.controller import calls
from tests.simulation.controller.brokers import FIRST_ID, FakeBroker, isr_seen, trouble
from tests.simulation.controller.callers import Caller, Told, Unanswered
from tests.simulation.controller.calls import Call, Isr
from tests.simulation.controller.ledger import Key, Seen, misfit
from tests.simulation.controller.linear import Operation, UndecidedError, is_linearizable
from tests.simulation.controller.models import MODELS
from tests.simulation.controller.replica import UNFORESEEN
from tests.simulation.production import operators
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.controller.world import ControllerWorld
    from tests.simulation.production.world import ProductionHost

LINEAR = "A2 AnswersHaveAnOrder"
ACKNOWLEDGED = "L9 AcknowledgedSurvives"
ALIVE = "V10 BrokersAndPartitionsAreBack"
STEADY = "steady"
"""A topic that is never deleted, whose partitions move and change leaders."""
PARTITIONS = 3
NAMES_AT_ONCE = 3
OPERATIONS_A_NAME = 24
"""After so many requests about one name, the next name takes its place: short histories are quick to check."""
THROTTLED = "leader.replication.throttled.replicas"
SETTINGS = ("log.retention.ms", "log.cleaner.threads")
ANSWERED_WITHIN_MS = 2_000
"""So long after an answer a broker that asks four times a second has the next one, where nothing fails."""
USERS = ("alice", "bob", "carol")


class Clients(operators.AskedWork):
    """All clients together; `operations` are what was asked and answered, by kind and name of the key."""

    world: ControllerWorld

    def __init__(self, world: ControllerWorld) -> None:
        super().__init__(world)
        self.operations: dict[tuple[str, str], list[Operation]] = defaultdict(list)
        self.seen: dict[Key, list[Seen]] = defaultdict(list)
        self.changed: set[tuple[Key, int]] = set()
        self.brokers = [FakeBroker(world, FIRST_ID + number) for number in range(world.options.fake_brokers)]
        self.is_steady = False
        self.under_way = 0
        self._names = [0] * NAMES_AT_ONCE

    def begin(self) -> None:
        for broker in self.brokers:
            broker.begin()
        for number in range(self.world.options.clients):
            self.world.operator.start(self._work(Caller(self.world, f"client-{number}")))
        mean = self.world.options.broker_crash_every
        if mean:
            self.world.push(self.world.now + mean, trouble, None, None)
        if self.world.options.kraft_upgrade_every:
            self.world.operator.start(self._upgrade(Caller(self.world, "upgrader")))

    # What they do

    async def _work(self, caller: Caller) -> None:
        world = self.world
        while True:
            await asyncio.sleep(world.options.append_every / 1_000 * (0.2 + 1.6 * world.chance()))
            if self.is_writing:
                self.under_way += 1
                try:
                    await self._next(caller)
                except Unanswered:
                    pass
                finally:
                    self.under_way -= 1

    def _next(self, caller: Caller) -> Coroutine[Any, Any, None]:
        chance = self.world.chance
        if not self.is_steady:
            return self._create_steady(caller)
        draw = chance()
        if draw < 0.4:
            return self._topic(caller)
        if draw < 0.42:
            return self._unregister(caller)
        if draw < 0.6:
            return self._config(caller)
        if draw < 0.72:
            user = USERS[int(chance() * len(USERS))]
            operation = "put" if chance() < 0.5 else "delete"
            return self.attempt(caller, "credential", user, operation, (), calls.credential_call(operation, user, self.written))
        return self._move(caller)

    async def _create_steady(self, caller: Caller) -> None:
        answer = await caller.call(calls.create_steady(STEADY, PARTITIONS, min(3, len(self.brokers))))
        self.is_steady = answer.topics[0].error_code in (NONE, TOPIC_ALREADY_EXISTS)
        if answer.topics[0].error_code == NOT_CONTROLLER:
            caller.wrong()

    async def _unregister(self, caller: Caller) -> None:
        """Sometimes a broker that is only slow to come back is taken for dead."""
        gone = [broker for broker in self.brokers if broker.is_down]
        if gone:
            broker = gone[int(self.world.chance() * len(gone))]
            answer = await caller.call(calls.unregister(broker.id))
            self.world.counts[f"unregister: {answer.error_code}"] += 1

    async def _upgrade(self, caller: Caller) -> None:
        """Ask for a dynamic quorum until there is one; what is answered is committed."""
        world = self.world
        while True:
            await asyncio.sleep(world.options.kraft_upgrade_every / 1_000 * (0.2 + 1.6 * world.chance()))
            if not self.is_writing:
                continue
            try:
                answer = await caller.call(calls.upgrade_kraft_version())
            except Unanswered:
                continue
            code = answer.error_code
            world.counts[f"upgrade of kraft.version: {code}"] += 1
            if code == NOT_CONTROLLER:
                caller.wrong()
            elif code == NONE:
                world.checked(self._check_upgrade)
                return

    def _check_upgrade(self) -> None:
        if self.world.history.tip.level != 1 and not self.world.options.is_black_box:
            raise Violation("A1 AnswerAfterCommit", "a client is told that kraft.version is 1, and that is not committed")

    def _topic(self, caller: Caller) -> Coroutine[Any, Any, None]:
        chance = self.world.chance
        place = int(chance() * NAMES_AT_ONCE)
        name = f"topic-{place}-{self._names[place]}"
        if len(self.operations["topic", name]) >= OPERATIONS_A_NAME:
            self._names[place] += 1
        draw = chance()
        if draw < 0.5:
            operation, arguments = "create", (1 + int(chance() * 2),)
        elif draw < 0.75:
            operation, arguments = "grow", (2 + int(chance() * 4),)
        else:
            operation, arguments = "delete", ()
        return self.attempt(caller, "topic", name, operation, arguments, calls.topic_call(operation, name, arguments))

    def _config(self, caller: Caller) -> Coroutine[Any, Any, None]:
        chance = self.world.chance
        if chance() < 0.5:
            resource, key = STEADY, THROTTLED
            operation = "append" if chance() < 0.6 else "subtract"
            arguments: tuple[Any, ...] = (f"{int(chance() * PARTITIONS)}:{FIRST_ID + int(chance() * 2)}",)
        else:
            resource, key = "", SETTINGS[int(chance() * len(SETTINGS))]
            operation = "set" if chance() < 0.7 else "clear"
            arguments = (str(1 + int(chance() * 3)),) if operation == "set" else ()
        return self.attempt(
            caller, "config", f"{resource}/{key}", operation, arguments, calls.config_call(operation, resource, key, arguments)
        )

    async def attempt(self, caller: Caller, kind: str, name: str, operation: str, arguments: tuple[Any, ...], call: Call) -> None:
        """Ask for something and note what came of it. Errors: Unanswered."""
        world = self.world
        self.written += 1
        done = Operation(operation, arguments, world.tick())
        key = kind, name
        self.operations[key].append(done)
        answer = await caller.call(call.message)
        code, outcome = call.outcome(answer)
        world.counts[f"{operation} {kind}: {code}"] += 1
        if code == UNKNOWN_SERVER_ERROR:
            world.note_violation(Violation(UNFORESEEN, f"{call.message} is answered {answer}"))
        told = caller.told
        if code == NOT_CONTROLLER:
            caller.wrong()
            if told.epoch < 0 and told.wrote is False:
                # A standby: nothing can have come of it.
                self.operations[key].remove(done)
        elif code in call.known:
            done.returned, done.answer = world.tick(), outcome
            done.called = self._since(done.called, told)
        elif code != REQUEST_TIMED_OUT:
            self.operations[key].remove(done)

    def _since(self, called: int, told: Told) -> int:
        """From when on a state counts for an answer: a leader that wrote nothing for it may not know yet that it is none any more."""
        return called if told.wrote else min(called, self.world.superseded_at(told.epoch))

    # Partitions

    async def _move(self, caller: Caller) -> None:
        world, chance = self.world, self.world.chance
        number = int(chance() * PARTITIONS)
        topic = world.images.newest().topics.by_name.get(STEADY)
        if topic is None:
            return
        draw = chance()
        called = world.tick()
        fits: Callable[[PartitionRegistration], bool]
        if draw < 0.4:
            target = self._target()
            if draw < 0.1:
                target = None
            answer = await caller.call(calls.reassign(STEADY, number, target))
            code = answer.error_code or answer.responses[0].partitions[0].error_code
            fits = _has_target(target, code)
        elif draw < 0.8:
            answer = await caller.call(calls.elect(STEADY, number))
            code = answer.error_code or answer.replica_election_results[0].partition_result[0].error_code
            fits = _has_elected(code)
        else:
            answer = await caller.call(calls.list_reassignments(STEADY, number))
            code = answer.error_code
            fits = _is_listed(answer, number)
        world.counts[f"{type(answer).__name__}: {code}"] += 1
        if code == NOT_CONTROLLER:
            caller.wrong()
        elif code in (NONE, ELECTION_NOT_NEEDED, NO_REASSIGNMENT_IN_PROGRESS):
            what = f"{caller.name} was told {answer}"
            since = self._since(called, caller.told)
            self.seen[topic.id, number].append(Seen(what, since, world.tick(), lambda state: state is not None and fits(state)))
        elif code == UNKNOWN_SERVER_ERROR:
            world.note_violation(Violation(UNFORESEEN, f"{answer}"))

    def _target(self) -> tuple[int, ...] | None:
        ids = [broker.id for broker in self.brokers]
        self.world.random.shuffle(ids)
        return tuple(ids[: min(3, len(ids))])

    def note_isr(self, broker_id: int, asked: Isr, answer: Any, called: int, told: Told) -> None:
        """A leader was told what came of the ISR that it wanted."""
        world = self.world
        world.counts[f"alter partition: {answer.error_code}"] += 1
        seen = isr_seen(broker_id, asked, answer, self._since(called, told), world.tick())
        if seen is None:
            return
        key = asked.topic_id, asked.partition
        self.seen[key].append(seen)
        if answer.error_code == NONE and answer.partition_epoch == asked.partition_epoch + 1:
            if (key, asked.partition_epoch) in self.changed:
                raise Violation(LINEAR, f"two changes of one partition epoch were acknowledged: {seen.what}")
            self.changed.add((key, asked.partition_epoch))

    # What liveness asks for

    def append(self, host: ProductionHost, count: int) -> int:  # type: ignore[override]
        """Have a leader write something, and give an offset that is committed once it has."""
        self.world.operator.start(self._insist(host))
        return max(host.log.end_offset, self.world.history.tip.end)

    async def _insist(self, host: ProductionHost) -> None:
        caller = Caller(self.world, f"prober-{self.number}")
        self.number += 1
        user = USERS[0]
        while host.role is not None and host.role.name == "leader":
            self.written += 1
            call = calls.credential_call("put", user, self.written)
            done = Operation("put", (), self.world.tick())
            self.operations["credential", user].append(done)
            try:
                answer = await caller.call(call.message, host)
            except Unanswered:
                continue
            if call.outcome(answer)[0] == NONE:
                done.returned, done.answer = self.world.tick(), NONE
                break
        caller.close()

    # What must hold at the end

    def check_alive(self) -> None:
        """Every broker is unfenced and answered, every controller is registered, and every partition has a leader (V10)."""
        world = self.world
        limit = liveness.bound_ms(world) + 3 * world.options.session_timeout_ms + 5_000
        try:
            liveness.wait(world, ALIVE, limit, lambda: not self._missing(), "that all are back")
        except Violation as late:
            raise Violation(ALIVE, f"{', '.join(self._missing())}: {late.text}") from None

    def _missing(self) -> list[str]:
        """Who is not back, and which partitions nobody leads."""
        image = self.world.images.newest()
        brokers, controllers = image.cluster.brokers, image.cluster.controllers
        found = []
        for broker in self.brokers:
            known = brokers.get(broker.id)
            if known is None or known.fenced or known.in_controlled_shutdown or known.epoch != broker.epoch:
                found.append(f"broker {broker.id} of epoch {broker.epoch} is {known}")
            elif self.world.now - broker.answered_ms > ANSWERED_WITHIN_MS:
                found.append(f"broker {broker.id}, which had its last answer at {broker.answered_ms}")
        if (image.features.metadata_version or 0) >= REGISTER_CONTROLLER_LEVEL:
            found += [f"controller {host.id}" for host in self.world.hosts if host.up and host.id not in controllers]
        for topic in image.topics:
            found += [f"{topic.name}-{number}: {one}" for number, one in topic.partitions.items() if one.leader < 0]
        return found

    def check_logs(self, host: ProductionHost) -> None:
        """See `check_image`: what was acknowledged is looked for in the image."""

    def check_image(self, host: ProductionHost, image: MetadataImage) -> None:
        """Every answer has its place in an order that ends in this image."""
        world = self.world
        world.ledger.follow()
        for (kind, name), operations in self.operations.items():
            end = world.tick()
            last = Operation("read", (), end, world.tick(), found(image, kind, name))
            self._check(kind, name, operations, last)
        for key, answers in self.seen.items():
            odd = misfit(answers, world.ledger.partitions[key])
            if odd is not None:
                raise Violation(LINEAR, f"{odd.what}: no state of {world.ledger.names.get(key[0])}-{key[1]} fits")

    def _check(self, kind: str, name: str, operations: list[Operation], last: Operation) -> None:
        initial, step = MODELS[kind]
        try:
            if not is_linearizable([*operations, last], initial, step):
                story = "; ".join(map(str, [*operations, last]))
                lost = is_linearizable(operations, initial, step)
                raise Violation(ACKNOWLEDGED if lost else LINEAR, f"no order explains what was answered about {kind} {name}: {story}")
        except UndecidedError:
            self.world.counts["histories that were too long to check"] += 1


def found(image: MetadataImage, kind: str, name: str) -> Hashable:
    """What an image has for a key, as the models' `read` says it."""
    match kind:
        case "topic":
            topic = image.topics.by_name.get(name)
            return () if topic is None else (topic.id, len(topic.partitions))
        case "config":
            resource, _, key = name.partition("/")
            wanted = (TOPIC_RESOURCE if resource else BROKER_RESOURCE, resource)
            for one, values in image.configs.items():
                if tuple(one) == wanted:
                    return str(dict(values.items()).get(key, ""))
            return ""
        case "credential":
            return name in image.scram.get(calls.SCRAM_SHA_256, {})
    assert kind == "producer ids"
    return max(0, image.producer_ids.next_producer_id)


def _has_target(target: tuple[int, ...] | None, code: int) -> Callable[[PartitionRegistration], bool]:
    if target is None or code == NO_REASSIGNMENT_IN_PROGRESS:
        return lambda state: not state.adding_replicas and not state.removing_replicas
    return lambda state: {id for id in state.replicas if id not in state.removing_replicas} == set(target)


def _has_elected(code: int) -> Callable[[PartitionRegistration], bool]:
    # Right before the election or right after it.
    return lambda state: state.leader == state.replicas[0]


def _is_listed(answer: Any, number: int) -> Callable[[PartitionRegistration], bool]:
    moving = [one for topic in answer.topics for one in topic.partitions if one.partition_index == number]
    if not moving:
        return lambda state: not state.adding_replicas and not state.removing_replicas
    (one,) = moving
    told = set(one.adding_replicas), set(one.removing_replicas)
    return lambda state: (set(state.adding_replicas), set(state.removing_replicas)) == told
