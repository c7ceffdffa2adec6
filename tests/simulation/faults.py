"""What goes wrong: each kind of fault comes again and again after a random time, as often as the options say, until faults are off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from metashell.quorum.raft.messages import RaftError
from tests.simulation import disk_faults, strangers
from tests.simulation.host import Host
from tests.simulation.tolerance import ADDING_MS, are_voters_held, can_lose, is_gone

if TYPE_CHECKING:
    from tests.simulation.world import World


def begin(world: World, kinds: Mapping[str, Callable[..., None]]) -> None:
    """Let every kind come that the options ask for."""
    for name, act in kinds.items():
        mean = getattr(world.options, name)
        if mean:
            world.push(world.now + int(world.random.expovariate(1 / mean)), strike, act, mean)


def strike(world: World, act: Callable[..., None], mean: int) -> None:
    """One fault, and the next of its kind later."""
    if not world.faults_on:
        return
    world.push(world.now + 1 + int(world.random.expovariate(1 / mean)), strike, act, mean)
    act(world)


# Processes


def crash(world: World) -> None:
    host = world.some_host()
    if host is None:
        return
    if world.chance() < world.options.fuse_share:
        host.arm(int(world.chance() * 12))
        world.push(world.now + 300, crash_late, host, host.life)
    else:
        world.crash(host)


def crash_late(world: World, host: Host, life: int) -> None:
    """A replica that did nothing since its crash was decided."""
    if host.life == life:
        world.crash(host)


def all_down(world: World) -> None:
    for host in world.hosts:
        world.crash(host)


def pause(world: World) -> None:
    host = world.some_host()
    if host is not None:
        until = world.now + 10 + int(world.random.expovariate(1 / world.options.pause_ms))
        host.paused_until = max(host.paused_until, until)
        world.note(f"{host.name} pauses until {host.paused_until}")


def shutdown(world: World) -> None:
    host = world.some_host()
    if host is None or host.node is None or host.paused_until > world.now:
        return
    world.note(f"{host.name} is asked to shut down")
    host.is_stopping = True
    world.settle(host, host.node.begin_shutdown(1_000, host.local_ms(world.now)))
    world.push(world.now + 1_500, crash_late, host, host.life)


def resign(world: World) -> None:
    host = world.work.leader()
    if host is None or host.node is None or host.paused_until > world.now:
        return
    world.note(f"{host.name} is asked to resign")
    try:
        host.node.resign(host.role.epoch)
    except RaftError:
        return
    host.asked_to_resign = host.role.epoch
    world.settle(host, host.node.poll(host.local_ms(world.now)))


# Network


def heal(world: World, pairs: list[tuple[int, int]], second: None) -> None:
    if world.faults_on:
        world.cuts.difference_update(pairs)
        world.note("a cut heals")


def cut_pairs(world: World, pairs: list[tuple[int, int]], what: str) -> None:
    world.note(f"cut: {what}")
    world.cuts.update(pairs)
    world.push(world.now + 50 + int(world.random.expovariate(1 / world.options.cut_ms)), heal, pairs, None)


def cut(world: World) -> None:
    """One replica does not reach another one; the way back works."""
    count = len(world.hosts)
    a, b = int(world.chance() * count), int(world.chance() * count)
    if a != b:
        cut_pairs(world, [(a, b)], f"{world.hosts[a].name} to {world.hosts[b].name}")


def split(world: World) -> None:
    """Isolate one, split in two, leave one bridge, or a ring."""
    indexes = list(range(len(world.hosts)))
    world.random.shuffle(indexes)
    shape = int(world.chance() * 5)
    if shape == 0:
        leader = world.work.leader()
        alone = indexes[0] if leader is None else leader.index
        pairs = [(alone, other) for other in indexes if other != alone]
        what = f"{world.hosts[alone].name} is alone"
    elif shape == 1:
        pairs = [(indexes[0], other) for other in indexes[1:]]
        what = f"{world.hosts[indexes[0]].name} is alone"
    elif shape in (2, 3):
        middle = max(1, len(indexes) // 2)
        bridge = shape - 2
        left, right = indexes[:middle], indexes[middle + bridge :]
        pairs = [(a, b) for a in left for b in right]
        what = f"{left} from {right}"
    else:
        pairs = [
            (a, b) for i, a in enumerate(indexes) for j, b in enumerate(indexes) if i < j and j - i != 1 and (i, j) != (0, len(indexes) - 1)
        ]
        what = f"ring {indexes}"
    if world.chance() < 0.7:
        pairs += [(b, a) for a, b in pairs]
    cut_pairs(world, pairs, what)


def block(world: World) -> None:
    """Nobody opens a connection to a replica: requests to it are lost, while its own are answered."""
    host = world.hosts[int(world.chance() * len(world.hosts))]
    world.blocked.add(host.index)
    world.note(f"nobody can connect to {host.name}")
    world.push(world.now + 50 + int(world.random.expovariate(1 / world.options.cut_ms)), unblock, host, None)


def unblock(world: World, host: Host, second: None) -> None:
    world.blocked.discard(host.index)


def slow_link(world: World) -> None:
    count = len(world.hosts)
    pair = int(world.chance() * count), int(world.chance() * count)
    world.slow_links[pair] = 1 + int(world.chance() * 20)
    world.push(world.now + 3_000, link_recovers, pair, None)


def link_recovers(world: World, pair: tuple[int, int], second: None) -> None:
    world.slow_links.pop(pair, None)


# Disks


def slow_disk(world: World) -> None:
    host = world.some_host()
    if host is not None:
        host.slow_until = world.now + int(world.random.expovariate(1 / 3_000))
        world.note(f"the disk of {host.name} is slow until {host.slow_until}")


def full_disk(world: World) -> None:
    host = world.some_host()
    if host is not None:
        world.note(f"the disk of {host.name} is full")
        host.is_full = True
        host.log.fuse = host.burn


def replace_disk(world: World) -> None:
    """A replica comes back with an empty disk and a new directory id, where the quorum can bear the loss."""
    host = world.some_host()
    if host is not None and not host.is_broker and can_lose(world, host):
        world.note(f"{host.name} loses its disk")
        world.replace_disk(host)


# Clocks


def wall_step(world: World) -> None:
    """The wall clock of a replica is set, forwards or backwards."""
    host = world.some_host()
    if host is not None and host.node is not None:
        host.wall_ms += int((world.chance() - 0.5) * 7_200_000)
        host.node.wall_offset_ms = host.wall_ms


# Members


def member(world: World) -> None:
    """An operator adds or removes a voter; one in ten asks a replica that need not lead."""
    if are_voters_held(world):
        return
    work = world.work
    leader = work.leader()
    if leader is None or world.chance() < 0.1:
        leader = world.some_host()
    if leader is None:
        return
    voters = leader.log.tail.voters
    wanted = world.options.voters
    if world.chance() < (0.75 if len(voters) < wanted else 0.4):
        hosts = [host for host in world.hosts if not host.is_broker and not host.log.rotten]
        outside = [host for host in hosts if host.key not in voters]
        host = (outside or hosts)[int(world.chance() * len(outside or hosts))]
        world.adding[host.id] = world.now
        work.add_voter(leader, host)
        cut_off_after_change(world, leader)
        return
    keys = sorted(voters)
    key = keys[int(world.chance() * len(keys))]
    rest = [other for other in keys if other != key]
    gone = sum(is_gone(world, other) for other in rest)
    if not rest or gone > (len(rest) - 1) // 2:
        return
    if world.adding.get(-1, -ADDING_MS) > world.now - 3_000:
        return
    world.adding[-1] = world.now
    work.remove_voter(leader, *key)
    cut_off_after_change(world, leader)


def evict(world: World) -> None:
    """A voter is removed while nobody reaches it; it comes back to a log that begins behind its own, with a disk that hangs."""
    leader = world.work.leader()
    if leader is None or are_voters_held(world) or world.adding.get(-1, -ADDING_MS) > world.now - 3_000:
        return
    voters = leader.log.tail.voters
    hosts = [host for host in world.hosts if host.up and host is not leader and host.key in voters]
    if len(hosts) < 2 or any(is_gone(world, key) for key in voters):
        return
    host = hosts[int(world.chance() * len(hosts))]
    world.adding[-1] = world.now
    pairs = [pair for other in world.hosts if other is not host for pair in ((host.index, other.index), (other.index, host.index))]
    world.cuts.update(pairs)
    world.note(f"{host.name} is cut off to be removed")
    world.work.remove_voter(leader, *host.key)
    world.push(world.now + 2_000 + int(world.chance() * 4_000), come_back, host, pairs)


def come_back(world: World, host: Host, pairs: list[tuple[int, int]]) -> None:
    if world.faults_on:
        heal(world, pairs, None)
        host.hang_until = world.now + 3 * (world.options.election_timeout_ms + world.options.fetch_timeout_ms)


def cut_off_after_change(world: World, leader: Host) -> None:
    """In some cases the leader is alone before its change is known to others: it is truncated, or found again, later."""
    if world.chance() < 0.25:
        world.push(world.now + 2 + int(world.chance() * 20), isolate, leader, None)


def isolate(world: World, host: Host, second: None) -> None:
    if not world.faults_on:
        return
    others = [other.index for other in world.hosts if other is not host]
    pairs = [(host.index, other) for other in others]
    if world.chance() < 0.5:
        pairs += [(other, host.index) for other in others]
    cut_pairs(world, pairs, f"{host.name} is alone with its change")


def move(world: World) -> None:
    """A controller restarts at another address, once all know the present addresses of all."""
    leader = world.work.leader()
    if leader is None:
        return
    voters = leader.replica.voters
    for id, voter in voters.voters.items():
        if dict(voter.endpoints) != {"CONTROLLER": world.by_id[id].endpoint}:
            return
    host = world.by_id[voters.ids[int(world.chance() * len(voters.ids))]]
    world.crash(host)
    old = host.endpoint
    host.endpoint = (old[0], old[1] + 100)
    del world.by_endpoint[old]
    world.by_endpoint[host.endpoint] = host
    world.moved[old] = host
    world.counts["moves"] += 1
    world.note(f"{host.name} moves to {host.endpoint}")


def upgrade_level(world: World) -> None:
    """The operator finalizes kraft.version 1."""
    leader = world.work.leader()
    if leader is None or leader.node is None or leader.log.tail.level or leader.paused_until > world.now:
        return
    try:
        leader.node.upgrade_kraft_version(leader.role.epoch, 1, False)
    except RaftError as error:
        world.counts["refused upgrades"] += 1
        world.note(f"{leader.name} does not upgrade: {error}")
        return
    world.counts["upgrades"] += 1
    world.settle(leader, leader.node.poll(leader.local_ms(world.now)))


KINDS: dict[str, Callable[[World], None]] = {
    "crash_every": crash,
    "all_down_every": all_down,
    "pause_every": pause,
    "shutdown_every": shutdown,
    "resign_every": resign,
    "cut_every": cut,
    "split_every": split,
    "slow_link_every": slow_link,
    "block_every": block,
    "slow_disk_every": slow_disk,
    "full_disk_every": full_disk,
    "rot_every": disk_faults.rot,
    "hang_every": disk_faults.hang,
    "election_state_every": disk_faults.lose_election_state,
    "directory_every": disk_faults.lose_directory,
    "stranger_every": strangers.speak,
    "replace_disk_every": replace_disk,
    "wall_step_every": wall_step,
    "member_every": member,
    "evict_every": evict,
    "move_every": move,
    "upgrade_every": upgrade_level,
}
