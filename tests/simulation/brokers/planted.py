"""Bugs that the checkers must find: in the controller, as a person might have written it, and in what a broker makes of its answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from metashell.codec.error_codes import INELIGIBLE_REPLICA, INVALID_UPDATE_VERSION, NONE
from metashell.metadata.image import topics
from metashell.metadata.image.partitions import fold_changes
from metashell.metadata.image.provenance import VersionedRecord
from metashell.quorum.controller import QuorumController, brokers, replicas
from metashell.quorum.controller.controller import Schedule
from metashell.quorum.controller.decision import FENCE, fencing_record
from metashell.quorum.controller.elections import PartitionChanges
from metashell.quorum.controller.leader_state import Heartbeats
from metashell.quorum.controller.partition_change import PartitionChange
from metashell.quorum.controller.state import State
from tests.simulation.brokers import leading, mended
from tests.simulation.brokers.broker import Broker
from tests.simulation.brokers.replica import Replica
from tests.simulation.bugs import OUTSIDE, Bug, Patch, table_of


def a_fenced_broker_keeps_what_it_leads() -> list[Patch]:
    """Fencing is a record about the broker and nothing else, as in the text of KIP-631."""

    def records(changes: PartitionChanges, broker: Any) -> Iterator[VersionedRecord | None]:
        yield fencing_record(broker.id, broker.epoch, FENCE)

    return [(brokers, "_fencing_records", records)]


def an_unclean_life_counts_as_clean() -> list[Patch]:
    """A broker whose power failed stays eligible for what it had."""

    def removals(changes: PartitionChanges, partitions: Any, broker_id: int, *, is_unclean: bool = False) -> Any:
        return original(changes, partitions, broker_id)

    original = PartitionChanges.removals
    return [(PartitionChanges, "removals", removals)]


def a_new_life_drives_the_old_one_out() -> list[Patch]:
    """A registration does not mind the session of another incarnation, as KIP-343 wants it."""
    return [(Heartbeats, "has_session", lambda heartbeats, id, epoch, now_ms: False)]


def a_broker_is_unfenced_before_it_has_caught_up() -> list[Patch]:
    """Nobody asks how far a broker has read."""

    def next_mode(state: Any, body: Any, mode: Any, changes: PartitionChanges) -> Any:
        if mode is brokers.BrokerMode.FENCED and not body.want_fence and not body.want_shut_down:
            return brokers.BrokerMode.UNFENCED
        return (yield from original(state, body, mode, changes))

    original = brokers._next_mode
    return [(brokers, "_next_mode", next_mode)]


def a_leaving_broker_waits_for_nobody() -> list[Patch]:
    """It is let go once it leads nothing, whoever has not read that yet, as KIP-631 wants it."""
    return [(Heartbeats, "lowest_active_offset", lambda heartbeats: None)]


def an_old_isr_overwrites_a_newer_one() -> list[Patch]:
    """The partition epoch of a request is not compared."""

    def fault(*about: Any) -> int:
        code = original(*about)
        return NONE if code == INVALID_UPDATE_VERSION else code

    original = replicas._fault
    return [(replicas, "_fault", fault)]


def anybody_may_join_an_isr() -> list[Patch]:
    """Members of a wanted ISR may be fenced, leave, or be of a former life."""
    return [(replicas, "_are_eligible", lambda state, wanted: True)]


def whoever_is_not_in_sync_is_eligible() -> list[Patch]:
    """The ELR has every replica that is not in the ISR."""

    def move_to_elr(change: PartitionChange) -> None:
        original(change)
        if len(change.isr) < change.min_isr:
            change.elr = tuple(id for id in change.replicas if id not in change.isr and id not in change.unclean_replicas)

    original = PartitionChange._move_to_elr
    return [(PartitionChange, "_move_to_elr", move_to_elr)]


def any_live_replica_is_elected() -> list[Patch]:
    """Elections look at who is live, and not at who is in sync."""
    return [(PartitionChange, "_is_valid_leader", lambda change, id: id in change.replicas and change.is_acceptable(id))]


def a_new_leader_keeps_the_leader_epoch() -> list[Patch]:
    """The leader epoch counts leaders that went, not those that came."""

    def fold(base: Any, changes: Any) -> Any:
        after = fold_changes(base, changes)
        return after._replace(leader_epoch=base.leader_epoch) if after.leader >= 0 else after

    return [(topics, "fold_changes", fold)]


def a_new_controller_expects_nobody() -> list[Patch]:
    """Who takes over does not begin the sessions of the brokers that are there."""

    def claim(controller: QuorumController, epoch: int, end: int, now_ms: int) -> Any:
        made = yield from original(controller, epoch, end, now_ms)
        controller.state.heartbeats._contacts.clear()
        return made

    original = QuorumController.claim_steps
    return [(QuorumController, "claim_steps", claim)]


def sessions_go_on_from_an_earlier_leadership() -> list[Patch]:
    """Who leads a second time takes brokers for silent since it led last."""

    def claim(controller: QuorumController, epoch: int, end: int, now_ms: int) -> Any:
        before = controller.state.heartbeats
        made = yield from original(controller, epoch, end, now_ms)
        contacts = controller.state.heartbeats._contacts
        for key in sorted(contacts, key=lambda key: before._contacts.get(key, now_ms)):
            contacts[key] = before._contacts.get(key, now_ms)
            contacts.move_to_end(key)
        return made

    def renounce(state: State) -> None:
        kept = state.heartbeats
        given_up(state)
        state.heartbeats = kept

    original, given_up = QuorumController.claim_steps, State.renounce
    return [(QuorumController, "claim_steps", claim), (State, "renounce", renounce)]


def nobody_looks_at_sessions() -> list[Patch]:
    """The sweep is no periodic task."""

    def start(schedule: Schedule, tasks: Any, now_ms: int) -> None:
        original(schedule, [task for task in tasks if task.name != "maybeFenceStaleBroker"], now_ms)

    original = Schedule.start
    return [(Schedule, "start", start)]


def a_replica_that_comes_back_empty_is_eligible() -> list[Patch]:
    """A replica stays in the ELR when a reassignment takes it away, and is there when another one brings it back, as in Kafka."""
    return [(mended, "mends", list)]


def a_leader_forgets_what_it_asked_for() -> list[Patch]:
    """After INVALID_UPDATE_VERSION a leader counts the ISR that it knows, though the controllers may have taken the one it asked for."""

    def settle(broker: Broker, replica: Replica, pending: Any, one: Any) -> None:
        original(broker, replica, pending, one)
        if one.error_code in (INVALID_UPDATE_VERSION, INELIGIBLE_REPLICA) and replica.pending is pending:
            replica.pending = None

    original = leading.settle
    return [(leading, "settle", settle)]


def a_leader_counts_only_whom_it_knows_in_sync() -> list[Patch]:
    """A record counts once the ISR has it that was confirmed last, without those who may have joined since."""
    return [(Replica, "counted", lambda replica, id: set(replica.isr) - {id})]


def a_lease_begins_when_the_answer_comes() -> list[Patch]:
    """A self-fencing broker counts from the answer to a heartbeat, and takes a lease of a whole session."""

    def has_lease(broker: Broker) -> bool:
        return broker.world.now <= broker.answered_ms + 2 * broker.world.options.session_timeout_ms

    return [(Broker, "has_lease", property(has_lease))]


def a_renewed_lease_renews_leaderships() -> list[Patch]:
    """A self-fencing broker goes on when it is answered again, before it has read who leads now."""
    return [(Broker, "_renew", lambda broker: None)]


SLOW = {**OUTSIDE, "slow_part": 0.05}
LEASE = {**OUTSIDE, "lease_ms": 1_200, "cut_every": 1_000, "cut_ms": 2_500}
BUGS = table_of(
    a_fenced_broker_keeps_what_it_leads,
    Bug(an_unclean_life_counts_as_clean, OUTSIDE),
    a_new_life_drives_the_old_one_out,
    a_broker_is_unfenced_before_it_has_caught_up,
    a_leaving_broker_waits_for_nobody,
    Bug(an_old_isr_overwrites_a_newer_one, OUTSIDE),
    anybody_may_join_an_isr,
    Bug(whoever_is_not_in_sync_is_eligible, OUTSIDE),
    Bug(any_live_replica_is_elected, OUTSIDE),
    Bug(a_new_leader_keeps_the_leader_epoch, OUTSIDE),
    a_new_controller_expects_nobody,
    sessions_go_on_from_an_earlier_leadership,
    nobody_looks_at_sessions,
    Bug(a_replica_that_comes_back_empty_is_eligible, SLOW),
    Bug(a_leader_forgets_what_it_asked_for, SLOW),
    Bug(a_leader_counts_only_whom_it_knows_in_sync, OUTSIDE),
    Bug(a_lease_begins_when_the_answer_comes, OUTSIDE),
    Bug(a_renewed_lease_renews_leaderships, LEASE),
)
