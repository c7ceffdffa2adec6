"""Steps for small files beside the metadata log over which a server exits, by the rules of `verify --start-safe`.

Each has its content from somewhere else, so that it can be made again or left out: the epoch cache from the batches, the topic id is a
constant, the log's own records stand for bootstrap.checkpoint once there are any, and files with names that no server gives are copies that
somebody made by hand.

A lost quorum-state is written so that no vote can come back. A vote must not be given twice in an epoch. Without the file nobody can know
in which epochs the node voted. But a candidate writes an epoch to its own quorum-state before it asks for votes in it. So the node has
voted for others in no epoch above the highest one in the files of all other voters, and a candidacy of its own ended with its process. If
the leader of that epoch is known, the new file names both: a node that knows the leader of its epoch grants no vote in it, and simply
follows. Else it has the epoch after that, without a leader and without a vote. Example: the log of voter 2 ends in epoch 5; voters 1 and 3
have epochs 7 and 6, and no leader. Voter 2 may have voted in epoch 7 for voter 1, so its new file says epoch 8. With epoch 5, as the log
has it, voter 2 could vote again in epoch 7, for voter 3, and epoch 7 would have two leaders. So all other voters are needed: by `--from`,
or by `--epoch`, with which the operator states the highest epoch that any of them shows. The file itself will do if it is cut off behind
the epoch, since a vote is never newer than the file. A broker never votes and needs no proof.

Source: org.apache.kafka.storage.internals.log.LogLoader, LogFileUtils; BootstrapDirectory; PartitionMetadataFile;
FileQuorumStateStore; QuorumState; KIP-595, KIP-853."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.common.errors import MetashellError
from metashell.common.values import METADATA_TOPIC_ID
from metashell.disk.mend import FileChange
from metashell.disk.names import BOOTSTRAP_CHECKPOINT, LEADER_EPOCH_CHECKPOINT, METADATA_DIRECTORY, PARTITION_METADATA, QUORUM_STATE
from metashell.disk.opening import epochs_from
from metashell.disk.properties import read_text_file
from metashell.disk.state_files import (
    NO_NODE,
    EpochEntry,
    QuorumState,
    format_leader_epochs,
    format_quorum_state,
    format_topic_id,
    read_leader_epochs,
    read_quorum_state,
)
from metashell.inspect.repair.facts import Refusal, RepairFacts, Step
from metashell.inspect.repair.log import proof_of, ways_without_a_vote
from metashell.inspect.verify.start import ServerExit
from metashell.inspect.verify.start.load import check_topic_id, is_sane_transaction_index, read_bootstrap, read_election, read_epochs
from metashell.metadata.checks.facts import Identity, QuorumNote
from metashell.metadata.checks.nodes import kraft_version, voters_of

if TYPE_CHECKING:
    from collections.abc import Iterator


EPOCH_MAX: Final = (1 << 31) - 1
"""The last epoch that there can be; a server ends over it."""
_LOG_ENDINGS: Final = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".cleaned", ".swap")
_CHECKPOINT_ENDINGS: Final = (".checkpoint", ".checkpoint.part", ".checkpoint.deleted")


def small_file_items(facts: RepairFacts) -> Iterator[Step | Refusal]:
    """The steps for the metadata log's small files; quorum-state only where its content is known."""
    if facts.log is None:
        return
    yield from _epoch_cache_items(facts)
    yield from _topic_id_items(facts)
    yield from _election_items(facts)
    yield from _name_items(facts)
    yield from _bootstrap_items(facts)


def _exit_of(path: str, read: Callable[[str], object]) -> str:
    """The reason why Kafka exits over a file; empty if it does not."""
    try:
        read(path)
    except ServerExit as error:
        return error.reason
    return ""


def _epoch_cache_items(facts: RepairFacts) -> Iterator[Step]:
    """The epochs of a log are those of its batches; one that is in no batch would be believed, and win elections."""
    log, path = facts.log, os.path.join(facts.folder, LEADER_EPOCH_CHECKPOINT)
    if log is None or log.plan is None or log.plan.run is None or log.plan.loss is not None or not os.path.isfile(path):
        return
    run, plan = log.plan.run, log.plan
    cause = _exit_of(path, read_epochs)
    if not cause:
        known = {epoch for epoch, _ in run.epochs} | {id.epoch for id in plan.sound}
        odd = [entry.epoch for entry in _entries(path) if entry.epoch not in known]
        cause = f"has epoch {odd[0]}, which no batch has" if odd else ""
    if cause:
        data = format_leader_epochs(epochs_from(run, plan.start))
        change = FileChange("write", f"{METADATA_DIRECTORY}/{LEADER_EPOCH_CHECKPOINT}", data=data)
        yield Step(
            "epoch_cache", change, f"{LEADER_EPOCH_CHECKPOINT}: {cause}", "it repeats the epochs of the log's batches, which are whole"
        )


def _entries(path: str) -> tuple[EpochEntry, ...]:
    try:
        return read_leader_epochs(path)
    except MetashellError:
        return ()  # a version alone, which Kafka accepts


def _topic_id_items(facts: RepairFacts) -> Iterator[Step]:
    path = os.path.join(facts.folder, PARTITION_METADATA)
    cause = _exit_of(path, check_topic_id)
    if cause:
        change = FileChange("write", f"{METADATA_DIRECTORY}/{PARTITION_METADATA}", data=format_topic_id(METADATA_TOPIC_ID))
        yield Step("metadata_topic_id", change, f"{PARTITION_METADATA}: {cause}", "the metadata log has the same topic id in every cluster")


def _election_items(facts: RepairFacts) -> Iterator[Step]:
    """A quorum-state that we can read and Kafka cannot: the same epoch, leader and vote, in Kafka's form."""
    path = os.path.join(facts.folder, QUORUM_STATE)
    cause = _exit_of(path, read_election)
    if not cause:
        return
    try:
        state = read_quorum_state(path)
    except (MetashellError, OSError):
        return  # `election` rebuilds it, or says why not
    own = facts.own_log
    ids = state.leader_id, state.voted_id
    is_sound = own is not None and own.last_epoch <= state.leader_epoch < EPOCH_MAX and min(ids) >= -1 and max(ids) <= EPOCH_MAX
    if is_sound:
        change = FileChange("write", f"{METADATA_DIRECTORY}/{QUORUM_STATE}", data=format_quorum_state(state))
        yield Step("quorum_state_form", change, f"{QUORUM_STATE}: {cause}", "the epoch, the leader and the vote are read from it and stay")


def _name_items(facts: RepairFacts) -> Iterator[Step]:
    for name in sorted(os.listdir(facts.folder)):
        path = os.path.join(facts.folder, name)
        if not os.path.isfile(path):
            continue
        if _has_a_foreign_name(name):
            reason = "no server gives a file this name, and every server exits over it: it is a copy that somebody made"
            yield Step(
                "foreign_name", FileChange("move", f"{METADATA_DIRECTORY}/{name}"), f"{name}: is no name of a file of the log", reason
            )
        elif name.endswith(".txnindex") and (cause := _exit_of(path, is_sane_transaction_index)):
            reason = "a metadata log has no transactions of producers, and Kafka makes an empty file"
            yield Step("transaction_index", FileChange("move", f"{METADATA_DIRECTORY}/{name}"), f"{name}: {cause}", reason)


def _has_a_foreign_name(name: str) -> bool:
    """Whether a server reads the name as that of a file of the log and fails: its first part must be a number, of a checkpoint two."""
    stem = name.partition(".")[0]
    if name.endswith(_CHECKPOINT_ENDINGS):
        return name != BOOTSTRAP_CHECKPOINT and not stem[:20].isdigit()
    return name.endswith(_LOG_ENDINGS) and not (stem.isdigit() and int(stem) < 1 << 63)


def _bootstrap_items(facts: RepairFacts) -> Iterator[Step | Refusal]:
    """bootstrap.checkpoint is read at each start, but its records count only while the log is empty."""
    path = os.path.join(facts.own.path, BOOTSTRAP_CHECKPOINT)
    cause = _exit_of(path, read_bootstrap)
    if not cause:
        return
    own = facts.own_log
    image = None if own is None else own.image
    if image is not None and image.features.metadata_version is not None and not image.is_as_formatted:
        reason = f"the log has its own records, metadata.version {image.features.metadata_version} among them"
        yield Step("bootstrap_checkpoint", FileChange("move", BOOTSTRAP_CHECKPOINT), f"{BOOTSTRAP_CHECKPOINT}: {cause}", reason)
        return
    for other in facts.related():
        source = os.path.join(other.path, BOOTSTRAP_CHECKPOINT)
        if os.path.isfile(source) and not _exit_of(source, read_bootstrap):
            reason = f"all nodes of a cluster are formatted with the same records; that of {other.path} is whole"
            yield Step(
                "bootstrap_checkpoint", FileChange("copy", BOOTSTRAP_CHECKPOINT, source=source), f"{BOOTSTRAP_CHECKPOINT}: {cause}", reason
            )
            return
    ways = ("name the directory of another node of the cluster with --from", "or format the directory again: its log is empty")
    yield Refusal("bootstrap_checkpoint", path, cause, ways)


_TORN_STATE: Final = re.compile(rb'\{[^\0{}]*"leaderId":(-?[0-9]{1,10}),"leaderEpoch":([0-9]{1,10}),[^\0]*')


def quorum_state_items(facts: RepairFacts) -> Iterator[Step | Refusal]:
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
        yield Refusal("damaged_epoch", facts.folder, text, ways_without_a_vote(facts))
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


class Election(NamedTuple):
    """What to write: no vote can come back in `epoch`. `leader` is that of the epoch, -1 if the epoch is a new one."""

    epoch: int
    leader: int
    proof: str

    @property
    def text(self) -> str:
        if self.leader >= 0:
            return f"epoch {self.epoch} with its leader {self.leader}, in which a node grants no vote"
        return f"epoch {self.epoch}, without a leader and a vote"


def _safe_election(facts: RepairFacts) -> tuple[Election | None, tuple[str, ...]]:
    """The state to begin with, else None and the ways to prove one."""
    log = facts.own_log
    assert log is not None
    own, voters = facts.node_id, voters_of(facts.node, facts.facts)
    note = log.quorum_note
    noted = note.epoch if isinstance(note, QuorumNote) and note.epoch < EPOCH_MAX else 0
    newest = max(log.last_epoch, noted, _proven_epoch(facts), 0)
    if _is_only_broker(facts, own, set(voters)):
        return Election(newest, NO_NODE, "the node is a broker and no voter, so it never votes"), ()
    torn = _torn_state(os.path.join(facts.folder, QUORUM_STATE)) if isinstance(log.quorum_note, str) else None
    if torn is not None and torn[0] >= newest:
        return election_after(*torn, f"the file is cut off behind its epoch, {torn[0]}, and a vote is never newer than the file"), ()
    if own is not None and set(voters) == {own}:
        return Election(newest + 1, NO_NODE, f"node {own} is the only voter, so all its votes were for itself"), ()
    notes = _notes_of_others(facts)
    missing = sorted(id for id in voters if id != own and id not in notes)
    epochs = {id: max(note.epoch, log_epoch) for id, (note, log_epoch) in notes.items()}
    if facts.request.epoch is not None:
        highest = max(newest, facts.request.epoch, *epochs.values())
        proof = f"no other voter knows an epoch above {highest}, as --epoch {facts.request.epoch} says"
        return election_after(highest, _leader_of(facts, highest), proof), ()
    if voters and own is not None and not missing:
        highest = max(newest, *epochs.values())
        seen = ", ".join(f"{id} has {epoch}" for id, epoch in sorted(epochs.items()))
        proof = f"of the other voters {seen}, and a candidate writes its epoch down before it asks for votes"
        return election_after(highest, _leader_of(facts, highest), proof), ()
    who = f"of voter {' and '.join(map(str, missing))}" if missing else "of all other voters"
    return None, (
        f"name the directories {who} with --from: their quorum-state shows in which epochs this node may have voted",
        "or state the highest epoch that any of them shows with --epoch N (metashell quorum describe -C HOST:PORT asks each)",
    )


def _proven_epoch(facts: RepairFacts) -> int:
    """The epoch in which our server has taken part on this directory, by the proof beside meta.properties; 0 where there is none."""
    proof = proof_of(facts)
    return 0 if proof is None else proof.epoch


def election_after(epoch: int, leader: int, proof: str) -> Election:
    """The state of a node that may have voted in all epochs up to this one."""
    return Election(epoch, leader, proof) if leader >= 0 else Election(epoch + 1, NO_NODE, proof)


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
    # Where nobody knows a controller, this may be one.
    return own in image.cluster.brokers and bool(voters or image.cluster.controllers)


def _torn_state(path: str) -> tuple[int, int] | None:
    """Epoch and leader of a quorum-state that is cut off behind them; None if it is not to be read, or other bytes follow."""
    if not os.path.isfile(path):
        return None
    data = read_text_file(path).rstrip(b"\0")
    match = _TORN_STATE.fullmatch(data)
    return None if match is None else (int(match[2]), int(match[1]))
