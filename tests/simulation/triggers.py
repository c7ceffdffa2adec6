"""Faults that come at the worst moment: not after a random time, but when a replica does what the fault would hurt most.

Each is a chance in the options; faults that hang together are drawn together, as `profiles`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.host import Host
    from tests.simulation.options import Options
    from tests.simulation.world import World


def are_wanted(options: Options) -> bool:
    return bool(options.candidate_crash_chance or options.leader_crash_chance or options.write_crash_chance)


def on_role(world: World, host: Host) -> None:
    """A replica entered a state."""
    if not world.faults_on:
        return
    options, name = world.options, host.role.name
    if (
        name in ("candidate", "leader")
        and host.log.flushed_offset < host.log.end_offset
        and world.chance() < options.candidate_crash_chance
    ):
        # It stands or leads with what is in the cache only, which a power cut takes away.
        world.push(world.now + int(world.chance() * 60), lose_power, host, host.life)
    elif name == "leader" and world.chance() < options.leader_crash_chance:
        # Some time after its first batches are written, and perhaps before anybody has them.
        world.push(world.now + int(world.chance() * 60), kill, host, host.life)


def on_writing(world: World, host: Host, due: int) -> None:
    """A replica waits for quorum-state to be written, until `due`."""
    if world.faults_on and world.chance() < world.options.write_crash_chance:
        world.push(world.now + int(world.chance() * (due - world.now)), kill if world.chance() < 0.7 else lose_power, host, host.life)


def kill(world: World, host: Host, life: int) -> None:
    """The process ends, the machine does not: all that was written is left."""
    if host.life == life and host.up:
        world.counts["kills"] += 1
        world.crash(host, 1.0)


def lose_power(world: World, host: Host, life: int) -> None:
    """The machine ends: nothing is left but what was synced."""
    if host.life == life and host.up:
        world.counts["power cuts"] += 1
        world.crash(host, 0.0)
