"""What is wrong with a quorum, in words; one rule for `metashell quorum` and `metashell cluster`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.forms import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from metashell.admin.admin import Admin
    from metashell.admin.quorum import QuorumDescription, Replica
    from metashell.checks.facts import QuorumAnswers
    from metashell.checks.facts import Replica as ReplicaFacts
    from metashell.net.addresses import Address

SILENT_MS: Final = 10_000
"""A voter that has not fetched for so long is not there: it fetches at least every half second."""


def quorum_of(admin: Admin, controllers: Sequence[Address]) -> QuorumDescription:
    """The quorum as its leader tells it. Errors: MetashellError; where nobody leads, what each of the controllers said."""
    from metashell.admin.errors import AdminError
    from metashell.admin.quorum import describe_quorum
    from metashell.client.errors import ConnectError
    from metashell.codec.error_codes import NOT_CONTROLLER, NOT_LEADER_OR_FOLLOWER
    from metashell.errors import MetashellError

    try:
        return describe_quorum(admin)
    except (ConnectError, AdminError) as error:
        is_about_leader = not isinstance(error, AdminError) or error.code in (NOT_CONTROLLER, NOT_LEADER_OR_FOLLOWER)
        text = leaderless(admin, controllers) if is_about_leader else None
        if text is None:
            raise
        raise MetashellError(text) from None


def leaderless(admin: Admin, controllers: Sequence[Address]) -> str | None:
    """What each of the controllers said, where some answer and nobody leads; None where that is not why there is no answer."""
    told = {address: _told_by(admin, address) for address in controllers}
    if None in told.values() or not any(words is not None and words.startswith(_ANSWERS) for words in told.values()):
        return None
    each = "; ".join(f"{address} {words}" for address, words in told.items())
    return f"no controller leads the quorum, so nothing can be changed: {each}"


_ANSWERS: Final = "answers, "


def _told_by(admin: Admin, address: Address) -> str | None:
    """What a controller says of the leader, if it answers; None where there is one that answers it, or where it says something else."""
    from metashell.client.errors import ConnectError
    from metashell.codec.error_codes import NOT_CONTROLLER, NOT_LEADER_OR_FOLLOWER
    from metashell.errors import MetashellError
    from metashell.live.discovery import describe_quorum_request

    try:
        answer = admin.ask(describe_quorum_request(), to=address)
    except ConnectError as error:
        return f"does not answer ({'; '.join(reason for _, reason in error.attempts)})"
    except MetashellError as error:
        return f"does not answer ({error})"
    partition = next((partition for topic in answer.topics for partition in topic.partitions), None)
    code = answer.error_code or (0 if partition is None else partition.error_code)
    if code not in (NOT_CONTROLLER, NOT_LEADER_OR_FOLLOWER):
        return None
    if partition is None or partition.leader_id < 0:
        return f"{_ANSWERS}and knows no leader"
    return f"{_ANSWERS}and takes controller {partition.leader_id} for the leader"


def now_of(quorum: QuorumDescription) -> int | None:
    """The leader's clock when it answered, which its own entry has: times are compared with it, not with the clock of this machine."""
    return None if quorum.leader is None else quorum.leader.last_fetch_ms


def since_ms(quorum: QuorumDescription, moment_ms: int | None) -> int | None:
    """How long ago something was for the leader; None where that is not known."""
    now_ms = now_of(quorum)
    return None if moment_ms is None or now_ms is None else max(0, now_ms - moment_ms)


def is_silent(quorum: QuorumDescription, replica: Replica) -> bool:
    """Whether a replica does not fetch, as far as its leader knows."""
    silent_ms = since_ms(quorum, replica.last_fetch_ms)
    return replica.id != quorum.leader_id and (replica.last_fetch_ms is None or (silent_ms is not None and silent_ms > SILENT_MS))


def is_caught_up(quorum: QuorumDescription, replica: Replica) -> bool:
    """Whether a voter has had everything a moment ago, so that it counts when another fails."""
    if replica.id == quorum.leader_id:
        return True
    behind_ms = since_ms(quorum, replica.last_caught_up_ms)
    return not is_silent(quorum, replica) and replica.last_caught_up_ms is not None and (behind_ms is None or behind_ms <= SILENT_MS)


def majority(count: int) -> int:
    """How many voters of so many decide."""
    return count // 2 + 1


def spare_of(quorum: QuorumDescription, voters: Iterable[Replica] | None = None) -> int:
    """How many more of the voters that are caught up may fail; below 0 where they are no majority."""
    chosen = quorum.voters if voters is None else tuple(voters)
    return sum(is_caught_up(quorum, voter) for voter in chosen) - majority(len(chosen))


def problems_of_quorum(quorum: QuorumDescription) -> list[str]:
    """What is not as it should be, the worst first."""
    if quorum.leader_id < 0:
        return ["no controller leads the quorum: nothing can be changed"]
    found = []
    behind = [voter for voter in quorum.voters if not is_caught_up(quorum, voter)]
    for voter in behind:
        silent_ms = since_ms(quorum, voter.last_fetch_ms)
        if not is_silent(quorum, voter):
            found.append(f"voter {voter.id} lags: {_lag(quorum, voter)}")
        elif silent_ms is None:
            found.append(f"voter {voter.id} does not fetch")
        else:
            found.append(f"voter {voter.id} has not fetched for {silent_ms / 1000:.0f} s")
    spare = spare_of(quorum)
    if behind and spare <= 0:
        found.append("the quorum ends with the next voter that fails" if spare == 0 else "the voters that are caught up are no majority")
    return found


def answers_of(quorum: QuorumDescription, lag_after_ms: int) -> QuorumAnswers:
    """A description as a fact for checks."""
    from metashell.checks.facts import QuorumAnswers

    return QuorumAnswers(
        leader_id=quorum.leader_id if quorum.leader_id >= 0 else None,
        epoch=quorum.leader_epoch,
        high_watermark=quorum.high_watermark,
        now_ms=now_of(quorum),
        voters=tuple(map(_replica, quorum.voters)),
        observers=tuple(map(_replica, quorum.observers)),
        lag_after_ms=lag_after_ms,
    )


def _replica(replica: Replica) -> ReplicaFacts:
    from metashell.checks.facts import Listener
    from metashell.checks.facts import Replica as ReplicaFacts

    endpoints = tuple(Listener(one.name, one.address.host, one.address.port) for one in replica.endpoints)
    return ReplicaFacts(
        replica.id, replica.directory_id, replica.log_end_offset, replica.last_fetch_ms, replica.last_caught_up_ms, endpoints
    )


def _lag(quorum: QuorumDescription, voter: Replica) -> str:
    lag = quorum.lag_of(voter)
    return "its distance is not known" if lag is None else f"it is {counted(lag, 'record')} behind"
