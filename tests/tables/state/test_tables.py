"""The tables of the state: what an image says, whatever bytes or objects it lies in, and each thing once."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.codes import RECOVERY_STATES, code_name
from metashell.codec.registry import message_type
from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.common.values import directory_text, uuid_text
from metashell.disk.source import open_source
from metashell.metadata.checks.partitions import is_under_replicated
from metashell.metadata.history import parse_moment
from metashell.metadata.history.sources import image_as_of
from metashell.metadata.image import EMPTY_IMAGE, MetadataDelta, MetadataImage, load_image
from metashell.tables.dictionary import CLUSTER_TABLES, STATE_TABLES
from metashell.tables.sql import query as query_module
from metashell.tables.sql import sources
from metashell.tables.sql.database import Database
from metashell.tables.sql.query import Session, query
from metashell.tables.state import tables
from metashell.tables.state.clusters import NoMetadataError, copies_by_cluster, read_state
from metashell.tables.state.schemas import SCHEMAS
from metashell.tables.state.tables import GroupOffsets, plain, read_group_offsets, state_batches, state_table
from tests.golden_cases import SUBSET_ROOT
from tests.quick import quick
from tests.tables.export.test_job import topics_log
from tests.tables.test_remote_s3 import upload

STOPPED = SUBSET_ROOT / "4.3.1/main/data/stopped"
OLDER = SUBSET_ROOT / "3.9.2/main/data/stopped"
DEMO = Path(__file__).parents[3] / "metashell" / "demo" / "data"
GROUPS = SUBSET_ROOT / "4.3.1/main/data/stopped/node-4"
Row = dict[str, Any]


def expected_partitions(image: MetadataImage) -> list[Row]:
    """The rows, from objects that the image makes."""
    rows = []
    for topic in sorted(image.topics, key=lambda topic: topic.name):
        for id, partition in sorted(topic.partitions.items()):
            rows.append(
                {
                    "topic": topic.name,
                    "topic_id": UUID(bytes=topic.id),
                    "topic_id_text": uuid_text(topic.id),
                    "partition_id": id,
                    "leader": partition.leader,
                    "leader_epoch": partition.leader_epoch,
                    "leader_recovery_state": code_name(RECOVERY_STATES, partition.leader_recovery_state),
                    "partition_epoch": partition.partition_epoch,
                    "replicas": list(partition.replicas),
                    "isr": list(partition.isr),
                    "eligible_leader_replicas": list(partition.elr),
                    "last_known_elr": list(partition.last_known_elr),
                    "adding_replicas": list(partition.adding_replicas),
                    "removing_replicas": list(partition.removing_replicas),
                    "directories": [UUID(bytes=directory) for directory in partition.directories],
                    "directories_text": [directory_text(directory) for directory in partition.directories],
                    "is_under_replicated": is_under_replicated(partition.isr, partition.replicas, partition.adding_replicas),
                }
            )
    return rows


def partition_rows(image: MetadataImage) -> list[Row]:
    rows = [row for batch in tables.partition_batches(image, "c") for row in batch.to_pylist()]
    assert all(row.pop("cluster_id") == "c" for row in rows)
    return rows


def image_at(path: Path) -> MetadataImage:
    with open_source(str(path)) as source:
        return load_image(source)


def every_log() -> list[Path]:
    logs = sorted(folder for root in (STOPPED, OLDER) for folder in root.rglob("__cluster_metadata-0"))
    return [*logs, *(path for folder in logs for path in sorted(folder.glob("*.checkpoint")))]


@pytest.mark.parametrize("rows", [1, 1 << 15], ids=["a topic at a time", "all at once"])
def test_partitions_of_real_logs_are_those_of_their_images(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "CHUNK_ROWS", rows)
    logs = every_log()
    assert len(logs) > 4
    for path in logs:
        image = image_at(path)
        found = partition_rows(image)
        assert found == expected_partitions(image), path
        topics = tables.topic_batch(image, "c").to_pylist()
        assert [(row["topic"], row["partition_count"]) for row in topics] == [
            (topic.name, topic.partition_count) for topic in sorted(image.topics, key=lambda topic: topic.name)
        ]
        for row in topics:
            first = next((other for other in found if other["topic"] == row["topic"]), None)
            assert row["replication_factor"] == (0 if first is None else len(first["replicas"]))


ids = st.lists(st.integers(0, 1 << 20), min_size=1, max_size=4).map(tuple)


@st.composite
def partition_records(draw: st.DrawFn) -> tuple[int, bytes]:
    """A PartitionRecord of some version as bytes, with the version."""
    version = draw(st.integers(0, 2))
    message = message_type("metadata", "PartitionRecord")
    replicas = draw(ids)
    fields: Row = {"replicas": replicas, "isr": draw(ids), "leader": draw(st.integers(-1, 9)), "leader_epoch": draw(st.integers(0, 9))}
    fields["leader_recovery_state"] = draw(st.integers(0, 1))
    if version >= 1:
        fields["directories"] = draw(st.sampled_from([(), tuple(bytes([number % 256]) * 16 for number in replicas)]))
    if version >= 2:
        fields["eligible_leader_replicas"] = draw(st.none() | ids)
        fields["last_known_elr"] = draw(st.none() | ids)
    record = message.cls(partition_id=draw(st.integers(0, 3)), topic_id=bytes([draw(st.integers(1, 3))]) * 16, **fields)
    return version, message.write(record, version)


@given(st.lists(partition_records(), max_size=12), st.booleans())
@settings(max_examples=60, deadline=None)
def test_partitions_of_any_records_are_those_of_the_image(tmp_path_factory: pytest.TempPathFactory, records: Any, is_split: bool) -> None:
    path = tmp_path_factory.mktemp("log") / "00000000000000000000.log"
    topic = message_type("metadata", "TopicRecord")
    topics = [(2, 0, topic.write(topic.cls(name=f"t{number}", topic_id=bytes([number]) * 16), 0)) for number in (1, 2, 3)]
    values = [bytes((1, *head)) + body for *head, body in (*topics, *((3, version, body) for version, body in records))]
    step = 2 if is_split else len(values)
    batches = [
        write_batch(start, [Record(start + at, 5, None, value) for at, value in enumerate(values[start : start + step])], leader_epoch=1)
        for start in range(0, len(values), step)
    ]
    path.write_bytes(b"".join(batches))
    image = image_at(path)
    assert not image.faults
    assert partition_rows(image) == expected_partitions(image)


def test_an_image_of_objects_has_the_same_tables() -> None:
    image = image_at(DEMO)
    delta = MetadataDelta(EMPTY_IMAGE)
    for record, _ in image.topics.write(100, lambda loss: None):
        delta.replay(record)
    made = delta.apply()
    assert partition_rows(made) == expected_partitions(image)


def test_every_table_has_the_columns_and_types_that_its_schema_says() -> None:
    assert tuple(sorted(SCHEMAS)) == tuple(sorted(STATE_TABLES))
    (cluster,) = read_state([str(DEMO)])
    (of_groups,) = read_group_offsets([str(GROUPS)]).batches
    for name, schema in SCHEMAS.items():
        (batch,) = state_batches(name, cluster) if name in CLUSTER_TABLES else [of_groups]
        assert plain(name, batch).schema == schema and batch.num_rows, name
        # It is the same in all rows of most answers, so others have the room first.
        assert schema.names[-1] == "cluster_id"
        assert (state_table(name, []) if name in CLUSTER_TABLES else GroupOffsets([], 0).table()).num_rows == 0


def test_copies_are_read_together_where_nothing_tells_their_clusters_apart(tmp_path: Path) -> None:
    nodes = sorted(map(str, STOPPED.rglob("__cluster_metadata-0")))
    assert [sorted(group) for group in copies_by_cluster([str(STOPPED)])] == [nodes]
    (tmp_path / "00000000000000000000.log").write_bytes(topics_log(30))
    assert len(copies_by_cluster([str(STOPPED), str(tmp_path)])) == 1
    with pytest.raises(NoMetadataError):
        copies_by_cluster([str(next(SUBSET_ROOT.rglob("__consumer_offsets-*")))])


def test_two_clusters_stay_apart_and_are_named(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000000.log").write_bytes(topics_log(30))
    session = Session([str(STOPPED), str(tmp_path)])
    answer = session.ask("select cluster_id, count(*) as n from topics group by all order by all")
    rows = list(answer.rows)
    assert len(rows) == 2 and 30 in [count for _, count in rows]
    assert answer.note == f"the state of 2 clusters: {', '.join(sorted(name for name, _ in rows))}"
    assert query("select count(*) from topics", [str(STOPPED)]).note == ""


CALLS_MAX = 2
"""Of each function, how many calls can be broken off: tables that are not there are dropped by the dozen."""
QUESTIONS = {
    "state": "select count(*) from partitions join brokers on broker_id = leader join sources on true",
    "events": "select count(*) from topic t join partition using (topic_id) join records on records.type = 'TOPIC_RECORD'",
    "damaged": "select count(*) from topics join faults on true",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", quick(QUESTIONS))
def test_a_question_that_is_broken_off_leaves_the_next_one_whole(kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = DEMO
    if kind == "damaged":
        path = tmp_path / "00000000000000000000.log"
        data = bytearray(topics_log(30))
        data[-3] ^= 1
        path.write_bytes(data)
    text = QUESTIONS[kind]
    whole = query(text, [str(path)], on_error="skip")
    expected = (list(whole.rows), whole.fault_count)
    assert expected[1] == (kind == "damaged")
    for stop in range(40):
        session = Session([str(path)], on_error="skip")
        with monkeypatch.context() as patch:
            break_off(patch, stop)
            try:
                session.ask(text)
            except KeyboardInterrupt:
                pass
            else:
                break
        again = session.ask(text)
        assert (list(again.rows), again.fault_count) == expected, stop
    assert 3 <= stop < 39


def break_off(patch: pytest.MonkeyPatch, stop: int) -> None:
    """Let Ctrl-C come at the step with this number, before it is done or after it."""
    left = [stop]

    def step() -> None:
        left[0] -= 1
        if left[0] == -1:
            raise KeyboardInterrupt

    def stoppable(owner: Any, name: str) -> None:
        real = getattr(owner, name)
        calls = [0]

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            calls[0] += 1
            if calls[0] > CALLS_MAX:
                return real(*args, **kwargs)
            step()
            found = real(*args, **kwargs)
            step()
            return found

        patch.setattr(owner, name, wrapped)

    for owner, name in (
        (query_module, "read_state"),
        (query_module, "state_table"),
        (sources, "input_files"),
        (sources, "splits_of"),
        (sources, "read_tables"),
    ):
        stoppable(owner, name)
    for name in ("put", "drop", "ask"):
        stoppable(Database, name)


def test_state_and_events_can_be_joined() -> None:
    text = "select count(distinct p.topic) from partitions p join topic t using (topic_id)"
    state = next(query("select count(distinct topic) from partitions", [str(DEMO)]).rows)
    assert next(query(text, [str(DEMO)]).rows) == state


def test_a_log_of_something_else_has_no_state_but_the_words_may_be_columns(tmp_path: Path) -> None:
    groups = next(SUBSET_ROOT.rglob("__consumer_offsets-*"))
    assert list(query("select count(*) > 0 as partitions from records", [str(groups)]).columns) == ["partitions"]
    with pytest.raises(NoMetadataError, match="no metadata log here"):
        query("select * from partitions", [str(groups)])
    assert "brokers" not in [name for (name,) in query("show tables", [str(groups)]).rows]


def test_a_state_with_faults_is_refused_unless_they_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    data = bytearray((DEMO / "__cluster_metadata-0" / "00000000000000000251.log").read_bytes())
    data[-40] ^= 1
    path.write_bytes(data)
    with pytest.raises(MetashellError, match="--on-error skip"):
        query("select * from brokers", [str(path)])
    answer = query("select count(*) from brokers", [str(path)], on_error="skip")
    assert answer.fault_count > 0
    # Events of a damaged log are no concern of the state.
    with pytest.raises(UsageError, match="nope"):
        query("select nope from topics", [str(DEMO)])


@pytest.mark.slow
def test_the_state_of_a_log_in_a_store_is_that_of_the_same_files_here(s3: str, tmp_path: Path) -> None:
    there = upload(f"{s3}/dumps/a%20b", str(DEMO))
    questions = (
        "select * exclude (cluster_id) from partitions order by all",
        "select topic, count(*) from topics join partition using (topic_id) group by all order by all",
        "select * exclude (path) from sources",
    )
    for text in questions:
        assert list(query(text, [there]).rows) == list(query(text, [str(DEMO)]).rows)
    ((shown,),) = query("select path from sources", [there]).rows
    assert shown == f"{there}/__cluster_metadata-0"
    # Beside a copy here, and earlier than the end.
    at = partial(image_as_of, moment=parse_moment("200", 0))
    (alone,) = query("select end_offset from sources", [str(DEMO)], image_at=at).rows
    assert list(query("select end_offset from sources", [there, str(DEMO)], image_at=at).rows) == [alone]
    assert not list(tmp_path.glob("*"))


@pytest.mark.parametrize("name", ["nothing", "__consumer_offsets-1"])
def test_a_place_in_a_store_without_a_metadata_log_is_named_as_it_was_given(s3: str, name: str) -> None:
    groups = next(SUBSET_ROOT.rglob("__consumer_offsets-*"))
    upload(f"{s3}/dumps/__consumer_offsets-1", str(groups))
    with pytest.raises(PathError) as error:
        query("select * from brokers", [f"{s3}/dumps/{name}"])
    assert str(error.value).startswith(f"{s3}/dumps/{name}: No") or str(error.value).startswith(f"{s3}/dumps/{name}: no metadata log here")
