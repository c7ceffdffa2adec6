"""What becomes of a disk: it hangs and then fails, forgets the election state, or gives other bytes back than were written.

Each is injected only where `tolerance` says that the quorum bears it, and is judged then.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from metashell.common.errors import LogCorruptError
from metashell.disk.state_files import format_quorum_state, read_quorum_state
from metashell.quorum.raft.ready import ElectionState
from metashell.quorum.server.config import FILE_NAME, ElectionStore
from tests.simulation.disk_log import DiskLog
from tests.simulation.tolerance import can_forget, can_lose, can_lose_directory, forgets, note_caught_up
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.host import Host
    from tests.simulation.world import World


def hang(world: World) -> None:
    """No fsync of a replica's log ends for a while, and in half of the cases none ends well; all else goes on."""
    host = world.some_host()
    if host is None:
        return
    timeouts = world.options.election_timeout_ms + world.options.fetch_timeout_ms
    host.hang_until = world.now + int((0.3 + 2 * world.chance()) * timeouts)
    host.hang_fails = world.chance() < 0.5
    world.counts["hanging disks"] += 1
    world.note(f"the log of {host.name} is not synced until {host.hang_until}{', and then fails' if host.hang_fails else ''}")


# quorum-state


def lose_election_state(world: World) -> None:
    """A replica stops, and its quorum-state is gone, that of before, or cut off."""
    host = world.some_host()
    if host is None or host.is_broker:
        return
    if world.chance() < 0.2:
        tear(world, host)
        return
    world.crash(host)
    lost = ElectionState(0) if world.chance() < 0.4 else host.election_before
    promise = world.elections.promises.get(host.key, -1)
    if forgets(host, lost, promise):
        if not can_forget(world, host, lost):
            return
        host.forgotten_epoch = promise
        world.counts["forgotten votes"] += 1
    world.counts["lost election states"] += 1
    world.note(f"{host.name} has {lost} in place of {host.election} on disk")
    if lost.leader_id != host.id:
        host.unaware_of = max(host.led_epochs, default=-1)
    host.election = host.election_before = lost


def lose_directory(world: World) -> None:
    """A replica stops, and its metadata directory is gone, or all but quorum-state; meta.properties stays, with what lies beside it."""
    host = world.some_host()
    if host is not None and not host.is_broker and can_lose_directory(world, host):
        world.lose_directory(host, world.chance() < 0.3)


def tear(world: World, host: Host) -> None:
    """quorum-state ends in the middle: it must be refused, and the operator gives the replica another disk."""
    if not can_lose(world, host):
        return
    with tempfile.TemporaryDirectory() as folder:
        ElectionStore(folder).write(host.election, host.quorum_version)
        path = Path(folder) / FILE_NAME
        data = path.read_bytes()
        assert data == format_quorum_state(read_quorum_state(str(path)))
        size = int(world.chance() * len(data))
        path.write_bytes(data[:size] + bytes(len(data) - size if world.chance() < 0.5 else 0))
        try:
            found = read_quorum_state(str(path))
        except LogCorruptError:
            world.note(f"{host.name} refuses a quorum-state of {size} bytes")
        else:
            raise Violation("I2 VoteUniqueness", f"{host.name} takes {found} from the first {size} bytes of {data!r}")
    world.counts["torn election states"] += 1
    world.replace_disk(host)


# Rot


def rot(world: World) -> None:
    """A replica stops, and a bit of its log or of its snapshot is another one when it starts again."""
    host = world.some_host()
    if host is None or host.is_broker or not can_lose(world, host):
        return
    log = host.log
    if isinstance(log, DiskLog) and world.chance() < 0.8:
        world.crash(host)
        rot_log(world, host, log)
        return
    id = host.log.snapshot_ids[-1] if host.log.snapshot_ids else None
    if id is None or not id.offset:
        # A checksum is found to be wrong while it runs, and there is nothing else to be done.
        world.replace_disk(host)
        return
    world.crash(host)
    host.log.rot_snapshot(id, world.random)
    world.counts["rotten snapshots"] += 1
    world.note(f"a bit of snapshot {id} of {host.name} flips")


def rot_log(world: World, host: Host, log: DiskLog) -> None:
    """One batch of a log is damaged, an old one as likely as any."""
    end = log.end_offset
    try:
        what = log.rot(world.random)
    except LogCorruptError as error:
        world.note(f"{host.name} refuses to start: {error}")
        world.replace_disk(host)
        return
    world.counts["rotten batches"] += 1
    world.note(f"{host.name}: {what}; its log is {log.start_offset} to {log.end_offset}, it ended at {end}")
    if log.lost:
        host.lost_end = max(end, host.lost_end or 0)
        note_caught_up(world, host)
