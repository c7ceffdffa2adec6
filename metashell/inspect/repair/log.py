"""Steps for the metadata log: its torn tail, segments that do not join it, and checkpoints.

Only a torn tail is cut, by the rules of `disk.recovery`: no whole batch lies behind it, and neither the recovery point nor a later epoch in
leader-epoch-checkpoint says that more was on disk. Such records were never acknowledged. All else is damage: the node acknowledged
records that it does not have any more, so it must fetch them again without a vote.

A log that begins late needs a whole checkpoint at or behind its beginning. One of another node fits if it is of the same cluster, and if
the log has the same epoch just before the checkpoint's end, or ends before it in no later epoch. A checkpoint is committed.

Source: KIP-595, KIP-630; KafkaRaftLog.recoverSnapshots, LogLoader."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.common.errors import LogCorruptError
from metashell.common.values import OffsetAndEpoch
from metashell.disk.files import open_file
from metashell.disk.indexes import OFFSET_ENTRY
from metashell.disk.mend import FileChange
from metashell.disk.names import BOOTSTRAP_SNAPSHOT, METADATA_DIRECTORY, checkpoint_name, index_name, parse_name
from metashell.disk.properties import Acknowledged, directory_id_of, find_loss, read_acknowledged
from metashell.disk.recovery import segment_files
from metashell.disk.segment import first_snapshot_fault
from metashell.disk.state_files import read_recovery_point
from metashell.inspect.repair.facts import Refusal, RepairFacts, Step
from metashell.metadata.checks.nodes import kraft_version, voters_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metashell.disk.recovery import Run


_INDEX_MAX: Final = 16 << 20
"""No index is larger: Kafka's have 10 MiB."""


def tail_items(facts: RepairFacts) -> Iterator[Step | Refusal]:
    log = facts.log
    assert log is not None
    plan = log.plan
    if plan is None:
        return  # `checkpoint_items` has the reason
    if plan.loss is not None:
        until = "" if plan.loss.until_offset is None else f"; the log went on to offset {plan.loss.until_offset}"
        cause = f"{plan.loss.reason}{until}: records that this node may have acknowledged are gone"
        yield Refusal("damaged_log", facts.folder, cause, ways_without_a_vote(facts))
        return
    if plan.over is not None and log.run is not None and log.run.end_offset > plan.over.offset:
        yield Refusal("contradicted_log", facts.folder, _contradiction(log.run, plan.over), _WAYS_OF_TWO_HISTORIES)
        return
    if plan.run is None:
        return
    yield from _covered_segments(facts, plan.run)
    last = plan.run.segments[-1]
    flaw = log.flaws.get(last.path)
    indexed = _indexed_behind(facts, last.name, last.base_offset, last.size)
    if indexed is not None:
        offset, position = indexed
        cause = f"{last.name}: ends at byte {last.size}; its index has offset {offset} at byte {position}, behind a batch that is gone"
        yield Refusal(
            "damaged_log", facts.folder, f"{cause}: records that this node may have acknowledged are gone", ways_without_a_vote(facts)
        )
    elif flaw is not None:
        file = f"{METADATA_DIRECTORY}/{last.name}"
        cause = f"{last.name}: byte {last.size}: {flaw.reason}"
        proof = f"no whole batch lies behind byte {last.size}, so this write was never acknowledged"
        reason = f"{proof}; the log ends at offset {last.end_offset}"
        yield Step("torn_tail", FileChange("cut", file, size=last.size), cause, reason)


def _indexed_behind(facts: RepairFacts, name: str, base_offset: int, size: int) -> tuple[int, int] | None:
    """The last entry of a segment's index that lies behind the batch at the segment's end; None without one.

    An index has the offset and byte of some batches, in ascending order. A batch is flushed before it is acknowledged, and usually before
    the next one is written: an entry behind the torn batch means that the torn one was followed, so it was once whole. Our own recovery
    point says the same more exactly. An index that is not ascending says nothing.
    """
    path = os.path.join(facts.folder, index_name(base_offset))
    if not os.path.isfile(path) or read_recovery_point(facts.folder) is not None:
        return None
    with open(path, "rb") as file:
        data = file.read(_INDEX_MAX)
    found, before = None, (-1, -1)
    for entry in OFFSET_ENTRY.iter_unpack(data[: len(data) // OFFSET_ENTRY.size * OFFSET_ENTRY.size]):
        if entry == (0, 0):  # the rest of a file that was made larger beforehand
            break
        if entry[0] <= before[0] or entry[1] <= before[1]:
            return None
        before = entry
        if entry[1] > size:
            found = base_offset + entry[0], entry[1]
    return found


def _covered_segments(facts: RepairFacts, run: Run) -> Iterator[Step]:
    """Put the segments aside that do not join the log and lie in front of it: Kafka would drop all that follows their damage."""
    log = facts.log
    assert log is not None
    for base in log.found.segments:
        if base >= run.base_offset:
            continue
        for path in segment_files(facts.folder, base):
            if os.path.isfile(path):
                name = os.path.basename(path)
                cause = f"{name}: does not join the log, which begins at offset {run.base_offset}"
                reason = (
                    f"a whole checkpoint has everything before offset {run.base_offset}; Kafka would drop what follows the damage instead"
                )
                yield Step("covered_segment", FileChange("move", f"{METADATA_DIRECTORY}/{name}"), cause, reason)


_WAYS_OF_TWO_HISTORIES: Final = (
    "a checkpoint of this cluster is right, and every start drops what contradicts it: compare both with the other voters' logs "
    "(metashell verify with all their directories)",
    "one of another cluster, or with a wrong name, is moved out of the directory",
)


def _contradiction(run: Run, over: OffsetAndEpoch) -> str:
    epoch = run.epoch_at(over.offset - 1)
    has = "begins late" if epoch is None else f"has epoch {epoch} there"
    return (
        f"checkpoint {checkpoint_name(over)} ends at offset {over.offset} in epoch {over.epoch}, and the log {has}: "
        f"a start drops the log up to offset {run.end_offset}"
    )


def ways_without_a_vote(facts: RepairFacts) -> tuple[str, ...]:
    """The ways back for a log that lost records which it acknowledged."""
    node = "N" if facts.node_id is None else str(facts.node_id)
    voters = voters_of(facts.node, facts.facts)
    restore = f"metashell quorum restore {facts.own.path} --out DIR --node-id {node} --listener HOST:PORT"
    if set(voters) == {facts.node_id}:
        return (f"it is the only voter: look for a backup first; without one {restore}, which says what would be lost",)
    if facts.node_id not in voters and voters:
        return (f"it is no voter: empty {facts.folder}, keep meta.properties, and start the node: it fetches the log",)
    ways = [f"while the others have a leader: metashell server starts on {facts.own.path} without a vote and fetches what is missing"]
    if kraft_version(facts.image()):
        ways.append(
            f"or with Kafka's server: metashell quorum remove-controller {node}, then metashell storage format with an empty directory "
            "and --no-initial-controllers, start it, and metashell quorum add-controller once it has caught up"
        )
    return (*ways, f"where no majority of the voters is left: {restore}")


def lost_log_items(facts: RepairFacts) -> Iterator[Refusal]:
    """A metadata directory that is gone, where the proof beside meta.properties says that there was one, and that did not move."""
    proof = proof_of(facts)
    reason = None if proof is None else find_loss(proof, 0, 0, None)
    logs = [one.metadata for one in facts.siblings if one.metadata is not None]
    has_moved = proof is not None and any(find_loss(proof, log.end_offset, log.last_epoch, None) is None for log in logs)
    if reason is not None and not has_moved:
        yield Refusal("damaged_log", facts.folder, f"{METADATA_DIRECTORY} is gone: {reason}", ways_without_a_vote(facts))


def proof_of(facts: RepairFacts) -> Acknowledged | None:
    """The proof of what our server has acknowledged on this directory; None without one for its id."""
    try:
        proof = read_acknowledged(facts.own.path)
    except (OSError, LogCorruptError):
        return None
    return None if proof is None or proof.directory_id != directory_id_of(facts.own.path) else proof


def checkpoint_items(facts: RepairFacts) -> Iterator[Step | Refusal]:
    """Move torn checkpoints away that nothing needs, and copy one where the log lacks its beginning."""
    log, own = facts.log, facts.own_log
    assert log is not None
    assert own is not None
    torn = [one for one in own.checkpoints if one.trouble]
    whole = [one for one in own.checkpoints if not one.trouble]
    start = own.start_offset
    has_start = start == 0 or any(one.offset >= start for one in whole)
    bootstrap = next((one for one in torn if one.name == BOOTSTRAP_SNAPSHOT), None)
    if log.run is None and not whole and torn:
        has_start = False
    if bootstrap is not None and not any(one.offset for one in whole):
        yield from _copied(facts, "torn_checkpoint", f"{bootstrap.name}: {bootstrap.trouble}", BOOTSTRAP_SNAPSHOT)
        torn.remove(bootstrap)
    copied = ""
    if not has_start:
        words = f"the log begins at offset {start}, and no whole checkpoint has what was before"
        items = list(_copied(facts, "lost_checkpoint", words, ""))
        yield from items
        if not isinstance(items[0], Step):
            return
        copied = os.path.basename(items[0].change.file)
    for one in torn:
        if one.name == copied:
            continue
        reason = "the log has everything from offset 0 on" if start == 0 else "another checkpoint and the log have everything"
        yield Step("torn_checkpoint", FileChange("move", f"{METADATA_DIRECTORY}/{one.name}"), f"{one.name}: {one.trouble}", reason)


class _Candidate(NamedTuple):
    path: str
    id: OffsetAndEpoch
    source: str


def _copied(facts: RepairFacts, check: str, cause: str, name: str) -> Iterator[Step | Refusal]:
    """The step that copies a checkpoint, of that name if one is given, from this directory's leftovers or from a source."""
    reasons = []
    for candidate in sorted(_candidates(facts, name), key=lambda one: one.id, reverse=True):
        unfit = _unfit(facts, candidate, name)
        if unfit:
            reasons.append(f"{candidate.path}: {unfit}")
            continue
        target = f"{METADATA_DIRECTORY}/{name or os.path.basename(candidate.path).removesuffix('.deleted')}"
        reason = f"{candidate.source}; it is whole, and the log agrees with it: {_agreement(facts, candidate)}"
        yield Step(check, FileChange("copy", target, source=candidate.path), cause, reason)
        return
    own = facts.own_log
    assert own is not None
    ways = [f"name another controller's or broker's directory, or its checkpoint from offset {own.start_offset} on, with --from"]
    yield Refusal(check, facts.folder, "; ".join((cause, *reasons[:3])), (*ways, *ways_without_a_vote(facts)))


def _candidates(facts: RepairFacts, name: str) -> Iterator[_Candidate]:
    def below(folder: str, source: str, *, leftovers: bool = False) -> Iterator[_Candidate]:
        for file in sorted(os.listdir(folder)):
            parsed = parse_name(file)
            if parsed is None or parsed.snapshot_id is None or parsed.is_compressed:
                continue
            if (parsed.state == "deleted") == leftovers and parsed.state in ("", "deleted") and (not name or file.startswith(name)):
                yield _Candidate(os.path.join(folder, file), parsed.snapshot_id, source)

    yield from below(facts.folder, "it was renamed here to be deleted", leftovers=True)
    for other in facts.related():
        if other.metadata is not None:
            yield from below(other.metadata.path, f"it is of {other.path}, which is of the same cluster")
    for file in facts.checkpoints:
        parsed = parse_name(os.path.basename(file.path))
        is_named = parsed is not None and parsed.snapshot_id is not None and (not name or os.path.basename(file.path) == name)
        if is_named and file.image is not None and facts.shares_ids(file.image):
            assert parsed is not None
            assert parsed.snapshot_id is not None
            yield _Candidate(file.path, parsed.snapshot_id, "it shares ids with this directory")


def _unfit(facts: RepairFacts, candidate: _Candidate, name: str) -> str:
    """Why a checkpoint does not fit the log; empty if it does."""
    with open_file(candidate.path) as file:
        fault = first_snapshot_fault(file)
    if fault is not None:
        return f"is not whole: {fault.reason}"
    log = facts.log
    assert log is not None
    run = log.run
    if run is None or name == BOOTSTRAP_SNAPSHOT:
        return ""
    if candidate.id.offset < run.base_offset:
        return f"ends before offset {run.base_offset}, where the log begins"
    if candidate.id.offset > run.end_offset:
        # As in Kafka, the log then begins anew at the checkpoint, which has all that was committed before its end.
        return (
            "" if candidate.id.epoch >= run.last_epoch else f"is of epoch {candidate.id.epoch}, but the log ends in epoch {run.last_epoch}"
        )
    if run.agrees_with(candidate.id):
        return ""
    at = candidate.id.offset - 1
    return f"is of epoch {candidate.id.epoch}, but the log has epoch {run.epoch_at(at)} at offset {at}: two histories"


def _agreement(facts: RepairFacts, candidate: _Candidate) -> str:
    run = None if facts.log is None else facts.log.run
    id = candidate.id
    if run is None:
        return "there is no log"
    if id.offset == run.base_offset:
        return f"it begins at offset {id.offset}, where the checkpoint ends"
    if id.offset > run.end_offset:
        return f"it ends at offset {run.end_offset}, in epoch {run.last_epoch}, before the checkpoint, of epoch {id.epoch}"
    return f"both have epoch {id.epoch} at offset {id.offset - 1}"
