"""Bugs of a controller that its worlds must find: each as a person might write it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from metashell.codec.batches import RecordBatch
from metashell.quorum.controller import Decision, QuorumController
from metashell.quorum.controller.decision import Purgatory
from metashell.quorum.controller.state import State
from metashell.quorum.raft import progress
from metashell.quorum.raft.ready import LeaderChanged
from metashell.quorum.raft.roles import Resigned
from metashell.quorum.server.controller_machine import ControllerMachine, Waiter
from tests.simulation.bugs import OUTSIDE, Bug, Patch, table_of


def an_answer_leaves_before_the_commit() -> list[Patch]:
    """An answer goes out as soon as its records are appended."""

    def add(purgatory: Purgatory[Waiter], offset: int, waiter: Waiter) -> None:
        original(purgatory, -1 if not purgatory._waiting else offset, waiter)

    original = Purgatory.add
    return [(Purgatory, "add", add)]


def what_is_committed_is_taken_for_stable() -> list[Patch]:
    """Answers wait for the commit, also of what lies in a transaction that may be aborted."""
    return [(QuorumController, "stable_offset", property(lambda controller: controller.state.committed_offset))]


def a_deposed_leader_stays_active() -> list[Patch]:
    """Who is no longer the leader goes on as the active controller: nobody tells it."""

    def leader_changed(machine: ControllerMachine, leader_id: int, epoch: int) -> Any:
        if machine.is_active and leader_id != machine.controller.state.settings.node_id:
            return
        yield from original(machine, leader_id, epoch)

    original = ControllerMachine._leader_changed
    return [(ControllerMachine, "_leader_changed", leader_changed), *_without_give_up_at_commits()]


def _without_give_up_at_commits() -> list[Patch]:
    """Batches of a later epoch are taken for those of the claim."""

    def commit(machine: ControllerMachine, batches: Sequence[RecordBatch], done: asyncio.Future[Any]) -> Any:
        controller, state = machine.controller, machine.controller.state
        for batch in batches:
            if batch.header.is_control:
                machine._take_control(batch)
            elif not state.is_active:
                yield from machine._follow(batch)
            controller.commit(batch.header.last_offset)
            machine._complete()
        machine.is_caught_up = True
        if not done.done():
            done.set_result(machine._snapshot(batches[-1]))

    return [(ControllerMachine, "_commit", commit)]


def a_claim_goes_on_in_the_next_epoch() -> list[Patch]:
    """A leader that was elected again takes its new epoch for the old one: what it wrote and lost is taken for written."""

    def leader_changed(machine: ControllerMachine, leader_id: int, epoch: int) -> Any:
        state = machine.controller.state
        if machine.is_active and leader_id == state.settings.node_id:
            state.claim_epoch = epoch
            return
        yield from original(machine, leader_id, epoch)

    original = ControllerMachine._leader_changed
    return [(ControllerMachine, "_leader_changed", leader_changed), *_without_give_up_at_commits()]


def own_batches_are_replayed_twice() -> list[Patch]:
    """What this controller appended is replayed again when it is committed."""

    def commit(machine: ControllerMachine, batches: Sequence[RecordBatch], done: asyncio.Future[Any]) -> Any:
        state = machine.controller.state
        if state.is_active:
            for batch in batches:
                if not batch.header.is_control and batch.header.leader_epoch == state.claim_epoch:
                    yield from machine._follow(batch)
        yield from original(machine, batches, done)

    original = ControllerMachine._commit
    return [(ControllerMachine, "_commit", commit)]


def a_leader_claims_before_it_has_caught_up() -> list[Patch]:
    """The new leader is told at once, whatever it has still to replay."""

    def tell_leader(node: Any, listener: Any) -> None:
        role = node.role
        is_newer = role.epoch > listener.epoch or (role.leader_id != -1 and listener.leader_id == -1)
        if not is_newer or isinstance(role, Resigned):
            return
        listener.epoch, listener.leader_id = role.epoch, role.leader_id
        node.notify(LeaderChanged(listener.id, role.leader_id, role.epoch))

    return [(progress, "announce_leader", tell_leader)]


def a_lost_leadership_answers_the_waiters() -> list[Patch]:
    """Who waits when leadership ends is answered as was decided."""

    def give_up(machine: ControllerMachine, epoch: int) -> None:
        if machine.controller.state.is_active and machine.controller.state.claim_epoch == epoch:
            for waiter in machine._purgatory.take_all():
                machine._send(waiter)
        original(machine, epoch)

    original = ControllerMachine._give_up
    return [(ControllerMachine, "_give_up", give_up)]


def a_lost_leadership_keeps_the_tip() -> list[Patch]:
    """What was written and not committed is kept when leadership ends."""

    def renounce(state: State) -> None:
        state.claim_epoch = state.next_write_offset = -1
        state._written.clear()

    return [(State, "renounce", renounce)]


def offsets_are_counted_here() -> list[Patch]:
    """A batch is replayed at the offset after the last one, though raft may have put one of its own before it."""

    def replay(controller: QuorumController, records: Any, base_offset: int) -> Any:
        state = controller.state
        return original(controller, records, state.next_write_offset if state.is_active else base_offset)

    original = QuorumController.replay_steps
    return [(QuorumController, "replay_steps", replay)]


def a_decision_without_records_does_not_wait() -> list[Patch]:
    """An answer that changes nothing goes out at once, whatever it has seen."""

    def write(machine: ControllerMachine, epoch: int, decision: Decision, waiter: Waiter | None, *asked: Any) -> Any:
        if waiter is not None and not decision.records and decision.kraft_version is None:
            machine._send(waiter)
            return
        yield from original(machine, epoch, decision, waiter, *asked)

    original = ControllerMachine._write
    return [(ControllerMachine, "_write", write)]


def a_snapshot_has_what_is_not_committed() -> list[Patch]:
    """A snapshot is made of the newest image."""
    return [(State, "stable", property(lambda state: state.tip.image))]


SOLE = {"voters": 1, "linger_ms": 300, "resign_every": 500, "append_every": 60, "crash_every": 0, "failing_disk_every": 0}
BUGS = table_of(
    an_answer_leaves_before_the_commit,
    Bug(an_answer_leaves_before_the_commit, OUTSIDE),
    what_is_committed_is_taken_for_stable,
    Bug(what_is_committed_is_taken_for_stable, OUTSIDE),
    a_deposed_leader_stays_active,
    Bug(a_claim_goes_on_in_the_next_epoch, SOLE),
    own_batches_are_replayed_twice,
    a_leader_claims_before_it_has_caught_up,
    a_lost_leadership_answers_the_waiters,
    Bug(a_lost_leadership_answers_the_waiters, OUTSIDE),
    a_lost_leadership_keeps_the_tip,
    offsets_are_counted_here,
    a_decision_without_records_does_not_wait,
    Bug(a_decision_without_records_does_not_wait, OUTSIDE),
    a_snapshot_has_what_is_not_committed,
)
