"""Controllers over one log. What a quorum decides about the log is taken for granted here; the controllers are the real ones.

`tests/simulation/controller` runs controllers over real replicas. Here the log is a list, so that a second holds many lives of brokers:
there is at most one leader of an epoch, what it wrote is committed a little later and never lost, and what a leader wrote that is
deposed is kept up to somewhere. A deposed leader learns it late. It goes on to decide and is answered by nobody, since nothing that it
writes is committed; what it says without writing anything leaves, as from a real one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from metashell.codec.error_codes import NOT_CONTROLLER
from metashell.codec.releases import ELR_FEATURE, METADATA_VERSION
from metashell.metadata.image import MetadataImage, Voter, VoterSet
from metashell.metadata.image.provenance import VersionedRecord
from metashell.quorum.controller import Decision, Purgatory, QuorumController, Request, Settings
from metashell.quorum.controller.decision import feature_level_record
from tests.simulation.brokers.options import Options
from tests.simulation.brokers.world import Node, World

if TYPE_CHECKING:
    from tests.simulation.brokers.checks import Checks

FIRST_ID = 3_001
CLUSTER_ID = "a-cluster"
LEVEL = 30
HEARTBEAT = 63
Reply = Callable[[Any], None]
Batch = tuple[int, Sequence[VersionedRecord]]


def settings_of(options: Options, id: int) -> Settings:
    static = {
        "broker.session.timeout.ms": str(options.session_timeout_ms),
        "broker.heartbeat.interval.ms": str(options.heartbeat_interval_ms),
        "metadata.max.idle.interval.ms": str(options.idle_ms),
        "leader.imbalance.check.interval.seconds": str(options.rebalance_s),
        "unclean.leader.election.interval.ms": "2000",
        "min.insync.replicas": str(options.min_isr),
        "unclean.leader.election.enable": str(options.allows_unclean).lower(),
    }
    return Settings(static, CLUSTER_ID, id)


class Controller(Node):
    """One controller: standby, active, or deposed without knowing it."""

    def __init__(self, world: World, quorum: Quorum, id: int) -> None:
        super().__init__(world, f"controller-{id}")
        self.quorum = quorum
        self.id = id
        self.epoch = 0
        self.end = 0
        self.tail: list[Batch] = []
        self._followed = 0
        self._purgatory: Purgatory[tuple[Reply, Any, Request]] = Purgatory()
        self._fetchers: list[tuple[int, Reply]] = []
        self.controller = self._made()

    def _made(self) -> QuorumController:
        options = self.world.options
        bootstrap = [feature_level_record(METADATA_VERSION, LEVEL)]
        if options.has_elr:
            bootstrap.append(feature_level_record(ELR_FEATURE, 1))
        controller = QuorumController(settings_of(options, self.id), Random(self.world.random.random()), bootstrap)
        controller.state.set_quorum(VoterSet(0, (Voter(FIRST_ID, bytes(16)),)), 1)
        return controller

    @property
    def is_active(self) -> bool:
        return self.controller.state.is_active

    def die(self) -> None:
        self.end_life()
        self._purgatory.take_all()
        self._fetchers.clear()
        self.tail.clear()

    def restart(self) -> None:
        """Begin again from a snapshot of what is committed, or from the first record on."""
        self.is_up = True
        self.controller = self._made()
        quorum = self.quorum
        if quorum.images and self.world.chance(0.5):
            self._followed = self.world.random.randrange(len(quorum.images)) + 1
            while self._followed and not quorum.is_whole[self._followed - 1]:
                self._followed -= 1
            if self._followed:
                self.controller.load(quorum.images[self._followed - 1], quorum.last_offset(self._followed))
        else:
            self._followed = 0
        self.follow()

    def follow(self) -> None:
        """Replay what is committed; a standby that is up has it at once."""
        for base, records in self.quorum.log[self._followed :]:
            self.controller.replay(records, base)
            self.controller.commit(base + len(records) - 1)
            self._followed += 1

    # Leadership

    def claim(self, epoch: int) -> None:
        if self.is_active:
            self.renounce()
        self.follow()
        self.epoch = epoch
        self.end = self.quorum.end
        self.controller.commit(self.end - 1)
        self.controller.note_leader(self.id)
        self._write(self.controller.claim(epoch, self.end, self.world.now), None)
        self._tick()

    def renounce(self) -> None:
        """Learn that somebody else leads."""
        if not self.is_active:
            return
        self.controller.renounce()
        self.tail.clear()
        for reply, _, request in self._purgatory.take_all():
            reply((self.epoch, self.controller.refuse(request, NOT_CONTROLLER)))
        for _, reply in self._fetchers:
            reply(None)
        self._fetchers.clear()
        # What it had replayed and was kept comes back by the log.
        self._followed = len([base for base, _ in self.quorum.log if base <= self.controller.state.committed_offset])
        self.follow()

    def _tick(self) -> None:
        due = self.controller.next_due_ms()
        if due is not None:
            self.after(max(1, due - self.world.now), self._run_due, self.epoch)

    def _run_due(self, epoch: int) -> None:
        if not self.is_active or epoch != self.epoch:
            return
        decision = self.controller.run_due(self.world.now)
        if decision is not None:
            self.quorum.checks.decided_alone(self, decision)
            self._write(decision, None)
        self._tick()

    # Requests

    def take(self, key: int, version: int, body: Any, reply: Reply) -> None:
        """A request arrives; one that is overloaded decides later."""
        request = Request(key, version, body, received_ms=self.world.now)
        self.controller.contact(request, self.world.now)
        self.quorum.checks.heard(self, request)
        options = self.world.options
        if self.world.chance(options.overload_part):
            self.after(self.world.between(1, options.heartbeat_interval_ms), self._decide, request, reply)
        else:
            self._decide(request, reply)

    def _decide(self, request: Request, reply: Reply) -> None:
        checks = self.quorum.checks
        expected = checks.before(self, request)
        decision = self.controller.decide(request, self.world.now)
        checks.after(self, request, decision, expected)
        self._write(decision, (reply, decision.answer, request))

    def _write(self, decision: Decision, waiter: tuple[Reply, Any, Request] | None) -> None:
        if not self.is_active:
            if waiter is not None:
                waiter[0]((self.epoch, waiter[1]))
            return
        for batch in decision.batches():
            self.controller.replay(batch, self.end)
            self.tail.append((self.end, batch))
            self.end += len(batch)
        last = self.controller.written(decision)
        self.quorum.checks.look(self)
        if waiter is not None:
            self._purgatory.add(last, waiter)
        if decision.records:
            self.after(self.world.about(self.world.options.commit_ms), self.quorum.commit, self, self.epoch, self.end)
        else:
            self._complete()

    def committed_to(self, end: int) -> None:
        self.controller.commit(end - 1)
        self._followed = len(self.quorum.log)
        self._complete()
        for known, reply in self._fetchers:
            self._serve(known, reply)
        self._fetchers.clear()

    def _complete(self) -> None:
        for reply, answer, _ in self._purgatory.complete_to(self.controller.stable_offset):
            reply((self.epoch, answer))

    # What brokers fetch

    def fetch(self, known: int, reply: Reply) -> None:
        """Answer once there is more than `known` batches; only who is active is fetched from."""
        if not self.is_active:
            reply((self.quorum.told(self), None))
        elif known < len(self.quorum.log) and self.quorum.leader is self:
            self._serve(known, reply)
        else:
            self._fetchers.append((known, reply))
            self.after(500, self._give_up_waiting, reply)

    def fetch_now(self, reply: Reply) -> None:
        """Everything that is committed now, by whoever leads and is sure of it."""
        if self.is_active and self.quorum.leader is self:
            self._serve(0, reply)
        else:
            reply((self.quorum.told(self), None))

    def _serve(self, known: int, reply: Reply) -> None:
        reply(((self.epoch, self.id), len(self.quorum.log)))

    def _give_up_waiting(self, reply: Reply) -> None:
        for number, (_, waiting) in enumerate(self._fetchers):
            if waiting == reply:
                del self._fetchers[number]
                reply(((self.epoch, self.id), 0))
                return


class Quorum:
    """The controllers, the committed log, and the image after each of its batches."""

    def __init__(self, world: World, checks: Checks) -> None:
        self.world = world
        self.checks = checks
        self.log: list[Batch] = []
        self.end = 0
        self.epoch = 0
        self.leader: Controller | None = None
        self.images: list[MetadataImage] = []
        self.is_whole: list[bool] = []
        self.controllers = [Controller(world, self, FIRST_ID + number) for number in range(world.options.controllers)]
        self._reader = Controller(world, self, FIRST_ID + 100)

    def begin(self) -> None:
        self.elect(self.controllers[0])

    @property
    def image(self) -> MetadataImage:
        """What is committed."""
        return self.images[-1]

    def last_offset(self, batches: int) -> int:
        """The last offset of that many batches."""
        base, records = self.log[batches - 1]
        return base + len(records) - 1

    def told(self, controller: Controller) -> tuple[int, int]:
        """(epoch, id) of the leader as a standby knows it; id -1 for nobody."""
        return (self.epoch, self.leader.id) if self.leader is not None else (self.epoch, -1)

    def depose(self) -> None:
        """Nobody leads; who did may not know."""
        old, self.leader = self.leader, None
        if old is None:
            return
        self.epoch += 1
        self.world.counts["failovers"] += 1
        kept = self.world.random.randrange(len(old.tail) + 1)
        for batch in old.tail[:kept]:
            self._append(batch)
        if self.world.chance(0.4):
            old.die()
            self.world.at(self.world.about(1_000), self._restart, old)
        else:
            old.after(self.world.about(self.world.options.failover_ms), self._learn, old, old.epoch)

    def _restart(self, controller: Controller) -> None:
        if not controller.is_up:
            controller.restart()

    def _learn(self, controller: Controller, epoch: int) -> None:
        if controller.epoch == epoch:
            controller.renounce()

    def elect(self, controller: Controller) -> None:
        self.epoch += 1
        # The record that says who leads.
        self.end += 1
        self.leader = controller
        self.checks.claimed()
        self.world.note(f"{controller.name} leads in epoch {self.epoch}")
        controller.claim(self.epoch)

    def commit(self, controller: Controller, epoch: int, end: int) -> None:
        """What a leader wrote is on a majority, unless another was elected before."""
        if self.leader is not controller or controller.epoch != epoch:
            return
        while controller.tail and controller.tail[0][0] < end:
            self._append(controller.tail.pop(0))
        controller.committed_to(end)

    def _append(self, batch: Batch) -> None:
        base, records = batch
        self.log.append(batch)
        self.end = base + len(records)
        if self.world.is_traced:
            for number, (record, _) in enumerate(records):
                if type(record).__name__ != "NoOpRecord":
                    self.world.note(f"log {base + number}: {record}")
        self._reader.follow()
        self.images.append(self._reader.controller.image)
        self.is_whole.append(self._reader.controller.stable_offset == self.end - 1)
        for controller in self.controllers:
            if controller.is_up and not controller.is_active:
                controller.follow()
        self.checks.committed(self.images[-1])
