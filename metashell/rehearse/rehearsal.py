"""Runs a rehearsal: the real controller on a copy of an image, modelled brokers, and steps on a virtual clock."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any, Final

from metashell.codec.codes import TOPIC_RESOURCE
from metashell.codec.error_codes import NOT_CONTROLLER
from metashell.common.values import uuid_from_text
from metashell.metadata.checks.partitions import leads_alone
from metashell.metadata.image import MetadataImage, PartitionRegistration, TopicImage
from metashell.quorum.controller.decision import MIN_ISR, UNCLEAN_ELECTION
from metashell.quorum.controller.partition_change import RECOVERING
from metashell.quorum.controller.state import partition_of
from metashell.rehearse.brokers import Fleet
from metashell.rehearse.operations import RequestStep, Roll, leaderless_for_good, send_requests, unfinished_moves, unfinished_restarts
from metashell.rehearse.outcome import Batch, Event, Outcome, PartitionDiff, Refusal, StepReport
from metashell.rehearse.quorum import Clock, Quorum, known_voters
from metashell.rehearse.replication import Directories, Replication, Sizes
from metashell.rehearse.step_checks import check_steps
from metashell.rehearse.steps import (
    AddBroker,
    Assumptions,
    KillBroker,
    LoseController,
    LoseDirectory,
    LoseRack,
    Reassign,
    RemoveController,
    RestartBroker,
    RollBrokers,
    Step,
    static_min_isr,
    step_text,
)
from metashell.rehearse.trouble import PartitionKey, Touched, TroubleWatch, changed_partitions, image_diff
from metashell.rehearse.verdict import Counts, Journal, broker_loads, notes_of, rack_loads, survey, verdict_of

RECORDS_KEPT: Final = 200_000
INTERVALS_KEPT: Final = 200_000
_LOOKED_UP_MAX: Final = 1000
"""If more partitions than this are in trouble, it is cheaper to go through those of the one broker."""
_BEFORE_MS: Final = 10_000
"""The time that the controller has been active before the first step."""
Progress = Callable[[int, str], None]
"""Called before each step and each restart, with the time of the rehearsal and a text."""


class Rehearsal:
    """One rehearsal, which can run once.

    Shape: `sizes` are the bytes of a replica of each (topic, partition). `on_batch` gets every batch; the outcome keeps the first
    `records_kept` records.
    """

    def __init__(
        self,
        image: MetadataImage,
        assumptions: Assumptions | None = None,
        sizes: Mapping[tuple[str, int], int] | None = None,
        *,
        records_kept: int = RECORDS_KEPT,
        on_batch: Callable[[Batch], None] | None = None,
    ) -> None:
        self._image = image
        self._assumptions = assumed = assumptions or Assumptions()
        self._sizes = Sizes(sizes)
        self._journal = Journal(records_kept, on_batch)
        self._touched = Touched()
        self._rolls: list[Roll] = []
        self._refusals: list[Refusal] = []
        self._asked: RequestStep | None = None
        self._is_surveyed = False
        self._stuck_count = 0
        self._step = 0
        self._last_image = image
        chance = Random(assumed.seed)
        # Brokers have sent heartbeats before the first step too.
        self._clock = Clock(-_BEFORE_MS)
        self._quorum = Quorum(image, assumed, self._clock, self._on_written)
        self._fleet = Fleet(self._quorum, assumed, self._clock, chance)
        self._watch = TroubleWatch(self._quorum.controller.state, self._fleet.living, self._clock, INTERVALS_KEPT, static_min_isr(assumed))
        self._directories = Directories(self._quorum, self._fleet, self._clock, chance)
        self._replication = Replication(self._quorum, self._fleet, self._clock, assumed, self._sizes, self._directories)
        self._fleet.on_death = self._on_death
        self._fleet.on_serving = self._on_serving
        self._last_image = self._quorum.image

    def run(self, steps: Sequence[Step], progress: Progress | None = None) -> Outcome:
        """Run the steps, and wait until nothing changes any more.

        Errors: StepError, before anything runs, for a step that is impossible in this cluster.
        """
        assert not self._is_surveyed, "a rehearsal runs once"
        check_steps(self._image, steps, self._assumptions)
        was_enabled = gc.isenabled()
        # Controller and images make no cyclic garbage, and searching for it would double the time.
        gc.disable()
        try:
            return self._run(steps, progress or (lambda at_ms, text: None))
        finally:
            if was_enabled:
                gc.enable()

    def _run(self, steps: Sequence[Step], progress: Progress) -> Outcome:
        counts = survey(self._quorum.image, self._fleet.living, self._examine_special)
        self._add_sizes(counts)
        self._stuck_count = len(self._replication.stuck)
        self._is_surveyed = True
        self._advance(0)
        self._watch.begin()
        reports: list[StepReport] = []
        settled = True
        for index, step in enumerate(steps):
            if step.at_ms is not None:
                self._advance(step.at_ms)
            elif index:
                settled = self._settle(self._is_quiet) and settled
            self._close_report(reports)
            text = step_text(step)
            progress(self._clock.now_ms, text)
            self._watch.cause = text
            self._fleet.events.append(Event(self._clock.now_ms, text, step=index))
            self._step = index
            reports.append(StepReport(step, self._clock.now_ms, None))
            self._perform(step)
        settled = self._settle(self._is_quiet) and settled
        self._close_report(reports)
        settled = self._settle(lambda: self._is_quiet() and self._quorum.is_idle) and settled
        return self._outcome(counts, reports, settled)

    def _add_sizes(self, counts: Counts) -> None:
        topics = self._image.topics.by_name
        for (topic, partition_id), size_bytes in self._sizes.by_partition.items():
            known = topics.get(topic)
            partition = None if known is None else partition_of(known, partition_id)
            for id in () if partition is None else partition.replicas:
                counts.sizes[id] += size_bytes

    def _examine_special(self, topic: TopicImage, partition_id: int, partition: PartitionRegistration) -> None:
        key = topic.id, partition_id
        self._watch.examine(key, topic, partition)
        if len(partition.isr) == len(partition.replicas):
            return
        if self._assumptions.lagging_catch_up:
            self._replication.follow_partition(key, topic, partition)
        else:
            self._replication.stuck |= {(key, id) for id in partition.replicas if id not in partition.isr and id in self._fleet.serving}

    # The clock

    def _turn(self, limit_ms: int) -> bool:
        """Run the next action up to `limit_ms`; return whether there was one."""
        clock, due_ms = self._clock, self._quorum.next_due_ms()
        next_ms = clock.next_ms
        if next_ms is not None and next_ms <= limit_ms and (due_ms is None or next_ms <= due_ms):
            clock.run_next()
            return True
        if due_ms is None or due_ms > limit_ms:
            return False
        clock.now_ms = max(clock.now_ms, due_ms)
        self._quorum.run_due(self._fleet.sync_if_any_is_silent)
        return True

    def _advance(self, until_ms: int) -> None:
        while self._turn(until_ms):
            pass
        self._clock.now_ms = max(self._clock.now_ms, until_ms)

    def _settle(self, is_done: Callable[[], bool]) -> bool:
        """Run actions until nothing changes any more; return False if that takes too long."""
        limit_ms = self._clock.now_ms + self._assumptions.patience_ms
        while not is_done():
            if not self._turn(limit_ms):
                return is_done()
        return True

    def _is_quiet(self) -> bool:
        """Return whether nothing is pending but the elections that the controller holds every few minutes."""
        if self._clock.busy:
            return False
        return self._quorum.is_lost or (self._quorum.is_active and not self._fleet.silent)

    # Effects of records and deaths

    def _on_written(self, batch: Batch) -> None:
        self._journal.add(batch)
        if not self._is_surveyed:
            return
        self._fleet.follow(batch)
        before, self._last_image = self._last_image, self._quorum.image
        for record, _ in batch.records:
            match type(record).__name__:
                case "BrokerRegistrationChangeRecord" | "UnregisterBrokerRecord":
                    self._examine_troubled(record.broker_id)
                case "PartitionChangeRecord":
                    self._on_partition(before, record)
                case "PartitionRecord":
                    self._on_partition(None, record)
                case "TopicRecord":
                    self._touched.made_topics.add(record.topic_id)
                case "RemoveTopicRecord":
                    self._touched.removed_topics.add(record.topic_id)
                    self._watch.forget_topic(record.topic_id)
                    self._replication.look_removed(record.topic_id)
                case "ConfigRecord" if record.name in (MIN_ISR, UNCLEAN_ELECTION):
                    self._on_rule(record.resource_type, record.resource_name)
                case "ClearElrRecord":
                    self._touched.partitions.update(dict.fromkeys(self._quorum.controller.state.hints.eligible))

    def _on_partition(self, before: MetadataImage | None, record: Any) -> None:
        key: PartitionKey = (record.topic_id, record.partition_id)
        topic = self._last_image.topics.by_id.get(record.topic_id)
        partition = None if topic is None else partition_of(topic, record.partition_id)
        if topic is None or partition is None:
            # The topic is missing if a later record of the same batch deletes it.
            return
        self._touched.partitions[key] = None
        is_empty = (key, record.leader) in self._directories.emptied
        # An only replica that takes over from itself has all its records, except on an empty disk.
        is_unclean = is_empty or (before is not None and not leads_alone(partition) and _is_unclean(before, record))
        if before is not None and record.leader >= 0 and is_unclean:
            self._watch.note_unclean(key, topic, is_empty=is_empty)
        self._directories.report_partition(key, partition)
        self._watch.examine(key, topic, partition)
        self._replication.follow_partition(key, topic, partition)

    def _on_rule(self, resource_type: int, resource_name: str) -> None:
        """Look at the partitions again after a setting changed that they depend on."""
        if resource_type != TOPIC_RESOURCE:
            self._watch.examine_all()
        elif (topic := self._last_image.topics.by_name.get(resource_name)) is not None:
            self._watch.examine_topic(topic)

    def _on_death(self, id: int, is_unknown: bool) -> None:
        self._replication.forget(id)
        if not is_unknown:
            return
        self._examine_broker(id)
        life = self._fleet.brokers[id].life
        self._clock.after(self._assumptions.replica_lag_ms, lambda: self._shrink(id, life), is_deadline=True)

    def _examine_troubled(self, id: int) -> None:
        """Look at the partitions without a living leader, after a broker became able to lead, or unable."""
        troubled = self._watch.troubled
        if len(troubled) > _LOOKED_UP_MAX:
            self._examine_broker(id)
            return
        for key in list(troubled):
            topic, partition = self._last_image.topics.by_id.get(key[0]), self._quorum.controller.state.partition(*key)
            if topic is not None and partition is not None and id in partition.replicas:
                self._watch.examine(key, topic, partition)

    def _examine_broker(self, id: int) -> None:
        """Look at a dead broker's partitions, and at those without a living leader."""
        watch = self._watch
        for found in self._quorum.changes().with_replica(id):
            if found is not None:
                topic, partition_id, partition = found
                key = topic.id, partition_id
                if id in partition.isr or watch.has_trouble(key):
                    watch.examine(key, topic, partition)

    def _shrink(self, id: int, life: int) -> None:
        """Let leaders remove a broker that no longer follows, unless the controller has fenced it by then."""
        if id not in self._fleet.silent or self._fleet.brokers[id].life != life:
            return
        if self._quorum.is_active:
            self._replication.shrink(id)
        else:
            self._quorum.when_active(lambda: self._shrink(id, life))

    def _on_serving(self, id: int) -> None:
        self._directories.on_serving(id)
        self._replication.join(id)
        for roll in self._rolls:
            roll.joined(id)

    # Steps

    def _perform(self, step: Step) -> None:
        match step:
            case KillBroker():
                self._kill([step.broker])
            case LoseRack():
                self._kill([id for id, broker in sorted(self._fleet.brokers.items()) if broker.registration.rack == step.rack])
            case RestartBroker():
                self._restart([step.broker], 1, step.down_ms, step.empty)
            case RollBrokers():
                brokers = sorted(self._fleet.serving) if step.brokers is None else list(step.brokers)
                self._restart(brokers, step.max_offline, step.down_ms)
            case LoseDirectory():
                self._lose_directory(step)
            case RemoveController():
                self._quorum.when_active(partial(self._remove_controller, step))
            case AddBroker():
                registered, fleet = self._quorum.image.cluster.brokers, self._fleet.brokers
                model = registered[min(registered)] if registered else fleet[min(fleet)].registration
                self._fleet.add(step.broker, step.rack, model)
            case LoseController():
                self._lose_controller(step)
            case _:
                if isinstance(step, Reassign):
                    self._replication.throttle_bytes = step.throttle_bytes
                self._asked = step
                self._quorum.when_active(partial(self._send_requests, step))

    def _send_requests(self, step: RequestStep) -> None:
        self._asked = None
        self._refusals += send_requests(self._quorum, step)

    def _kill(self, ids: Sequence[int]) -> None:
        """Kill brokers, and the controllers on the same machines."""
        for id in ids:
            if self._fleet.kill(id):
                self._fleet.add_event(f"broker {id} dies", id)
            else:
                self._fleet.add_event(f"broker {id} was dead already", id)
            self._stop_controller(id)

    def _lose_directory(self, step: LoseDirectory) -> None:
        id = step.broker
        directories = self._fleet.brokers[id].registration.directories
        directory = next(iter(directories), b"") if step.directory is None else uuid_from_text(step.directory)
        if directory not in directories:
            self._fleet.add_event(f"broker {id} has lost that log directory already", id)
        elif self._directories.fail(id, directory):
            self._fleet.beat_failed(id)
        else:
            self._kill([id])

    def _remove_controller(self, step: RemoveController) -> None:
        self._fleet.add_event(f"controller {step.controller} leaves the voters")
        self._refusals += self._quorum.remove_voter(step.controller)

    def _restart(self, ids: Sequence[int], max_offline: int, down_ms: int | None, empty: tuple[str, ...] | None = None) -> None:
        def on_start(id: int) -> None:
            self._quorum.revive(id)
            if empty is not None:
                self._directories.empty(id, tuple(map(uuid_from_text, empty)))

        roll = Roll(
            ids,
            max_offline,
            self._assumptions.down_ms if down_ms is None else down_ms,
            step=self._step,
            fleet=self._fleet,
            replication=self._replication,
            clock=self._clock,
            on_stop=self._stop_controller,
            on_start=on_start,
        )
        self._rolls.append(roll)
        roll.restart_next()

    def _stop_controller(self, id: int) -> None:
        if id in self._quorum.living:
            self._fleet.add_event(f"controller {id} stops")
            self._quorum.kill(id, f"controller {id} stopped")

    def _lose_controller(self, step: LoseController) -> None:
        id = step.controller
        if id is None:
            id = self._quorum.active if self._quorum.is_active else min(self._quorum.living, default=-1)
        is_combined = id in self._fleet.brokers
        if is_combined:
            self._kill([id])
        else:
            self._stop_controller(id)
        if step.back_after_ms is not None:
            self._clock.after(step.back_after_ms, partial(self._bring_back, id, is_combined))

    def _bring_back(self, id: int, is_combined: bool) -> None:
        self._fleet.add_event(f"controller {id} is back")
        self._quorum.revive(id)
        if is_combined and not self._fleet.brokers[id].has_process:
            self._fleet.start(id)

    def _close_report(self, reports: list[StepReport]) -> None:
        """Complete the reports of the steps so far."""
        if not reports:
            return
        last = reports[-1]
        refusals = [*last.refusals, *self._refusals, *self._fleet.refusals]
        self._refusals.clear()
        self._fleet.refusals.clear()
        if self._asked is not None and self._quorum.is_lost:
            refusals.append(Refusal(step_text(self._asked), NOT_CONTROLLER, "No controller is active, and none will be."))
            self._asked = None
        reports[-1] = last._replace(refusals=tuple(refusals))
        if not self._is_quiet():
            return
        image = self._last_image
        ended_ms = max(self._quorum.last_write_ms, max((event.at_ms for event in self._fleet.events), default=0))
        for index, report in enumerate(reports):
            if report.ended_ms is None:
                unfinished = (
                    *unfinished_restarts(self._rolls, index),
                    *unfinished_moves(image, report),
                    *leaderless_for_good(self._quorum, self._image, report.step),
                )
                reports[index] = report._replace(ended_ms=max(report.began_ms, ended_ms), unfinished=unfinished)
        self._rolls.clear()

    # The end

    @property
    def _next_election_ms(self) -> int | None:
        settings = self._quorum.settings
        if not settings.value("auto.leader.rebalance.enable"):
            return None
        return settings.number("leader.imbalance.check.interval.seconds") * 1000 - _BEFORE_MS

    def _outcome(self, counts: Counts, reports: list[StepReport], settled: bool) -> Outcome:
        before, after = self._image, self._quorum.image
        self._quorum.close()
        later = counts.copy()
        diffs = []
        for topic, (_, partition_id), old, new in changed_partitions(before, after, self._touched):
            size_bytes = self._sizes.of(topic, partition_id) or 0
            if old is not None:
                later.add(old, size_bytes, -1)
            if new is not None:
                later.add(new, size_bytes)
            diffs.append(PartitionDiff(topic, partition_id, old, new))
        brokers = tuple(broker_loads(before.cluster.brokers, after.cluster.brokers, counts, later, self._sizes.are_known))
        tolls = self._watch.close()
        return Outcome(
            before=before,
            after=after,
            steps=tuple(reports),
            batches=tuple(self._journal.batches),
            record_counts=self._journal.counts,
            records_left_out=self._journal.left_out,
            intervals=tuple(self._watch.intervals),
            intervals_left_out=self._watch.left_out,
            emptied=tuple(self._watch.emptied),
            quorum_gaps=tuple(self._quorum.gaps),
            quorum_known=bool(self._quorum.voters),
            events=tuple(self._fleet.events),
            broker_spans=tuple(self._fleet.close()),
            brokers=brokers,
            racks=tuple(rack_loads(brokers)),
            copied=tuple(sorted(self._replication.copied.values(), key=lambda one: (one.broker, one.is_catch_up))),
            diff=image_diff(before, after, self._touched, diffs),
            sizes_known=self._sizes.are_known,
            settled=settled,
            ended_ms=self._clock.now_ms,
            assumptions=self._assumptions,
            notes=tuple(
                notes_of(
                    before,
                    next_election_ms=self._next_election_ms,
                    stuck=self._stuck_count,
                    held=self._replication.held,
                    voters=self._quorum.voters,
                    voters_named=bool(known_voters(before)),
                    copied_unknown=any(one.size_bytes is None and not one.is_catch_up for one in self._replication.copied.values()),
                )
            ),
            verdict=verdict_of(
                tolls, offline_before=self._watch.offline_before, gaps=self._quorum.gaps, reports=reports, settled=settled, image=before
            ),
        )


def rehearse_change(
    image: MetadataImage, steps: Sequence[Step], assumptions: Assumptions | None = None, sizes: Mapping[tuple[str, int], int] | None = None
) -> Outcome:
    """Rehearse steps in one call. Errors: StepError."""
    return Rehearsal(image, assumptions, sizes).run(steps)


def _is_unclean(before: MetadataImage, record: Any) -> bool:
    """Return whether the new leader of a partition may lack committed records."""
    if record.leader_recovery_state == RECOVERING:
        return True
    topic = before.topics.by_id.get(record.topic_id)
    partition = None if topic is None else partition_of(topic, record.partition_id)
    if partition is None or record.replicas is not None or record.leader in partition.isr:
        return False
    if record.leader in partition.adding_replicas:
        # It was eligible once, was moved away, and has copied nothing since it came back.
        return True
    # A second unclean election, before the first leader had recovered.
    return partition.leader_recovery_state == RECOVERING and record.leader not in partition.elr
