"""quorum-state against the log beside it: elections without end, votes and leaders that are no voters, an epoch that is too old."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from metashell.amounts import moment_text
from metashell.checks.facts import LOG, NO_NODE, LogEvent, QuorumNote
from metashell.checks.model import BAD, Evidence, Found
from metashell.checks.nodes import Node, nodes_of, voters_of
from metashell.checks.registry import check
from metashell.codec.control import CONTROL_TYPE_NAMES, LEADER_CHANGE

if TYPE_CHECKING:
    from metashell.checks.facts import Facts, MetadataLog

_AHEAD_MAX: Final = 10
"""Epochs that a few lost elections and restarts may take quorum-state ahead of the log."""
_QUORUM_STATE: Final = "quorum-state"
_LEADER_CHANGE: Final = CONTROL_TYPE_NAMES[LEADER_CHANGE]


def _noted(facts: Facts) -> Iterator[tuple[Node, MetadataLog, QuorumNote]]:
    for node in nodes_of(facts):
        log = node.log
        if log is not None and isinstance(log.quorum_note, QuorumNote):
            yield node, log, log.quorum_note


def _found(node: Node, log: MetadataLog, cause: str, *steps: str) -> Found:
    return Found(node.name, cause, (Evidence(f"{log.path}/{_QUORUM_STATE}"),), steps, ("directory", log.path))


@check(
    "quorum_state.endless_elections",
    BAD,
    "nodes that know no leader, many epochs after the last one that wrote to the log",
    LOG,
    endangers="without a leader nothing is written: no topic, no leader of a partition, no broker can change",
    source="org.apache.kafka.raft.QuorumState; KIP-996",
    example="node 2 (epoch 4539 without a leader; the last that led: 2 in epoch 2; 4537 elections; nothing was written since ...)",
    of_a_part=True,
)
def endless_elections(facts: Facts) -> Iterator[Found]:
    for node, log, note in _noted(facts):
        ahead = note.epoch - log.last_epoch
        if note.leader_id >= 0 or ahead <= _AHEAD_MAX:
            continue
        vote = f"with a vote for {note.voted_id}" if note.voted_id >= 0 else "and without a vote"
        last = "" if log.last_leader is None else f"; the last that led: {log.last_leader[0]} in epoch {log.last_leader[1]}"
        since = "" if log.last_timestamp_ms < 0 else f"; nothing was written since {moment_text(log.last_timestamp_ms)}"
        cause = f"epoch {note.epoch} without a leader {vote}{last}; {ahead} elections since{since}"
        voters = voters_of(node, facts)
        whom = f" {', '.join(map(str, sorted(voters)))}" if voters else ""
        majority = f" ({len(voters) // 2 + 1} of {len(voters)})" if voters else ""
        step = (
            f"see which of the voters{whom} run, and whether each reaches the others at the address of the voter set; "
            f"a majority{majority} elects: metashell cluster -C HOST:PORT"
        )
        yield Found(
            node.name,
            cause,
            (Evidence(f"{log.path}/{_QUORUM_STATE}"), Evidence(log.path, log.end_offset - 1, log.last_timestamp_ms)),
            (step,),
            ("directory", log.path),
        )


@check(
    "quorum_state.old_quorum_state",
    BAD,
    "nodes whose quorum-state is missing, torn, or of an older epoch than their log",
    LOG,
    endangers="the node may vote twice in an epoch, so two leaders may be elected in it",
    source="org.apache.kafka.raft.QuorumState.initialize",
    example="node 2 (epoch 1; the log ends in epoch 2)",
    of_a_part=True,
)
def old_quorum_state(facts: Facts) -> Iterator[Found]:
    for node in nodes_of(facts):
        log = node.log
        if log is None or log.start_offset == log.end_offset:
            continue
        note = log.quorum_note
        step = ("start it only while the others have a leader, of whom it learns the epoch; do not copy quorum-state from another node",)
        if isinstance(note, str):
            yield _found(node, log, f"quorum-state: {note}", "move it away; then " + step[0])
        elif note is None and not all(one.is_alone for one in node.directories):  # of a log that was copied by itself nothing is known
            yield _found(node, log, f"is missing; the log ends in epoch {log.last_epoch}", *step)
        elif note is not None and note.epoch < log.last_epoch:
            yield _found(node, log, f"epoch {note.epoch}; the log ends in epoch {log.last_epoch}", *step)
        elif note is not None and (note.leader_id < NO_NODE or note.voted_id < NO_NODE):
            yield _found(node, log, f"leader {note.leader_id} and vote {note.voted_id} are no ids", *step)


@check(
    "quorum_state.vote_of_no_voter",
    BAD,
    "nodes that voted for, or follow, a node that never was a voter",
    LOG,
    endangers="what such a node says is elected is no leader to the others",
    step="look for a node that runs with another voter set (controller.quorum.voters, or a directory of another cluster)",
    source="org.apache.kafka.raft.QuorumState",
    example="node 1 (leader 9 in epoch 5; voters 1, 2, 3)",
    of_a_part=True,
)
def vote_of_no_voter(facts: Facts) -> Iterator[Found]:
    """A voter that was removed later was one; where the log lacks its beginning, nobody can say who was."""
    for node, log, note in _noted(facts):
        known = _ever_voted(node, facts)
        if not known or (log.image is not None and log.image.provenance.begins_at):
            continue
        for what, id in (("leader", note.leader_id), ("a vote for", note.voted_id)):
            if id >= 0 and id not in known:
                yield _found(node, log, f"{what} {id} in epoch {note.epoch}; voters {', '.join(map(str, sorted(known)))}")


def _ever_voted(node: Node, facts: Facts) -> set[int]:
    log = node.log
    assert log is not None
    known = set(voters_of(node, facts))
    known.update(voter.id for _, _, voters in log.voter_sets for voter in voters.voters)
    for event in log.events:
        known.update(_voters_in(event))
    return known


def _voters_in(event: LogEvent) -> Iterator[int]:
    if event.name == _LEADER_CHANGE and event.record.voters:
        yield event.record.leader_id
        yield from (voter.voter_id for voter in event.record.voters)


@check(
    "quorum_state.no_voters_known",
    BAD,
    "controllers that voted, and whose quorum-state knows neither a leader nor a voter",
    LOG,
    follows=("no_voters_configured",),
    endangers="such a controller waits for ever: it elects nobody and knows nobody to ask",
    step="put controller.quorum.voters back into the configuration; to do without it raise kraft.version first (4.1 or later)",
    source="org.apache.kafka.raft.QuorumState; KIP-853",
    example="node 0 (kraft.version 0; no leader in epoch 2 and no voters; the last that led: 0 in epoch 1)",
    of_a_part=True,
)
def no_voters_known(facts: Facts) -> Iterator[Found]:
    for node, log, note in _noted(facts):
        image = log.image
        if note.version or note.voter_ids or note.leader_id >= 0 or note.epoch == 0 or image is None or image.voters is not None:
            continue
        if image.leader is not None and node.stored_id in image.leader.voter_ids:
            last = f"; the last that led: {image.leader.id} in epoch {image.leader.epoch}"
            yield _found(node, log, f"kraft.version 0; no leader in epoch {note.epoch} and no voters{last}")
