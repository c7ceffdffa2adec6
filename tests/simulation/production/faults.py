"""What goes wrong in a production world, beside what the core simulation's faults do: cuts, splits, slow disks and clocks are its."""

from __future__ import annotations

from collections.abc import Callable
from errno import EIO, ENOSPC
from typing import TYPE_CHECKING

from tests.simulation import faults

if TYPE_CHECKING:
    from tests.simulation.production.world import ProductionHost, ProductionWorld

FUSE_MAX = 60
"""A crash in the midst of something comes after at most so many steps on the disk and writes to sockets."""


def ms(world: ProductionWorld, mean: int) -> int:
    return 1 + int(world.random.expovariate(1 / mean))


# Processes


def crash(world: ProductionWorld) -> None:
    """A process is killed or loses power: now, or at one of its next steps."""
    host = world.some_host()
    if host is None:
        return
    if world.chance() < world.options.fuse_share:
        host.fuse_power = world.chance() < world.options.power_share
        host.fuse_left = int(world.chance() * FUSE_MAX)
        world.push(world.now + 300, faults.crash_late, host, host.life)
    else:
        world.crash(host)


def all_down(world: ProductionWorld) -> None:
    """The power of all fails, or their processes are killed."""
    power = world.chance() < world.options.power_share
    for host in world.hosts:
        world.kill(host, power)


def pause(world: ProductionWorld) -> None:
    """A process stands still for a while."""
    host = world.some_host()
    if host is not None and host.process is not None:
        until_us = world.now_us + 1_000 * ms(world, world.options.pause_ms)
        host.process.loop.busy_until = max(host.process.loop.busy_until, until_us)
        world.note(f"{host.name} pauses until {until_us // 1_000}")


def shutdown(world: ProductionWorld) -> None:
    """An operator stops a process in order; it is killed if that takes too long."""
    host = world.some_host()
    if host is not None and host.process is not None and not host.process.is_leaving:
        world.note(f"{host.name} is asked to shut down")
        host.process.loop.start(host.process.leave())
        world.push(world.now + 5_000, faults.crash_late, host, host.life)


def resign(world: ProductionWorld) -> None:
    """The application of a leader wants no longer to lead."""
    host = world.work.leader()
    if host is not None and host.process is not None:
        host.process.loop.call_soon(resign_now, world, host, host.role.epoch)


def resign_now(world: ProductionWorld, host: ProductionHost, epoch: int) -> None:
    if host.process is not None and host.role is not None and host.role.epoch == epoch and host.role.name == "leader":
        world.note(f"{host.name} is asked to resign")
        world.counts["resignations"] += 1
        host.asked_to_resign = epoch
        host.process.server.driver.resign(epoch)


# Network


def reset_connection(world: ProductionWorld) -> None:
    """Something on the way resets a connection for both ends."""
    sockets = [socket for socket in world.network.sockets if not socket.is_gone and not socket.other.is_gone]
    if sockets:
        socket = sockets[int(world.chance() * len(sockets))]
        world.note(f"reset: {socket.addresses}")
        socket.reset_other()
        socket.other.reset_other()


def stall(world: ProductionWorld) -> None:
    """For a while what one host sends to another one only gathers on the way."""
    count = len(world.hosts)
    pair = int(world.chance() * count), int(world.chance() * count)
    world.network.stalls[pair] = world.now_us + 1_000 * ms(world, world.options.stall_ms)


# Disks


def hang(world: ProductionWorld, host: ProductionHost | None = None, for_ms: int = 0) -> None:
    """Syncs of a disk do not return for a while: all, or those of the log alone, whose bytes lie elsewhere."""
    host = host or world.some_host()
    if host is not None:
        until_us = world.now_us + 1_000 * (for_ms or min(ms(world, world.options.hang_ms), 4 * world.options.hang_ms))
        host.hangs_until_us = max(host.hangs_until_us, until_us)
        host.hangs_log_only = world.chance() < 0.5
        world.note(f"the disk of {host.name} hangs until {until_us // 1_000}")


def failing_disk(world: ProductionWorld) -> None:
    """Steps on a disk fail for a while, at once or after it hung."""
    host = world.some_host()
    if host is not None:
        if world.chance() < 0.5:
            hang(world, host)
        host.fails_with = EIO if world.chance() < 0.7 else ENOSPC
        host.fails_from_us = max(host.hangs_until_us, world.now_us)
        host.fails_until_us = host.fails_from_us + 1_000 * ms(world, 300)
        world.note(f"the disk of {host.name} fails until {host.fails_until_us // 1_000}")


def rot(world: ProductionWorld) -> None:
    """A bit of a replica's log flips while it is down; one replica at a time, and only what is committed, so that others have it."""
    host = world.some_host()
    if host is None or world.options.voters < 3 or any(other.log.is_rotten for other in world.hosts):
        return
    if host.log.end_offset > world.history.tip.end or world.options.member_every:
        return
    if host.election.epoch != host.log.tail.epoch:
        # The log trusts no recovery point that is older than quorum-state, so a last batch that is damaged now looks torn (`damage`).
        return
    world.kill(host, False)
    place = host.platters.rot(world.random)
    if place is not None:
        host.log.is_rotten = True
        world.counts["flipped bits"] += 1
        world.note(f"a bit flips on the disk of {host.name}: {place}")


def lose_directory(world: ProductionWorld) -> None:
    """A replica comes back without its metadata directory, or with quorum-state alone in it; meta.properties and the proof stay."""
    host = world.some_host()
    if host is None or world.options.voters < 3 or any(other.log.is_rotten for other in world.hosts) or world.options.member_every:
        return
    if not host.log.flushed_offset or host.log.end_offset > world.history.tip.end:
        # Who had nothing is new again, and what was not committed nobody may have any more.
        return
    world.kill(host, False)
    host.has_lost_state = world.chance() < 0.6
    host.platters.lose_directory(not host.has_lost_state)
    if host.has_lost_state:
        host.unaware_of = max(host.led_epochs, default=-1)
    host.log.is_rotten = True
    world.counts["lost directories"] += 1
    world.note(f"{host.name} loses its metadata directory{'' if host.has_lost_state else ' but for quorum-state'}")


# What comes together


def trouble(world: ProductionWorld) -> None:
    """What the profile says."""
    act = TROUBLES.get(world.options.profile)
    if act is not None:
        act(world)


def slow_disk_election_power(world: ProductionWorld) -> None:
    """A follower's disk hangs; while it lags behind what is committed the leader ends, and it loses power as it writes quorum-state."""
    leader = world.work.leader()
    followers = [host for host in world.hosts if host.up and host is not leader]
    if leader is None or len(followers) < 2:
        return
    host = followers[int(world.chance() * len(followers))]
    hang(world, host, ms(world, world.options.election_timeout_ms) + 3 * world.options.election_timeout_ms)
    host.hangs_log_only = True
    world.push(world.now + 1, wait_for_tail, host, (host.life, leader, leader.life))


def wait_for_tail(world: ProductionWorld, host: ProductionHost, about: tuple[int, ProductionHost, int]) -> None:
    """Once the follower holds something committed that is not durable there, its leader ends."""
    life, leader, leader_life = about
    if not world.faults_on or host.life != life or leader.life != leader_life or host.hangs_until_us <= world.now_us:
        return
    log, committed = host.log, world.history.tip.end
    if not log.flushed_offset < committed <= log.end_offset:
        world.push(world.now + 1, wait_for_tail, host, about)
        return
    world.note(f"{leader.name} ends; {host.name} has {log.end_offset}, of which {log.flushed_offset} is durable")
    world.kill(leader, world.chance() < 0.5)
    leader.restart_at = world.now + 5 * world.options.election_timeout_ms
    # quorum-state gets through up to the write that the power fails in.
    host.writes_left = int(world.chance() * 3)


def quorum_state_crash(world: ProductionWorld) -> None:
    """The power fails in one of the next writes of quorum-state of some replica, and somebody has to be elected."""
    host = world.some_host()
    leader = world.work.leader()
    if host is None:
        return
    host.writes_left = int(world.chance() * 3)
    world.note(f"{host.name} will lose power when it writes quorum-state")
    if leader is not None and world.chance() < 0.7:
        world.kill(leader, world.chance() < world.options.power_share)


TROUBLES: dict[str, Callable[[ProductionWorld], None]] = {
    "slow disk, election, power loss": slow_disk_election_power,
    "crash while writing quorum-state": quorum_state_crash,
}
KINDS: dict[str, Callable[[ProductionWorld], None]] = {
    "crash_every": crash,
    "all_down_every": all_down,
    "pause_every": pause,
    "shutdown_every": shutdown,
    "resign_every": resign,
    "cut_every": faults.cut,
    "split_every": faults.split,
    "reset_every": reset_connection,
    "stall_every": stall,
    "slow_disk_every": faults.slow_disk,
    "hang_every": hang,
    "failing_disk_every": failing_disk,
    "rot_every": rot,
    "directory_every": lose_directory,
    "member_every": faults.member,
    "wall_step_every": faults.wall_step,
    "trouble_every": trouble,
}
