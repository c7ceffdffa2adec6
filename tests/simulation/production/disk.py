"""The disk of one simulated machine: real files below a scratch folder, what of them is durable, and what goes wrong with them.

A call of `Disk` is one step. On a worker's thread each step takes time and others run meanwhile; on the loop's thread a sync keeps the
process busy. What a loss of power leaves is drawn by `what_is_left`: what was synced, and any part of the rest, by sectors.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from metashell.disk.file_system import Disk
from metashell.disk.names import METADATA_DIRECTORY, QUORUM_STATE
from tests.recording_files import SECTOR_SIZE, Directory, File, ModelledDisk, Tree, _apply, write_tree

if TYPE_CHECKING:
    from tests.simulation.production.world import ProductionHost, ProductionWorld

STEP_US = 20
"""What a step takes that does not wait for the platters."""
MOMENTS = 3
"""Of so many moments between the last sync and the loss of power a file may keep something, beside the first and the last."""
HANG_STEP_US = 50_000
"""How often whoever waits for a disk that hangs looks whether it still does."""


class Platters:
    """What a machine's disk holds over all lives of its processes: in `place` the files as they are now, in `root` what is durable."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._losses = 0
        self.place = folder / "0"
        self.place.mkdir(parents=True)
        self.root = ModelledDisk(self.place).root

    def lose_power(self, random: Random) -> None:
        """What was not synced is there in part, if at all."""
        self.take(what_is_left(self.root, random))

    def rot(self, random: Random) -> str | None:
        """Flip a bit of a segment, while no process runs; which file and byte it was, None where there is nothing to damage."""
        segments = sorted(path for path in self.place.glob("*/*.log") if path.stat().st_size)
        if not segments:
            return None
        path = segments[int(random.random() * len(segments))]
        data = bytearray(path.read_bytes())
        position = int(random.random() * len(data))
        data[position] ^= 1 << int(random.random() * 8)
        self.take(self.tree() | {str(path.relative_to(self.place)): bytes(data)})
        return f"{path.name}: byte {position}"

    def lose_directory(self, is_state_left: bool) -> None:
        """The metadata directory is gone, or all but quorum-state, while no process runs; what lies beside it stays."""
        kept = (METADATA_DIRECTORY, f"{METADATA_DIRECTORY}/{QUORUM_STATE}") if is_state_left else ()
        self.take({path: data for path, data in self.tree().items() if not path.startswith(METADATA_DIRECTORY) or path in kept})

    def tree(self) -> Tree:
        """All files as they are now."""
        return {
            str(found.relative_to(self.place)): None if found.is_dir() else found.read_bytes() for found in sorted(self.place.rglob("*"))
        }

    def take(self, tree: Tree) -> None:
        """The disk holds just that, durably."""
        self._losses += 1
        self.place = self._folder / str(self._losses)
        self.place.mkdir()
        write_tree(tree, self.place)
        self.root = ModelledDisk(self.place).root


def what_is_left(directory: Directory, random: Random) -> Tree:
    """What a disk holds after a loss of power: any of the changes of names, in their order, and of each file what `bytes_left` draws."""
    share = random.random()
    if share < 0.25:
        names = directory.durable
    elif share < 0.5:
        names = directory.current
    else:
        names = directory.sample(random)
    tree: Tree = {}
    for name, node in names.items():
        if isinstance(node, File):
            tree[name] = bytes_left(node, random)
        else:
            tree[name] = None
            tree |= {f"{name}/{path}": content for path, content in what_is_left(node, random).items()}
    return tree


def bytes_left(file: File, random: Random) -> bytes:
    """A content of a file: its size as at some moment since the last sync, and each sector as at some moment.

    The system writes whole sectors as they are in its cache: who finds a later piece of a sector finds the earlier ones, too.
    """
    if not file.pending:
        return file.durable
    count = len(file.pending)
    moments = sorted({0, count, *(random.randrange(count + 1) for _ in range(MOMENTS))})
    contents = [file._with(file.pending[:moment]) for moment in moments]
    if random.random() < 0.5:
        return contents[random.randrange(len(contents))]
    size = len(contents[random.randrange(len(contents))])
    sectors = [
        contents[random.randrange(len(contents))][start : start + SECTOR_SIZE].ljust(SECTOR_SIZE, b"\0")
        for start in range(0, size, SECTOR_SIZE)
    ]
    return b"".join(sectors)[:size]


class SimDisk(Disk):
    """The disk as one process sees it."""

    def __init__(self, world: ProductionWorld, host: ProductionHost, platters: Platters) -> None:
        self.is_dead = False
        self._world = world
        self._host = host
        self._root = platters.root
        self._prefix = str(platters.place)
        self._files: dict[int, File] = {}
        self._paths: dict[int, str] = {}
        """Under which name a file was opened."""
        self._synced: dict[File | Directory, int] = {}
        """How many changes of a file or directory this process made durable."""
        self._numbers = 0

    # What goes wrong

    def _step(self, sync: str = "") -> bool:
        """One step is about to be made: it takes its time, may fail, or be the last. False where the process is no more.

        `sync` is the path that is synced, if that is the step.
        """
        if self.is_dead:
            return False
        host, world = self._host, self._world
        host.burn_step()
        wait_us = world.sync_time_us(host) if sync else STEP_US
        if world.crew.running is not None:
            world.crew.sleep(world.now_us + wait_us)
            while sync and host.hangs_at(sync):
                world.crew.sleep(min(host.hangs_until_us, world.now_us + HANG_STEP_US))
        elif sync:
            process = host.process
            if process is not None:
                process.loop.busy_until = max(process.loop.now_us + wait_us, host.hangs_until_us if host.hangs_at(sync) else 0)
        if host.fails_from_us <= world.now_us < host.fails_until_us:
            world.counts["failed disk steps"] += 1
            raise OSError(host.fails_with, os.strerror(host.fails_with))
        return True

    def die(self) -> None:
        """The process ends: its files are closed, and nothing that still runs in it has an effect."""
        self.is_dead = True
        for fd in self._files:
            os.close(fd)
        self._files.clear()

    # Where things are

    def _find(self, path: str) -> tuple[Directory, str]:
        """The directory that a path leads to, and the last name."""
        *parents, name = path[len(self._prefix) + 1 :].split("/")
        node = self._root
        for parent in parents:
            inner = node.current[parent]
            assert isinstance(inner, Directory)
            node = inner
        return node, name

    # The operations

    def make_directory(self, path: str) -> None:
        if self._step():
            super().make_directory(path)
            parent, name = self._find(path)
            parent.change(name, Directory())

    def create_file(self, path: str, mode: int) -> int:
        if not self._step():
            return -1
        parent, name = self._find(path)
        if name in parent.current:
            os.unlink(path)
            parent.change(name, None)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        file = self._files[fd] = File(mode)
        parent.change(name, file)
        self._paths[fd] = path
        return fd

    def open_file(self, path: str) -> int:
        if not self._step():
            return -1
        fd = super().open_file(path)
        parent, name = self._find(path)
        file = parent.current[name]
        assert isinstance(file, File)
        self._files[fd] = file
        self._paths[fd] = path
        return fd

    def append(self, fd: int, data: bytes) -> None:
        if self._step():
            position = os.lseek(fd, 0, os.SEEK_CUR)
            super().append(fd, data)
            self._files[fd].pending.append((position, bytes(data)))

    def write_at(self, fd: int, data: bytes, position: int) -> None:
        if self._step():
            super().write_at(fd, data, position)
            self._files[fd].pending.append((position, bytes(data)))

    def read_at(self, fd: int, size: int, position: int) -> bytes:
        return b"" if self.is_dead else super().read_at(fd, size, position)

    def truncate(self, fd: int, size: int) -> None:
        if self._step():
            super().truncate(fd, size)
            self._files[fd].pending.append(size)

    def set_mode(self, fd: int, mode: int) -> None:
        if self._step():
            super().set_mode(fd, mode)
            self._files[fd].mode = mode

    def sync_file(self, fd: int) -> None:
        """Only what was written when it began is durable when it is over."""
        if self.is_dead:
            return
        file = self._files[fd]
        target = self._synced.get(file, 0) + len(file.pending)
        if self._step(sync=self._paths[fd]):
            count = target - self._synced.get(file, 0)
            if count > 0:
                rest = file.pending[count:]
                del file.pending[count:]
                file.sync()
                file.pending = rest
                self._synced[file] = target

    def close_file(self, fd: int) -> None:
        if not self.is_dead and fd in self._files:
            super().close_file(fd)
            del self._files[fd]

    def rename(self, source: str, target: str) -> None:
        if self._step():
            super().rename(source, target)
            parent, old = self._find(source)
            parent.change(target.rpartition("/")[2], parent.current[old], old)

    def remove_file(self, path: str) -> None:
        if self._step():
            super().remove_file(path)
            parent, name = self._find(path)
            parent.change(name, None)

    def remove_directory(self, path: str) -> None:
        raise NotImplementedError("no server removes a directory")

    def sync_directory(self, path: str) -> None:
        """Only the names that were there when it began are durable when it is over."""
        if self.is_dead:
            return
        parent, _ = self._find(path + "/.")
        target = self._synced.get(parent, 0) + len(parent.pending)
        if self._step(sync=path):
            count = target - self._synced.get(parent, 0)
            if count > 0:
                names = dict(parent.durable)
                for change in parent.pending[:count]:
                    _apply(names, change)
                parent.durable = names
                del parent.pending[:count]
                self._synced[parent] = target

    def unique_number(self) -> int:
        """As large as a random one."""
        self._numbers += 1
        return (1 << 63) + self._host.life * 1_000_000 + self._numbers

    def catch_up(self) -> None:
        """The model follows each step at once."""
