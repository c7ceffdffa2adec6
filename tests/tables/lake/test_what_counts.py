"""What counts as there already: copies that lack something, logs made anew under old names; and a ledger that does not grow by itself."""

from __future__ import annotations

import gzip
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from metashell.common.errors import UsageError
from metashell.disk.inputs import InputFile
from metashell.disk.names import METADATA, PARTITION_METADATA
from metashell.disk.state_files import format_topic_id
from metashell.tables.lake.input_conflicts import BatchJudge
from metashell.tables.lake.log_state import Anchor, LogState
from tests.tables.lake.lakes import DAY, SEGMENT, START, commits, expected, names, node, rows, run, segment, topics
from tests.tables.lake.test_lake import checkpoint


def offsets_log(folder: Path) -> Path:
    """A partition of __consumer_offsets of a node that has no metadata log."""
    shutil.rmtree(node(folder))
    log = folder / "__consumer_offsets-0"
    log.mkdir()
    return log


def committed(out: Path) -> list[int]:
    return sorted(row["offset"] for row in rows(out, "offset_commit"))


def test_replacing_keeps_what_only_a_checkpoint_gave(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    old = log / "00000000000000000010-0000000001.checkpoint"
    old.write_bytes(checkpoint(4))
    (log / segment(10)).write_bytes(topics(10, 10))
    run(out, tmp_path / "node")
    before = names(out)
    old.unlink()
    (log / segment(10)).write_bytes(topics(10, 10, name="new", epoch=2))
    with pytest.raises(UsageError, match=r"offsets 0 to 9 of .* would be lost"):
        run(out, tmp_path / "node", replaces=True, on_error="skip")
    assert names(out) == before
    # A checkpoint of its own helps where it stands for all of that.
    part = log / "00000000000000000005-0000000002.checkpoint"
    part.write_bytes(checkpoint(3))
    with pytest.raises(UsageError, match=r"offsets 0 to 9 of .* would be lost"):
        run(out, tmp_path / "node", replaces=True, on_error="skip")
    part.unlink()
    (log / "00000000000000000010-0000000002.checkpoint").write_bytes(checkpoint(6))
    assert run(out, tmp_path / "node", replaces=True).rows["topic"] == 16
    assert len(names(out)) == 16


def test_a_topic_that_was_created_anew_is_another_log(tmp_path: Path) -> None:
    log, out = offsets_log(tmp_path / "node"), tmp_path / "lake"
    (log / PARTITION_METADATA).write_bytes(format_topic_id(bytes(15) + b"\1"))
    (log / SEGMENT).write_bytes(commits(0, 10))
    run(out, tmp_path / "node")
    (log / PARTITION_METADATA).unlink()
    assert run(out, tmp_path / "node").rows == {}
    # Its offsets and epochs are those of the old one: only the id tells.
    (log / PARTITION_METADATA).write_bytes(format_topic_id(bytes(15) + b"\2"))
    (log / SEGMENT).write_bytes(commits(0, 6, time=START + 5 * DAY))
    with pytest.raises(
        UsageError, match=rf"{SEGMENT}: topic id AAAAAAAAAAAAAAAAAAAAAg, the lake has .*: the topic was created anew; --rep"
    ):
        run(out, tmp_path / "node")
    assert run(out, tmp_path / "node", replaces=True).rows["offset_commit"] == 6
    assert committed(out) == list(range(6))
    assert {row["timestamp"].date().isoformat() for row in rows(out, "offset_commit")} == {"2026-09-26"}
    assert run(out, tmp_path / "node").rows == {}


def test_a_segment_that_was_compressed_before_stands_before_the_next_one(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / segment(0)).write_bytes(topics(0, 4))
    packed = tmp_path / f"{segment(4)}.gz"
    packed.write_bytes(gzip.compress(topics(4, 4)))
    shutil.copy(packed, log)
    run(out, tmp_path / "node", log / packed.name)
    (log / packed.name).unlink()
    (log / segment(4)).write_bytes(topics(4, 4))
    (log / segment(8)).write_bytes(topics(8, 4))
    assert run(out, tmp_path / "node").rows["topic"] == 4
    assert names(out) == expected(0, 12)


def write_log(log: Path, batches: dict[int, str], *bases: int) -> None:
    """Segments that begin at `bases`; of each batch of two records its first offset and what its epoch and its topics are called."""
    for file in log.glob("*.log"):
        file.unlink()
    for base, until in zip(bases, (*bases[1:], 1 << 30), strict=True):
        held = {at: name for at, name in batches.items() if base <= at < until}
        (log / segment(base)).write_bytes(b"".join(topics(at, 2, epoch=ord(name), name=name) for at, name in held.items()))


def test_replacing_writes_anew_what_lies_in_segments_that_were_whole_before(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    write_log(log, dict(zip(range(0, 14, 2), "aabbbbb", strict=True)), 0, 2, 10)
    run(out, tmp_path / "node")
    write_log(log, dict(zip(range(0, 14, 2), "aaccccc", strict=True)), 0, 2, 6, 12)
    with pytest.raises(UsageError, match="not what the lake has there"):
        run(out, tmp_path / "node")
    report = run(out, tmp_path / "node", replaces=True)
    assert [note for note in report.plan.notes if "ends at" in note] == []
    assert names(out) == [f"{'a' if offset < 4 else 'c'}{offset}" for offset in range(14)]


def test_a_log_that_was_cut_and_has_other_segments_now_is_refused(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    write_log(log, dict(zip(range(0, 10, 2), "aaaaa", strict=True)), 0, 2, 8)
    run(out, tmp_path / "node")
    # Its second segment goes on where it ended, so that the third begins where the lake ends.
    write_log(log, dict(zip(range(0, 12, 2), "aaaabb", strict=True)), 0, 2, 10)
    with pytest.raises(UsageError, match=f"{segment(2)}: offset 8: not what the lake has there"):
        run(out, tmp_path / "node")


def test_replacing_keeps_to_the_log_of_one_node_where_two_had_one_path(tmp_path: Path) -> None:
    """A disk that got the id of another node: its log has the path of the one before."""
    out = tmp_path / "lake"
    for node_id in (1, 2):
        shutil.rmtree(tmp_path / "node", ignore_errors=True)
        for count in (4, 8):
            (node(tmp_path / "node", node_id) / SEGMENT).write_bytes(topics(0, count, name=f"n{node_id}-"))
            run(out, tmp_path / "node", tables=("topic",))
    (node(tmp_path / "node", 2) / SEGMENT).write_bytes(topics(0, 4, name="n2-") + topics(4, 2, epoch=2, name="new"))
    run(out, tmp_path / "node", replaces=True)
    assert sorted(names(out)) == sorted([*expected(0, 8, "n1-"), *expected(0, 4, "n2-"), *expected(4, 2, "new")])


def anchored(*numbers: int) -> LogState:
    return LogState(anchors={10 * number + 9: Anchor(10 * number, 10 * number + 9, 1, 7 * number) for number in numbers})


def test_of_many_batches_that_tell_a_log_from_another_the_old_ones_thin_out_and_none_goes_for_good() -> None:
    known = LogState()
    for number in range(2000):
        known.add(anchored(number))
        kept = [last // 10 for last in sorted(known.anchors)]
        assert len(kept) <= 256
        assert kept[0] == 0 and kept[-min(128, number + 1) :] == list(range(max(number - 127, 0), number + 1))
        assert len(kept) >= min(number + 1, 192)
    # Old ones lie further apart the older they are, and reach back to the first.
    gaps = [after - before for before, after in pairwise(kept)]
    assert gaps == sorted(gaps, reverse=True) and gaps[0] > 500 > gaps[3]
    for number in kept[:4]:
        (anchor,) = anchored(number).anchors.values()
        judges = [BatchJudge(InputFile("x", METADATA, "c"), known) for _ in range(2)]
        judges[0].see(anchor)
        judges[1].see(anchor._replace(crc=1))
        assert (judges[0].fault, judges[0].is_proved, judges[0].good_to) == (None, True, anchor.last + 1)
        assert judges[1].fault is not None and not judges[1].is_proved


@pytest.mark.parametrize("ending", [".deleted", ".cleaned", ".swap"])
def test_files_that_kafka_is_removing_or_making_are_not_read(tmp_path: Path, ending: str) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 4))
    (log / f"{segment(4)}{ending}").write_bytes(topics(4, 4))
    (log / f"00000000000000000002-0000000001.checkpoint{ending}").write_bytes(b"half")
    assert run(out, tmp_path / "node").rows["topic"] == 4
    assert names(out) == expected(0, 4)
