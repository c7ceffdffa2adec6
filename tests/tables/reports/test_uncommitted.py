"""What happened to a cluster, by reports on logs that are made for it: what real clusters seldom do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.quorum.raft.voters import LeaderChange, write_control_batch
from metashell.tables.reports.derived_tables import DERIVED_TABLES
from metashell.tables.reports.uncommitted import Election, Run, Span, overwritten_spans, without_uncommitted
from tests.tables.reports.logs import (
    ABORTED,
    SEGMENT,
    START_MS,
    answer,
    config,
    node,
    partition,
    topic,
    topic_id,
    value,
    write_checkpoint,
    write_segment,
)


def columns(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


def test_a_topic_that_is_made_again_has_no_configuration_of_the_one_before(tmp_path: Path) -> None:
    folder = node(tmp_path)
    first = [
        *topic("t", 1, 1),
        config("t", "retention.ms", "5"),
        config("t", "retention.ms", "6"),
        value("RemoveTopic", topic_id=topic_id(1)),
    ]
    write_segment(folder, [*first, *topic("t", 2, 1), config("t", "retention.ms", "7"), config("t", "retention.ms", "8")])
    changes = [row for row in answer("topic_history", tmp_path) if row["setting"]]
    assert columns(changes, "value_before", "value") == [("7", "8"), (None, "7"), ("5", "6"), (None, "5")]
    said = columns([row for row in answer("timeline", tmp_path) if row["kind"] == "config"], "event")
    assert said == [(f"retention.ms: {words}",) for words in ("7 -> 8", "set to 7", "5 -> 6", "set to 5")]


def test_a_configuration_that_is_removed_and_was_not_known_says_no_value(tmp_path: Path) -> None:
    write_segment(node(tmp_path), [*topic("t", 1, 1), config("t", "a", None)])
    assert ("a: removed",) in columns(answer("timeline", tmp_path), "event")


def test_only_the_name_of_a_file_makes_it_a_checkpoint(tmp_path: Path) -> None:
    write_segment(node(tmp_path / "of.checkpoints"), [*topic("t", 1, 1, 2, isr=[1]), config("t", "a", "b")])
    assert columns(answer("topic_history", tmp_path), "event") == [("config set",), ("partitions",), ("created",)]
    assert columns(answer("under_replicated", tmp_path), "lasted_ms") == [(1000,)]


def test_a_segment_in_a_folder_of_another_name_is_of_the_metadata_log_too(tmp_path: Path) -> None:
    folder = tmp_path / "copied"
    folder.mkdir()
    segment = write_segment(folder, topic("t", 1, 1))
    assert columns(answer("controller_elections", segment), "led_ms", "records", "batches") == [(2000, 3, 3)]


@pytest.mark.slow
def test_what_an_aborted_transaction_holds_has_not_happened(tmp_path: Path) -> None:
    kept = [value("BeginTransaction"), value("FeatureLevel", name="metadata.version", feature_level=21), value("EndTransaction")]
    write_segment(node(tmp_path), [*topic("t", 1, 1, 2), *ABORTED, *kept])
    assert columns(answer("topic_history", tmp_path), "name", "event") == [("t", "partitions"), ("t", "created")]
    assert columns(answer("replica_skew", tmp_path), "broker_id", "replicas", "out_of_sync") == [(1, 1, 0), (2, 1, 0)]
    features = [row for row in answer("timeline", tmp_path) if row["kind"] != "election"]
    assert columns(features, "subject", "event") == [("metadata.version", "0 -> 21")]
    for name in ("scram_history", "broker_sessions", "under_replicated", "leadership_churn", "unclean_elections"):
        assert answer(name, tmp_path) == [], name
    assert sum(row["records"] for row in answer("metadata_growth", tmp_path)) == 1 + 2 + len(ABORTED) + 3, "it is in the log"


def names_in(*paths: Path) -> list[str]:
    return sorted({row["name"] for row in answer("topic_history", *paths)})


def test_what_an_open_transaction_holds_has_not_happened_yet(tmp_path: Path) -> None:
    begun = [*topic("a", 1, 1, 2), value("BeginTransaction"), *topic("ghost", 2, 1, 2)]
    write_segment(node(tmp_path / "open", 1), begun)
    assert names_in(tmp_path / "open") == ["a"]
    write_segment(node(tmp_path / "open", 2), [*begun, value("EndTransaction")])
    assert names_in(tmp_path / "open") == ["a", "ghost"], "the other node has its end"
    write_segment(node(tmp_path / "gap", 1), begun)
    folder = node(tmp_path / "gap", 2)
    write_checkpoint(folder, 60, topic("a", 1, 1, 2))
    write_segment(folder, topic("later", 3, 1), first=60)
    assert names_in(tmp_path / "gap") == ["a", "ghost", "later"], "its end may be in what was not read"


def test_an_election_whose_record_is_damaged_in_the_newest_log_has_taken_place() -> None:
    runs = [Run("c", f"/{node}/1.log", epoch, 10 * epoch, 10 * epoch + 9) for node in ("newest", "other") for epoch in (1, 2)]
    assert overwritten_spans([Election("c", "/other/1.log", 2, 20)], [*runs, Run("c", "/newest/1.log", 3, 30, 30)]) == []


def test_rows_that_have_all_happened_are_not_copied() -> None:
    batches = []
    for first in (0, 10):
        columns = {"cluster_id": ["c"] * 10, "file": ["/x/1.log"] * 10, "log_offset": [*range(first, first + 10)], "epoch": [1] * 10}
        batches.append(pa.RecordBatch.from_pydict(columns))
    kept = without_uncommitted("topic", pa.Table.from_batches(batches), [Span("c", 12, 15)])
    assert kept.column("log_offset").to_pylist() == [*range(12), *range(16, 20)]
    assert kept.column("log_offset").chunk(0).buffers()[1].address == batches[0].column("log_offset").buffers()[1].address


def test_an_abort_whose_begin_was_not_read_takes_nothing_back(tmp_path: Path) -> None:
    write_segment(node(tmp_path, 1), [value("BeginTransaction"), *topic("a", 1, 1), value("EndTransaction"), *topic("b", 2, 1)])
    folder = node(tmp_path, 2)
    write_checkpoint(folder, 60, [*topic("a", 1, 1), *topic("b", 2, 1)])
    write_segment(folder, [value("NoOp"), value("AbortTransaction"), *topic("c", 3, 1)], first=60)
    assert names_in(tmp_path) == ["a", "b", "c"]


def test_a_leader_that_nobody_followed_has_overwritten_nothing(tmp_path: Path) -> None:
    """Figure 8 of Raft: node 2 led epoch 2 alone; node 1 won epoch 3 with the records of epoch 1 that node 2 lacked."""

    def elected(offset: int, epoch: int) -> bytes:
        return write_control_batch(offset, epoch, START_MS, [LeaderChange(leader_id=1, voters=(1, 2, 3), granting=(1,))])

    def written(first: int, epoch: int, *made: bytes) -> bytes:
        return b"".join(write_batch(at, [Record(at, START_MS, None, one)], leader_epoch=epoch) for at, one in enumerate(made, first))

    base = elected(0, 1) + written(1, 1, *topic("old", 1, 1, 2))
    won = base + written(3, 1, *topic("orders", 2, 1, 2)) + elected(5, 3) + written(6, 3, *topic("new", 3, 1, 2))
    for number, data in ((1, won), (3, won), (2, base + elected(3, 2) + written(4, 2, *topic("lost", 4, 1, 2)[:1]))):
        (node(tmp_path, number) / SEGMENT).write_bytes(data)
    assert names_in(tmp_path / "node-1", tmp_path / "node-3") == ["new", "old", "orders"]
    assert names_in(tmp_path) == ["new", "old", "orders"]
    assert columns(answer("controller_elections", tmp_path), "epoch") == [(3,), (2,), (1,)]


def test_what_is_gone_by_a_later_checkpoint_is_not_there_at_the_end(tmp_path: Path) -> None:
    """The log of a node that is dead for long, and that of another one, which has only the newest checkpoint and what follows."""
    brokers = [value("RegisterBroker", broker_id=number, broker_epoch=number, rack="old", fenced=False) for number in (1, 2)]
    write_segment(node(tmp_path, 1), [*brokers, *topic("t", 1, 1, 2), *topic("gone", 2, 1, 2, isr=[1])])
    folder = node(tmp_path, 2)
    again = value("RegisterBroker", broker_id=1, broker_epoch=60, rack="new", fenced=False)
    write_checkpoint(folder, 100, [again, *topic("t", 1, 1, 2)])
    write_segment(folder, [value("NoOp")], first=100)
    skew = [row for row in answer("replica_skew", tmp_path) if row["scope"] == "broker"]
    assert columns(skew, "broker_id", "rack", "state", "replicas") == [(1, "new", "active", 1), (2, None, None, 1)]
    under = answer("under_replicated", tmp_path)
    assert columns(under, "topic", "ended_by", "lasted_ms") == [("gone", "topic removed", 93_000)]
    sessions = columns(answer("broker_sessions", tmp_path), "broker_id", "ended_by", "lasted_ms", "rack")
    assert sessions == [(1, "open", None, "new"), (2, "unregistered", None, "old"), (1, "registered again", None, "old")]
    opened = [row for row in answer("timeline", tmp_path) if row["kind"] == "broker" and row["is_open"]]
    assert columns(opened, "subject", "event") == [("broker 1", "active")]
    assert ("removed",) not in columns(answer("topic_history", tmp_path), "event"), "no record that was read says when"


def test_what_a_checkpoint_lacks_is_gone_also_where_it_has_nothing_else_of_its_kind(tmp_path: Path) -> None:
    broker = value("RegisterBroker", broker_id=1, broker_epoch=1, fenced=False)
    write_segment(node(tmp_path / "topics", 1), topic("gone", 2, 1, 2, isr=[1]))
    write_checkpoint(node(tmp_path / "topics", 2), 100, [broker])
    assert columns(answer("under_replicated", tmp_path / "topics"), "topic", "ended_by") == [("gone", "topic removed")]
    skew = [row for row in answer("replica_skew", tmp_path / "topics") if row["scope"] == "broker"]
    assert columns(skew, "broker_id", "replicas") == [(1, 0)]
    write_segment(node(tmp_path / "brokers", 1), [broker])
    write_checkpoint(node(tmp_path / "brokers", 2), 100, topic("t", 1, 1))
    assert columns(answer("broker_sessions", tmp_path / "brokers"), "broker_id", "ended_by") == [(1, "unregistered")]


@pytest.mark.slow
def test_a_checkpoint_within_the_log_changes_no_answer(tmp_path: Path) -> None:
    history = [*topic("t", 1, 1, 2, isr=[1]), config("t", "a", "1"), *topic("u", 2, 2), value("RemoveTopic", topic_id=topic_id(2))]
    change = value("PartitionChange", topic_id=topic_id(1), partition_id=0, isr=(1, 2))
    folder = node(tmp_path)
    write_segment(folder, [*history, config("t", "a", "2"), change])
    names = ("topic_history", "under_replicated", "replica_skew", "timeline", "leadership_churn")
    before = {name: answer(name, tmp_path) for name in names}
    write_checkpoint(folder, 7, [value("Topic", name="t", topic_id=topic_id(1)), partition(1, 1, 2, isr=[1]), config("t", "a", "1")])
    assert {name: answer(name, tmp_path) for name in names} == before


def test_a_broker_that_registers_again_in_its_epoch_is_in_the_rack_that_it_said_last(tmp_path: Path) -> None:
    write_segment(node(tmp_path), [value("RegisterBroker", broker_id=1, broker_epoch=1, rack=rack) for rack in ("z", "a")])
    rows = answer("broker_sessions", tmp_path)
    assert columns(rows, "rack", "lasted_ms") == [("a", 1000)]
    assert rows[0]["registered_at"].timestamp() * 1000 == START_MS + 1000


@pytest.mark.parametrize(("protocol", "said"), [("range", "classic"), ("cooperative-sticky", "cooperative"), (None, "classic")])
def test_a_classic_group_is_called_by_its_protocol(protocol: str | None, said: str) -> None:
    row: dict[str, Any] = {"cluster_id": "c", "file": "f", "epoch": 1, "timestamp": 5, "offset": 9, "group": "g", "generation": 3}
    row |= {"tombstone": False, "protocol": protocol, "protocol_type": "x", "members": [{"member_id": "m", "assignment": b"\0"}]}
    made = list(DERIVED_TABLES["group_members"].sources["group_metadata"](row))
    assert [(one["protocol"], one["is_group"], one["member_id"], one["assigned"]) for one in made] == [
        (said, True, None, []),
        (said, False, "m", []),
    ]


CUT_OFF = Path(__file__).parents[2] / "golden" / "cut-off-leader"


def test_what_a_leader_wrote_that_was_cut_off_has_not_happened() -> None:
    """The log of a real leader that could not commit, and that of its successor (golden/cut-off-leader/README.md)."""
    changes = answer("topic_history", CUT_OFF)
    assert {"last-committed", "after-1"} <= {row["name"] for row in changes}
    assert not {"lost-topic", "4"} & {row["name"] for row in changes}
    assert columns(answer("controller_elections", CUT_OFF), "epoch", "records") == [(2, 51), (1, 35)]
    for name in ("replica_skew", "timeline", "leadership_churn", "broker_sessions"):
        assert answer(name, CUT_OFF) == answer(name, CUT_OFF / "majority"), name
    alone = {row["name"] for row in answer("topic_history", CUT_OFF / "leader")}
    assert "lost-topic" in alone, "nothing in its own folder tells"
