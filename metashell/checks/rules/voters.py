"""The addresses of voters, as the voter set in the log has them: who follows and who votes connects to these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from metashell.checks.facts import IMAGE
from metashell.checks.hosts import address_text, flaw_of, is_loopback
from metashell.checks.model import BAD, UNUSUAL, Evidence, Found
from metashell.checks.past import last_of
from metashell.checks.registry import check

if TYPE_CHECKING:
    from metashell.checks.facts import Facts, LogEvent
    from metashell.image.voters import Voter

_SETTLES_MS: Final = 10_000
"""So long a controller that came back with another address may take to tell it to the leader."""
_LISTENERS: Final = "put advertised.listeners of controller {id} right and restart it while another controller leads"

Address = tuple[str, int]
Addresses = Mapping[str, Address]
"""(host, port) by the names of listeners."""


def addresses(voter: Voter) -> Addresses:
    return {one.name: (one.host, one.port) for one in voter.endpoints}


def _text(found: Addresses) -> str:
    return ", ".join(address_text(*place) for place in found.values()) or "no address"


def changes(facts: Facts) -> dict[int, tuple[Addresses, Evidence]]:
    """The voters whose address was another one: that one, and where the present one began.

    One that was added anew was reached at its address: the leader asks it for its versions before.
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
    known = changes(facts).get(id)
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
    """A name that only the machine itself understands is one where other voters are elsewhere."""
    voters = facts.image.voters
    if voters is None or len(voters.voters) < 2:
        return
    sound = [place for one in voters.voters for place in addresses(one).values() if not flaw_of(*place)]
    has_others = any(not is_loopback(host) for host, _ in sound)
    for one in voters.voters:
        flaws = {
            flaw_of(*place) or ("only its own machine finds it there" if has_others and is_loopback(place[0]) else "")
            for place in addresses(one).values()
        } - {""}
        if flaws:
            yield _found(facts, one, "; ".join(sorted(flaws)))


@check(
    "voters.moved_voter",
    UNUSUAL,
    "voters whose address was changed, and that nobody is known to have reached there since",
    IMAGE,
    endangers="where the new address is wrong, the voter is lost to the quorum as soon as the leader goes",
    step="metashell quorum describe -C connects to each voter where the voter set says; a wrong address: put advertised.listeners of that"
    " controller right and restart it while another controller leads",
    source="KIP-853, UpdateRaftVoter",
    example="voter 2 at localhost:1 (before at localhost:30085; offset 120, 2026-11-27T00:27:20Z)",
)
def moved_voter(facts: Facts) -> Iterator[Found]:
    """Who gave its vote to another one was reached: the candidate connects to each voter.

    A listener that comes or goes beside one that stays moves nobody.
    """
    voters = facts.image.voters
    known = changes(facts)
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
        if event.name == "LEADER_CHANGE" and event.offset > from_offset and event.record.leader_id != id:
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
            yield _found(facts, one, f"as voter {', '.join(others)}")


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
            yield _found(facts, one, f"it has no {', '.join(lacking) or 'listener'}")


@check(
    "voters.voter_registered_elsewhere",
    UNUSUAL,
    "voters whose controller registered another address than the voter set has",
    IMAGE,
    endangers="the others connect to the address of the voter set",
    source="KIP-853, KIP-919",
)
def voter_registered_elsewhere(facts: Facts) -> Iterator[Found]:
    """A leader does not tell itself its address, and one that has just come back has not yet told it."""
    image = facts.image
    if image.voters is None or len(image.voters.voters) < 2:
        return
    for one in image.voters.voters:
        controller = image.cluster.controllers.get(one.id)
        if controller is None or (image.leader is not None and image.leader.id == one.id):
            continue
        told = {place.name: (place.host, place.port) for place in controller.listeners}
        other = {name: told[name] for name, place in addresses(one).items() if name in told and told[name] != place}
        event = last_of(facts.events, "REGISTER_CONTROLLER_RECORD", controller_id=one.id)
        if other and (event is None or facts.now_ms - event.timestamp_ms > _SETTLES_MS):
            evidence = () if event is None else (Evidence("", event.offset, event.timestamp_ms),)
            yield Found(
                _name(one), f"its controller registered {_text(other)}", evidence, (_LISTENERS.format(id=one.id),), ("voter", one.id)
            )


def _found(facts: Facts, voter: Voter, cause: str) -> Found:
    return Found(_name(voter), cause, _evidence(facts, voter.id), (_LISTENERS.format(id=voter.id),), ("voter", voter.id))
