"""The log on disk and the log in memory, driven alike, say the same."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.common.values import OffsetAndEpoch
from metashell.disk.metadata_log import MetadataLog
from metashell.quorum.raft.replicated_log import MemoryLog
from tests.disk.conftest import Batch, quick_place
from tests.disk.log_history import batches_of, snapshot_of
from tests.recording_files import UnsyncedDisk

EXAMPLES = max(30, settings.default.max_examples) if settings.default else 30
SETTINGS = {"segment_size": 900, "segment_ms": 60, "index_interval": 130, "index_size": 96}


class LogMachine(RuleBasedStateMachine):
    """Whatever is done to both, they hold the same batches, snapshots and offsets."""

    def __init__(self) -> None:
        super().__init__()
        self.place = contextlib.ExitStack()
        self.folder = str(self.place.enter_context(quick_place()))
        self.disk_log = MetadataLog.open(self.folder, UnsyncedDisk(), lock=False, **SETTINGS)
        self.memory_log = MemoryLog()
        self.epoch = 1
        self.clock = 0

    def teardown(self) -> None:
        self.disk_log.close()
        self.place.close()

    @property
    def both(self) -> tuple[MetadataLog, MemoryLog]:
        return self.disk_log, self.memory_log

    @rule(sizes=st.lists(st.tuples(st.integers(1, 4), st.integers(0, 400)), min_size=1, max_size=4))
    def append(self, sizes: list[tuple[int, int]]) -> None:
        end, batches = self.memory_log.end_offset, []
        for count, size in sizes:
            records = [Record(at, 1000 + at, None, f"{at}".encode().ljust(size)) for at in range(end, end + count)]
            batches.append(write_batch(end, records, leader_epoch=self.epoch))
            end += count
        for log in self.both:
            log.append(b"".join(batches), end)

    @rule(data=st.data())
    def read(self, data: st.DataObject) -> None:
        memory, disk = self.memory_log, self.disk_log
        start = data.draw(st.integers(memory.start_offset, memory.end_offset))
        end = data.draw(st.integers(start, memory.end_offset + 1))
        size = data.draw(st.sampled_from([0, 1, 100, 500, 5000]))
        expected, found = memory.read(start, end, size), disk.read(start, end, size)
        # A read ends with its segment.
        assert expected.startswith(found) and bool(found) == bool(expected)
        first = memory.read(start, end, 0)
        assert found.startswith(first)

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        low = max([self.memory_log.start_offset, *(id.offset for id in self.memory_log.snapshots())])
        bases = [base for base, _, _, _ in self.memory_log.batches(low) if base >= low]
        offset = data.draw(st.sampled_from([*bases, self.memory_log.end_offset][-8:]))
        for log in self.both:
            log.truncate_to(offset)
        self.epoch += 1

    @rule()
    def flush(self) -> None:
        assert self.disk_log.flush() == self.disk_log.end_offset
        self.memory_log.flush_to(self.memory_log.end_offset)

    @rule(data=st.data())
    def snapshot(self, data: st.DataObject) -> None:
        low = max([self.memory_log.start_offset, *(id.offset for id in self.memory_log.snapshots())])
        ends = [(end, epoch) for _, end, epoch, _ in self.memory_log.batches(low) if end > low]
        if ends:
            self._freeze(OffsetAndEpoch(*data.draw(st.sampled_from(ends))))

    def _freeze(self, id: OffsetAndEpoch) -> None:
        for log in self.both:
            part = log.create_snapshot(id)
            part.append(snapshot_of(id))
            part.freeze()

    @rule(ahead=st.integers(1, 5))
    def install(self, ahead: int) -> None:
        id = OffsetAndEpoch(self.memory_log.end_offset + ahead, self.epoch)
        self._freeze(id)
        for log in self.both:
            log.start_at_snapshot(id)
        self.epoch += 1

    @precondition(lambda self: self.memory_log.snapshots())
    @rule(data=st.data())
    def delete_before(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(self.memory_log.snapshots()))
        for log in self.both:
            log.delete_before(id)

    @rule(passed_ms=st.integers(1, 100_000))
    def delete_due(self, passed_ms: int) -> None:
        self.clock += passed_ms
        self.disk_log.delete_due(self.clock)

    @rule()
    def reopen(self) -> None:
        self.disk_log.close()
        self.disk_log = MetadataLog.open(self.folder, UnsyncedDisk(), lock=False, **SETTINGS)
        assert not self.disk_log.repairs
        assert self.disk_log.flushed_offset == self.disk_log.end_offset
        self.memory_log.flush_to(self.memory_log.end_offset)

    @invariant()
    def they_say_the_same(self) -> None:
        disk, memory = self.both
        start = memory.start_offset
        # After it was opened again a log may start before the snapshot that it started at.
        assert disk.start_offset <= start and disk.end_offset == memory.end_offset
        kept = [(base, epoch, data) for base, end, epoch, data in memory.batches(start) if end > start]
        found = batches_of(disk)
        assert (found[-len(kept) :] if kept else []) == kept
        assert disk.snapshots() == memory.snapshots()
        for id in memory.snapshots():
            assert disk.read_snapshot(id, 3, 50) == memory.read_snapshot(id, 3, 50)
            assert disk.snapshot_size(id) == memory.snapshot_size(id)
        offsets = range(start + 1, memory.end_offset + 2)
        assert [disk.is_batch_boundary(offset) for offset in offsets] == [memory.is_batch_boundary(offset) for offset in offsets]


TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = settings(max_examples=EXAMPLES, stateful_step_count=30)


def test_appends_go_on_while_a_thread_flushes(batch: Batch, tmp_path: Path) -> None:
    log = MetadataLog.open(str(tmp_path), segment_size=2000, index_interval=200, index_size=1200)
    for _ in range(20):
        token = log.begin_flush()
        thread = threading.Thread(target=log.sync, args=(token,))
        thread.start()
        for offset in range(log.end_offset, log.end_offset + 30):
            log.append(batch(offset), offset + 1)
        if log.end_offset % 4 == 0:
            log.truncate_to(log.end_offset - 25)
        thread.join()
        assert log.finish_flush(token) <= log.end_offset
    expected = batches_of(log)
    assert log.flush() == log.end_offset
    log.close()
    again = MetadataLog.open(str(tmp_path))
    assert batches_of(again) == expected
    again.close()
