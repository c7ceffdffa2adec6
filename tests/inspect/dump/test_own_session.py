"""dump-log over batches that come in pieces: the lines are those of a file with the same bytes."""

from __future__ import annotations

import fcntl
import json
import os
from io import BytesIO, StringIO
from pathlib import Path

import pytest

from metashell.common.errors import UsageError
from metashell.inspect.dump import DumpOptions, run_dump
from metashell.inspect.dump.options import Output
from metashell.inspect.dump.own_session import ArrayOutput, Piece, run_pieces
from tests.inspect.dump.making import batch as raw_batch
from tests.metadata.image.batches import batch, record

FIRST = batch(record("ProducerIdsRecord", next_producer_id=1)).data
SECOND = batch(record("ProducerIdsRecord", next_producer_id=2), record("NoOpRecord"), base_offset=1).data


def options(**fields) -> DumpOptions:
    return DumpOptions(**({"files": (), "cluster_metadata_decoder": True} | fields))


def dumped(*pieces: Piece, **fields) -> tuple[int, str, str]:
    out, err = BytesIO(), StringIO()
    status = run_pieces(options(**fields), out, err, iter(pieces))
    return status, out.getvalue().decode(), err.getvalue()


@pytest.mark.parametrize("fields", [{}, {"batches": "only"}, {"batches": "also"}, {"offsets": (2, None)}, {"types": ("NO_OP_RECORD",)}])
def test_pieces_read_like_the_file_that_they_make(tmp_path: Path, fields: dict[str, object]):
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(FIRST + SECOND)
    out = BytesIO()
    run_dump(options(files=(str(path),), **fields), out, StringIO())
    assert dumped(Piece(str(path), FIRST), Piece(str(path), SECOND), **fields) == (0, out.getvalue().decode(), "")


def test_json_is_one_array():
    status, text, _ = dumped(Piece("q", FIRST), Piece("q", SECOND), output="json")
    assert (status, [item["offset"] for item in json.loads(text)]) == (0, [0, 1, 2])


def test_a_snapshot_is_told_apart_and_needs_its_footer():
    status, text, errors = dumped(Piece("q/a.checkpoint", FIRST, is_checkpoint=True), Piece("q", SECOND))
    lines = [json.loads(line) for line in text.splitlines()]
    assert [(line["kind"], line["file"]) for line in lines] == [
        ("record", "q/a.checkpoint"),
        ("truncated", "q/a.checkpoint"),
        ("record", "q"),
        ("record", "q"),
    ]
    assert (status, errors) == (1, f"dump-log: q/a.checkpoint: offset 1, position {len(FIRST)}: the checkpoint has no footer\n")


def test_control_c_ends_what_is_followed_and_breaks_off_what_is_not():
    def endless():
        yield Piece("q", FIRST)
        raise KeyboardInterrupt

    out = BytesIO()
    assert run_pieces(options(follow=True, output="json"), out, StringIO(), endless()) == 0
    assert len(json.loads(out.getvalue())) == 1
    with pytest.raises(KeyboardInterrupt):
        run_pieces(options(), BytesIO(), StringIO(), endless())


@pytest.mark.parametrize(
    ("fields", "name"), [({"output": "kafka"}, "-o kafka"), ({"summary": True}, "--summary"), ({"files": ("a",)}, "FILE")]
)
def test_forms_of_whole_files_are_refused(fields: dict[str, object], name: str):
    with pytest.raises(UsageError, match=f"{name} goes with files, not with a quorum"):
        dumped(**fields)


def test_what_no_decoder_reads_is_hidden_in_what_a_quorum_sends() -> None:
    status, text, _ = dumped(Piece("q", raw_batch([b"plainly-the-secret"])), print_data_log=True, cluster_metadata_decoder=False)
    assert status == 0
    assert "the-secret" not in text
    assert "[redacted]" in text


# ---- one JSON array, also where it is interrupted


def test_lines_become_the_elements_of_one_array() -> None:
    reader, writer = os.pipe()
    with ArrayOutput(Output(writer)) as array:
        array.write(b'{"a":1}\n{"a":2}\n')
        array.write(b'{"a":3}\n')
    os.close(writer)
    with open(reader, "rb") as read:
        assert json.loads(read.read()) == [{"a": 1}, {"a": 2}, {"a": 3}]


def test_an_interrupted_array_is_closed_if_somebody_reads() -> None:
    reader, writer = os.pipe()
    with pytest.raises(KeyboardInterrupt), ArrayOutput(Output(writer)) as array:
        array.write(b'{"a":1}\n')
        raise KeyboardInterrupt
    os.close(writer)
    with open(reader, "rb") as read:
        assert json.loads(read.read()) == [{"a": 1}]


def test_an_interrupt_does_not_wait_for_a_reader_that_has_stalled() -> None:
    reader, writer = os.pipe()
    size = fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ)
    with pytest.raises(KeyboardInterrupt), ArrayOutput(Output(writer)):
        os.write(writer, b" " * size)
        raise KeyboardInterrupt
    os.close(writer)
    with open(reader, "rb") as read:
        assert read.read() == b" " * size
