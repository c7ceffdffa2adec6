"""dump-log on the logs of coordinators and of remote storage: records, dialects, embedded data, and faults."""

from __future__ import annotations

import json
from pathlib import Path
from types import NoneType
from typing import Any

import pytest

from metashell.codec.coordinator import CoordinatorTexts, coordinator_type_names
from metashell.codec.dispatch import OFFSETS_KEYS
from metashell.common.errors import UsageError
from metashell.disk.files import RegularFile
from metashell.inspect.dump import DumpOptions
from metashell.inspect.dump.inputs import Filters
from metashell.inspect.dump.kafka_text import KafkaWriter
from metashell.inspect.dump.own_lines import JsonWriter
from tests.inspect.dump.making import dump, dumped_rows
from tests.inspect.dump.making import write as write_file
from tools.handmade_files import FILES, LOG, classic_groups, commit_key, int16, offset_commits
from tools.handmade_files import log as log_of

DEMO = Path(__file__).parents[3] / "metashell" / "demo" / "data"
HANDMADE = Path(__file__).parents[2] / "golden" / "handmade" / "data"
DECODERS = {
    "offsets": "offsets_decoder",
    "offsets-dialects": "offsets_decoder",
    "transactions": "transaction_log_decoder",
    "share": "share_group_state_decoder",
    "remote-log": "remote_log_metadata_decoder",
}


def read(folder: str, **more: Any) -> list[dict[str, Any]]:
    return dumped_rows(HANDMADE / folder / LOG, cluster_metadata_decoder=False, **{DECODERS[folder]: True}, **more)


def rows_of(pairs: list[Any], tmp_path: Path, **more: Any) -> list[dict[str, Any]]:
    path = write_file(tmp_path, log_of(pairs))
    return dumped_rows(path, cluster_metadata_decoder=False, offsets_decoder=True, **more)


def test_an_offset_commit_is_shown_with_key_version_and_data(tmp_path: Path) -> None:
    row = rows_of(offset_commits()[4:5], tmp_path)[0]
    assert row["type"] == "OFFSET_COMMIT"
    assert row["type_id"] == 1
    assert row["key"] == {"group": "g", "topic": "t", "partition": 4}
    assert row["version"] == 4
    assert row["data"]["topicId"] == "AQIDBAUGBwgJCgsMDQ4PEA"


def test_a_record_without_a_value_is_a_tombstone(tmp_path: Path) -> None:
    (row,) = rows_of([(commit_key(1), None)], tmp_path)
    assert (row["version"], row["data"], row["tombstone"]) == (None, None, True)


def test_blobs_of_a_classic_group_are_decoded_beside_its_data(tmp_path: Path) -> None:
    row = rows_of(classic_groups()[3:4], tmp_path)[0]
    members = row["decoded"]["members"]
    assert members[1]["subscription"]["ownedPartitions"] == [{"topic": "t", "partitions": [3]}]
    assert members[3]["assignment"]["assignedPartitions"] == [{"topic": "t", "partitions": [0, 1]}]
    assert isinstance(row["data"]["members"][1]["subscription"], str), "what was written stays what was written"
    assert any("m8" in text for text in row["findings"])


@pytest.mark.parametrize(
    ("type", "dialect"),
    [
        ("SHARE_GROUP_METADATA", "4.0"),
        ("SHARE_GROUP_STATE_PARTITION_METADATA", "4.0"),
        ("SHARE_GROUP_PARTITION_METADATA", "4.0"),
        ("CONSUMER_GROUP_PARTITION_METADATA", "3.7"),
        ("CONSUMER_GROUP_MEMBER_METADATA", "3.7"),
        ("CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER", "3.7"),
        ("CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT", "3.7"),
        ("STREAMS_GROUP_TARGET_ASSIGNMENT_RESOLVED_TOPIC_IDS", "later"),
    ],
)
def test_layouts_of_other_releases_are_reported_by_what_takes_all_bytes(type: str, dialect: str) -> None:
    found = [row for row in read("offsets-dialects") if row["kind"] == "record" and row["type"] == type]
    assert [(row.get("dialect"), row.get("fault")) for row in found] == [(dialect, None)]


def test_every_kind_of_group_record_decodes() -> None:
    types = {row["type"] for row in read("offsets") if row["kind"] == "record" and "fault" not in row}
    assert types >= {name for type, name in coordinator_type_names("offsets").items() if type in OFFSETS_KEYS}


def test_states_have_names() -> None:
    (row,) = [row for row in read("offsets", types=("STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT",)) if row["data"]]
    assert row["decoded"] == {"stateName": "UNKNOWN"}
    names = [row["decoded"]["transactionStatusName"] for row in read("transactions") if row["kind"] == "record" and "decoded" in row]
    assert names[:3] == ["EMPTY", "ONGOING", "PREPARE_COMMIT"]
    assert "UNKNOWN" in names


def test_an_empty_transaction_with_partitions_is_a_finding() -> None:
    value = next(pair for pair in log_pairs() if pair[1] is not None and pair[1][16] == 1)[1]
    assert value is not None
    shown = CoordinatorTexts("transactions", show_secrets=False).text(b"\0\0\0\2tx", value[:16] + b"\0" + value[17:])
    assert '"findings":["an empty transaction has partitions"]' in shown.derived


def log_pairs() -> list[tuple[bytes | None, bytes | None]]:
    from tools.handmade_files import transactions

    return transactions()


def test_what_does_not_decode_is_hex_with_a_fault_and_status_1(tmp_path: Path) -> None:
    path = write_file(tmp_path, log_of([(commit_key(1), int16(3) + b"\1"), (int16(77) + b"x", b"y"), (None, b"z"), (b"\0", None)]))
    status, text, err = dump(path, cluster_metadata_decoder=False, offsets_decoder=True)
    rows = [json.loads(line) for line in text.splitlines()]
    assert status == 1
    assert [row["data"] for row in rows] == [None] * 4
    assert [row.get("data_hex") for row in rows] == ["000301", "79", "7a", None]
    assert [row.get("key_hex") for row in rows] == [None, "004d78", None, "00"]
    assert all("fault" in row for row in rows)
    assert "record type 77 is not known" in err
    assert "the record has no key" in err


def test_remote_log_records_are_json_with_the_name_of_their_state() -> None:
    rows = [row for row in read("remote-log") if row["kind"] == "record"]
    assert rows[0]["type"] == "REMOTE_LOG_SEGMENT_METADATA_RECORD"
    assert rows[0]["decoded"] == {"stateName": "COPY_SEGMENT_STARTED"}
    assert rows[3]["decoded"] == {"stateName": "DELETE_PARTITION_MARKED"}
    assert rows[3]["data"]["topicIdPartition"]["name"] == "orders"


def test_types_are_chosen_by_the_names_of_the_log(tmp_path: Path) -> None:
    assert {row["type"] for row in read("offsets", types=("group-metadata",))} == {"GROUP_METADATA"}
    with pytest.raises(UsageError, match="GROUP_METADATA"):
        Filters(DumpOptions(files=(), offsets_decoder=True, types=("GROUP_METADATAA",)))


def test_transactional_commits_tell_their_producer(tmp_path: Path) -> None:
    data = log_of(offset_commits()[:2], producer_id=7, producer_epoch=2, base_sequence=0, is_transactional=True)
    rows = dumped_rows(write_file(tmp_path, data), cluster_metadata_decoder=False, offsets_decoder=True)
    assert {(row["producer_id"], row["producer_epoch"], row["is_transactional"]) for row in rows} == {(7, 2, True)}


@pytest.mark.parametrize("folder", ["offsets", "offsets-dialects", "transactions", "share"])
@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("output", ["jsonl", "kafka"])
def test_the_tight_loop_writes_what_the_careful_way_writes(folder: str, skip: bool, output: str) -> None:
    data = FILES[f"{folder}/{LOG}"]
    options = DumpOptions(files=(), skip_record_metadata=skip, **{DECODERS[folder]: True})  # type: ignore[arg-type]

    def written(with_loop: bool) -> bytes:
        file = RegularFile(-1, "f")
        writer = JsonWriter(options, Filters(options), file, "f") if output == "jsonl" else KafkaWriter(options, file, "f", "f")
        assert writer.loop is not None
        if not with_loop:
            writer.loop = None
        at = 0
        while at < len(data):
            size = int.from_bytes(data[at + 8 : at + 12], "big") + 12
            writer.batch(data, at, size, at)
            at += size
        return b"".join(writer.take_text())

    assert written(True) == written(False)


def test_keys_and_values_are_shown_as_the_named_classes_read_them() -> None:
    path = HANDMADE / "classes" / LOG
    more = {"cluster_metadata_decoder": False}
    rows = dumped_rows(path, key_decoder_class="Integer", value_decoder_class="org.apache.kafka.tools.api.LongDecoder", **more)
    assert (rows[0]["key"], rows[0]["value"]) == (7, 9)
    assert rows[1]["fault"] == "the key of 8 byte(s) is no Integer"
    assert (rows[2]["key"], rows[2]["value"]) == (None, None)
    assert dumped_rows(path, value_decoder_class="Default", **more)[0]["value_base64"] == "AAAAAAAAAAk="
    status, _, err = dump(path, key_decoder_class="com.example.Mine", **more)
    assert (status, err) == (1, "dump-log: com.example.Mine: is no decoder of Kafka's own: String, Integer, Long, Default\n")
    assert {name: kinds_of(rows, name) for name in ("key", "value")} == {"key": {int, NoneType}, "value": {int, NoneType}}


def kinds_of(rows: list[dict[str, Any]], name: str) -> set[type]:
    return {type(row[name]) for row in rows if row["kind"] == "record"}


@pytest.mark.parametrize("class_name", ["Integer", "Long"])
def test_a_hidden_number_is_null_so_that_the_key_has_one_type(class_name: str) -> None:
    log = DEMO / "__cluster_metadata-0" / LOG
    rows = dumped_rows(log, cluster_metadata_decoder=False, value_decoder_class=class_name, print_data_log=True)
    assert [row for row in rows if row.get("value_base64") == "[redacted]"]
    assert kinds_of(rows, "value") <= {int, NoneType}
