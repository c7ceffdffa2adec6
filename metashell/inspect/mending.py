"""Plans the repair of a log directory in place: its steps, each with cause and proof, and what cannot be repaired, with the ways out.

The plan is pure: `repair_facts` reads, `disk.mend` writes. A step never guesses. The rules, with their reasons:

**The tail of the log.** Only a torn tail is cut, by the rules of `disk.recovery`: no whole batch lies behind it, and neither the recovery
point nor a later epoch in leader-epoch-checkpoint says that more was on disk. Nobody was told that such records are durable. All else is
damage: the node acknowledged records that it does not have any more, so it must fetch them again without a vote.

**quorum-state.** A vote must not be given twice in an epoch. Without the file nobody can know in which epochs the node voted. But a
candidate writes an epoch to its own quorum-state before it asks for votes in it. So the node has voted for others in no epoch above the
highest one in the files of all other voters, and a candidacy of its own ended with its process. If the leader of that epoch is known, the
new file names both: a node that knows the leader of its epoch grants no vote in it, and simply follows. Else it has the epoch after that,
without a leader and without a vote. Example: the log of voter 2 ends in epoch 5; voters 1 and 3 have epochs 7 and 6, and no leader. Voter 2
may have voted in epoch 7 for voter 1, so its new file says epoch 8. With epoch 5, as the log has it, voter 2 could vote again in epoch 7,
for voter 3, and epoch 7 would have two leaders. So all other voters are needed: by `--from`, or by `--epoch`, with which the operator
states the highest epoch that any of them shows. The file itself will do if it is cut off behind the epoch, since a vote is never newer than
the file. A broker never votes and needs no proof.

**Checkpoints.** A log that begins late needs a whole checkpoint at or behind its beginning. One of another node fits if it is of the same
cluster, and if the log has the same epoch just before the checkpoint's end, or ends before it in no later epoch. A checkpoint is committed.

**partition.metadata.** The topic id follows from the topic's name only if the directory cannot be that of an earlier topic of this name:
the log has all since offset 0 and no other topic of the name; or this broker is in the partition's ISR or ELR, and the partition is
assigned to this directory. A broker that was down while a topic was removed and made again is in neither: an ISR has only replicas that
have fetched under the new id.

Source: KIP-595, KIP-853, KIP-630, KIP-516; org.apache.kafka.raft.QuorumState, KafkaRaftLog.recoverSnapshots, LogManager."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.common.values import OffsetAndEpoch, uuid_text
from metashell.disk.files import open_file
from metashell.disk.mend import NEW_SUFFIX, FileChange
from metashell.disk.names import BOOTSTRAP_SNAPSHOT, METADATA_DIRECTORY, PARTITION_METADATA, QUORUM_STATE, checkpoint_name, parse_name
from metashell.disk.opening import judge_log
from metashell.disk.properties import read_text_file
from metashell.disk.recovery import segment_files
from metashell.disk.segment import first_snapshot_fault
from metashell.disk.state_files import NO_NODE, QuorumState, format_quorum_state, format_topic_id, read_leader_epochs
from metashell.inspect.repair_facts import Refusal, RepairFacts, RepairRequest, Step, read_repair_facts
from metashell.inspect.repair_identity import identity_step
from metashell.inspect.repair_small_files import EPOCH_MAX, small_file_items
from metashell.inspect.verify.output import start_of
from metashell.metadata.checks import judge_disks
from metashell.metadata.checks.facts import Identity, QuorumNote
from metashell.metadata.checks.model import BAD
from metashell.metadata.checks.nodes import kraft_version, voters_of
from metashell.metadata.checks.partitions import NO_DIRECTORIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metashell.disk.recovery import Run
    from metashell.metadata.checks.facts import Facts, PartitionDirectory
    from metashell.metadata.checks.model import Found
    from metashell.metadata.image import MetadataImage


_TORN_STATE: Final = re.compile(rb'\{[^\0{}]*"leaderId":(-?[0-9]{1,10}),"leaderEpoch":([0-9]{1,10}),[^\0]*')
_LEFTOVERS: Final = (".deleted", ".cleaned", ".part", ".tmp", NEW_SUFFIX)


class RepairPlan(NamedTuple):
    """The steps in the order in which they are made, and what is left as it is."""

    path: str
    steps: tuple[Step, ...]
    refusals: tuple[Refusal, ...]

    @property
    def changes(self) -> list[FileChange]:
        return [step.change for step in self.steps]


def plan_repair(request: RepairRequest) -> RepairPlan:
    """Plan the repair of a directory. Errors: StorageError if it is no log directory; MetashellError for a bad source; OSError."""
    facts = read_repair_facts(request)
    found: list[Step | Refusal] = []
    identity, meta = identity_step(facts)
    facts = replace(facts, node_id=None if meta is None else meta.node_id, directory_id=None if meta is None else meta.directory_id)
    if facts.log is not None:
        found += _checkpoint_items(facts)
        copied = next((item.change.file for item in found if isinstance(item, Step) and item.change.action == "copy"), None)
        name = None if copied is None else parse_name(os.path.basename(copied))
        if name is not None:
            facts = replace(facts, log=judge_log(facts.folder, assumed=name.snapshot_id))
        if not any(isinstance(item, Refusal) for item in found):
            found += _tail_items(facts)
        found += small_file_items(facts)
        if not any(item.check == "quorum_state_form" for item in found):
            found += _quorum_state_items(facts)
    found += _topic_items(facts)
    changed = {item.change.file for item in found if isinstance(item, Step)}
    found += [item for item in _leftover_items(facts) if item.change.file not in changed]
    # Without its meta.properties a directory does not start, so the file comes last: a node never starts on half of a repair.
    found += [identity] if identity is not None else []
    found = [_only_files(facts, item) for item in found]
    steps = tuple(item for item in found if isinstance(item, Step))
    refusals = [item for item in found if isinstance(item, Refusal)]
    refusals += _other_findings(facts, {item.check for item in found})
    return RepairPlan(facts.own.path, steps, tuple(refusals))


def _only_files(facts: RepairFacts, item: Step | Refusal) -> Step | Refusal:
    """A step as it is, unless a folder or a pipe has the file's name: that is nothing to replace."""
    if isinstance(item, Refusal):
        return item
    path = os.path.join(facts.own.path, item.change.file)
    if not os.path.lexists(path) or os.path.isfile(path):
        return item
    return Refusal(item.check, path, f"{item.cause}; it is not a regular file", ("move it out of the directory, then repair again",))


# ---- the log


def _tail_items(facts: RepairFacts) -> Iterator[Step | Refusal]:
    log = facts.log
    assert log is not None
    plan = log.plan
    if plan is None:
        return  # `_checkpoint_items` has the reason
    if plan.loss is not None:
        until = "" if plan.loss.until_offset is None else f"; the log went on to offset {plan.loss.until_offset}"
        cause = f"{plan.loss.reason}{until}: records that this node may have acknowledged are gone"
        yield Refusal("damaged_log", facts.folder, cause, _ways_without_a_vote(facts))
        return
    if plan.over is not None and log.run is not None and log.run.end_offset > plan.over.offset:
        yield Refusal("contradicted_log", facts.folder, _contradiction(log.run, plan.over), _WAYS_OF_TWO_HISTORIES)
        return
    if plan.run is None:
        return
    yield from _covered_segments(facts, plan.run)
    last = plan.run.segments[-1]
    flaw = log.flaws.get(last.path)
    if flaw is not None:
        file = f"{METADATA_DIRECTORY}/{last.name}"
        cause = f"{last.name}: byte {last.size}: {flaw.reason}"
        proof = f"no whole batch lies behind byte {last.size}, so nobody was told that this write was durable"
        reason = f"{proof}; the log ends at offset {last.end_offset}"
        yield Step("torn_tail", FileChange("cut", file, size=last.size), cause, reason)


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


def _ways_without_a_vote(facts: RepairFacts) -> tuple[str, ...]:
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


def _checkpoint_items(facts: RepairFacts) -> Iterator[Step | Refusal]:
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
    yield Refusal(check, facts.folder, "; ".join((cause, *reasons[:3])), (*ways, *_ways_without_a_vote(facts)))


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


# ---- quorum-state


def _quorum_state_items(facts: RepairFacts) -> Iterator[Step | Refusal]:
    log = facts.own_log
    assert log is not None
    note = log.quorum_note
    cause = ""
    if isinstance(note, str):
        cause = f"quorum-state: {note}"
    elif note is None:
        cause = f"quorum-state is missing; the log ends in epoch {log.last_epoch}" if log.last_epoch > 0 else ""
    elif note.epoch < log.last_epoch:
        cause = f"quorum-state is of epoch {note.epoch}; the log ends in epoch {log.last_epoch}"
    elif note.epoch >= EPOCH_MAX:
        cause = f"quorum-state: {note.epoch} is no epoch that an election can have"
    elif note.leader_id < NO_NODE or note.voted_id < NO_NODE:
        cause = f"quorum-state: leader {note.leader_id} and vote {note.voted_id} are no ids"
    if not cause:
        return
    place = os.path.join(facts.folder, QUORUM_STATE)
    led = max(
        [epoch for _, epoch in filter(None, [log.last_leader])] + [one.epoch for one in log.checkpoints if not one.trouble], default=0
    )
    if not log.start_offset and log.last_epoch > led:
        text = (
            f"{cause}; but no LeaderChange record begins epoch {log.last_epoch}: the epoch of a batch, which no checksum covers, is damaged"
        )
        yield Refusal("damaged_epoch", facts.folder, text, _ways_without_a_vote(facts))
        return
    if facts.node_id is None:
        yield Refusal("old_quorum_state", place, f"{cause}; it is not known which node this is", ("repair meta.properties first",))
        return
    if facts.log is not None and (facts.log.plan is None or facts.log.plan.loss is not None):
        yield Refusal("old_quorum_state", place, f"{cause}; the log is damaged too", ("the ways of the log hold for both",))
        return
    election, ways = _safe_election(facts)
    if election is None:
        yield Refusal("old_quorum_state", place, cause, ways)
        return
    image = facts.image()
    voters = tuple(sorted(voters_of(facts.node, facts.facts)))
    version = 1 if kraft_version(image) else 0
    state = QuorumState(
        leader_epoch=election.epoch, leader_id=election.leader, current_voters=() if version else voters, data_version=version
    )
    change = FileChange("write", f"{METADATA_DIRECTORY}/{QUORUM_STATE}", data=format_quorum_state(state))
    yield Step("old_quorum_state", change, cause, f"{election.text}: {election.proof}")


class _Election(NamedTuple):
    """What to write: no vote can come back in `epoch`. `leader` is that of the epoch, -1 if the epoch is a new one."""

    epoch: int
    leader: int
    proof: str

    @property
    def text(self) -> str:
        if self.leader >= 0:
            return f"epoch {self.epoch} with its leader {self.leader}, in which a node grants no vote"
        return f"epoch {self.epoch}, without a leader and a vote"


def _safe_election(facts: RepairFacts) -> tuple[_Election | None, tuple[str, ...]]:
    """The state to begin with, else None and the ways to prove one."""
    log = facts.own_log
    assert log is not None
    own, voters = facts.node_id, voters_of(facts.node, facts.facts)
    note = log.quorum_note
    noted = note.epoch if isinstance(note, QuorumNote) and note.epoch < EPOCH_MAX else 0
    newest = max(log.last_epoch, noted, 0)
    if _is_only_broker(facts, own, set(voters)):
        return _Election(newest, NO_NODE, "the node is a broker and no voter, so it never votes"), ()
    torn = _torn_state(os.path.join(facts.folder, QUORUM_STATE)) if isinstance(log.quorum_note, str) else None
    if torn is not None and torn[0] >= newest:
        return _after(*torn, f"the file is cut off behind its epoch, {torn[0]}, and a vote is never newer than the file"), ()
    if own is not None and set(voters) == {own}:
        return _Election(newest + 1, NO_NODE, f"node {own} is the only voter, so all its votes were for itself"), ()
    notes = _notes_of_others(facts)
    missing = sorted(id for id in voters if id != own and id not in notes)
    epochs = {id: max(note.epoch, log_epoch) for id, (note, log_epoch) in notes.items()}
    if facts.request.epoch is not None:
        highest = max(newest, facts.request.epoch, *epochs.values())
        proof = f"no other voter knows an epoch above {highest}, as --epoch {facts.request.epoch} says"
        return _after(highest, _leader_of(facts, highest), proof), ()
    if voters and own is not None and not missing:
        highest = max(newest, *epochs.values())
        seen = ", ".join(f"{id} has {epoch}" for id, epoch in sorted(epochs.items()))
        proof = f"of the other voters {seen}, and a candidate writes its epoch down before it asks for votes"
        return _after(highest, _leader_of(facts, highest), proof), ()
    who = f"of voter {' and '.join(map(str, missing))}" if missing else "of all other voters"
    return None, (
        f"name the directories {who} with --from: their quorum-state shows in which epochs this node may have voted",
        "or state the highest epoch that any of them shows with --epoch N (metashell quorum describe -C HOST:PORT asks each)",
    )


def _after(epoch: int, leader: int, proof: str) -> _Election:
    """The state of a node that may have voted in all epochs up to this one."""
    return _Election(epoch, leader, proof) if leader >= 0 else _Election(epoch + 1, NO_NODE, proof)


def _notes_of_others(facts: RepairFacts) -> dict[int, tuple[QuorumNote, int]]:
    """The quorum-state of each other node of the cluster, with its log's last epoch."""
    notes = {}
    for one in facts.related():
        log, id = one.metadata, _node_of(one.identity)
        if log is not None and isinstance(log.quorum_note, QuorumNote) and id not in (None, facts.node_id):
            assert id is not None
            notes[id] = log.quorum_note, log.last_epoch
    return notes


def _leader_of(facts: RepairFacts, epoch: int) -> int:
    """The leader of an epoch, by a quorum-state or a LeaderChange record; -1 if none is known."""
    known = [(note.epoch, note.leader_id) for note, _ in _notes_of_others(facts).values()]
    logs = [one.metadata for one in (facts.own, *facts.related()) if one.metadata is not None]
    known += [(log.last_leader[1], log.last_leader[0]) for log in logs if log.last_leader is not None]
    return next((leader for at, leader in known if at == epoch and leader >= 0), NO_NODE)


def _node_of(identity: Identity | str | None) -> int | None:
    return identity.node_id if isinstance(identity, Identity) else None


def _is_only_broker(facts: RepairFacts, own: int | None, voters: set[int]) -> bool:
    if facts.configuration is not None and not facts.configuration.trouble:
        return "controller" not in facts.configuration.roles
    image = facts.image()
    if image is None or own is None or own in voters or own in image.cluster.controllers:
        return False
    return own in image.cluster.brokers


def _torn_state(path: str) -> tuple[int, int] | None:
    """Epoch and leader of a quorum-state that is cut off behind them; None if it is not to be read, or other bytes follow."""
    if not os.path.isfile(path):
        return None
    data = read_text_file(path).rstrip(b"\0")
    match = _TORN_STATE.fullmatch(data)
    return None if match is None else (int(match[2]), int(match[1]))


# ---- topics


def _topic_items(facts: RepairFacts) -> Iterator[Step | Refusal]:
    image = facts.image()
    for place in facts.own.partitions:
        if place.suffix or (isinstance(place.topic_id, bytes) and (image is None or place.topic_id in image.topics.by_id)):
            continue
        topic = None if image is None else image.topics.by_name.get(place.topic)
        what = _topic_cause(place)
        if image is None or topic is None or not topic.has_partition(place.partition):
            if isinstance(place.topic_id, bytes):
                continue  # a check of its own says what becomes of it
            why = "no metadata is at hand" if image is None else f"the metadata has no {place.topic}-{place.partition}"
            way = "name the directory of the newest metadata log with --from" if image is None else "find out whose log this is"
            yield Refusal("no_topic_id", place.path, f"{what}; {why}", (way,))
            continue
        check = "stray_topic_id" if isinstance(place.topic_id, bytes) else "no_topic_id"
        reason, doubt = _topic_proof(facts, image, place)
        if doubt:
            way = f"find out whose log this is; if it is {place.topic}'s, write topic_id: {uuid_text(topic.id)} into its partition.metadata"
            yield Refusal(check, place.path, f"{what}; {doubt}", (way,))
            continue
        file = os.path.relpath(os.path.join(place.path, PARTITION_METADATA), facts.own.path)
        yield Step(
            check,
            FileChange("write", file, data=format_topic_id(topic.id)),
            what,
            f"{place.topic} has topic id {uuid_text(topic.id)}; {reason}",
        )


def _topic_cause(place: PartitionDirectory) -> str:
    name = os.path.basename(place.path)
    if place.topic_id is None:
        return f"{name}: partition.metadata is missing"
    if isinstance(place.topic_id, bytes):
        return f"{name}: topic id {uuid_text(place.topic_id)} is not in the metadata"
    return f"{name}: partition.metadata: {place.topic_id}"


def _topic_proof(facts: RepairFacts, image: MetadataImage, place: PartitionDirectory) -> tuple[str, str]:
    """Why the directory is that of the topic which has its name now, and what makes that doubtful; one of them is empty."""
    topic = image.topics.by_name[place.topic]
    partition = topic.partitions[place.partition]
    own = facts.node_id
    earlier = [
        uuid_text(id)
        for log in facts.facts.logs
        for id, note in log.topics.items()
        if id != topic.id and note.name == place.topic and (note.removed_offset >= 0 or note.offset >= 0)
    ]
    if earlier:
        return "", f"the log has topics of this name with ids {', '.join(dict.fromkeys(earlier))} and {uuid_text(topic.id)}"
    epochs = os.path.join(place.path, "leader-epoch-checkpoint")
    newest = max((entry.epoch for entry in read_leader_epochs(epochs)), default=-1) if os.path.isfile(epochs) else -1
    if newest > partition.leader_epoch:
        return "", f"its log has leader epoch {newest}, above {partition.leader_epoch} of the partition"
    if own is None or own not in partition.replicas:
        replicas = ", ".join(map(str, partition.replicas))
        return "", f"broker {own} is no replica of it: {replicas}" if own is not None else "it is not known whose directory this is"
    is_all_there = any(log.image is not None and not log.start_offset and topic.id in log.image.topics.by_id for log in facts.facts.logs)
    if is_all_there and place.topic_id is None:
        return "the metadata log has everything since offset 0, and no other topic of this name", ""
    if not is_all_there and isinstance(place.topic_id, bytes):
        return "", "the metadata log does not reach back to offset 0, so this may be the id of an earlier topic"
    assigned = dict(zip(partition.replicas, partition.directories, strict=False)).get(own)
    if own not in (*partition.isr, *partition.elr):
        return "", f"broker {own} is not in its ISR, so it may have missed that the topic was removed and made again"
    if assigned is not None and assigned not in NO_DIRECTORIES and assigned != facts.directory_id:
        return "", f"the metadata assigns it to directory {uuid_text(assigned)}"
    never = "; no topic ever had the id in the file" if isinstance(place.topic_id, bytes) else ""
    return f"broker {own} is in its ISR or ELR, and it is assigned to this directory: the broker has fetched under this id{never}", ""


# ---- leftovers, and what else the checks found


def _leftover_items(facts: RepairFacts) -> Iterator[Step]:
    if facts.log is None:
        return
    for name in sorted(os.listdir(facts.folder)):
        if name.endswith(_LEFTOVERS) and os.path.isfile(os.path.join(facts.folder, name)):
            reason = "every start removes such files"
            yield Step("leftover", FileChange("move", f"{METADATA_DIRECTORY}/{name}"), f"{name}: left by interrupted work", reason)


def _other_findings(facts: RepairFacts, done: set[str]) -> Iterator[Refusal]:
    """The other bad findings of the checks about this directory."""
    for finding in judge_disks(_facts_of_the_node(facts)).findings:
        # What follows from a fault that is repaired goes with it.
        if finding.check.severity != BAD or not done.isdisjoint((finding.check.id, *finding.check.follows)):
            continue
        for found in finding:
            if _is_about(facts, found):
                ways = found.steps or tuple(filter(None, [finding.check.step]))
                yield Refusal(finding.check.id, found.name, found.cause, ways)


def _is_about(facts: RepairFacts, found: Found) -> bool:
    places = [str(found.key[1])] if found.key[:1] == ("directory",) else []
    places += [evidence.path for evidence in found.evidence]
    own = facts.own.path.rstrip("/")
    return any(place == own or place.startswith(f"{own}/") for place in places)


def judge_start(request: RepairRequest) -> list[Refusal]:
    """What would keep Kafka's newest release from a safe start on the directory as it is now, by the rules of `verify --start-safe`."""
    facts = read_repair_facts(request)
    if facts.log is None:
        return []
    verdict = start_of(_facts_of_the_node(facts), facts.own.node)
    if verdict.is_safe:
        return []
    return [Refusal("start", facts.own.path, str(verdict), (f"metashell verify --start-safe {facts.own.path} shows the files",))]


def _facts_of_the_node(facts: RepairFacts) -> Facts:
    """The facts as a server of this node sees them: of its own directories alone."""
    node = facts.own.node
    directories = tuple(replace(one, node=node) for one in (facts.own, *facts.siblings))
    configurations = () if facts.configuration is None else (replace(facts.configuration, node=node),)
    return replace(facts.facts, directories=directories, configurations=configurations)


__all__ = ["RepairPlan", "RepairRequest", "judge_start", "plan_repair"]
