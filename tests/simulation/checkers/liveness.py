"""What must happen once nothing fails any more, and by when (V1 to V8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.simulation.host import Host
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.world import World

STEP_MS = 50
NEVER_EVENTS = 1 << 60
EPOCHS_MAX = 8


def bound_ms(world: World) -> int:
    """By when one leader must be known to all (V1)."""
    return 10 * (world.options.election_timeout_ms + world.options.fetch_timeout_ms)


def running(world: World) -> list[Host]:
    return [host for host in world.hosts if host.up]


def agreed_leader(world: World) -> Host | None:
    """The leader that all running replicas follow, if they do."""
    leader = world.work.leader()
    if leader is None:
        return None
    epoch = leader.role.epoch
    for host in world.hosts:
        if is_left_behind(world, host, leader):
            continue
        if host.up and host is not leader and (host.role.name != "follower" or host.role.epoch != epoch):
            return None
    return leader


def followers(world: World) -> list[Host]:
    """The replicas that run and can follow the leader, itself among them."""
    leader = world.work.leader()
    return [host for host in running(world) if leader is None or not is_left_behind(world, host, leader)]


def is_left_behind(world: World, host: Host, leader: Host) -> bool:
    """Whether a replica that is no voter, and does not know that, was lied to about the epoch: no voter takes over its own."""
    return (
        bool(world.lies or world.options.generations)
        and host.role is not None
        and host.role.epoch > leader.role.epoch
        and not host.is_among(leader.log.tail.voters)
    )


def states(world: World) -> str:
    """Every running replica in a few words, for the report."""
    return ", ".join(
        f"{host.name} {host.role.name} epoch {host.role.epoch} of {host.role.leader_id} log {host.log.end_offset} hw {host.high_watermark}"
        for host in world.hosts
        if host.up
    )


def wait(world: World, rule: str, limit_ms: int, done: Callable[[], bool], what: str) -> None:
    """Let the world run until something is so. Errors: Violation when it takes too long."""
    end = world.now + limit_ms
    while not done():
        if world.now >= end:
            raise Violation(rule, f"{what} takes more than {limit_ms} ms: {states(world)}")
        world.run(world.now + STEP_MS, NEVER_EVENTS)


def check_leader(world: World) -> Host:
    """One leader is known to all within the bound (V1, V7), without many elections (V4)."""
    before = max(host.role.epoch for host in running(world))
    wait(world, "V1", bound_ms(world), lambda: agreed_leader(world) is not None, "one leader for all")
    leader = agreed_leader(world)
    assert leader is not None
    if leader.role.epoch > before + EPOCHS_MAX:
        raise Violation("V4", f"epoch {leader.role.epoch} was needed after {before} before all agreed")
    return leader


def check_progress(world: World) -> None:
    """New appends are committed (V2), operators have their answers (V6), and all replicas have all (V3)."""
    work = world.work
    limit = bound_ms(world)
    # Clients that append faster than followers can fetch would keep every leader from committing what precedes its epoch.
    work.is_writing = False
    last, epoch = -1, -1

    def written() -> bool:
        nonlocal last, epoch
        leader = agreed_leader(world)
        # A leader that was being removed goes when that is committed, and what it appended behind it may go with it.
        if leader is not None and leader.role.epoch != epoch:
            last = work.append(leader, 1)
            epoch = leader.role.epoch if last >= 0 else -1
        return 0 <= last < world.history.tip.end

    # A follower far behind has to fetch all that before its offsets count.
    ends = [host.log.end_offset for host in running(world)]
    wait(world, "V2", limit + 60 * (max(ends) - min(ends)), written, "a commit")
    wait(world, "V6", limit + 2 * world.request_timeout_ms, lambda: not work.asked, "an operator's answer")
    work.is_writing = False
    behind = max(host.log.end_offset for host in running(world)) - min(host.log.end_offset for host in running(world))
    wait(world, "V3", limit + 60 * behind, lambda: has_all(world), "that all have everything")
    # An observer that never votes does not sync either, and so never knows.
    without = [host for host in followers(world) if host.log.recovering is not None and not host.is_broker]
    wait(world, "V7", limit, lambda: all(host.log.recovering is None for host in without), f"the vote of {[host.name for host in without]}")
    work.is_writing = True


def has_all(world: World) -> bool:
    leader = agreed_leader(world)
    if leader is None:
        return False
    end = leader.log.end_offset
    return all(host.log.end_offset == end == host.high_watermark == host.applied for host in followers(world))


def check_stable(world: World) -> None:
    """Nothing fails, so the leader stays (V5), unless an operator's request that was long under way removes it."""
    leader = agreed_leader(world)
    epoch = max(host.role.epoch for host in followers(world))
    answers = len(world.work.done)
    world.run(world.now + 2 * world.options.fetch_timeout_ms, NEVER_EVENTS)
    after = max(host.role.epoch for host in followers(world))
    if after == epoch and agreed_leader(world) is leader:
        return
    if len(world.work.done) == answers:
        raise Violation("V5 StableLeadership", f"epoch {after} after {epoch} although nothing fails: {states(world)}")
    check_leader(world)
    check_stable(world)


def check_healed_follower(world: World) -> None:
    """A voter that was cut off, or any observer that comes and goes, moves nobody: with pre-votes the epoch stays (I5, V5)."""
    leader = agreed_leader(world)
    if leader is None or world.options.generations:
        return
    epoch = leader.role.epoch
    voters = leader.log.tail.voters
    for host in running(world):
        rest = sum(other.is_among(voters) for other in running(world) if other is not host)
        if host is leader or rest <= len(voters) // 2:
            continue
        pairs = [(host.index, other.index) for other in world.hosts] + [(other.index, host.index) for other in world.hosts]
        world.cuts.update(pairs)
        world.run(world.now + 3 * world.options.fetch_timeout_ms, NEVER_EVENTS)
        world.cuts.difference_update(pairs)
        break
    wait(world, "V1", bound_ms(world), lambda: agreed_leader(world) is not None, "that a healed replica follows again")
    if agreed_leader(world) is not leader or leader.role.epoch != epoch:
        raise Violation("I5 PreVoteHarmless", f"a replica that was cut off ends epoch {epoch}: {states(world)}")


def check_isolated_leader(world: World) -> None:
    """A leader that nobody reaches gives up in time (V8), and who is left goes on without it if that is enough (V1)."""
    leader = agreed_leader(world)
    if leader is None or len(leader.log.tail.voters) == 1:
        return
    epoch = leader.role.epoch
    others = [host for host in running(world) if host is not leader]
    pairs = [(leader.index, host.index) for host in others] + [(host.index, leader.index) for host in others]
    world.cuts.update(pairs)
    # Its clock may be slower than ours by a tenth.
    limit = world.options.fetch_timeout_ms * 3 // 2 * 12 // 10 + 500
    wait(world, "V8", limit, lambda: leader.role.name != "leader" or leader.role.epoch != epoch, f"that isolated {leader.name} gives up")
    world.cuts.difference_update(pairs)
    check_leader(world)


def check_partial_cut(world: World, *, is_majority_left: bool) -> None:
    """A leader that some voters do not reach leads on as long as a majority is left to it (V5), and no longer (V8), whoever observes it."""
    leader = agreed_leader(world)
    if leader is None or world.options.generations:
        return
    epoch, voters = leader.role.epoch, leader.log.tail.voters
    others = [host for host in running(world) if host is not leader and host.is_among(voters)]
    own = leader.is_among(voters)
    needed = len(voters) // 2 + 1 - own
    left = needed if is_majority_left else needed - 1
    if left < 0 or len(others) <= left or (not is_majority_left and not own):
        return
    cut_off = others[left:]
    pairs = [(leader.index, host.index) for host in cut_off] + [(host.index, leader.index) for host in cut_off]
    if is_majority_left:
        # Those who do not reach it do not reach each other either: together with nobody they can only ask in vain.
        pairs += [(a.index, b.index) for a in cut_off for b in world.hosts if a is not b]
    world.cuts.update(pairs)
    if is_majority_left:
        world.run(world.now + 3 * world.options.fetch_timeout_ms, NEVER_EVENTS)
        if leader.role.name != "leader" or leader.role.epoch != epoch:
            raise Violation("V5 StableLeadership", f"{leader.name} loses epoch {epoch} with a majority connected: {states(world)}")
    else:
        limit = world.options.fetch_timeout_ms * 3 // 2 * 12 // 10 + 500

        def has_ended() -> bool:
            # With one more voter, who joined meanwhile, those who are left may be a majority again.
            return leader.role.name != "leader" or leader.role.epoch != epoch or leader.log.tail.voters != voters

        wait(world, "V8", limit, has_ended, f"that half isolated {leader.name} gives up")
    world.cuts.difference_update(pairs)
    check_leader(world)
    if is_majority_left and (agreed_leader(world) is not leader or leader.role.epoch != epoch):
        raise Violation("V5 StableLeadership", f"epoch {epoch} ends although a majority never lost its leader: {states(world)}")
