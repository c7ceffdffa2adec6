"""A live quorum: who leads it, and whether its voters are at the addresses of the voter set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from metashell.common.forms import counted
from metashell.common.values import duration_text
from metashell.metadata.checks.facts import BROKERS, QUORUM
from metashell.metadata.checks.model import BAD, UNUSUAL, Found, check
from metashell.metadata.checks.nodes import RESTORE

if TYPE_CHECKING:
    from metashell.metadata.checks.facts import Facts, Probe, QuorumAnswers, Replica

FETCHES_MS: Final = 1_000
"""A voter that runs fetches at least twice a second; the gatherer looks twice before a check says that one does not."""
SILENT_MS: Final = 2_000
"""A voter that has not fetched for so long could not take part in an election now."""
_REACHED: Final = frozenset({"answers", "not_loaded", "forbidden"})
_THERE: Final = _REACHED | {"tls", "plain"}
"""A voter counts as reached by these outcomes: only this client used the wrong listener."""
STEPS: Final = {
    "controller": "name a controller with -C (--bootstrap-controller), and with -b the brokers' own port",
    "broker": "name a broker with -b (--bootstrap-server), and with -C the controllers' own port",
    "tls": "give a --command-config with security.protocol=SSL (or SASL_SSL)",
    "plain": "give a --command-config without TLS: security.protocol=PLAINTEXT (or SASL_PLAINTEXT)",
    "refused": "check whether the server runs there, and whether host and port are right",
    "unresolved": "check whether the name is right: this machine does not know it",
    "silent": "check the network between this machine and that address",
    "no_kafka": "check whether the port is right",
    "forbidden": "give the credentials of a user who has the right, with --command-config",
    "wrong_cluster": "name the controllers of one cluster",
    "no_controller": "ask the controllers themselves (metashell quorum describe -C): brokers reach no active one",
    "not_loaded": "wait until it has loaded the metadata",
}


# ---- functions that the commands use too


def majority(count: int) -> int:
    """Return how many of `count` voters are a majority."""
    return count // 2 + 1


def ago_ms(quorum: QuorumAnswers, moment_ms: int | None) -> int | None:
    """Return the milliseconds since a moment by the leader's clock, None if either is not known."""
    return None if moment_ms is None or quorum.now_ms is None else max(0, quorum.now_ms - moment_ms)


def fetches(quorum: QuorumAnswers, voter: Replica, limit_ms: int = FETCHES_MS) -> bool:
    """Return whether a replica fetches from the leader, or is the leader."""
    if voter.id == quorum.leader_id or quorum.fetched is not None:
        return voter.id == quorum.leader_id or voter.id in (quorum.fetched or ())
    since_ms = ago_ms(quorum, voter.last_fetch_ms)
    return since_ms is not None and since_ms <= limit_ms


def is_caught_up(quorum: QuorumAnswers, voter: Replica) -> bool:
    """Return whether a voter had all records a moment ago, so that it could replace a voter that fails."""
    behind_ms = ago_ms(quorum, voter.last_caught_up_ms)
    return voter.id == quorum.leader_id or (
        fetches(quorum, voter, quorum.lag_after_ms) and behind_ms is not None and behind_ms <= quorum.lag_after_ms
    )


def probes_of_voters(quorum: QuorumAnswers) -> dict[int, Probe]:
    """The probe at the address of each voter, by its id."""
    return {probe.voter_id: probe for probe in quorum.probes if probe.voter_id is not None}


def sees_as_they_do(quorum: QuorumAnswers) -> bool:
    """Return whether an address that cannot be reached from here cannot be reached by the other voters either.

    If the leader cannot be reached from here while others fetch from it, this machine is on another network. A lone voter proves nothing.
    """
    at_leader = None if quorum.leader_id is None else probes_of_voters(quorum).get(quorum.leader_id)
    if at_leader is None or at_leader.outcome in _THERE:
        return True
    others = [one for one in (*quorum.voters, *quorum.observers) if one.id != quorum.leader_id]
    return len(quorum.voters) > 1 and not any(fetches(quorum, one) for one in others)


def unreached(quorum: QuorumAnswers) -> dict[int, Probe]:
    """The voters that cannot be reached at the address of the voter set, by id."""
    return {id: probe for id, probe in sorted(probes_of_voters(quorum).items()) if probe.outcome not in _THERE}


def electable(quorum: QuorumAnswers) -> int:
    """Count the voters that could elect a leader: they are caught up, and no probe of their address failed."""
    missing = {*(unreached(quorum) if sees_as_they_do(quorum) else ()), *(voter.id for voter in silent(quorum))}
    return sum(is_caught_up(quorum, voter) and voter.id not in missing for voter in quorum.voters)


def silent(quorum: QuorumAnswers) -> list[Replica]:
    """The voters that do not fetch from the leader, by its own clock; empty if it did not answer."""
    if quorum.leader_id is None or quorum.now_ms is None:
        return []
    return [voter for voter in sorted(quorum.voters) if not fetches(quorum, voter, SILENT_MS)]


def may_fail(quorum: QuorumAnswers) -> int | None:
    """Return how many more voters may fail, None if no leader reports the voters' positions."""
    return max(0, electable(quorum) - majority(len(quorum.voters))) if quorum.now_ms is not None else None


def voters_of(quorum: QuorumAnswers) -> list[int]:
    """The ids of all voters that are known."""
    return sorted({voter.id for voter in quorum.voters} or probes_of_voters(quorum))


def is_settled(quorum: QuorumAnswers) -> bool:
    """Return whether a second look would see the same: no election is going on or has just ended, and no voter has just gone."""
    answering = [probe for probe in quorum.probes if probe.outcome == "answers"]
    if quorum.leader_id is None:
        return not answering
    return (
        not unreached(quorum)
        and not silent(quorum)
        and all(probe.leader_id == quorum.leader_id for probe in answering if probe.epoch is not None)
    )


def looked_twice(before: QuorumAnswers, after: QuorumAnswers) -> QuorumAnswers:
    """The later answers, with the replicas that fetched between the two."""
    first = {voter.id: voter.last_fetch_ms for voter in (*before.voters, *before.observers)}
    last = {voter.id: voter.last_fetch_ms for voter in (*after.voters, *after.observers)}
    if before.leader_id != after.leader_id or not first:
        return after
    return replace(after, fetched=frozenset(id for id in last if last[id] != first.get(id, last[id])))


def _answer_text(probe: Probe) -> str:
    """The answer of an address, in words."""
    if probe.outcome != "answers":
        return probe.words
    leader = "knows no leader" if probe.leader_id is None else f"takes controller {probe.leader_id} for the leader"
    return f"answers, {leader}" + ("" if probe.epoch is None else f" in epoch {probe.epoch}")


def _name(probe: Probe) -> str:
    id = probe.voter_id if probe.id is None else probe.id
    return probe.address if id is None else f"controller {id} at {probe.address}"


# ---- rules


@check(
    "probes.unreachable_voter",
    BAD,
    "voters that cannot be reached at the address of the voter set",
    QUORUM,
    endangers="the other voters cannot elect or follow it: when the leader stops, fewer voters can become the leader",
    step="start the controller, or put its advertised.listeners right and restart it while another controller leads",
    source="KIP-853; org.apache.kafka.raft.internals.UpdateVoterHandler",
    example="voter 2 (localhost:1: Connection refused; it fetches from the leader, so it runs: the address is wrong, or closed to us)",
)
def unreachable_voter(facts: Facts) -> Iterator[Found]:
    quorum = facts.quorum
    assert quorum is not None
    if not sees_as_they_do(quorum):
        return
    replicas = {voter.id: voter for voter in quorum.voters}
    elsewhere = {probe.id: probe for probe in quorum.probes if probe.voter_id is None and probe.outcome in _REACHED}
    for id, probe in unreached(quorum).items():
        place = "registered there; " if probe.source == "registered" and not quorum.voters else ""
        cause = f"{probe.address}: {place}{probe.words}"
        mend = f"put advertised.listeners of controller {id} right and restart it"
        if id in replicas and fetches(quorum, replicas[id]):
            cause += "; it fetches from the leader, so it runs: the address is wrong, or closed to this machine"
            steps: tuple[str, ...] = (f"{mend} while controller {quorum.leader_id} leads",)
        elif id in elsewhere:
            cause += f"; it answers at {elsewhere[id].address}, where no voter looks for it"
            steps = (
                f"{mend} while another controller leads"
                if quorum.leader_id is not None
                else f"make {probe.address} lead to controller {id} (a name, a forwarded port) until a leader is elected, then {mend}",
            )
        else:
            since_ms = ago_ms(quorum, replicas[id].last_fetch_ms) if id in replicas else None
            cause += "" if since_ms is None else f"; it has not fetched for {duration_text(since_ms)}"
            steps = (f"start controller {id}; if it runs, {mend}",)
        yield Found(f"voter {id}", cause, steps=steps, key=("voter", id))


@check(
    "probes.silent_voter",
    BAD,
    "voters that do not fetch from the leader",
    QUORUM,
    endangers="such a voter confirms no records and grants no vote: one more failure may stop the quorum",
    step="check whether the controller runs and reaches the leader; metashell quorum describe -C connects to each",
    source="KIP-595, DescribeQuorum",
    example="voter 1 (it has not fetched for 7.5 s)",
)
def silent_voter(facts: Facts) -> Iterator[Found]:
    """A voter whose address failed is left to `unreachable_voter`."""
    quorum = facts.quorum
    assert quorum is not None
    known = unreached(quorum) if sees_as_they_do(quorum) else {}
    for voter in silent(quorum):
        if voter.id not in known:
            since_ms = ago_ms(quorum, voter.last_fetch_ms)
            cause = "it never fetched" if since_ms is None else f"it has not fetched for {duration_text(since_ms)}"
            yield Found(f"voter {voter.id}", cause, key=("voter", voter.id))


@check(
    "probes.voter_out_of_sight",
    UNUSUAL,
    "voters that cannot be reached from here: nor can the leader, though others reach it, so the quorum may be sound",
    QUORUM,
    step="ask from a machine of the controllers' network, or say by --address-map where they are seen from here",
)
def voter_out_of_sight(facts: Facts) -> Iterator[Found]:
    quorum = facts.quorum
    assert quorum is not None
    if not sees_as_they_do(quorum):
        for id, probe in unreached(quorum).items():
            yield Found(f"voter {id}", f"{probe.address}: {probe.words}", key=("voter", id))


@check(
    "probes.no_leader",
    BAD,
    "no controller leads the quorum: nothing can be changed",
    QUORUM,
    follows=("unreachable_voter", "mixed_clusters"),
    endangers="no topic, ACL or setting can be changed, no broker is fenced, and no partition gets another leader",
    step=f"start the voters that are missing: a majority of them has to run and to reach one another; {RESTORE}",
    source="KIP-595",
)
def no_leader(facts: Facts) -> Iterator[Found]:
    quorum = facts.quorum
    assert quorum is not None
    answering = [probe for probe in quorum.probes if probe.outcome in ("answers", "not_loaded")]
    if quorum.leader_id is not None or not answering:
        return
    voters = voters_of(quorum)
    reached = len(voters) - len(unreached(quorum))
    of_all = f"{reached} of {counted(len(voters), 'voter')} reached where the others look for them, {majority(len(voters))} have to agree; "
    each = "; ".join(f"{_name(probe)} {_answer_text(probe)}" for probe in answering)
    yield Found("quorum", f"{of_all if voters else ''}{each}")


@check(
    "probes.no_answer",
    BAD,
    "no controller answers: the state of the quorum is not known",
    QUORUM,
    endangers="nothing is known of the cluster from here",
)
def no_answer(facts: Facts) -> Iterator[Found]:
    quorum = facts.quorum
    assert quorum is not None
    if quorum.leader_id is not None or any(probe.outcome in ("answers", "not_loaded") for probe in quorum.probes):
        return
    for probe in quorum.probes:
        yield Found(_name(probe), probe.words, steps=tuple(filter(None, (STEPS.get(probe.outcome, ""),))))


@check(
    "probes.no_spare_voter",
    BAD,
    "quorums that lack voters, so that no further one may fail",
    QUORUM,
    follows=("unreachable_voter", "silent_voter", "lagging"),
    endangers="with the next voter that fails nothing can be changed any more",
    step="bring the voters back that are missing before any other controller is restarted",
)
def no_spare_voter(facts: Facts) -> Iterator[Found]:
    quorum = facts.quorum
    assert quorum is not None
    able, count = electable(quorum), len(quorum.voters)
    if quorum.now_ms is not None and able < count and able <= majority(count):
        yield Found("quorum", f"{able} of {counted(count, 'voter')} could elect a leader, {majority(count)} have to agree: none may fail")


@check(
    "probes.other_leader",
    BAD,
    "controllers that answer and do not take the active controller for the leader",
    QUORUM,
    endangers="they follow nobody, or a leader that the others do not follow",
    step="read the log of that controller, and check whether it reaches the leader; it may have an election of its own",
)
def other_leader(facts: Facts) -> Iterator[Found]:
    quorum = facts.quorum
    assert quorum is not None
    if quorum.leader_id is None:
        return
    for probe in quorum.probes:
        is_sure = probe.outcome == "answers" and probe.epoch is not None
        if is_sure and probe.leader_id != quorum.leader_id:
            leads = f"controller {quorum.leader_id} leads in epoch {quorum.epoch}"
            yield Found(_name(probe), f"{_answer_text(probe)}; {leads}", key=() if probe.id is None else ("voter", probe.id))


@check(
    "probes.mixed_clusters",
    BAD,
    "addresses at which controllers of another cluster answer",
    QUORUM,
    endangers="a voter of another cluster does not count: this quorum has fewer voters than it seems",
    step=STEPS["wrong_cluster"],
)
def mixed_clusters(facts: Facts) -> Iterator[Found]:
    quorum = facts.quorum
    assert quorum is not None
    for probe in quorum.probes:
        if probe.outcome == "wrong_cluster":
            yield Found(_name(probe), probe.words)


@check(
    "probes.other_node",
    BAD,
    "addresses of voters at which another node answers",
    QUORUM,
    endangers="votes for one controller go to another",
    step="give each controller an address of its own in advertised.listeners, and restart it while another controller leads",
)
def other_node(facts: Facts) -> Iterator[Found]:
    quorum = facts.quorum
    assert quorum is not None
    owners: dict[str, set[int]] = {}
    for probe in quorum.probes:
        if probe.voter_id is not None:
            owners.setdefault(probe.address, set()).add(probe.voter_id)
    for probe in quorum.probes:
        if probe.voter_id is None:
            continue
        if probe.id is not None and probe.id != probe.voter_id:
            yield Found(f"voter {probe.voter_id}", f"controller {probe.id} answers at {probe.address}")
        elif probe.id is None and len(owners[probe.address]) > 1:
            others = ", ".join(map(str, sorted(owners[probe.address] - {probe.voter_id})))
            yield Found(f"voter {probe.voter_id}", f"{probe.address} is the address of voter {others} too")


@check(
    "probes.wrong_address",
    UNUSUAL,
    "addresses that were given and are no controller of this quorum",
    QUORUM,
    step="leave them out",
)
def wrong_address(facts: Facts) -> Iterator[Found]:
    """Only if other addresses answer: if none does, `no_answer` names each."""
    quorum = facts.quorum
    assert quorum is not None
    if not any(probe.outcome in ("answers", "not_loaded") for probe in quorum.probes):
        return
    for probe in quorum.probes:
        if probe.voter_id is None and probe.source == "typed" and probe.outcome not in (*_REACHED, "wrong_cluster"):
            yield Found(probe.address, probe.words, steps=tuple(filter(None, (STEPS.get(probe.outcome, ""),))))


@check(
    "probes.not_loaded",
    UNUSUAL,
    "controllers that have not loaded the metadata yet",
    QUORUM,
    step=STEPS["not_loaded"],
)
def not_loaded(facts: Facts) -> Iterator[Found]:
    quorum = facts.quorum
    assert quorum is not None
    return (Found(_name(probe), probe.words) for probe in quorum.probes if probe.outcome == "not_loaded")


@check(
    "probes.unreachable_broker",
    BAD,
    "brokers that are not fenced and cannot be reached at their registered address",
    BROKERS,
    endangers="clients that are sent to them fail, with what these brokers lead",
    step="check whether the broker runs; where it does, put its advertised.listeners right and restart it",
    source="KIP-103",
    example="broker 2 (kafka-2:9092: the name is not known)",
)
def unreachable_broker(facts: Facts) -> Iterator[Found]:
    for broker in facts.brokers:
        if broker.probe.outcome not in _REACHED:
            yield Found(f"broker {broker.id}", f"{broker.probe.address}: {broker.probe.words}", key=("broker", broker.id))
