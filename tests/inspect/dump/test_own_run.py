"""dump-log --summary: counts that hold against the dumped lines, as JSON and as a table."""

from __future__ import annotations

import io
import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.inspect.dump import run_dump
from metashell.inspect.dump.inputs import inputs_of
from metashell.inspect.dump.options import DumpOptions, Output
from metashell.inspect.dump.own_run import follow_input
from metashell.inspect.dump.own_session import Session
from tests.inspect.dump.making import batch, checkpoint, dumped_rows, log, rows, topic, write

DEMO = Path(__file__).parents[3] / "metashell" / "demo" / "data"
HANDMADE = Path(__file__).parents[2] / "golden" / "handmade" / "data"


def summed(*paths: Path | str, **more: Any) -> list[dict[str, Any]]:
    out, err = io.BytesIO(), io.StringIO()
    run_dump(DumpOptions(files=tuple(map(str, paths)), summary=True, **more), out, err)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_types_are_counted_as_they_are_dumped() -> None:
    counted: Counter[tuple[str, int]] = Counter()
    for summary in summed(DEMO):
        for row in summary["types"]:
            counted[row["type"], row["version"]] += row["count"]
    dumped = Counter((row["type"], row["version"]) for row in dumped_rows(DEMO) if row["kind"] in ("record", "control"))
    assert counted == dumped


def test_gaps_epochs_times_and_codecs_are_summed_up(tmp_path: Path) -> None:
    def made(offset: int, epoch: int, codec_id: int) -> bytes:
        records = [Record(offset + at, 1000 + offset + at, b"k", b"v") for at in (0, 2)]
        return write_batch(offset, records, leader_epoch=epoch, codec_id=codec_id)

    (shown,) = summed(write(tmp_path, made(0, 1, 0) + made(3, 1, 1) + made(10, 4, 0)))
    assert shown["batches"] == 3
    assert shown["records"] == 6
    assert shown["offsets"] == {"first": 0, "last": 12}
    assert shown["timestamps"] == {"first": 1000, "last": 1012}
    assert shown["epochs"] == [{"epoch": 1, "first_offset": 0}, {"epoch": 4, "first_offset": 10}]
    assert shown["gaps"] == [{"after": 5, "next": 10}]
    assert shown["missing_offsets"] == 4 + 3
    assert [(row["codec"], row["batches"]) for row in shown["compression"]] == [("gzip", 1), ("none", 2)]
    assert shown["types"] == []


def test_the_decoder_is_chosen_by_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "__transaction_state-3"
    folder.mkdir()
    path = write(folder, (HANDMADE / "transactions" / "00000000000000000000.log").read_bytes())
    (shown,) = summed(path)
    assert {row["type"] for row in shown["types"]} >= {"TRANSACTION_LOG"}
    assert shown["tombstones"] == 1
    (shown,) = summed(write(tmp_path, checkpoint([topic("a")]), "00000000000000000009-0000000001.checkpoint"))
    assert {row["type"] for row in shown["types"]} == {"SNAPSHOT_HEADER", "TOPIC_RECORD", "SNAPSHOT_FOOTER"}


def test_messages_of_old_formats_are_counted() -> None:
    (shown,) = summed(HANDMADE / "legacy" / "00000000000000000000.log")
    assert [row["magic"] for row in shown["magics"]] == [0, 1]
    assert shown["records"] == len(
        dumped_rows(HANDMADE / "legacy" / "00000000000000000000.log", cluster_metadata_decoder=False, print_data_log=True)
    )


def test_faults_are_counted_and_told(tmp_path: Path) -> None:
    data = bytearray(write_batch(0, [Record(0, 1, None, b"v")], leader_epoch=1))
    data[-1] ^= 1
    out, err = io.BytesIO(), io.StringIO()
    status = run_dump(DumpOptions(files=(str(write(tmp_path, bytes(data))),), summary=True), out, err)
    assert (status, json.loads(out.getvalue())["faults"]) == (1, 1)
    assert "CRC-32C" in err.getvalue()


def test_the_table_has_a_line_for_each_type() -> None:
    out = io.BytesIO()
    assert run_dump(DumpOptions(files=(str(DEMO),), summary=True, output="table"), out, io.StringIO()) == 0
    text = out.getvalue().decode()
    assert "  TYPE " in text
    assert "  TOPIC_RECORD " in text
    assert "  offsets      " in text


def test_an_index_is_not_summed_up() -> None:
    out, err = io.BytesIO(), io.StringIO()
    path = HANDMADE / "index" / "00000000000000000000.index"
    assert run_dump(DumpOptions(files=(str(path),), summary=True), out, err) == 1
    assert err.getvalue() == f"dump-log: {path}: only logs and checkpoints are summed up\n"


def test_a_summary_has_no_form_of_kafkas(capsys: pytest.CaptureFixture[str]) -> None:
    from metashell.cli.inspect.dump_log import main

    assert main(["--summary", "-o", "kafka", "x.log"]) == 2
    assert "-o takes table, json or jsonl" in capsys.readouterr().err


def test_the_table_has_a_name(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    from metashell.cli.inspect.dump_log import main

    shown = []
    for words in ([], ["-o", "table"]):
        assert main(["--summary", *words, str(DEMO)]) == 0
        shown.append(capfdbinary.readouterr().out)
    assert b"  TOPIC_RECORD " in shown[0]
    assert shown[0] == shown[1]


def test_only_a_summary_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    from metashell.cli.inspect.dump_log import main

    assert main(["-o", "table", str(DEMO)]) == 2
    assert capsys.readouterr() == ("", "dump-log: -o table is the form of --summary: records have jsonl, json and kafka\n")


def test_times_that_no_calendar_has_are_told_as_numbers(tmp_path: Path) -> None:
    value = b"\1\x14\0\0"
    data = b"".join(write_batch(at, [Record(at, time, None, value)], leader_epoch=1) for at, time in enumerate((5, (1 << 63) - 1)))
    path = write(tmp_path, data)
    out = io.BytesIO()
    run_dump(DumpOptions(files=(str(path),), summary=True, output="table"), out, io.StringIO())
    assert "(9223372036854775802 ms)" in out.getvalue().decode()


# ---- --follow goes on with what is added, tells what is taken away, and moves on to the next segment

Step = Callable[[], object]


def follow_through(path: Path, *steps: Step, **options: Any) -> tuple[list[dict[str, Any]], str, int]:
    """Follow `path`, doing one step each time nothing is left to read, until all are done."""
    out, err = io.BytesIO(), io.StringIO()
    chosen = DumpOptions(files=(str(path),), cluster_metadata_decoder=True, follow=True, **options)
    run = Session(chosen, Output(out), err)
    left = list(steps)

    def wait() -> bool:
        if left:
            left.pop(0)()
            return True
        return False

    entries = list(inputs_of(str(path)))
    follow_input(run, entries[-1], None, wait)
    return rows(out.getvalue()), err.getvalue(), run.status


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_what_is_appended_is_printed(tmp_path: Path) -> None:
    path = write(tmp_path, log(3))
    found, err, _ = follow_through(path, lambda: append(path, batch([topic("x")], 3)), lambda: append(path, batch([topic("y")], 4)))
    assert [row["offset"] for row in found] == [0, 1, 2, 3, 4]
    assert err == ""


def test_a_batch_that_is_still_being_written_is_waited_for(tmp_path: Path) -> None:
    path = write(tmp_path, log(3))
    data = batch([topic("x")], 3)
    found, err, status = follow_through(path, lambda: append(path, data[:30]), lambda: append(path, data[30:]))
    assert [row["offset"] for row in found] == [0, 1, 2, 3]
    assert (err, status) == ("", 0)


def test_space_that_is_kept_for_later_is_waited_for(tmp_path: Path) -> None:
    path = write(tmp_path, log(3) + bytes(500))
    data = log(3) + batch([topic("x")], 3)
    found, _, status = follow_through(path, lambda: path.write_bytes(data + bytes(400)))
    assert [row["offset"] for row in found] == [0, 1, 2, 3]
    assert status == 0


def test_a_log_that_shrinks_has_a_line_and_goes_on(tmp_path: Path) -> None:
    first, second = log(3), batch([topic("lost")], 3)
    path = write(tmp_path, first + second)
    found, _, _ = follow_through(
        path, lambda: os.truncate(path, len(first)), lambda: append(path, batch([topic("kept")], 3, leader_epoch=4))
    )
    assert [row["kind"] for row in found] == ["record"] * 4 + ["truncated", "record"]
    shrink = found[4]
    assert (shrink["position"], shrink["size"]) == (len(first), len(second))
    assert found[5]["data"]["name"] == "kept"


def test_the_next_segment_of_a_directory_follows(tmp_path: Path) -> None:
    directory = tmp_path / "__cluster_metadata-0"
    directory.mkdir()
    path = write(directory, log(3))

    def roll() -> None:
        append(path, batch([topic("last")], 3))
        write(directory, batch([topic("next")], 4), "00000000000000000004.log")

    found, err, status = follow_through(directory, roll)
    assert [row["offset"] for row in found] == [0, 1, 2, 3, 4]
    assert found[-1]["file"].endswith("00000000000000000004.log")
    assert (err, status) == ("", 0)


def test_garbage_ends_it_with_a_fault(tmp_path: Path) -> None:
    path = write(tmp_path, log(3))
    found, err, status = follow_through(path, lambda: append(path, b"\xff" * 100), lambda: append(path, b"more"))
    assert [row["kind"] for row in found] == ["record"] * 3 + ["corrupt"]
    assert status == 1
    assert "batch length -1" in err
