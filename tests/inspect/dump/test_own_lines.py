"""JSON lines: the keys of every kind of line, redaction, and the lines of faults."""

from __future__ import annotations

import gzip
import io
import json
import os
import pty
import subprocess
import sys
import tty
from contextlib import suppress
from pathlib import Path

import pytest

from metashell.codec.batch_writer import LEADER_CHANGE, write_batch
from metashell.codec.batches import Record
from metashell.inspect.dump import DumpOptions, run_dump
from tests.inspect.dump.making import (
    LOG_NAME,
    T0,
    batch,
    change,
    checkpoint,
    control_batch,
    dump,
    dumped_rows,
    kafka_dump,
    log,
    metadata,
    rows,
    topic,
    write,
)

RECORD_KEYS = ["kind", "file", "offset", "timestamp", "epoch", "type", "version", "data"]
FAULT_KEYS = ["kind", "file", "offset", "position", "size", "reason"]
BATCH_KEYS = [
    "kind",
    "file",
    "offset",
    "last_offset",
    "count",
    "timestamp",
    "base_timestamp",
    "timestamp_type",
    "epoch",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "is_transactional",
    "is_control",
    "delete_horizon_ms",
    "position",
    "size",
    "magic",
    "codec",
    "crc",
]


def test_a_record_line_is_the_envelope_and_kafkas_own_names(tmp_path: Path) -> None:
    path = write(tmp_path, batch([topic("orders", 1)], 7))
    assert dumped_rows(path) == [
        {
            "kind": "record",
            "file": str(path),
            "offset": 7,
            "timestamp": T0 + 7,
            "epoch": 3,
            "type": "TOPIC_RECORD",
            "version": 0,
            "data": {"name": "orders", "topicId": "AAAAAAAAAAAAAAAAAAAAAQ"},
        }
    ]


def test_the_keys_of_every_kind_of_line_stay(tmp_path: Path) -> None:
    data = control_batch(0, LEADER_CHANGE, leader_id=1) + batch([topic("a")], 1) + batch([change(1, 1)], 2)[:-1] + b"\1"
    found = dumped_rows(write(tmp_path, data + bytes(30)), batches="also")
    keys = {row["kind"]: list(row) for row in found}
    assert keys == {
        "batch": BATCH_KEYS,
        "control": RECORD_KEYS,
        "record": RECORD_KEYS,
        "corrupt": FAULT_KEYS,
        "truncated": FAULT_KEYS,
    }


def test_a_control_record_is_decoded(tmp_path: Path) -> None:
    path = write(tmp_path, control_batch(0, LEADER_CHANGE, leader_id=5))
    (row,) = dumped_rows(path)
    assert (row["kind"], row["type"], row["data"]["leaderId"]) == ("control", "LEADER_CHANGE", 5)


def test_every_line_is_json_under_its_own_keys_once(tmp_path: Path) -> None:
    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        assert len(pairs) == len({name for name, _ in pairs})
        return dict(pairs)

    _, text, _ = dump(write(tmp_path, log(50)), batches="also")
    for line in text.splitlines():
        json.loads(line, object_pairs_hook=unique)


def test_without_a_decoder_there_are_batch_lines(tmp_path: Path) -> None:
    found = dumped_rows(write(tmp_path, log(20, per_batch=6)), cluster_metadata_decoder=False)
    assert [(row["kind"], row["count"]) for row in found] == [("batch", 6), ("batch", 6), ("batch", 6), ("batch", 2)]


def test_batches_only_leaves_the_records_out(tmp_path: Path) -> None:
    found = dumped_rows(write(tmp_path, log(20)), batches="only")
    assert {row["kind"] for row in found} == {"batch"}


def test_printing_without_a_decoder_shows_text_or_base64(tmp_path: Path) -> None:
    records = [Record(0, T0, b"key", "Zürich".encode()), Record(1, T0, None, b"\xff\0", (("h", b"x"), ("n", None)))]
    path = write(tmp_path, write_batch(0, records, leader_epoch=0))
    first, second = dumped_rows(path, cluster_metadata_decoder=False, print_data_log=True)
    assert (first["key"], first["value"]) == ("key", "Zürich")
    assert (second["key"], second["value_base64"]) == (None, "/wA=")
    assert second["headers"] == [{"name": "h", "value": "x"}, {"name": "n", "value": None}]


def test_deep_iteration_alone_shows_sizes(tmp_path: Path) -> None:
    (row,) = dumped_rows(write(tmp_path, batch([b"four"])), cluster_metadata_decoder=False, deep_iteration=True)
    assert (row["key_size"], row["value_size"]) == (-1, 4)


def test_skipping_record_metadata_leaves_the_place_out(tmp_path: Path) -> None:
    path = write(tmp_path, batch([topic("a")]))
    assert list(dumped_rows(path, skip_record_metadata=True)[0]) == ["kind", "file", "type", "version", "data"]


SCRAM = metadata("UserScramCredentialRecord", name="alice", salt=b"salty", stored_key=b"stored", server_key=b"server")
PASSWORD = metadata("ConfigRecord", resource_type=4, resource_name="1", name="ssl.key.password", value="hunter2")
PLAIN = metadata("ConfigRecord", resource_type=2, resource_name="orders", name="retention.ms", value="1000")


@pytest.mark.parametrize("value_pattern", [None, "."])
def test_secrets_are_redacted_on_every_way_through(tmp_path: Path, value_pattern: str | None) -> None:
    import re

    path = write(tmp_path, batch([SCRAM, PASSWORD, PLAIN]))
    pattern = None if value_pattern is None else re.compile(value_pattern)
    scram, password, plain = (row["data"] for row in dumped_rows(path, value_pattern=pattern))
    assert [scram[name] for name in ("name", "salt", "storedKey", "serverKey")] == ["alice", *["[redacted]"] * 3]
    assert password["value"] == "[redacted]"
    assert plain["value"] == "1000"


def test_secrets_are_shown_when_asked_for(tmp_path: Path) -> None:
    scram, password = dumped_rows(write(tmp_path, batch([SCRAM, PASSWORD])), show_secrets=True)
    assert scram["data"]["salt"] == "c2FsdHk="
    assert password["data"]["value"] == "hunter2"


def test_kafkas_voice_prints_secrets_in_clear(tmp_path: Path) -> None:
    assert b"hunter2" in kafka_dump(write(tmp_path, batch([PASSWORD])))[1]


def test_a_bad_crc_costs_one_batch_and_the_walk_goes_on(tmp_path: Path) -> None:
    data = batch([topic("a")], 0) + batch([topic("b")], 1) + batch([topic("c")], 2)
    spot = len(data) // 2 + 5
    path = write(tmp_path, data[:spot] + bytes((data[spot] ^ 1,)) + data[spot + 1 :])
    status, text, err = dump(path)
    found = rows(text)
    assert [(row["kind"], row["offset"]) for row in found] == [("record", 0), ("corrupt", 1), ("record", 2)]
    assert status == 1
    assert err == f"dump-log: {path}: offset 1, position {found[1]['position']}: {found[1]['reason']}\n"
    assert found[1]["reason"].startswith("CRC-32C 0x")


UNUSUAL = {
    "an unknown type": (b"\x01\x63\x00abc", "UNKNOWN_RECORD_99", 0, "616263"),
    "a newer version": (b"\x01\x02\x09" + topic("w")[3:], "TOPIC_RECORD", 9, {"name": "w", "topicId": "AAAAAAAAAAAAAAAAAAAAAQ"}),
    "a body that does not decode": (b"\x01\x02\x00\x7f", "TOPIC_RECORD", 0, "7f"),
    "bytes left over": (topic("w") + b"!", "TOPIC_RECORD", 0, topic("w")[3:].hex() + "21"),
    "an unknown frame": (b"\x05\x02\x00", None, None, "050200"),
    "no value": (None, None, None, None),
}


@pytest.mark.parametrize("what", UNUSUAL)
def test_what_is_not_known_is_kept_and_named(tmp_path: Path, what: str) -> None:
    value, name, version, data = UNUSUAL[what]
    path = write(tmp_path, batch([topic("before"), value, topic("after", 2)]))
    status, text, err = dump(path)
    before, row, after = rows(text)
    shown = {"data": None, "data_hex": data} if isinstance(data, str) else {"data": data}
    assert {key: member for key, member in row.items() if key.startswith("data")} == shown
    assert (row["type"], row["version"]) == (name, version)
    assert row["fault"]
    assert "fault" not in before
    assert "fault" not in after
    assert status == 1
    assert err == f"dump-log: {path}: offset 1: {row['fault']}\n"


def test_frame_version_0_is_what_the_kip_draws(tmp_path: Path) -> None:
    (row,) = dumped_rows(write(tmp_path, batch([b"\x00\x02\x00\x02w" + bytes(16) + b"\x00"])))
    assert (row["type"], row["frame_version"], row["data"]["topicName"]) == ("TOPIC_RECORD", 0, "w")


def test_compressed_batches_are_read(tmp_path: Path) -> None:
    data = b"".join(batch([topic(f"t{codec}")], codec, codec_id=codec) for codec in range(5))
    found = dumped_rows(write(tmp_path, data))
    assert [row["data"]["name"] for row in found] == ["t0", "t1", "t2", "t3", "t4"]


def test_a_batch_above_the_cap_is_skipped(tmp_path: Path) -> None:
    bomb = batch([bytes(100_000)], 1, codec_id=4)
    status, text, _ = dump(write(tmp_path, batch([topic("a")]) + bomb + batch([topic("b")], 2)), max_decompressed=50_000)
    assert [(row["kind"], row["offset"]) for row in rows(text)] == [("record", 0), ("skipped", 1), ("record", 2)]
    assert status == 1


def test_a_torn_tail_of_a_named_file_is_a_fault(tmp_path: Path) -> None:
    data = log(7)
    status, text, err = dump(write(tmp_path, data + data[:30]))
    last = rows(text)[-1]
    assert (last["kind"], last["offset"], last["position"], last["size"]) == ("truncated", 7, len(data), 30)
    assert (status, err.count("\n")) == (1, 1)


def test_a_zero_filled_tail_is_called_that(tmp_path: Path) -> None:
    _, text, _ = dump(write(tmp_path, log(7) + bytes(5000)))
    assert rows(text)[-1]["reason"] == "the rest is zero, 5000 bytes left"


def test_a_gap_in_the_offsets_is_a_fault(tmp_path: Path) -> None:
    status, text, err = dump(write(tmp_path, batch([topic("a")]) + batch([topic("b")], 5)))
    assert len(rows(text)) == 2
    assert status == 1
    assert "offsets 1 to 4 are missing" in err


def test_an_epoch_that_goes_back_is_a_fault(tmp_path: Path) -> None:
    status, _, err = dump(write(tmp_path, batch([topic("a")], leader_epoch=4) + batch([topic("b")], 1, leader_epoch=3)))
    assert status == 1
    assert "leader epoch goes back to 3 after 4" in err


def test_a_checkpoint_without_its_footer_is_truncated(tmp_path: Path) -> None:
    name = "00000000000000000009-0000000003.checkpoint"
    status, text, _ = dump(write(tmp_path, checkpoint([topic("a")]), name))
    assert (status, [row["kind"] for row in rows(text)]) == (0, ["control", "record", "control"])
    status, text, _ = dump(write(tmp_path, checkpoint([topic("a")], footer=False), name))
    assert (status, [row["kind"] for row in rows(text)]) == (1, ["control", "record", "truncated"])


def test_a_checkpoint_under_another_name_is_known_by_its_header(tmp_path: Path) -> None:
    status, _, err = dump(write(tmp_path, checkpoint([topic("a")], footer=False), "copy.bin"))
    assert status == 1
    assert "the checkpoint has no footer" in err


def test_only_the_first_faults_of_a_file_are_reported_on_stderr(tmp_path: Path) -> None:
    _, text, err = dump(write(tmp_path, batch([b"\x01\x63\x00"] * 50)))
    assert len(rows(text)) == 50
    assert err.count("\n") == 11
    assert "40 more faults" in err


def test_max_bytes_ends_without_a_fault(tmp_path: Path) -> None:
    data = log(20, per_batch=5)
    status, text, err = dump(write(tmp_path, data), max_bytes=len(data) // 2)
    assert (status, err) == (0, "")
    assert len(rows(text)) == 10


def test_a_file_name_that_is_no_utf_8_is_still_json(tmp_path: Path) -> None:
    path = str(tmp_path / "caf\udce9.log")
    with open(path, "wb") as file:
        file.write(batch([topic("a")]))
    (row,) = dumped_rows(path)
    assert row["file"].endswith("caf\\xe9.log")


@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_control_characters_are_escaped_on_a_terminal(tmp_path: Path, form: str) -> None:
    path = write(tmp_path, batch([topic("x\u202etxt\u009b31m\u007f")]))
    controller, terminal = pty.openpty()
    tty.setraw(terminal)
    run_dump(DumpOptions(files=(str(path),), output=form, cluster_metadata_decoder=True), terminal, io.StringIO())  # type: ignore[arg-type]
    os.close(terminal)
    text = b""
    with suppress(OSError), os.fdopen(controller, "rb", buffering=0) as screen:
        while piece := screen.read(1 << 16):
            text += piece
    assert text.isascii()
    found = json.loads(text)
    assert (found[0] if form == "json" else found)["data"]["name"] == "x\u202etxt\u009b31m\u007f"


def test_json_output_is_one_array(tmp_path: Path) -> None:
    path = write(tmp_path, log(30))
    _, text, _ = dump(path, output="json")
    assert json.loads(text) == dumped_rows(path)
    assert json.loads(dump(write(tmp_path, b"", "empty.log"), output="json")[1]) == []


def test_several_files_are_dumped_one_after_another(tmp_path: Path) -> None:
    good = write(tmp_path, batch([topic("a")]))
    status, text, err = dump(tmp_path / "missing.log", good, write(tmp_path, b"", "x.index"))
    assert [row["file"] for row in rows(text)] == [str(good)]
    assert status == 1
    assert err.splitlines() == [
        f"dump-log: {tmp_path}/missing.log: No such file or directory",
        f"dump-log: {tmp_path}/x.index: the name of an index begins with the segment's base offset",
    ]


def test_the_name_of_the_log_is_what_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, batch([topic("a")]))
    monkeypatch.chdir(tmp_path)
    assert dumped_rows(LOG_NAME)[0]["file"] == LOG_NAME


@pytest.mark.parametrize(
    ("reading", "name"),
    [
        ({"offsets_decoder": True}, "data_hex"),
        ({"transaction_log_decoder": True}, "data_hex"),
        ({"remote_log_metadata_decoder": True}, "data_hex"),
        ({"print_data_log": True}, "value"),
        ({"print_data_log": True, "value_decoder_class": "LongDecoder"}, "value_base64"),
        ({"print_data_log": True, "value_decoder_class": "DefaultDecoder"}, "value_base64"),
    ],
    ids=str,
)
def test_secrets_of_a_metadata_log_that_is_read_as_another_are_redacted(tmp_path: Path, reading: dict[str, object], name: str) -> None:
    # What else lies there keeps the log from being known for what it is.
    junk = write_batch(0, [Record(offset, 5, b"k", b"junk") for offset in range(4)], leader_epoch=3)
    path = write(tmp_path, junk + batch([SCRAM, PASSWORD, PLAIN], 4))
    options = {"cluster_metadata_decoder": False, **reading}
    scram, password, plain = dumped_rows(path, **options)[4:]
    assert scram[name] == password[name] == "[redacted]"
    assert "[redacted]" not in plain.values()
    assert "[redacted]" not in str(dumped_rows(path, show_secrets=True, **options))


@pytest.mark.parametrize("secret", [SCRAM + b"!", PASSWORD + b"!", PASSWORD[:-1], b"\x01" + SCRAM[1:2] + b"\x09" + SCRAM[3:] + b"!"])
def test_a_record_with_secrets_that_does_not_decode_is_not_shown_as_hex(tmp_path: Path, secret: bytes) -> None:
    path = write(tmp_path, batch([secret]))
    row = dumped_rows(path)[0]
    assert (row["data"], row["data_hex"]) == (None, "[redacted]")
    assert row["fault"]
    assert dumped_rows(path, show_secrets=True)[0]["data_hex"] == secret[3:].hex()


def test_a_wrong_length_in_a_directorys_last_segment_is_no_torn_tail(tmp_path: Path) -> None:
    first, second = batch([topic("a")]), batch([topic("b")], 1)
    write(tmp_path, first[:8] + (len(first) + 5000).to_bytes(4, "big") + first[12:] + second)
    status, text, _ = dump(tmp_path)
    assert status == 1
    (row,) = rows(text)
    assert (row["kind"], row["position"]) == ("truncated", 0)
    assert row["reason"].endswith(f"among them a whole batch at byte {len(first)}")


def test_a_foreign_file_is_reported_as_one_and_never_as_a_torn_tail(tmp_path: Path) -> None:
    write(tmp_path, batch([topic("a")]) + b"root:x:0:0:root:/root:/bin/bash\n" * 3)
    status, text, _ = dump(tmp_path)
    assert status == 1
    assert rows(text)[1]["kind"] == "corrupt"
    assert rows(text)[1]["reason"] == "no batch: magic 47 is not known, 96 bytes left"


def test_a_device_that_never_ends_is_reported_as_zeros() -> None:
    status, text, _ = dump("/dev/zero")
    assert status == 1
    (row,) = rows(text)
    assert (row["kind"], row["position"]) == ("truncated", 0)
    assert row["reason"].startswith("the rest is zero, ")


@pytest.mark.parametrize("value", [b"\1\x63\x64the-secret", b"\x05the-secret", b"plainly-the-secret"], ids=["type", "frame", "text"])
@pytest.mark.parametrize(("is_packed", "output"), [(False, "jsonl"), (True, "jsonl"), (False, "kafka")])
def test_what_no_decoder_reads_is_hidden_in_a_log_that_a_quorum_wrote(tmp_path: Path, value: bytes, is_packed: bool, output: str) -> None:
    data = control_batch(0, LEADER_CHANGE, leader_id=1) + batch([value], 1)
    path = write(tmp_path, gzip.compress(data) if is_packed else data, "saved.log.gz" if is_packed else "00000000000000000000.log")
    _, text, _ = dump(path, print_data_log=True, output=output, cluster_metadata_decoder=False)
    assert b"the-secret" not in text
    assert b"[redacted]" in text


def test_it_is_hidden_in_a_stream_that_begins_as_one_too() -> None:
    data = control_batch(0, LEADER_CHANGE, leader_id=1) + batch([b"plainly-the-secret"], 1)
    run = "import sys; from metashell.cli.inspect.dump_log import main; sys.exit(main(sys.argv[1:]))"
    words = [sys.executable, "-c", run, "--print-data-log", "-"]
    done = subprocess.run(words, input=data, capture_output=True, timeout=60, check=False)
    assert b"the-secret" not in done.stdout
    assert b"[redacted]" in done.stdout
