"""The quorum: the leader's view of its replicas, the addresses of the voter set, and each node's quorum-state.

Followers and candidates connect to the addresses of the voter set in the log. quorum-state is compared with the log beside it: elections
without end, votes for nodes that are no voters, an epoch that is too old."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from metashell.codec.releases import REGISTER_CONTROLLER_LEVEL
from metashell.common.forms import counted
from metashell.common.values import duration_text, moment_text
from metashell.metadata.checks.facts import IMAGE, LOG, NO_NODE, QUORUM, LogEvent, QuorumNote
from metashell.metadata.checks.model import BAD, UNUSUAL, Evidence, Found, check, last_of
from metashell.metadata.checks.nodes import RESTORE, ServerNode, address_flaw, address_text, is_loopback, nodes_of, repairing, voters_of

if TYPE_CHECKING:
    from metashell.metadata.checks.facts import Facts, MetadataLog, Replica
    from metashell.metadata.image.provenance import Voter


@check(
    "quorum.unregistered_voter",
    BAD,
    "voters without a registration as controller",
    IMAGE,
    endangers="features cannot be upgraded, and the voter may not run",
    step="start the controller; if it is gone for good: metashell quorum remove-controller ID",
)
def unregistered_voter(facts: Facts) -> Iterator[Found]:
    assert facts.health is not None
    image = facts.image
    if not image.is_as_formatted and (image.features.metadata_version or 0) >= REGISTER_CONTROLLER_LEVEL:
        missing = (id for id in sorted(facts.health.voters()) if id not in image.cluster.controllers)
        yield from (Found(str(id), key=("voter", id)) for id in missing)


@check(
    "quorum.lagging",
    BAD,
    "replicas of the metadata that have been behind for too long",
    QUORUM,
    follows=("unreachable_voter", "silent_voter", "stale_controller"),
    step="check whether the node runs and reaches the leader",
    of_a_part=True,
)
def lagging(facts: Facts) -> Iterator[Found]:
    quorum = facts.quorum
    assert quorum is not None
    leader = next((voter for voter in quorum.voters if voter.id == quorum.leader_id), None)
    if leader is None:
        return
    fenced = _fenced_brokers(facts)
    for role, replicas in (("voter", quorum.voters), ("observer", quorum.observers)):
        for replica in sorted(replicas):
            caught_up, now = replica.last_caught_up_ms, leader.last_fetch_ms
            behind_ms = None if caught_up is None or now is None else max(0, now - caught_up)
            if (
                replica.id == leader.id
                or (role == "observer" and replica.id in fenced)
                or (behind_ms is not None and behind_ms <= quorum.lag_after_ms)
            ):
                continue
            if role == "observer" and _has_new_disk(replica, quorum.observers):
                continue
            ago = "never had everything" if behind_ms is None else f"had everything {duration_text(behind_ms)} ago"
            lag = counted(leader.log_end_offset - replica.log_end_offset, "record")
            yield Found(f"{role} {replica.id}: it is {lag} behind, {ago}", key=(role, replica.id))


def _fenced_brokers(facts: Facts) -> frozenset[int]:
    """The brokers that the check `fenced` names: that they do not fetch metadata adds nothing."""
    if facts.health is None or (facts.told is not None and "fenced" not in facts.told):
        return frozenset()
    return frozenset(id for id, broker in facts.image.cluster.brokers.items() if broker.fenced)


def _has_new_disk(former: Replica, observers: Iterable[Replica]) -> bool:
    """Return whether a node came back with another directory id: the leader lists the former one for five more minutes (LeaderState)."""
    since = former.last_fetch_ms or 0
    newer = (one for one in observers if one.id == former.id and one.directory_id != former.directory_id)
    return any((one.last_fetch_ms or 0) > since for one in newer)


# ---- addresses of voters


_SETTLES_MS: Final = 10_000
"""The time that a controller with a new address may take to report it to the leader."""
_LISTENERS: Final = "put advertised.listeners of controller {id} right and restart it while another controller leads"

Address = tuple[str, int]
Addresses = Mapping[str, Address]
"""(host, port) by the names of listeners."""


def addresses(voter: Voter) -> Addresses:
    return {one.name: (one.host, one.port) for one in voter.endpoints}


def _text(found: Addresses) -> str:
    return ", ".join(address_text(*place) for place in found.values()) or "no address"


def address_changes(facts: Facts) -> dict[int, tuple[Addresses, Evidence]]:
    """The voters whose address changed: the former address, and the record that changed it.

    A voter that was added again does not count: the leader has reached it at its address to ask for its versions (KIP-853).
    """
    voters = facts.image.voters
    found: dict[int, tuple[Addresses, Evidence]] = {}
    before: dict[tuple[int, bytes], Addresses] = {}
    for event in facts.events if voters is not None else ():
        if event.name != "KRAFT_VOTERS":
            continue
        present: dict[tuple[int, bytes], Addresses] = {}
        for one in event.record.voters:
            key, now = (one.voter_id, one.voter_directory_id), {place.name: (place.host, place.port) for place in one.endpoints}
            present[key] = now
            former = before.get(key)
            if former is None:
                found.pop(one.voter_id, None)
            elif former != now:
                found[one.voter_id] = former, Evidence("", event.offset, event.timestamp_ms)
        before = present
    return {one.id: found[one.id] for one in voters.voters if one.id in found} if voters is not None else {}


def _evidence(facts: Facts, id: int) -> tuple[Evidence, ...]:
    known = address_changes(facts).get(id)
    return () if known is None else (known[1],)


def _name(voter: Voter) -> str:
    return f"voter {voter.id} at {_text(addresses(voter))}"


@check(
    "voters.unusable_voter_address",
    BAD,
    "voters with an address that others cannot connect to",
    IMAGE,
    endangers="such a voter can neither be elected nor vote; when the leader goes, the rest may be no majority",
    source="KIP-853, org.apache.kafka.raft.VoterSet",
    example="voter 3 at kafka-old.invalid:9093 (no name ends in .invalid; offset 160, 2026-11-27T00:27:39Z)",
)
def unusable_voter_address(facts: Facts) -> Iterator[Found]:
    """A loopback host is a flaw only if other voters are on other machines."""
    voters = facts.image.voters
    if voters is None or len(voters.voters) < 2:
        return
    sound = [place for one in voters.voters for place in addresses(one).values() if not address_flaw(*place)]
    has_others = any(not is_loopback(host) for host, _ in sound)
    for one in voters.voters:
        flaws = {
            address_flaw(*place) or ("only its own machine can reach it there" if has_others and is_loopback(place[0]) else "")
            for place in addresses(one).values()
        } - {""}
        if flaws:
            yield _voter_found(facts, one, "; ".join(sorted(flaws)))


@check(
    "voters.moved_voter",
    UNUSUAL,
    "voters whose address was changed, and that no other voter is known to have reached there since",
    IMAGE,
    endangers="if the new address is wrong, the quorum loses the voter as soon as the leader stops",
    step="metashell quorum describe -C connects to each voter where the voter set says; a wrong address: put advertised.listeners"
    " of that controller right and restart it while another controller leads",
    source="KIP-853, UpdateRaftVoter",
    example="voter 2 at localhost:1 (before at localhost:30085; offset 120, 2026-11-27T00:27:20Z)",
)
def moved_voter(facts: Facts) -> Iterator[Found]:
    """A voter that has granted a vote since was reached at the new address: the candidate connects to each voter.

    A listener that is added or removed beside one that stays does not count as a move.
    """
    voters = facts.image.voters
    known = address_changes(facts)
    if voters is None or len(voters.voters) < 2:
        return
    for one in voters.voters:
        if one.id in known and not _has_voted(facts.events, one.id, known[one.id][1].offset) and not _answers(facts, one.id):
            before, evidence = known[one.id]
            now = addresses(one)
            shared = before.keys() & now.keys()
            if shared and all(before[name] == now[name] for name in shared):
                continue
            yield Found(_name(one), f"before at {_text(before)}", (evidence,), key=("voter", one.id))


def _has_voted(events: tuple[LogEvent, ...], id: int, from_offset: int) -> bool:
    for event in events:
        if event.name == _LEADER_CHANGE and event.offset > from_offset and event.record.leader_id != id:
            granting = getattr(event.record, "granting_voters", None) or ()
            if any(voter.voter_id == id for voter in granting):
                return True
    return False


def _answers(facts: Facts, id: int) -> bool:
    quorum = facts.quorum
    return quorum is not None and any(probe.voter_id == id and probe.outcome == "answers" for probe in quorum.probes)


@check(
    "voters.same_voter_address",
    BAD,
    "voters that have the same address as another voter",
    IMAGE,
    endangers="one process answers for two voters, and the other can neither be elected nor vote",
    source="org.apache.kafka.raft.VoterSet",
)
def same_voter_address(facts: Facts) -> Iterator[Found]:
    voters = facts.image.voters
    known = () if voters is None else voters.voters
    counts = Counter(place for one in known for place in set(addresses(one).values()))
    for one in known:
        shared = [place for place in addresses(one).values() if counts[place] > 1]
        if shared:
            others = [str(other.id) for other in known if other.id != one.id and set(shared) & set(addresses(other).values())]
            yield _voter_found(facts, one, f"as voter {', '.join(others)}")


@check(
    "voters.voter_without_listener",
    BAD,
    "voters without an address for a listener that the others have",
    IMAGE,
    endangers="whoever uses that listener cannot reach the voter",
    source="org.apache.kafka.raft.VoterSet",
)
def voter_without_listener(facts: Facts) -> Iterator[Found]:
    voters = facts.image.voters
    known = () if voters is None else voters.voters
    names = Counter(name for one in known for name in addresses(one))
    for one in known:
        lacking = sorted(name for name, count in names.items() if name not in addresses(one) and 2 * count >= len(known))
        if lacking or (len(known) > 1 and not addresses(one)):
            yield _voter_found(facts, one, f"it has no {', '.join(lacking) or 'listener'}")


@check(
    "voters.voter_registered_elsewhere",
    UNUSUAL,
    "voters whose controller registered another address than the voter set has",
    IMAGE,
    endangers="the others connect to the address of the voter set",
    source="KIP-853, KIP-919",
)
def voter_registered_elsewhere(facts: Facts) -> Iterator[Found]:
    """A leader does not report its address to itself, and a controller that has just restarted has not reported it yet."""
    image = facts.image
    if image.voters is None or len(image.voters.voters) < 2:
        return
    for one in image.voters.voters:
        controller = image.cluster.controllers.get(one.id)
        if controller is None or (image.leader is not None and image.leader.id == one.id):
            continue
        registered = {place.name: (place.host, place.port) for place in controller.listeners}
        other = {name: registered[name] for name, place in addresses(one).items() if name in registered and registered[name] != place}
        event = last_of(facts.events, "REGISTER_CONTROLLER_RECORD", controller_id=one.id)
        if other and (event is None or facts.now_ms - event.timestamp_ms > _SETTLES_MS):
            evidence = () if event is None else (Evidence("", event.offset, event.timestamp_ms),)
            yield Found(
                _name(one), f"its controller registered {_text(other)}", evidence, (_LISTENERS.format(id=one.id),), ("voter", one.id)
            )


def _voter_found(facts: Facts, voter: Voter, cause: str) -> Found:
    return Found(_name(voter), cause, _evidence(facts, voter.id), (_LISTENERS.format(id=voter.id),), ("voter", voter.id))


# ---- quorum-state


_LEADER_CHANGE: Final = "LEADER_CHANGE"
_AHEAD_MAX: Final = 10
"""Epochs that a few lost elections and restarts may take quorum-state ahead of the log."""
_QUORUM_STATE: Final = "quorum-state"


def _noted(facts: Facts) -> Iterator[tuple[ServerNode, MetadataLog, QuorumNote]]:
    for node in nodes_of(facts):
        log = node.log
        if log is not None and isinstance(log.quorum_note, QuorumNote):
            yield node, log, log.quorum_note


def _quorum_state_found(node: ServerNode, log: MetadataLog, cause: str, *steps: str) -> Found:
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
        lost = RESTORE if len(voters) > 1 else ""
        yield Found(
            node.name,
            cause,
            (Evidence(f"{log.path}/{_QUORUM_STATE}"), Evidence(log.path, log.end_offset - 1, log.last_timestamp_ms)),
            tuple(filter(None, (step, lost))),
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
        step = (_rebuilding(node, facts),)
        if isinstance(note, str):
            yield _quorum_state_found(node, log, f"quorum-state: {note}", *step)
        elif note is None and not all(one.is_alone for one in node.directories):  # a log that was copied alone has no quorum-state
            yield _quorum_state_found(node, log, f"is missing; the log ends in epoch {log.last_epoch}", *step)
        elif note is not None and note.epoch < log.last_epoch:
            yield _quorum_state_found(node, log, f"epoch {note.epoch}; the log ends in epoch {log.last_epoch}", *step)
        elif note is not None and (note.leader_id < NO_NODE or note.voted_id < NO_NODE):
            yield _quorum_state_found(node, log, f"leader {note.leader_id} and vote {note.voted_id} are no ids", *step)


def _rebuilding(node: ServerNode, facts: Facts) -> str:
    """Return the command that writes a quorum-state in which no vote can come back, with the directories that it needs."""
    directory = node.log_directory
    assert directory is not None
    others = [id for id in sorted(voters_of(node, facts)) if id != node.stored_id] if node.stored_id in voters_of(node, facts) else []
    sources = "".join(f" --from DIRECTORY_OF_{id}" for id in others)
    return (
        f"{repairing(node, directory)}{sources}: it writes an epoch in which no vote can come back"
        f"{' (--epoch N where they are not at hand)' if others else ''}; do not copy quorum-state from another node"
    )


@check(
    "quorum_state.vote_of_no_voter",
    BAD,
    "nodes that voted for, or follow, a node that never was a voter",
    LOG,
    endangers="the leader of such a node is no leader for the others",
    step="look for a node that runs with another voter set (controller.quorum.voters, or a directory of another cluster)",
    source="org.apache.kafka.raft.QuorumState",
    example="node 1 (leader 9 in epoch 5; voters 1, 2, 3)",
    of_a_part=True,
)
def vote_of_no_voter(facts: Facts) -> Iterator[Found]:
    """A voter that was removed later counts as one. If the log lacks its beginning, nobody can tell who was."""
    for node, log, note in _noted(facts):
        known = _ever_voted(node, facts)
        if not known or (log.image is not None and log.image.provenance.begins_at):
            continue
        for what, id in (("leader", note.leader_id), ("a vote for", note.voted_id)):
            if id >= 0 and id not in known:
                yield _quorum_state_found(node, log, f"{what} {id} in epoch {note.epoch}; voters {', '.join(map(str, sorted(known)))}")


def _ever_voted(node: ServerNode, facts: Facts) -> set[int]:
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
            yield _quorum_state_found(node, log, f"kraft.version 0; no leader in epoch {note.epoch} and no voters{last}")
