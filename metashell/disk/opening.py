"""Opens a log directory for writing: plans the changes for what recovery found, then makes and syncs them.

Nothing is changed before it is certain that the log can start. A crash may follow each change: the next opening then finds a directory that
leads to the same log. That fixes the order of the steps. Example: where a snapshot replaces the log, the segments behind its end are
removed before those in front of it. With only the later ones left, records would be missing behind the snapshot, and the log could not
start.

If records were lost that may have been acknowledged (`recovery` and `properties` have the rules), a durable note comes first; then the log
is cut as after any crash, but the removed bytes are kept under another name. Such a log has `recovering` set, and no vote."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from metashell.common.errors import LogCorruptError
from metashell.common.values import BOOTSTRAP_SNAPSHOT_ID, METADATA_TOPIC_ID, OffsetAndEpoch, Recovering
from metashell.disk.file_system import Disk, replace_file
from metashell.disk.files import open_file
from metashell.disk.log_segment import LogSegment, SegmentIndex
from metashell.disk.names import (
    ACKNOWLEDGED,
    LEADER_EPOCH_CHECKPOINT,
    METADATA_DIRECTORY,
    PARTITION_METADATA,
    QUORUM_STATE,
    RECOVERY_POINT,
    checkpoint_name,
)
from metashell.disk.properties import AcknowledgedFile, directory_id_of, read_text_file
from metashell.disk.recovery import (
    Flaw,
    FoundFiles,
    IndexOf,
    Repair,
    Run,
    Scan,
    aside_path,
    copy_aside,
    join_damage_notes,
    list_files,
    read_damage_note,
    remove_damage_note,
    segment_files,
    start_offset_of,
    start_over_at,
    write_damage_note,
)
from metashell.disk.segment import first_snapshot_fault
from metashell.disk.state_files import (
    DurableTo,
    RecoveryPoint,
    format_leader_epochs,
    format_topic_id,
    read_leader_epochs,
    read_quorum_state,
    read_recovery_point,
)


@dataclass(slots=True)
class Opened:
    """A recovered log: its segments are open, the last one active, and all of it is durable."""

    directory: str
    index_of: IndexOf
    segments: list[LogSegment]
    start_offset: int
    epochs: list[tuple[int, int]]
    snapshots: list[OffsetAndEpoch]
    repairs: list[Repair]
    recovering: Recovering | None
    point: RecoveryPoint
    acknowledged: AcknowledgedFile


@dataclass(slots=True)
class OpeningPlan:
    """The changes to a directory. `run` is the log, None if it begins anew at `start`; `over` is the snapshot at which it begins.

    `rotten` are the snapshots to put aside, with their faults.
    """

    run: Run | None
    over: OffsetAndEpoch | None
    start: int
    sound: list[OffsetAndEpoch]
    rotten: dict[OffsetAndEpoch, Repair]
    loss: Loss | None


def open_metadata(disk: Disk, log_directory: str, index_interval: int, index_size: int, *, accept_loss: bool) -> Opened:
    """Recover the log in `__cluster_metadata-0` of a log directory, and create it if needed. Errors: as `Opening.run`."""
    directory = os.path.join(log_directory, METADATA_DIRECTORY)
    if not os.path.isdir(directory):
        disk.make_directory(directory)
    disk.sync_directory(log_directory)

    def index_of(base_offset: int) -> SegmentIndex:
        return SegmentIndex(disk, directory, base_offset, index_interval, index_size)

    acknowledged = AcknowledgedFile(disk, log_directory, directory_id_of(log_directory))
    return Opening(disk, directory, index_of, accept_loss=accept_loss, acknowledged=acknowledged).run()


class Opening:
    """One recovery of a directory. With `accept_loss`, a log with lost records is accepted as it is."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        index_of: IndexOf,
        *,
        accept_loss: bool = False,
        assumed: OffsetAndEpoch | None = None,
        acknowledged: AcknowledgedFile | None = None,
    ) -> None:
        self._assumed = assumed
        self._acknowledged = acknowledged or AcknowledgedFile(disk, directory, None)
        self._disk = disk
        self._directory = directory
        self._index_of = index_of
        self._accept_loss = accept_loss
        self._repairs: list[Repair] = []
        self._note = self._read_note()
        self._point = read_recovery_point(directory)
        self._readable_epoch = self._quorum_epoch()
        self._epoch = self._readable_epoch or 0
        # We lower the recovery point before we cut the log below it. Kafka does not know the file: it may have truncated the log since,
        # following a leader of a later epoch. So the point counts only if quorum-state has no later epoch.
        trusted = self._point if self._point is not None and self._epoch <= self._point.epoch else None
        self._scan = Scan(disk, directory, index_of, trusted)
        self._trusted = trusted

    def run(self) -> Opened:
        """Recover the log. Errors: OSError; LogCorruptError for a log that cannot start. Nothing stays open then."""
        try:
            return self._run()
        except BaseException:
            self._scan.close()
            raise

    def judge(self, found: FoundFiles) -> tuple[OpeningPlan | None, dict[str, Flaw], Run | None, str]:
        """The plan, the flaws by path, the run, and why the log cannot start; nothing is changed or stays open. Errors: OSError."""
        run: Run | None = None
        flaws: dict[str, Flaw] = {}
        try:
            self._scan.read(found.segments)
            run, flaws = self._scan.runs[0] if self._scan.runs else None, dict(self._scan.flaws)
            plan = self._plan(found)
            return plan, flaws, plan.run or run, ""
        except LogCorruptError as error:
            return None, flaws, run, str(error)
        finally:
            self._scan.close()

    def _run(self) -> Opened:
        found = list_files(self._directory)
        self._scan.read(found.segments)
        plan = self._plan(found)
        note = self._note
        losses = [] if self._accept_loss else [plan.loss, self._forgotten(plan)]
        for loss in filter(None, losses):
            epoch = max(self._epoch, loss.epoch, *(id.epoch for id in found.snapshots))
            note = join_damage_notes(note, Recovering(loss.until_offset, epoch, loss.reason))
        if note is not None and note != self._note:
            write_damage_note(self._disk, self._directory, note)
        for name in found.leftovers:
            self._remove(os.path.join(self._directory, name))
        self._put_snapshots_aside(plan)
        self._drop_runs_but(plan)
        snapshots = self._drop_snapshots(plan)
        run = self._cut(plan.run, plan.loss) if plan.run is not None else self._begin(plan.start)
        self._sync(run)
        self._finish_indexes(run)
        epochs = epochs_from(run, plan.start)
        self._write_texts(epochs)
        point = RecoveryPoint(self._disk, self._directory, self._epochs_for_point(run, plan), run.end_offset)
        try:
            if note is not None and self._accept_loss:
                remove_damage_note(self._disk, self._directory)
                note = None
            self._begin_proof(run, snapshots, is_whole=note is None)
        except BaseException:
            point.close()
            raise
        return Opened(
            self._directory, self._index_of, run.segments, plan.start, epochs, snapshots, self._repairs, note, point, self._acknowledged
        )

    def _forgotten(self, plan: OpeningPlan) -> Loss | None:
        """The loss that only the proof outside of the directory shows; None without one."""
        proof = self._acknowledged
        end = plan.start if plan.run is None else plan.run.end_offset
        epochs = [plan.run.last_epoch if plan.run is not None else 0, *(id.epoch for id in plan.sound)]
        reason = proof.find_loss(end, max(epochs), self._readable_epoch)
        return None if reason is None else Loss(None, proof.epoch, reason)

    def _begin_proof(self, run: Run, snapshots: list[OffsetAndEpoch], *, is_whole: bool) -> None:
        """Write the proof of a directory that has none, or a lower one. Of a log that is not whole it stays as it is."""
        proof = self._acknowledged
        if proof.trouble:
            self._repairs.append(Repair(ACKNOWLEDGED, 0, f"{proof.trouble}; it is written anew"))
        if is_whole:
            committed = snapshots[-1].offset if snapshots else 0
            proof.begin(self._epoch, committed, run.end_offset, is_reset=self._accept_loss)

    def _epochs_for_point(self, run: Run, plan: OpeningPlan) -> list[tuple[int, int]]:
        """(epoch, first offset) of all batches; without any, of the snapshot at which the log begins."""
        return run.epochs or [(max((id.epoch for id in plan.sound if id.offset == run.end_offset), default=0), run.end_offset)]

    # Planning

    def _read_note(self) -> Recovering | None:
        try:
            return read_damage_note(self._directory)
        except LogCorruptError as error:
            if not self._accept_loss:
                raise
            return Recovering(None, 0, error.reason)

    def _quorum_epoch(self) -> int | None:
        """The newest epoch that the replica knew; None if quorum-state does not say: the start of the replica reports that."""
        path = os.path.join(self._directory, QUORUM_STATE)
        try:
            return max(0, read_quorum_state(path).leader_epoch) if os.path.lexists(path) else None
        except (OSError, LogCorruptError):
            return None

    def _known_epochs(self) -> Sequence[tuple[int, int]]:
        try:
            path = os.path.join(self._directory, LEADER_EPOCH_CHECKPOINT)
            return [(entry.epoch, entry.start_offset) for entry in read_leader_epochs(path)]
        except (OSError, LogCorruptError):
            return []

    def _plan(self, found: FoundFiles) -> OpeningPlan:
        """Plan the changes. Errors: LogCorruptError for a log that cannot start."""
        sound, rotten = self._check_snapshots(found.snapshots)
        run = self._scan.choose(sound)
        over = start_over_at(run, sound)
        is_headless = False
        start = 0
        if over is not None:
            start = over.offset
        elif run is not None:
            try:
                start = start_offset_of(self._directory, run, sound)
            except LogCorruptError:
                if not rotten and self._note is None:
                    raise
                # The log's beginning was in a rotten snapshot, perhaps put aside by an earlier opening: only a leader can send it again.
                is_headless = True
                over = sound[-1] if sound else None
                start = 0 if over is None else over.offset
        kept = None if over is not None or is_headless else run
        loss = find_loss(
            self._scan,
            run,
            kept,
            start,
            point=self._point,
            trusted=self._trusted,
            # Records that contradict a snapshot were never committed: the leader that sent it had others at these offsets.
            is_contradicted=over is not None and not is_headless and run is not None and over.offset <= run.end_offset,
            is_headless=is_headless,
            epochs=self._known_epochs(),
            rotten=[str(repair) for repair in rotten.values()],
        )
        return OpeningPlan(kept, over, start, sound, rotten, loss)

    def _check_snapshots(self, ids: list[OffsetAndEpoch]) -> tuple[list[OffsetAndEpoch], dict[OffsetAndEpoch, Repair]]:
        """The snapshots without the rotten ones, and the rotten ones. Reading stops at the newest whole snapshot.

        Errors: LogCorruptError if the bootstrap snapshot is rotten: formatting wrote it, and no leader can send it.
        """
        rotten: dict[OffsetAndEpoch, Repair] = {}
        for id in reversed(ids):
            if id == self._assumed:
                break
            path = os.path.join(self._directory, checkpoint_name(id))
            with open_file(path) as file:
                fault = first_snapshot_fault(file)
            if fault is None:
                break
            if id == BOOTSTRAP_SNAPSHOT_ID:
                copied = "metashell storage repair --from DIRECTORY copies it from another controller"
                reason = f"{fault.reason}; it is what formatting left: {copied}"
                raise LogCorruptError(path, max(fault.position, 0), reason)
            rotten[id] = Repair(checkpoint_name(id), max(fault.position, 0), fault.reason)
        return [id for id in ids if id not in rotten], rotten

    # Changing

    def _remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self._disk.remove_file(path)

    def _put_snapshots_aside(self, plan: OpeningPlan) -> None:
        for repair in plan.rotten.values():
            kept_as = self._put_aside(os.path.join(self._directory, repair.file))
            self._repairs.append(replace(repair, kept_as=kept_as))

    def _put_aside(self, path: str) -> str:
        target = aside_path(path)
        self._disk.rename(path, target)
        return os.path.basename(target)

    def _drop_runs_but(self, plan: OpeningPlan) -> None:
        """Remove the segments that are not part of the log."""
        kept, over = plan.run, plan.over
        dropped = [segment for run in self._scan.runs if run is not kept for segment in run.segments]
        if over is not None:
            # As in MetadataLog.start_at_snapshot: a crash must not leave only the segments behind the snapshot.
            behind = [segment for segment in dropped if segment.base_offset > over.offset]
            dropped = [segment for segment in dropped if segment not in behind]
            self._drop_segments(behind, plan)
            if behind:
                self._disk.sync_directory(self._directory)
        self._drop_segments(dropped, plan)
        self._scan.runs = [run for run in self._scan.runs if run is kept]

    def _drop_segments(self, segments: list[LogSegment], plan: OpeningPlan) -> None:
        for segment in segments:
            flaw = self._scan.flaws.get(segment.path)
            if flaw is not None:
                reason = flaw.reason
            elif plan.over is not None:
                reason = f"the log starts anew at snapshot {checkpoint_name(plan.over)}"
            else:
                reason = "does not join the log" if plan.run is not None else "the log starts anew without what was before it"
            self._disk.close_file(segment.fd)
            segment.fd = -1
            path, *derived = segment_files(self._directory, segment.base_offset)
            kept_as = ""
            if plan.loss is not None or (flaw is not None and not flaw.may_be_torn):
                kept_as = self._put_aside(path)
                derived = [other for other in derived if os.path.lexists(other)]
            else:
                derived = [other for other in (path, *derived) if os.path.lexists(other)]
            for other in derived:
                self._remove(other)
            self._repairs.append(Repair(segment.name, 0 if flaw is None else flaw.position, reason, kept_as))

    def _drop_snapshots(self, plan: OpeningPlan) -> list[OffsetAndEpoch]:
        """Remove the snapshots before the log's start, and return the others."""
        over = plan.over
        kept = [id for id in plan.sound if id.offset >= plan.start and not (over is not None and id < over)]
        for id in plan.sound:
            if id not in kept:
                self._remove(os.path.join(self._directory, checkpoint_name(id)))
        return kept

    def _cut(self, run: Run, loss: Loss | None) -> Run:
        """Cut the last segment at the end of its good batches."""
        last = run.segments[-1]
        flaw = self._scan.flaws.get(last.path)
        if flaw is not None:
            repair = Repair(last.name, last.size, flaw.reason)
            if loss is not None:
                kept_as = os.path.basename(copy_aside(self._disk, last.path, last.fd))
                self._disk.sync_directory(self._directory)
                repair = replace(repair, kept_as=kept_as)
            self._disk.truncate(last.fd, last.size)
            self._repairs.append(repair)
        return run

    def _begin(self, offset: int) -> Run:
        """A log without batches."""
        run = Run([LogSegment.create(self._disk, self._directory, offset, self._index_of(offset))])
        self._scan.runs.append(run)
        return run

    def _sync(self, run: Run) -> None:
        """Sync everything that was found and changed: what was found may be in the page cache only."""
        for segment in run.segments:
            self._disk.sync_file(segment.fd)
        self._disk.sync_directory(self._directory)

    def _finish_indexes(self, run: Run) -> None:
        for segment in run.segments:
            segment.index.end_recovery()
        for segment in run.segments[:-1]:
            segment.index.write_closed()
        if not run.segments[-1].index.is_open:
            run.segments[-1].index.open_files()

    def _write_texts(self, epochs: list[tuple[int, int]]) -> None:
        for name, data in (
            (LEADER_EPOCH_CHECKPOINT, format_leader_epochs(epochs)),
            (PARTITION_METADATA, format_topic_id(METADATA_TOPIC_ID)),
        ):
            path = os.path.join(self._directory, name)
            if not _holds(path, data):
                replace_file(self._disk, path, data)


def epochs_from(run: Run, start: int) -> list[tuple[int, int]]:
    """The epochs of the batches from `start` on; the epoch at `start` begins there."""
    if start >= run.end_offset:
        return []
    before = [epoch for epoch, offset in run.epochs if offset <= start]
    return [*((epoch, start) for epoch in before[-1:]), *((epoch, offset) for epoch, offset in run.epochs if offset > start)]


def _holds(path: str, data: bytes) -> bool:
    try:
        return read_text_file(path) == data
    except FileNotFoundError:
        return False


@dataclass(frozen=True, slots=True)
class Loss:
    """Lost records, with the reason for a person.

    `until_offset` is the offset at which the log ended before, None if unknown; `epoch` is the newest epoch that it had.
    """

    until_offset: int | None
    epoch: int
    reason: str


def find_loss(
    scan: Scan,
    found: Run | None,
    kept: Run | None,
    start: int,
    *,
    point: DurableTo | None,
    trusted: DurableTo | None,
    is_contradicted: bool,
    is_headless: bool,
    epochs: Sequence[tuple[int, int]],
    rotten: Sequence[str],
) -> Loss | None:
    """The loss of a log that becomes `kept`, or begins anew at `start`; None if it loses nothing that may have been acknowledged.

    `found` is the run that would be the log; it cannot be if `is_headless`: its beginning is missing. `point` is the recovery point,
    `trusted` the same if it still counts; `epochs` are the entries of leader-epoch-checkpoint as found, `rotten` the unreadable snapshots.
    """
    if is_contradicted:
        return None
    end = kept.end_offset if kept is not None else start
    whole_end = max((flaw.whole_end or 0 for flaw in scan.flaws.values()), default=0)
    whole_end = max(whole_end, scan.end_offset)
    reason = _headless(found, rotten) if is_headless else None
    if found is None and rotten:
        reason = "; ".join(rotten)
    reason = reason or _reason(scan, found, kept, end, whole_end, point, trusted, epochs)
    if reason is None:
        return None
    known = max(whole_end, trusted.offset if trusted is not None else 0)
    claimed = max((flaw.claimed_end for flaw in scan.flaws.values()), default=0)
    last = scan.runs[-1].segments[-1] if scan.runs else None
    flaw = scan.flaws.get(last.path) if last is not None else None
    # More batches may have followed the bad one in the last segment, unless it was read to the file's end.
    is_bounded = (flaw is None or flaw.is_read_to_end) and known <= max(whole_end, claimed)
    until = max(known, claimed)
    last_epoch = max((run.last_epoch for run in scan.runs), default=0)
    return Loss(until if is_bounded and until > end else None, max(last_epoch, point.epoch if point is not None else 0), reason)


def _headless(found: Run | None, rotten: Sequence[str]) -> str:
    assert found is not None, "there are segments without a beginning"
    missing = f"the log starts at offset {found.base_offset}, and no snapshot stands for what was before it"
    return "; ".join((*rotten, missing))


def _reason(
    scan: Scan,
    found: Run | None,
    kept: Run | None,
    end: int,
    whole_end: int,
    point: DurableTo | None,
    trusted: DurableTo | None,
    epochs: Sequence[tuple[int, int]],
) -> str | None:
    """The reason why records are missing; None if none are."""
    flaw = None if found is None else scan.flaws.get(found.segments[-1].path)
    is_behind = whole_end > end or (kept is found and flaw is not None and flaw.whole_end is not None)
    place = f"{flaw.file}: byte {flaw.position}: {flaw.reason}" if flaw is not None else f"the log ends at offset {end}"
    if trusted is not None and end < trusted.offset:
        return f"{place}; {RECOVERY_POINT} says that all before offset {trusted.offset} was on disk"
    if is_behind and not ((flaw is None or flaw.may_be_torn) and point is not None):
        return f"{place}; whole batches lie behind it"
    if point is None:
        later = max((start for _, start in epochs), default=0)
        bases = max((segment.base_offset for run in scan.runs for segment in run.segments), default=0)
        if max(later, bases) > end:
            return f"{place}; other files beside it go on to offset {max(later, bases)}"
    return None
