"""What the application of a replica does when its time comes: it begins, takes what it was given, or finds its snapshot damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.host import Host

if TYPE_CHECKING:
    from tests.simulation.world import World


def register(world: World, host: Host, life: int) -> None:
    """The application of a new process asks to be told."""
    if host.life != life or not host.up:
        return
    if host.paused_until > world.now:
        world.push(host.paused_until, register, host, life)
        return
    host.listener, ready = host.node.register(host.local_ms(world.now))  # type: ignore[union-attr]
    world.settle(host, ready)


def consumed(world: World, host: Host, life: int) -> None:
    """The application took what it was given."""
    if host.life != life or not host.up:
        return
    if host.paused_until > world.now:
        world.push(host.paused_until, consumed, host, life)
        return
    world.settle(host, host.node.consumed(host.listener, host.applied, host.local_ms(world.now)))  # type: ignore[union-attr]


def stop_rotten(world: World, host: Host, life: int) -> None:
    """The application finds a wrong checksum in its snapshot: the replica stops, and its operator gives it another disk."""
    if host.life == life and host.up:
        world.note(f"{host.name} cannot load its snapshot")
        world.replace_disk(host)
