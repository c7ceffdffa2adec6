"""The small tables of the state, whole: every row that a log of each kind of record leaves, in both forms."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.registry import message_type
from metashell.common.errors import MetashellError, PathError
from metashell.common.values import ZERO_UUID, ReplicaKey, uuid_text
from metashell.disk.source import open_source
from metashell.metadata.image import EMPTY_IMAGE, MetadataImage, load_image
from metashell.metadata.image.provenance import Provenance
from metashell.quorum.raft.voters import (
    ControlValue,
    KRaftVersion,
    LeaderChange,
    SnapshotFooter,
    SnapshotHeader,
    Voter,
    VoterSet,
    write_control_batch,
)
from metashell.tables.state import clusters, tables
from metashell.tables.state.clusters import Cluster, read_state
from metashell.tables.state.schemas import OLD_SCHEMAS, SCHEMAS
from metashell.tables.state.tables import state_table
from tests.tables.lake.lakes import SEGMENT, topics
from tests.tables.reports.logs import START_MS, value


def id_of(number: int) -> bytes:
    return bytes([number]) * 16


def uuid(number: int) -> UUID:
    return UUID(bytes=id_of(number))


def text(number: int) -> str:
    return uuid_text(id_of(number))


def structs(message: str, name: str, *rows: dict[str, Any]) -> list[Any]:
    made = []
    for row in rows:
        one = message_type("metadata", f"{message}Record").make_struct(name)
        for field, content in row.items():
            setattr(one, field, content)
        made.append(one)
    return made


def registered(kind: str, struct: str, **fields: Any) -> bytes:
    listener = {"name": "TLS", "host": "h", "port": 9093, "security_protocol": 1}
    own = {
        "end_points": structs(kind, f"{struct}Endpoint", listener),
        "features": structs(
            kind,
            f"{struct}Feature",
            {"name": "metadata.version", "min_supported_version": 7, "max_supported_version": 25},
            {"name": "group.version", "min_supported_version": 0, "max_supported_version": 1},
        ),
    }
    return value(kind, **own, **fields)


def quota(key: str, to: float, **entity: str | None) -> bytes:
    parts = [{"entity_type": kind.replace("_", "-"), "entity_name": name} for kind, name in entity.items()]
    return value("ClientQuota", entity=structs("ClientQuota", "EntityData", *parts), key=key, value=to)


def config(kind: int, name: str, key: str, to: str) -> bytes:
    return value("Config", resource_type=kind, resource_name=name, name=key, value=to)


KEYS = sorted(
    f"{name}.ms"
    for name in ("delete.retention", "file.delete.delay", "flush", "local.retention", "max.compaction.lag", "retention", "segment")
)
RECORDS = [
    value("FeatureLevel", name="metadata.version", feature_level=25),
    value("FeatureLevel", name="group.version", feature_level=1),
    registered("RegisterController", "Controller", controller_id=2, incarnation_id=id_of(9), zk_migration_ready=True),
    registered("RegisterBroker", "Broker", broker_id=3, broker_epoch=30, incarnation_id=id_of(3), rack="r", fenced=False),
    value("RegisterBroker", broker_id=1, broker_epoch=10, incarnation_id=id_of(1), rack=None, fenced=True, in_controlled_shutdown=True),
    value(
        "RegisterBroker",
        broker_id=2,
        broker_epoch=20,
        incarnation_id=id_of(2),
        fenced=False,
        in_controlled_shutdown=True,
        log_dirs=(id_of(5), id_of(6)),
        cordoned_log_dirs=(id_of(6),),
    ),
    config(4, "1", "ssl.key.password", "hush"),
    config(4, "", "num.io.threads", "8"),
    *(config(2, "t", key, "5") for key in KEYS[::-1]),
    value(
        "AccessControlEntry",
        id=id_of(7),
        resource_type=2,
        resource_name="t",
        pattern_type=3,
        principal="User:a",
        host="*",
        operation=4,
        permission_type=3,
    ),
    quota("producer_byte_rate", 1.5, user="u", client_id=None),
    quota("consumer_byte_rate", 2.0, user=None),
    quota("connection_creation_rate", 3.0, ip="::1"),
]
LISTENER = [("TLS", {"host": "h", "port": 9093, "security_protocol": "SSL"})]
FEATURES = [
    ("group.version", {"min_supported_version": 0, "max_supported_version": 1}),
    ("metadata.version", {"min_supported_version": 7, "max_supported_version": 25}),
]
VOTERS = VoterSet(
    [
        Voter(ReplicaKey(2, id_of(8)), {"CONTROLLER": ("c2", 9093)}, 0, 1),
        Voter(ReplicaKey(1, ZERO_UUID), {"CONTROLLER": ("c1", 9094)}, 0, 2),
    ]
)
LEADER = LeaderChange(leader_id=2, voters=(1, 2), granting=(2,))


def write_log(path: Path, records: Sequence[bytes], *control: ControlValue) -> str:
    """A log of one batch of control records, and one of records, half a second later."""
    data = write_control_batch(0, 4, START_MS, control)
    first = len(control)
    path.write_bytes(
        data + write_batch(first, [Record(first + at, START_MS + 500, None, one) for at, one in enumerate(records)], leader_epoch=4)
    )
    return str(path)


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    (found,) = read_state([write_log(tmp_path / SEGMENT, RECORDS, LEADER, KRaftVersion(1), VOTERS)])
    return found


def columns(names: str, *rows: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [dict(zip(names.split(), row, strict=True)) for row in rows]


ACL = (uuid(7), text(7), "ALLOW", "User:a", "*", "WRITE", "TOPIC", "t", "LITERAL")
TABLES = {
    "brokers": columns(
        "broker_id state rack epoch incarnation_id incarnation_id_text listeners directories directories_text cordoned_directories "
        "cordoned_directories_text features",
        (1, "FENCED", None, 10, uuid(1), text(1), [], [], [], None, None, []),
        (2, "CONTROLLED_SHUTDOWN", "", 20, uuid(2), text(2), [], [uuid(5), uuid(6)], [text(5), text(6)], [uuid(6)], [text(6)], []),
        (3, "ACTIVE", "r", 30, uuid(3), text(3), LISTENER, [], [], None, None, FEATURES),
    ),
    "controllers": columns(
        "controller_id incarnation_id incarnation_id_text listeners features zk_migration_ready",
        (2, uuid(9), text(9), LISTENER, FEATURES, True),
    ),
    "configs": columns(
        "resource_type resource_name key value is_sensitive",
        *(("TOPIC", "t", key, "5", False) for key in KEYS),
        ("BROKER", "", "num.io.threads", "8", False),
        ("BROKER", "1", "ssl.key.password", "[redacted]", True),
    ),
    "acls": columns("acl_id acl_id_text permission principal host operation resource_type resource_name pattern_type", ACL),
    "quotas": columns(
        "entity user client_id ip key value",
        ("client-id <default>, user u", "u", "<default>", None, "producer_byte_rate", 1.5),
        ("ip ::1", None, None, "::1", "connection_creation_rate", 3.0),
        ("user <default>", "<default>", None, None, "consumer_byte_rate", 2.0),
    ),
    "features": columns("feature level version", ("group.version", 1, "1"), ("kraft.version", 1, "1"), ("metadata.version", 25, "4.0-IV3")),
    "voters": columns(
        "voter_id directory_id directory_id_text is_leader endpoints kraft_version_min kraft_version_max",
        (1, None, None, False, [("CONTROLLER", {"host": "c1", "port": 9094})], 0, 2),
        (2, uuid(8), text(8), True, [("CONTROLLER", {"host": "c2", "port": 9093})], 0, 1),
    ),
}
OLD = {
    "brokers": {"listeners": ["TLS://h:9093 SSL"], "features": ["group.version 0-1", "metadata.version 7-25"]},
    "controllers": {"listeners": ["TLS://h:9093 SSL"], "features": ["group.version 0-1", "metadata.version 7-25"]},
    "voters": {"endpoints": ["CONTROLLER://c2:9093"]},
}
"""What the last row of a table has in the form of before, where that is neither an id nor the same."""


def rows(name: str, found: Cluster, **how: Any) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = state_table(name, [found], **how).to_pylist()
    assert {row.pop("cluster_id") for row in made} == {found.cluster_id}
    return made


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_the_rows_that_its_records_leave(cluster: Cluster, name: str) -> None:
    assert rows(name, cluster) == TABLES[name]


@pytest.mark.parametrize("name", TABLES)
def test_in_the_form_of_before_ids_and_maps_are_text(cluster: Cluster, name: str) -> None:
    old = rows(name, cluster, columns="raw")
    assert list(old[0]) == OLD_SCHEMAS[name].names[:-1]
    last = TABLES[name][-1]
    assert old[-1] == {column: last.get(f"{column}_text", last[column]) for column in old[-1]} | OLD.get(name, {})
    assert len(old) == len(TABLES[name])


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("topics", "string string int32 int32 bool string"),
        ("brokers", "int32 string string int64 string list<string> list<string> list<string> list<string> string"),
        ("sources", "string string int64 int32 int64 int64 int64 int32 string"),
    ],
)
def test_types_of_the_form_of_before(name: str, types: str) -> None:
    schema = OLD_SCHEMAS[name]
    assert " ".join(str(field.type).replace("element: ", "").replace("item: ", "") for field in schema) == types
    wanted = [column for column in SCHEMAS[name].names if f"{column}_text" not in SCHEMAS[name].names]
    assert schema.names == [column.removesuffix("_text") for column in wanted]


def test_partitions_that_nothing_changed_are_read_from_their_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Topics one behind the other, in records of each version, of one byte's length and of two."""
    sizes = {1: (2, 3), 2: (40, 1, 40), 3: (3, 70, 5, 2)}
    cls = message_type("metadata", "PartitionRecord").cls
    records = []
    for number, counts in sizes.items():
        records += [value("Topic", name=f"t{number}", topic_id=id_of(number))]
        for at, count in enumerate(counts):
            brokers = tuple(range(at, at + count))
            made = cls(partition_id=at, topic_id=id_of(number), replicas=brokers, isr=brokers[:1], leader=at, leader_epoch=300)
            records.append(write_metadata_record(made, at % 3))
    image = clusters.image_of(write_log(tmp_path / SEGMENT, records, LEADER))
    monkeypatch.setattr(tables._Chunk, "_add_objects", lambda *_: pytest.fail("these are read as objects"))
    monkeypatch.setattr(tables, "CHUNK_ROWS", 4)
    batches = list(tables.partition_batches(image, "c"))
    assert [batch.num_rows for batch in batches] == [5, 4]
    found = [row for batch in batches for row in batch.to_pylist()]
    assert [(row["topic"], row["partition_id"], row["replicas"], row["isr"], row["leader"], row["leader_epoch"]) for row in found] == [
        (f"t{number}", at, [*range(at, at + count)], [at], at, 300) for number, counts in sizes.items() for at, count in enumerate(counts)
    ]
    assert all(row["directories"] == [UUID(int=0)] * len(row["replicas"]) for row in found)


def test_a_path_that_is_not_there_is_a_mistake_of_who_asks(tmp_path: Path) -> None:
    with pytest.raises(PathError, match="No such file"):
        read_state([str(tmp_path / "nowhere")])


def test_secrets_are_there_for_who_asks_for_them(cluster: Cluster) -> None:
    assert rows("configs", cluster, show_secrets=True)[-1]["value"] == "hush"


def test_the_source_of_a_state_is_a_row(cluster: Cluster) -> None:
    last = 2 + len(RECORDS)
    (row,) = rows("sources", cluster)
    at = datetime.fromtimestamp(START_MS / 1000 + 0.5, UTC)
    assert {**row, "timestamp": row["timestamp"].astimezone(UTC)} == {
        "path": cluster.path,
        "kind": cluster.image.provenance.source_kind,
        "offset": last,
        "epoch": 4,
        "timestamp": at,
        "certain_to": None,
        "end_offset": last + 1,
        "fault_count": 0,
    }
    nothing = Cluster("c", "p", EMPTY_IMAGE)
    (row,) = rows("sources", nothing)
    assert (row["offset"], row["epoch"], row["timestamp"], row["end_offset"]) == (None, None, None, 0)
    zero = EMPTY_IMAGE._replace(provenance=Provenance(offset=0, epoch=0, timestamp_ms=0, certain_to=0, end_offset=1))
    (row,) = rows("sources", Cluster("c", "p", zero))
    assert (row["offset"], row["epoch"], row["certain_to"]) == (0, 0, 0) and row["timestamp"].timestamp() == 0


def test_static_voters_are_those_of_the_newest_election(tmp_path: Path) -> None:
    (found,) = read_state([write_log(tmp_path / SEGMENT, RECORDS[:1], LEADER)])
    known = [(row["voter_id"], row["is_leader"], row["directory_id"], row["endpoints"]) for row in rows("voters", found)]
    assert known == [(1, False, None, None), (2, True, None, None)]
    assert [(row["voter_id"], row["endpoints"]) for row in rows("voters", found, columns="raw")] == [(1, None), (2, None)]
    assert rows("features", found)[0] == {"feature": "kraft.version", "level": 0, "version": "0"}
    (path := tmp_path / SEGMENT).write_bytes(topics(0, 2))
    (none,) = read_state([str(path)])
    assert state_table("voters", [none]).num_rows == 0


# ---- copies and clusters


def log(tmp_path: Path, name: str, data: bytes, cluster_id: str = "") -> str:
    folder = tmp_path / name / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    if cluster_id:
        (folder.parent / "meta.properties").write_text(f"version=1\ncluster.id={cluster_id}\nnode.id=1\n")
    (folder / SEGMENT).write_bytes(data)
    return str(folder)


def damaged(data: bytes) -> bytes:
    """The same with a last record that cannot be replayed."""
    end = int.from_bytes(data[-1:], "big")
    return data[:-1] + bytes((end ^ 1,))


def ends(*paths: str, on_error: Any = "skip") -> list[tuple[str, str, int]]:
    return [(found.cluster_id, found.path, found.image.provenance.end_offset) for found in read_state(paths, on_error=on_error)]


def test_of_copies_a_sound_one_is_shown_then_the_longest_then_the_most_certain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = log(tmp_path, "short", topics(0, 4), "c")
    long = log(tmp_path, "long", topics(0, 8), "c")
    bad = log(tmp_path, "bad", damaged(topics(0, 12)), "c")
    for order in ((short, long), (long, short), (short, long, bad), (bad, long, short)):
        assert ends(*order) == [("c", long, 8)], order
    with pytest.raises(MetashellError, match=r"\(1 of 1 faults; --on-error skip shows the state without them\)$"):
        ends(bad, on_error="fail")
    certain = {short: None, long: 0, bad: 3}

    def image(path: str) -> MetadataImage:
        with open_source(short) as source:
            found = load_image(source)
        return found._replace(provenance=found.provenance._replace(certain_to=certain[path], end_offset=5))

    for order in ((short, long, bad), (bad, long, short)):
        (best,) = read_state(order, image_at=image)
        assert best.path == bad
    assert read_state((short, long), image_at=image)[0].path == long


def test_what_a_copy_cannot_give_another_may(tmp_path: Path) -> None:
    paths = [log(tmp_path, name, topics(0, 4), "c") for name in "ab"]

    def first_only(path: str) -> MetadataImage:
        if path != paths[0]:
            raise MetashellError(f"{path}: begins later")
        with open_source(path) as source:
            return load_image(source)

    assert [found.path for found in read_state(paths[::-1], image_at=first_only)] == paths[:1]
    with pytest.raises(MetashellError, match="b/__cluster_metadata-0: begins later"):
        read_state(paths[1:], image_at=first_only)


def test_clusters_are_told_apart_by_what_they_hold_and_else_by_their_ids(tmp_path: Path) -> None:
    one, other = topics(0, 4), topics(100, 4)
    empty = write_batch(0, [Record(0, START_MS, None, value("NoOp"))], leader_epoch=1)
    a, b = log(tmp_path, "a", one, "c"), log(tmp_path, "b", other, "c")
    assert ends(b, a) == [(f"c ({a})", a, 4), (f"c ({b})", b, 104)]
    assert ends(log(tmp_path, "d", topics(0, 6), "d"), a) == [("d", str(tmp_path / "d/__cluster_metadata-0"), 6)]
    same = log(tmp_path, "same", empty, "c")
    assert [found[1] for found in ends(same, a)] == [a] == [found[1] for found in ends(a, same)]
    apart = log(tmp_path, "apart", empty, "e")
    assert [found[0] for found in ends(apart, a)] == ["c", "e"]


def test_several_files_of_a_directory_are_one_log_and_each_log_is_read_once(tmp_path: Path) -> None:
    folder = Path(log(tmp_path, "a", topics(0, 4), "c"))
    (folder / f"{4:020}.log").write_bytes(topics(4, 4))
    files = sorted(map(str, folder.glob("*.log")))
    assert ends(*files) == ends(str(folder)) == ends(str(tmp_path), str(folder)) == [("c", str(folder), 8)]
    assert ends(files[0]) == [("c", files[0], 4)]
    reads = []

    def image(path: str) -> MetadataImage:
        reads.append(path)
        return clusters.image_of(path)

    read_state([str(tmp_path), str(folder), *files], image_at=image)
    assert reads == [str(folder)]


def test_a_bootstrap_checkpoint_stands_for_the_log_that_there_is_not_yet(tmp_path: Path) -> None:
    checkpoint = tmp_path / "bootstrap.checkpoint"
    data = write_control_batch(0, 0, START_MS, [SnapshotHeader(START_MS)]) + write_batch(
        1, [Record(1, START_MS, None, RECORDS[0])], leader_epoch=0
    )
    checkpoint.write_bytes(data + write_control_batch(2, 0, START_MS, [SnapshotFooter()]))
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    (found,) = read_state([str(tmp_path)])
    assert (found.cluster_id, found.path) == ("c", str(checkpoint))
    assert {row["feature"]: row["level"] for row in rows("features", found)}["metadata.version"] == 25
