"""A share of the seeds runs on metashell's own log on disk and the one in memory: every call goes to both, and what they say is equal.

The files lie below a scratch folder, in memory where the system has such. What a crash leaves is drawn from all that may be left of the
steps on the disk since the last syncs (`tests.recording_files`); the real recovery reads it, and must find all that was durable and
nothing that was never written.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from metashell.codec.framing import frames_of
from metashell.common.values import OffsetAndEpoch
from metashell.disk.metadata_log import MetadataLog
from tests.recording_files import ModelledDisk, RecordingDisk, Step, Tree, write_tree
from tests.simulation.history import Entry, History
from tests.simulation.sim_log import SimLog, SimPartial, no_fuse
from tests.simulation.violation import Violation

RULE = "the log on disk"
INDEX_SIZE = 1 << 10
"""Bytes that an index may have: the files are made as large, and copied at every crash."""


def scratch_folder() -> Path:
    """A new folder for the directories of a world."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="simulation-", dir=memory if memory.is_dir() else None))


DAMAGED_MAX = 2
"""Batches that one fault damages: a write that went astray may reach into the next one."""
Place = tuple[str, int, int]
"""A batch: its file, its position and its size in bytes."""


def batches_of(data: bytes) -> list[tuple[int, int]]:
    """Position and size of each batch of a segment."""
    found, position = [], 0
    while position + 12 <= len(data):
        size = 12 + int.from_bytes(data[position + 8 : position + 12], "big")
        found.append((position, size))
        position += size
    return found


def damage(tree: Tree, places: list[Place], index: int, random: Random) -> str:
    """Let a batch be other bytes than were written: a bit flips, a sector is never written, or another write lands there."""
    path, position, size = places[index]
    data = bytearray(tree[path] or b"")
    shape = int(random.random() * 4)
    if shape < 2:
        # The epoch is outside the checksum: a flip there that still fits between its neighbours is never found.
        bit = int(random.random() * (size - 4))
        at = position + bit + (4 if bit >= 12 else 0)
        data[at] ^= 1 << int(random.random() * 8)
        what = f"a bit at {at - position} of the batch at {position} in {path} flips"
    elif shape == 2:
        length = min(size, 512)
        data[position : position + length] = bytes(length)
        what = f"{length} bytes at {position} in {path} are zeros"
    else:
        other, start, length = places[int(random.random() * len(places))]
        length = min(size, length)
        data[position : position + length] = (tree[other] or b"")[start : start + length]
        what = f"{length} bytes of {start} in {other} are written at {position} in {path}"
    tree[path] = bytes(data)
    return what


class FusedDisk(RecordingDisk):
    """After each of its steps the process may die. Nothing waits for the real disk."""

    def __init__(self, root: Path, log: DiskLog) -> None:
        super().__init__(root)
        self.model = ModelledDisk(root)
        self._log = log

    def _note(self, name: str, path: str, other: Any = None) -> None:
        super()._note(name, path, other)
        self._log.fuse()

    def what_is_left(self, random: Random, share: float | None = None) -> Tree:
        """One of the states that a crash now may leave: the one with all that was done, the one with what is sure, or one between them."""
        self.catch_up()
        states = list(self.model.samples(random, 1))
        return states[int(random.random() * len(states)) if share is None else 1 - round(share)]

    def catch_up(self) -> None:
        steps: list[Step] = self.steps
        for step in steps:
            self.model.follow(step)
        steps.clear()


class DiskPartial(SimPartial):
    """A snapshot that is written to both logs."""

    def __init__(self, log: DiskLog, id: OffsetAndEpoch) -> None:
        super().__init__(log, id)
        self._disk_log = log
        self._real = log.real.create_snapshot(id)

    def append(self, data: bytes) -> None:
        self._real.append(data)
        self.data += data

    def begin_freeze(self) -> Callable[[], None]:
        return self._real.begin_freeze()

    def end_freeze(self) -> None:
        self._real.end_freeze()
        super().end_freeze()
        self._disk_log.agree()

    def close(self) -> None:
        self._real.close()
        super().close()


class DiskLog(SimLog):
    """Both logs as one; `segment_size` is small, so that segments roll and go."""

    def __init__(self, history: History, folder: Path, segment_size: int) -> None:
        super().__init__(history)
        self.folder = folder
        self.segment_size = segment_size
        self.lives = 0
        self.is_cutting = self.is_adding = False
        self.open({})

    def open(self, tree: Tree) -> None:
        """The real log of what a directory holds."""
        self.lives += 1
        place = self.folder / str(self.lives)
        place.mkdir(parents=True)
        write_tree(tree, place)
        self.disk = FusedDisk(place, self)
        self.real = MetadataLog.open(str(place), self.disk, segment_size=self.segment_size, index_size=INDEX_SIZE, lock=False)
        self.recovering = self.real.recovering
        self.disk.catch_up()

    def agree(self) -> None:
        """After a change: both logs say the same."""
        real = self.real
        self.disk.catch_up()
        ids = list(real.snapshots())
        for id in self.snapshot_ids:
            if id not in ids:
                del self.snapshot_data[id]
        self.snapshot_ids = ids
        found = real.start_offset, real.end_offset, list(real.leader_epochs()), real.size
        expected = self.start_offset, self.end_offset, self.epochs
        if found[:3] != expected:
            raise Violation(RULE, f"is {found}, in memory it is {expected}")

    @property
    def size(self) -> int:
        return self.real.size

    def end_recovery(self) -> None:
        self.real.end_recovery()
        super().end_recovery()

    def leader_epochs(self) -> Sequence[tuple[int, int]]:
        return self.real.leader_epochs()

    def write_leader_epochs(self, entries: Sequence[tuple[int, int]]) -> None:
        self.real.write_leader_epochs(entries)
        super().write_leader_epochs(entries)

    def append(self, data: bytes, end_offset: int) -> None:
        self.is_adding = True
        self.real.append(data, end_offset)
        super().append(data, end_offset)
        self.is_adding = False
        self.agree()

    def read(self, start_offset: int, end_offset: int, max_size: int) -> bytes:
        data = self.real.read(start_offset, end_offset, max_size)
        expected = super().read(start_offset, end_offset, max_size)
        # It ends at a segment's end at the latest, and never inside a batch.
        if not expected.startswith(data) or bool(data) != bool(expected) or frames_of(data)[1].kind != "end":
            raise Violation(RULE, f"reads {len(data)} bytes from {start_offset} to {end_offset}, in memory there are {len(expected)}")
        return data

    def is_batch_boundary(self, offset: int) -> bool:
        found = self.real.is_batch_boundary(offset)
        if found != super().is_batch_boundary(offset):
            raise Violation(RULE, f"says {found} of a boundary at {offset}")
        return found

    def truncate_to(self, offset: int) -> None:
        self.is_cutting = True
        self.real.truncate_to(offset)
        super().truncate_to(offset)
        self.is_cutting = False

    def read_snapshot(self, id: OffsetAndEpoch, position: int, max_size: int) -> bytes:
        data = self.real.read_snapshot(id, position, max_size)
        if data != super().read_snapshot(id, position, max_size):
            raise Violation(RULE, f"reads other bytes of snapshot {id} at {position}")
        return data

    def create_snapshot(self, id: OffsetAndEpoch) -> DiskPartial:
        partial = DiskPartial(self, id)
        self.parts[id.offset, id.epoch] = partial
        return partial

    def start_at_snapshot(self, id: OffsetAndEpoch) -> None:
        self.is_cutting = True
        self.real.start_at_snapshot(id)
        super().start_at_snapshot(id)
        self.is_cutting = False
        self.agree_on_snapshots()

    def delete_before(self, id: OffsetAndEpoch) -> None:
        self.is_cutting = True
        self.real.delete_before(id)
        super().delete_before(id)
        self.is_cutting = False
        self.agree_on_snapshots()

    def agree_on_snapshots(self) -> None:
        """Snapshots may go earlier or later than in memory; the epochs follow in a call of their own."""
        self.snapshot_ids = list(self.real.snapshots())
        self.snapshot_data = {
            id: self.snapshot_data.get(id) or self.real.read_snapshot(id, 0, self.real.snapshot_size(id)) for id in self.snapshot_ids
        }

    def add_snapshot(self, id: OffsetAndEpoch, data: bytes) -> None:
        if id not in self.real.snapshots():
            part = self.real.create_snapshot(id)
            part.append(data)
            part.freeze()
        super().add_snapshot(id, data)

    def flush(self, offset: int, truncations: int) -> int:
        token = self.real.begin_flush()
        self.real.sync(token)
        self.flushed_offset = self.real.finish_flush(token)
        self.disk.catch_up()
        return min(offset, self.flushed_offset)

    def crash(self, random: Random, share: float | None = None) -> None:
        self.fuse = no_fuse
        tree = self.disk.what_is_left(random, share)
        self.close()
        before, start, flushed, ids = self.entries, self.start_offset, self.flushed_offset, self.snapshot_ids
        self.open(tree)
        self.recover()
        self.check_recovered(before, start, flushed, ids)

    def check_recovered(self, before: list[Entry], start: int, flushed: int, ids: list[OffsetAndEpoch]) -> None:
        """What was durable is there after a crash, and nothing that was never written, given what the log was then."""
        # A download that was complete, and not known to be: recovery begins the log anew at it.
        began_anew = self.start_offset > start and not self.entries
        if not self.is_cutting and not began_anew:
            if self.end_offset < flushed:
                raise Violation(RULE, f"ends at {self.end_offset} after a crash, {flushed} was durable")
            # What precedes the last batch is compared as the history takes it up.
            if self.end_offset > start and self.tail not in before and not self.is_adding:
                raise Violation(RULE, f"has {self.tail} after a crash, it ended with {before[-1] if before else None}")
            if ids and (not self.snapshot_ids or self.snapshot_ids[-1] < ids[-1]):
                raise Violation(RULE, f"has snapshots {self.snapshot_ids} after a crash, there were {ids}")
        self.is_cutting = self.is_adding = False

    # Rot

    def rot(self, random: Random) -> str:
        """Damage one batch that has whole batches behind it, while nobody runs on the log, and open it again; what was damaged.

        Errors: LogCorruptError where the log refuses to start. Violation where sound batches are gone.
        """
        tree = self.files()
        places = [(path, *place) for path in sorted(tree) if path.endswith(".log") for place in batches_of(tree[path] or b"")]
        if len(places) < 3:
            return "nothing"
        index = int(random.random() * (len(places) - 1))
        what = damage(tree, places, index, random)
        before, start, end = self.entries, self.start_offset, self.end_offset
        self.close()
        self.open(tree)
        self.recover()
        # What a later snapshot stands for is missed by nobody.
        lost = [entry for entry in before if entry not in self.entries and entry.end > self.start_offset]
        self.check_kept(lost, what)
        self.lost.update(lost)
        if self.start_offset < start or self.end_offset > end:
            raise Violation(RULE, f"reaches from {self.start_offset} to {self.end_offset} after {what}, before from {start} to {end}")
        return what

    def rot_snapshot(self, id: OffsetAndEpoch, random: Random) -> None:
        super().rot_snapshot(id, random)
        path = self.real.snapshot_path(id)
        os.chmod(path, 0o600)
        Path(path).write_bytes(self.snapshot_data[id])

    def files(self) -> Tree:
        """What lies in the log's directory, by path."""
        place = self.folder / str(self.lives)
        return {
            str(path.relative_to(place)): None if path.is_dir() else path.read_bytes()
            for path in sorted(place.rglob("*"))
            if path.name != ".lock"
        }

    def check_kept(self, entries: list[Entry], what: str) -> None:
        """Of what is not in the log any more all but one batch is sound, and lies somewhere: nothing of it is deleted."""
        files = [data for data in self.files().values() if data]
        gone = [entry for entry in entries if not any(entry.data in data for data in files)]
        if len(gone) > DAMAGED_MAX:
            raise Violation(RULE, f"has deleted {gone} after {what}")

    def recover(self) -> None:
        """Memory takes over what the real recovery found, of which every batch was written once."""
        real, history = self.real, self.history
        self.start_offset, self.end_offset = real.start_offset, real.end_offset
        start = history.committed.get(self.start_offset)
        if start is None:
            raise Violation(RULE, f"starts at {self.start_offset} after a crash, which is not committed")
        entries: list[Entry] = []
        tail, offset = start, self.start_offset
        while offset < self.end_offset:
            data, position = real.read(offset, self.end_offset, 1 << 20), 0
            while position < len(data):
                base = int.from_bytes(data[position : position + 8], "big")
                if base < self.start_offset:
                    position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
                    continue
                tail, position = history.add(tail, data, position)
                entries.append(tail)
            offset = tail.end
        self.base, self.tail, self.entries, self.ends = start, tail, entries, [entry.end for entry in entries]
        self.flushed_offset = self.end_offset
        self.epochs = list(real.leader_epochs())
        self.snapshot_data = {}
        self.agree_on_snapshots()
        self.parts.clear()
        self.truncations.clear()

    def close(self) -> None:
        """Give the files back."""
        with suppress(OSError, AssertionError):
            self.real.close()
