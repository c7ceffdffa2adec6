"""Fake brokers: they register, send heartbeats, lead partitions and report their ISRs; they die, come back, and leave in order."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from metashell.codec import messages
from metashell.codec.error_codes import (
    BROKER_ID_NOT_REGISTERED,
    FENCED_LEADER_EPOCH,
    INVALID_UPDATE_VERSION,
    NONE,
    NOT_CONTROLLER,
    STALE_BROKER_EPOCH,
)
from metashell.metadata.image import PartitionRegistration
from tests.simulation.controller.callers import Caller, Unanswered
from tests.simulation.controller.calls import Isr, alter_partition, producer_ids_call, register
from tests.simulation.controller.ledger import Seen
from tests.simulation.violation import Violation
from tests.simulation.world import CLUSTER_ID

if TYPE_CHECKING:
    from tests.simulation.controller.world import ControllerWorld

FIRST_ID = 101
HEARTBEAT_S = 0.25
NO_EPOCH = -1


class FakeBroker:
    """One broker over all its lives. `epoch` is that of its registration, -1 while it has none."""

    def __init__(self, world: ControllerWorld, id: int) -> None:
        self.world = world
        self.id = id
        self.epoch = NO_EPOCH
        self.is_fenced = True
        self.is_down = False
        self.is_leaving = False
        self.answered_ms = 0
        """When a heartbeat was answered last."""
        self._life = 0
        self._previous_epoch = NO_EPOCH
        self._caller = Caller(world, f"broker-{id}")
        self._leading = Caller(world, f"leader-{id}")

    def begin(self) -> None:
        self.world.operator.start(self._live())
        self.world.operator.start(self._lead())

    # Its life

    async def _live(self) -> None:
        world = self.world
        while True:
            if self.is_down:
                await asyncio.sleep(HEARTBEAT_S)
                continue
            try:
                if self.epoch == NO_EPOCH:
                    await self._register()
                else:
                    await self._beat()
            except Unanswered:
                continue
            await asyncio.sleep(HEARTBEAT_S * (0.5 + world.chance()))

    async def _register(self) -> None:
        self._life += 1
        incarnation = bytes([1, self.id, *self._life.to_bytes(6, "big")]) * 2
        answer = await self._caller.call(register(self.id, CLUSTER_ID, incarnation, self._previous_epoch))
        world = self.world
        if answer.error_code == NONE:
            world.checked(self._check_registration, answer.broker_epoch)
            self.epoch = self._previous_epoch = answer.broker_epoch
            world.counts["registrations"] += 1
        elif answer.error_code == NOT_CONTROLLER:
            self._caller.wrong()

    def _check_registration(self, epoch: int) -> None:
        """An epoch that a broker is told is in the log."""
        ledger = self.world.ledger
        ledger.follow()
        if self.world.options.is_black_box:
            return
        if epoch not in ledger.registrations[self.id]:
            raise Violation("A1 AnswerAfterCommit", f"broker {self.id} is told epoch {epoch}, the log has {ledger.registrations[self.id]}")

    async def _beat(self) -> None:
        world = self.world
        life = self._life
        body = messages.BrokerHeartbeatRequest(
            broker_id=self.id,
            broker_epoch=self.epoch,
            current_metadata_offset=world.history.tip.end - 1,
            want_fence=False,
            want_shut_down=self.is_leaving,
            offline_log_dirs=(),
            cordoned_log_dirs=None,
        )
        answer = await self._caller.call(body)
        if life != self._life:
            return
        self.answered_ms = world.now
        if answer.error_code == NOT_CONTROLLER:
            self._caller.wrong()
        elif answer.error_code == NONE:
            self.is_fenced = answer.is_fenced
            if answer.should_shut_down:
                world.counts["controlled shutdowns"] += 1
                self.die(1_000)
        elif self._is_unknown(answer.error_code):
            self.epoch = NO_EPOCH

    @staticmethod
    def _is_unknown(code: int) -> bool:
        return code in (STALE_BROKER_EPOCH, BROKER_ID_NOT_REGISTERED)

    def die(self, for_ms: int) -> None:
        """End without a word; another life begins later."""
        self.is_down, self.is_leaving, self.is_fenced = True, False, True
        self.epoch = NO_EPOCH
        self._life += 1
        self._caller.close()
        self._leading.close()
        self.world.push(self.world.now + for_ms, come_back, self, None)

    # What it does as a leader

    async def _lead(self) -> None:
        world = self.world
        while True:
            await asyncio.sleep(world.options.isr_every / 1_000 * (0.2 + 1.6 * world.chance()))
            if self.is_down or self.epoch == NO_EPOCH or not world.work.is_writing:
                continue
            try:
                if world.chance() < 0.2:
                    await self._take_producer_ids()
                else:
                    await self._change_isr()
            except Unanswered:
                continue

    async def _take_producer_ids(self) -> None:
        await self.world.work.attempt(self._leading, "producer ids", "", "take", (), producer_ids_call(self.id, self.epoch))

    async def _change_isr(self) -> None:
        world, chance = self.world, self.world.chance
        image = world.images.newest()
        mine = [
            (topic, number, partition)
            for topic in sorted(image.topics, key=lambda topic: topic.name)
            for number, partition in topic.partitions.items()
            if partition.leader == self.id
        ]
        if not mine:
            return
        topic, number, partition = mine[int(chance() * len(mine))]
        if chance() < 0.1 and len(world.ledger.partitions[topic.id, number]) > 1:
            # It has not heard of the last change.
            before = world.ledger.partitions[topic.id, number][-2].partition
            partition = before if before is not None and before.leader == self.id else partition
        members = self._wanted(image, partition)
        brokers = image.cluster.brokers
        asked = Isr(
            topic.id,
            number,
            partition.leader_epoch,
            partition.partition_epoch,
            partition.leader_recovery_state,
            tuple((id, brokers[id].epoch if id in brokers else NO_EPOCH) for id in members),
        )
        called = world.tick()
        answer = await self._leading.call(alter_partition(self.id, self.epoch, asked))
        if answer.error_code == NOT_CONTROLLER:
            self._leading.wrong()
        if answer.error_code == NONE:
            world.checked(world.work.note_isr, self.id, asked, answer.topics[0].partitions[0], called, self._leading.told)

    def _wanted(self, image: Any, partition: PartitionRegistration) -> list[int]:
        """Somebody falls behind, or everybody who can catches up."""
        chance = self.world.chance
        members = list(partition.isr)
        if chance() < 0.4 and len(members) > 1:
            members.remove(next(id for id in members if id != self.id))
            return members
        for id in partition.replicas:
            broker = image.cluster.brokers.get(id)
            if id not in members and broker is not None and not broker.fenced and not broker.in_controlled_shutdown:
                members.append(id)
        return members


def isr_seen(broker_id: int, asked: Isr, answer: Any, called: int, returned: int) -> Seen | None:
    """At which states of a partition an answer was right; None where it says nothing of its state."""
    what = f"broker {broker_id} asked for {asked} and was told {answer}"
    match answer.error_code:
        case 0:
            told = answer.leader_id, answer.leader_epoch, tuple(answer.isr), answer.partition_epoch
            return Seen(
                what,
                called,
                returned,
                lambda state: state is not None and (state.leader, state.leader_epoch, state.isr, state.partition_epoch) == told,
            )
        case code if code == FENCED_LEADER_EPOCH:
            return Seen(what, called, returned, lambda state: state is not None and state.leader_epoch > asked.leader_epoch)
        case code if code == INVALID_UPDATE_VERSION:
            return Seen(what, called, returned, lambda state: state is not None and state.partition_epoch > asked.partition_epoch)
    return None


def trouble(world: ControllerWorld, first: None, second: None) -> None:
    """A broker dies without a word, or begins to leave in order."""
    world.push(world.now + 1 + int(world.random.expovariate(1 / world.options.broker_crash_every)), trouble, None, None)
    running = [broker for broker in world.work.brokers if not broker.is_down]
    if not world.faults_on or not running:
        return
    broker = running[int(world.chance() * len(running))]
    if world.chance() < 0.4:
        broker.is_leaving = True
        world.note(f"broker {broker.id} wants to leave")
    else:
        broker.die(int(world.chance() * 2 * world.options.session_timeout_ms))
        world.note(f"broker {broker.id} dies")
        world.counts["dead brokers"] += 1


def come_back(world: ControllerWorld, broker: FakeBroker, second: None) -> None:
    """A broker starts again."""
    broker.is_down = False
