"""Which voters of a quorum are there, for commands that take one away; what is wrong with it, `metashell.checks.rules.probes` says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metashell.admin.quorum import QuorumDescription, Replica

SILENT_MS: Final = 10_000
"""A voter that has not fetched for so long is not there: it fetches at least every half second."""


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
