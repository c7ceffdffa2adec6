"""What faults a quorum bears, told once: which may be injected, and what must still come to pass then.

A majority of n voters is m = n // 2 + 1 of them, and two majorities of one set share at least 2m - n: one where n is odd, two where it is
even. Safety rests on one voter of each such overlap that keeps its word. So:

- A voter whose disk was lost comes back under another directory id, hence as no voter at all: it breaks no word. Liveness bears fewer than
  a majority of these (`can_lose`).
- A voter that forgot a vote (quorum-state lost, or older than the vote) may vote twice in that epoch. It is faulty until its quorum-state
  names a later epoch (`has_forgotten`). Safety bears 2m - n - 1 of them at a time: none where n is odd, one where it is even, and none
  while voters change, since majorities of two neighbouring sets share one voter only (`can_forget`). A candidacy must not be forgotten at
  all: who voted for that key gives it the same answer again. What was lost without a vote in it is no fault: an epoch that was only heard
  of binds nobody.
- A voter that lost batches which it had said to be durable is faulty in the same way, unless it knows: then it neither votes nor stands
  until it has them again, and counts as down for elections. Only what it can notice is injected: damage with whole batches behind it. A
  damaged last batch looks like a write that was cut off, and nobody can tell.
- A disk that hangs, or fails after it hung, is slow and then a crash: nothing is lost but what was not durable.

Whatever is injected is therefore judged by all rules, with one exception: I2 (one vote an epoch) for a voter that has forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.common.values import ZERO_UUID
from tests.simulation.disk_log import DiskLog
from tests.simulation.history import Key
from tests.simulation.host import Host

if TYPE_CHECKING:
    from metashell.quorum.raft.ready import ElectionState
    from tests.simulation.history import Entry
    from tests.simulation.world import World

ADDING_MS = 15_000
"""So long after an operator asked to add a replica its disk is not replaced: the request may still be under way."""


def voter_sets(world: World) -> set[frozenset[Key]]:
    """All sets that may be in force, now or after truncations."""
    return {world.history.tip.voters, *[host.log.tail.voters for host in world.hosts]}


def is_gone(world: World, key: Key) -> bool:
    """Whether a voter's disk does not exist any more, will be taken away as soon as its replica starts, or is not fit for voting."""
    host = world.by_id[key[0]]
    return has_no_vote(host) or (any(key[1]) and (host.key != key or bool(host.log.rotten)))


def has_no_vote(host: Host) -> bool:
    """Whether a replica's log lost batches. It may know less than we do: then it waits for all that it had, committed or not."""
    return host.lost_end is not None or host.log.recovering is not None


def can_lose(world: World, host: Host) -> bool:
    """Whether the quorum bears that a replica comes back with an empty disk and a new directory id."""
    last = max(world.adding.get(host.id, -ADDING_MS), world.adding.get(-1, -ADDING_MS))
    if world.now - last < ADDING_MS or world.options.auto_join:
        return False
    for voters in voter_sets(world):
        if not all(any(directory) for _, directory in voters):
            # Without directory ids nobody can tell that a vote or an offset was forgotten.
            return False
        gone = sum(is_gone(world, key) or key == host.key for key in voters)
        if gone > (len(voters) - 1) // 2:
            return False
    return True


def can_lose_directory(world: World, host: Host) -> bool:
    """Whether the quorum bears that a replica comes back under its directory id, without anything: it knows, and has no vote."""
    # Who had nothing is a new node again, without the first snapshot, which names the voters: formatting has to write it anew.
    if isinstance(host.log, DiskLog) or host.log.rotten or not host.log.flushed_offset:
        return False
    return all(
        len(voters) > 1 and sum(is_gone(world, key) or key[0] == host.id for key in voters) <= (len(voters) - 1) // 2
        for voters in voter_sets(world)
    )


# Votes that are forgotten


def forgets(host: Host, election: ElectionState, promise: int) -> bool:
    """Whether a replica that starts with `election` on disk would not know a vote that it gave in the epoch `promise`."""
    # Its log names an epoch, too; a start takes the higher one, without a vote.
    epoch = max(election.epoch, host.log.tail.epoch)
    if epoch > promise:
        return False
    return epoch < promise or election.epoch < epoch or (election.voted is None and election.leader_id != host.id)


def has_forgotten(world: World, host: Host) -> bool:
    """Whether a replica is faulty since it does not know a vote that it gave, and could give it again."""
    return host.election.epoch <= host.forgotten_epoch


def can_forget(world: World, host: Host, election: ElectionState) -> bool:
    """Whether safety bears that a replica starts with `election` on disk and so forgets a vote."""
    if forgets(host, election, world.elections.stood.get(host.key, -1)):
        return False
    sets = voter_sets(world)
    last = max(world.adding.values(), default=-ADDING_MS)
    if len(sets) > 1 or world.options.auto_join or world.now - last < ADDING_MS:
        return False
    (voters,) = sets
    ids = {id for id, _ in voters}
    faulty = sum(other.id in ids and (other is host or has_forgotten(world, other)) for other in world.hosts)
    return faulty <= 2 * (len(voters) // 2 + 1) - len(voters) - 1


def are_voters_held(world: World) -> bool:
    """Whether nobody may change the voters now: one of them has forgotten a vote."""
    return any(has_forgotten(world, host) for host in world.hosts)


# Batches that were lost


def note_caught_up(world: World, host: Host) -> None:
    """Whether a replica whose log lost batches has again what of them is committed: then its word is good again."""
    lost_end = host.lost_end
    assert lost_end is not None
    entry: Entry | None = world.history.tip
    while entry is not None and entry.end > lost_end:
        entry = entry.prev
    if entry is None or (host.log.holds(entry) and entry.end <= host.log.flushed_offset):
        host.lost_end = None
        host.log.lost.clear()
        world.note(f"{host.name} has all again")


# Elections that must succeed


def log_end(host: Host) -> tuple[int, int]:
    """What votes compare: the last epoch, and where the log ends."""
    return host.log.tail.epoch, host.log.end_offset


def can_be_elected(world: World, host: Host, down: set[int]) -> bool:
    """Whether a majority of the voters by this replica's own log is there and would vote for it: none of these has a longer log."""
    voters = host.log.tail.voters
    change = host.log.tail.last_change
    is_leaving = change is not None and change.prev is not None and host.key in change.prev.voters
    if host.is_broker or has_no_vote(host) or not (host.is_among(voters) or is_leaving):
        return False
    own = log_end(host)
    for_it = 0
    for id, directory in voters:
        other = world.by_id.get(id)
        if other is None or id in down or (directory != ZERO_UUID and other.key != (id, directory)):
            continue
        if other is host or (not has_no_vote(other) and log_end(other) <= own):
            for_it += 1
    return for_it > len(voters) // 2


def is_electable(world: World, down: set[int]) -> bool:
    """Whether a leader must be found with the replicas of those ids down: there is one that a majority with its data would elect.

    It is a statement on logs that are at rest; a request that is still under way may change it either way.
    """
    return any(host.id not in down and can_be_elected(world, host, down) for host in world.hosts)


def is_electable_whatever_is_in_force(world: World, down: set[int]) -> bool:
    """Whether every set of voters that may be in force keeps a majority, with the replicas of those ids down: stricter, for a choice of
    whom to take down while logs may still change."""

    def is_lost(voters: frozenset[Key]) -> bool:
        return sum(is_gone(world, key) or key[0] in down for key in voters) > (len(voters) - 1) // 2

    return not any(is_lost(voters) for voters in voter_sets(world))
