"""Copies of one partition's log by several brokers, of which some are old: nothing comes back that was deleted or never committed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from metashell.disk.state_files import format_leader_epochs
from metashell.groups.log.fold import RawRecord
from metashell.groups.log.queries import LoadedLogs, group_summaries, load_logs
from tests.groups.log.test_log_dir import commits, node
from tests.groups.log.written_logs import NAME, write_log


def groups(loaded: LoadedLogs) -> list[str]:
    return [summary.group_id for summary in group_summaries(loaded)]


def copies(folder: Path, *logs: list[bytes], epochs: Sequence[tuple[int, int]] = ()) -> list[str]:
    """Directories of brokers with these logs; the last one has a leader-epoch-checkpoint."""
    for number, log in enumerate(logs):
        write_log(node(folder, f"n{number}"), log, partition=7)
    (folder / f"n{len(logs) - 1}" / "__consumer_offsets-7" / "leader-epoch-checkpoint").write_bytes(format_leader_epochs(epochs))
    return [str(folder / f"n{number}") for number in range(len(logs))]


def told(paths: list[str]) -> list[int]:
    """The offsets of records that a story of everything has."""
    records: list[RawRecord] = []
    for log in load_logs(paths, wants=lambda raw: True, has_past=True).logs:
        records += log.fold.records
    return [raw.offset for raw in records]


def test_what_was_deleted_since_does_not_come_back_from_an_old_copy(tmp_path: Path) -> None:
    paths = copies(tmp_path, [commits(0, group=0)], [commits(100, group=1)])
    for order in (paths, paths[::-1]):
        assert groups(load_logs(order)) == ["h"]
        assert told(order) == [0, 100]


def test_what_was_never_committed_does_not_come_back_although_its_place_is_compacted(tmp_path: Path) -> None:
    old = [commits(0, epoch=1, group=1), commits(10, epoch=2, group=0)]
    paths = copies(tmp_path, old, [commits(0, epoch=1, group=1), commits(100, epoch=3, group=1)], epochs=[(1, 0), (3, 8)])
    for order in (paths, paths[::-1]):
        assert groups(load_logs(order)) == ["h"]
        assert told(order) == [0, 100]


def test_a_damaged_newest_copy_is_filled_in_by_the_others_and_that_is_said(tmp_path: Path) -> None:
    whole = [commits(0, group=0), commits(1, group=1), commits(2, group=2), commits(3, group=1)]
    paths = copies(tmp_path, whole[:3], whole)
    newest = tmp_path / "n1" / "__consumer_offsets-7" / NAME
    data = bytearray(newest.read_bytes())
    data[len(whole[0]) + 70] ^= 1
    newest.write_bytes(data)
    loaded = load_logs(paths)
    assert groups(loaded) == ["g", "h", "ä"]
    assert loaded.fault_count == 1
    assert ["newest copy is damaged" in note for note in loaded.notes] == [True]
    assert not load_logs(paths[:1]).notes


def test_progress_is_of_all_bytes_that_will_be_read(tmp_path: Path) -> None:
    paths = copies(tmp_path, [commits(0)], [commits(0), commits(1)])
    sizes = sorted((tmp_path / name / "__consumer_offsets-7" / NAME).stat().st_size for name in ("n0", "n1"))
    for has_past, total in ((True, sum(sizes)), (False, sizes[1])):
        told: list[tuple[int, int]] = []
        load_logs(paths, wants=lambda raw: True, has_past=has_past, progress=lambda done, of, told=told: told.append((done, of)))  # type: ignore[misc]
        assert {of for _, of in told} == {total} and told == sorted(told)
        assert has_past or told[-1] == (total, total)
