"""What a disk or an application was asked for is done, or will never be: functions that the world's heap holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from metashell.common.values import OffsetAndEpoch
from tests.simulation.tolerance import note_caught_up

if TYPE_CHECKING:
    from tests.simulation.host import Host
    from tests.simulation.world import World


def hangs(world: World, host: Host, function: Callable[..., None], about: Any) -> bool:
    """Whether an fsync is not done yet, or never will be: an error after a hang stops the replica."""
    if host.hang_until > world.now:
        world.push(host.hang_until, function, host, about)
        return True
    if host.hang_fails:
        world.counts["fsync errors"] += 1
        world.crash(host)
        return True
    host.hang_until = 0
    return False


def is_done(world: World, host: Host, life: int, function: Callable[..., None], about: Any) -> bool:
    """Whether what the disk was asked for is done now: by a process that still runs, is not paused, and whose disk does not hang."""
    if host.life != life or not host.up:
        return False
    if host.paused_until > world.now:
        world.push(host.paused_until, function, host, about)
        return False
    if host.hang_until and hangs(world, host, function, about):
        return False
    world.events += 1
    return True


def flushed(world: World, host: Host, about: tuple[int, int, int]) -> None:
    """An fsync of the log is done."""
    life, offset, truncations = about
    if not is_done(world, host, life, flushed, about):
        return
    if host.fuse_left >= 0:
        host.burn()
    offset = host.log.flush(offset, truncations)
    if host.lost_end is not None:
        note_caught_up(world, host)
    if world.trace is not None:
        world.trace.note(world, f"{host.name} has flushed up to {offset}")
    world.settle(host, host.node.flushed(host.local_ms(world.now)))  # type: ignore[union-attr]


def frozen(world: World, host: Host, about: tuple[int, OffsetAndEpoch, Any]) -> None:
    """A downloaded snapshot is complete and durable, unless a later download of the same one took its place."""
    life, id, part = about
    if not is_done(world, host, life, frozen, about):
        return
    if host.log.parts.get((id.offset, id.epoch)) is not part:
        return
    part.freeze()
    world.counts["downloads"] += 1
    ready = host.node.snapshot_frozen(id, host.local_ms(world.now))  # type: ignore[union-attr]
    if host.lost_end is not None:
        # The snapshot may stand for all that was lost, and nothing is flushed then.
        note_caught_up(world, host)
    world.settle(host, ready)


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
