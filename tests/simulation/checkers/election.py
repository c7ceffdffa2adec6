"""One leader an epoch, by the votes of a majority (I1 to I6): looked at whenever a replica's role changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.common.values import ZERO_UUID
from metashell.quorum.raft.ready import ElectionState
from tests.simulation.checkers.leadership import on_leading, on_resigned
from tests.simulation.history import Key
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.host import Host
    from tests.simulation.world import World

OBSERVER_STATES = frozenset(("unattached", "follower", "leader", "resigned"))


class Elections:
    """What is known of all elections: leaders by epoch, and whom each directory voted for."""

    __slots__ = ("leaders", "promises", "stood", "top", "votes")

    def __init__(self) -> None:
        self.leaders: dict[int, Host] = {}
        self.votes: dict[tuple[Key, int], Key] = {}
        self.promises: dict[Key, int] = {}
        """The last epoch in which each directory gave its vote."""
        self.stood: dict[Key, int] = {}
        """The last epoch in which it gave it to itself."""
        self.top: tuple[int, Host] | None = None
        """The highest epoch that had a leader, and that leader."""

    def vote(self, voter: Key, epoch: int, candidate: Key, is_forgotten: bool) -> None:
        """A durable vote (I2). `is_forgotten`: what the voter promised in that epoch was lost with its disk (`tolerance`)."""
        known = self.votes.setdefault((voter, epoch), candidate)
        self.promises[voter] = max(self.promises.get(voter, -1), epoch)
        if candidate == voter:
            self.stood[voter] = max(self.stood.get(voter, -1), epoch)
        if known != candidate and not is_forgotten:
            raise Violation("I2 VoteUniqueness", f"{voter[0]} votes for {name(candidate)} in epoch {epoch}, after {name(known)}")


def name(key: Key) -> str:
    return f"{key[0]}.{key[1][15]}"


def on_written(world: World, host: Host, election: ElectionState) -> None:
    """quorum-state is about to hold `election` (I2, I3)."""
    before = host.election
    if election.epoch < before.epoch:
        raise Violation("I3 MonotonicEpoch", f"{host.name} writes epoch {election.epoch} after {before.epoch}")
    if election.leader_id == host.id:
        host.led_epochs.add(election.epoch)
    voted = election.voted
    if voted is not None:
        world.elections.vote(host.key, election.epoch, resolve(world, voted.id, voted.directory_id), election.epoch <= host.forgotten_epoch)
    elif election.epoch == before.epoch and before.voted is not None and election.leader_id != host.id:
        raise Violation("I2 VoteUniqueness", f"{host.name} forgets its vote of epoch {election.epoch}")


def resolve(world: World, id: int, directory: bytes) -> Key:
    """A voter's key, with its present directory where the message names none (kraft.version 0)."""
    if directory != ZERO_UUID:
        return id, directory
    return world.by_id[id].key if id in world.by_id else (id, directory)


def on_role(world: World, host: Host, before: Any, role: Any) -> None:
    """A replica entered a state."""
    epoch = role.epoch
    if before is not None and epoch < before.epoch:
        raise Violation("I3 MonotonicEpoch", f"{host.name} goes from epoch {before.epoch} to {epoch}")
    if epoch < host.election.epoch:
        raise Violation("I3 MonotonicEpoch", f"{host.name} is in epoch {epoch}, and wrote {host.election.epoch}")
    state = role.name
    # A sole voter may stand at once when it starts: nobody else can be voted for.
    if epoch in host.led_epochs and epoch > host.unaware_of and state not in ("leader", "resigned") and len(host.log.tail.voters) > 1:
        raise Violation("I2 VoteUniqueness", f"{host.name} is {state} in epoch {epoch}, which it led")
    if state == "follower":
        if role.leader_id in (host.id, -1) or not role.endpoints:
            raise Violation("I6 ValidStates", f"{host.name} follows {role.leader_id} at {dict(role.endpoints)}")
        leader = world.elections.leaders.get(epoch)
        if (leader is None or leader.id != role.leader_id) and (epoch, role.leader_id) not in world.lies:
            raise Violation("I1 ElectionSafety", f"{host.name} follows {role.leader_id} in epoch {epoch}, led by {leader and leader.name}")
    elif state == "leader":
        on_leader(world, host, epoch)
    elif state == "candidate":
        on_candidate(world, host, before, role)
    elif state == "prospective":
        if before is None or before.name != "prospective":
            host.pre_grants = {host.id}
            host.unsupported = False
    elif state == "unattached" and role.endpoints:
        raise Violation("I6 ValidStates", f"{host.name} is unattached with endpoints")
    if state not in OBSERVER_STATES and not host.is_among(host.log.tail.voters) and not is_leaving(host):
        raise Violation("I6 ValidStates", f"{host.name} is {state} and no voter")
    if state in ("leader", "resigned"):
        host.may_forget = True
    if before is not None and before.name == "leader":
        host.prepared.clear()
        host.pending_acks.clear()
        if state == "resigned":
            on_resigned(world, host, before)
    if host.lost_end is not None and state in ("prospective", "candidate", "leader"):
        raise Violation(
            "L6 AckedDurable", f"{host.name} is {state}, and its log lost batches up to {host.lost_end} that it had said to have"
        )
    # A snapshot that it adopts while it stands may end behind its removal, which is committed then.
    is_removed = not is_leaving(host) or host.log.tail.last_change.end <= host.replica.committed
    is_out = state == "unattached" and not host.is_among(host.log.tail.voters) and is_removed
    if not (is_out and before is not None and before.name == "candidate"):
        # A candidate that learns that it is no voter any more asks nobody.
        check_transition(host, None if before is None else before.name, state, before is not None and before.epoch == epoch)


SAME_EPOCH = {
    "unattached": {"unattached", "prospective", "follower"},
    "prospective": {"prospective", "unattached", "follower", "resigned"},
    "candidate": {"prospective", "leader", "follower"},
    "leader": {"resigned"},
    "follower": {"prospective", "follower"},
    "resigned": {"resigned", "follower"},
}


def check_transition(host: Host, before: str | None, state: str, same_epoch: bool) -> None:
    """The table of transitions (I6)."""
    if before is None:
        return
    if same_epoch:
        allowed = state in SAME_EPOCH[before] and not (before == "prospective" and state == "resigned")
    elif state == "candidate":
        allowed = before == "prospective"
    else:
        allowed = state in ("unattached", "follower")
    if not allowed:
        raise Violation("I6 ValidStates", f"{host.name} goes from {before} to {state} in {'the same' if same_epoch else 'a later'} epoch")


def is_leaving(host: Host) -> bool:
    """Whether the last change of voters in its log removed it: it may stand to get that committed, without its own vote."""
    change = host.log.tail.last_change
    return change is not None and change.prev is not None and host.key in change.prev.voters


def on_candidate(world: World, host: Host, before: Any, role: Any) -> None:
    """It stands: its vote is its own, and a majority said that it might win (I5)."""
    host.at_candidacy = frozenset(id for id, _ in host.log.tail.voters)
    host.grants = {host.id}
    if before is None:
        return
    granted = len(host.pre_grants & host.at_candidacy)
    if granted <= len(host.at_candidacy) // 2 and not host.unsupported:
        raise Violation(
            "I5 PreVoteHarmless", f"{host.name} stands in epoch {role.epoch} with {granted} of {len(host.at_candidacy)} pre-votes"
        )


def on_leader(world: World, host: Host, epoch: int) -> None:
    """It won: alone in its epoch (I1), by a majority (I4), with all that is committed (L3)."""
    elections = world.elections
    other = elections.leaders.setdefault(epoch, host)
    if other is not host or epoch in host.led_epochs:
        raise Violation("I1 ElectionSafety", f"{other.name} and {host.name} lead epoch {epoch}")
    voters = host.at_candidacy
    if len(host.grants & voters) <= len(voters) // 2:
        raise Violation(
            "I4 CandidateHasQuorum", f"{host.name} leads epoch {epoch} with grants of {sorted(host.grants & voters)} of {sorted(voters)}"
        )
    host.epoch_start = host.log.end_offset
    on_leading(host)
    if elections.top is None or epoch > elections.top[0]:
        elections.top = (epoch, host)
        check_complete(world, host, epoch)
    world.counts["leaders"] += 1


def check_complete(world: World, host: Host, epoch: int) -> None:
    """The leader of the highest epoch has everything that was ever committed (L3)."""
    tip = world.history.tip
    if not host.log.holds(tip):
        raise Violation("L3 LeaderCompleteness", f"{host.name} leads epoch {epoch} and its log lacks committed {tip}")


def on_grant(world: World, host: Host, epoch: int, candidate: Key) -> None:
    """A vote leaves a replica (I2, C4)."""
    if epoch in host.led_epochs:
        raise Violation("I2 VoteUniqueness", f"{host.name} votes in epoch {epoch}, which it led")
    world.elections.vote(host.key, epoch, candidate, epoch <= host.forgotten_epoch)
