"""stat, du, and since when brokers are fenced, on a log that is made here."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.framing import checked_batches
from metashell.common.forms import Display
from metashell.demo import demo_directory
from metashell.disk.source import open_source
from metashell.metadata.history import Past
from metashell.metadata.history.sources import opener_of
from metashell.metadata.image import load_image
from metashell.metadata.nodes import LocalInfo, build_root
from metashell.shell import Context, run_line
from metashell.shell.past import fenced_since
from tests.metadata.image.batches import record, value

TOPIC = bytes(range(16))
HOUR_MS = 3_600_000


def broker(id: int, fenced: bool, epoch: int = 5) -> object:
    return record("RegisterBrokerRecord", broker_id=id, incarnation_id=bytes(16), broker_epoch=epoch, fenced=fenced)


def change(id: int, fenced: int, epoch: int = 5) -> object:
    return record("BrokerRegistrationChangeRecord", broker_id=id, broker_epoch=epoch, fenced=fenced)


def context(folder: Path, *bodies: object, end: int | None = None) -> Context:
    """A context over a log in which each record is a batch of its own, an hour after the one before it."""
    path = folder / "00000000000000000000.log"
    batches = [
        write_batch(hour, [Record(hour, hour * HOUR_MS, None, value(body))], leader_epoch=1, base_timestamp=hour * HOUR_MS)
        for hour, body in enumerate(bodies)
    ]
    path.write_bytes(b"".join(batches))
    with open_source(str(path)) as source:
        image = load_image(source)
    past = Past(opener_of(str(path)))
    if end is not None:
        image = past.image(end)
    root = build_root(image, voice="own", local=LocalInfo(version="0", commit_id="0"))

    def make_root(image, before):
        return build_root(image, voice="own", local=LocalInfo(version="0", commit_id="0"), before=before)

    display = Display(StringIO())
    return Context(root=root, image=image, display=display, err=StringIO(), source_label="log", make_root=make_root, past=lambda: past)


def printed(ctx: Context, line: str) -> str:
    assert run_line(ctx, line) == 0, ctx.err.getvalue()
    return ctx.display.out.getvalue()


FENCINGS = (broker(1, True), change(1, -1), change(1, 1), broker(2, False), change(1, 1), change(2, 1))


def test_a_broker_is_fenced_since_the_record_that_fenced_it_not_since_one_that_repeats_it(tmp_path):
    lines = printed(context(tmp_path, *FENCINGS), "ls -l /image/cluster/brokers").splitlines()
    assert "state=fenced fenced_since=1970-01-01T02:00:00Z" in lines[0]
    assert "state=fenced fenced_since=1970-01-01T05:00:00Z" in lines[1]


def test_at_an_earlier_offset_later_records_do_not_count(tmp_path):
    lines = printed(context(tmp_path, *FENCINGS, end=1), "ls -l /image/cluster/brokers").splitlines()
    assert "fenced_since=1970-01-01T00:00:00Z" in lines[0]


def test_health_says_since_when_a_broker_is_fenced(tmp_path):
    ctx = context(tmp_path, *FENCINGS)
    assert run_line(ctx, "health fenced") == 1
    words = ctx.display.out.getvalue()
    assert "brokers/1 (since 1970-01-01T02:00:00Z)  /image/cluster/brokers/2 (since 1970-01-01T05:00:00Z)" in words


def test_without_a_past_nothing_is_said(tmp_path):
    ctx = context(tmp_path, *FENCINGS)
    ctx.past = None
    assert "fenced_since" not in printed(ctx, "ls -l /image/cluster/brokers")


def moving(**fields: object) -> object:
    usual = {"partition_id": 0, "topic_id": TOPIC, "replicas": (1, 2), "isr": (1,), "leader": 1, "adding_replicas": (2,)}
    return record("PartitionRecord", **{**usual, **fields})


def moved(**fields: object) -> object:
    return record("PartitionChangeRecord", partition_id=0, topic_id=TOPIC, **fields)


REASSIGNING = (
    broker(1, False),
    broker(2, False),
    record("TopicRecord", name="orders", topic_id=TOPIC),
    moving(),
    moved(adding_replicas=()),
    moved(adding_replicas=(2,)),
    moved(isr=(1, 2)),
    moving(partition_id=1),
)


def test_a_reassignment_is_stuck_when_its_last_beginning_is_long_before_the_newest_record(tmp_path):
    """Both are at hour 7; the one of partition 0 began anew at hour 5, that of partition 1 just now."""
    ctx = context(tmp_path, *REASSIGNING)
    assert run_line(ctx, "health --stuck-after 2h stuck_reassignment -o jsonl") == 1
    row = json.loads(ctx.display.out.getvalue().splitlines()[0])
    assert (row["names"], row["since"]) == (["orders/0"], {"orders/0": "1970-01-01T05:00:00Z"})
    assert run_line(ctx, "health --stuck-after 2h1s stuck_reassignment") == 0
    assert run_line(ctx, "health stuck_reassignment") == 0


def test_without_a_past_the_age_of_reassignments_is_an_error(tmp_path):
    ctx = context(tmp_path, *REASSIGNING)
    ctx.past = None
    assert run_line(ctx, "health --stuck-after 2h") == 1
    assert "has no history" in ctx.err.getvalue()


def test_partitions_are_as_they_are_since_the_record_that_made_them_so(tmp_path):
    ctx = context(tmp_path, *TOPICS[2:5], TOPICS[4])
    assert run_line(ctx, "health leaderless") == 1
    assert "orders/0 (in sync: 1; since 1970-01-01T02:00:00Z)" in ctx.display.out.getvalue()


TOPICS = (
    record("TopicRecord", name="orders", topic_id=bytes(16)),
    record("RemoveTopicRecord", topic_id=bytes(16)),
    record("TopicRecord", name="orders", topic_id=TOPIC),
    record("PartitionRecord", partition_id=0, topic_id=TOPIC, replicas=(1,), isr=(1,), leader=1),
    record("PartitionChangeRecord", partition_id=0, topic_id=TOPIC, leader=-1),
    record("TopicRecord", name="other", topic_id=bytes(range(1, 17))),
)


@pytest.mark.parametrize(
    ("path", "created", "changed", "records"),
    [
        ("topics/byName/orders", 2, 4, 3),
        ("topics/byName/orders/0", 3, 4, 2),
        ("topics/byId/AAECAwQFBgcICQoLDA0ODw", 2, 4, 3),
        ("topics/byName/other", 5, 5, 1),
    ],
)
def test_stat_tells_what_made_a_node_last_and_what_touched_it_since(tmp_path, path, created, changed, records):
    (row,) = [json.loads(line) for line in printed(context(tmp_path, *TOPICS), f"stat /image/{path} -o jsonl").splitlines()]
    assert (row["created"]["offset"], row["changed"]["offset"], row["records"]) == (created, changed, records)
    assert row["known_from"] is None


def test_stat_of_what_has_no_records_or_is_not_there_fails(tmp_path):
    ctx = context(tmp_path, *TOPICS)
    assert run_line(ctx, "stat /local /image/provenance /image/topics/byName/nope") == 1
    assert len(ctx.err.getvalue().splitlines()) == 3


def test_stat_without_a_past_is_an_error(tmp_path):
    ctx = context(tmp_path, *TOPICS)
    ctx.past = None
    assert run_line(ctx, "stat /image/topics/byName/orders") == 1
    assert "has no history" in ctx.err.getvalue()


def test_du_counts_every_byte_of_the_log_once(tmp_path):
    ctx = context(tmp_path, *TOPICS, *FENCINGS)
    rows = [json.loads(line) for line in printed(ctx, "du -o jsonl").splitlines()]
    assert sum(row["log_bytes"] for row in rows) == (tmp_path / "00000000000000000000.log").stat().st_size
    assert sum(row["records"] for row in rows) == len(TOPICS) + len(FENCINGS)
    assert {row["name"]: row["records"] for row in rows}["TOPIC_RECORD"] == 3


def test_du_by_topic_names_deleted_ones_by_their_id(tmp_path):
    rows = [json.loads(line) for line in printed(context(tmp_path, *TOPICS), "du --by topic -o jsonl").splitlines()]
    assert {row["name"]: row["records"] for row in rows} == {"orders": 3, "AAAAAAAAAAAAAAAAAAAAAA": 2, "other": 1}
    assert all(row["snapshot_bytes"] == 0 for row in rows)


def holed(folder: Path, keep: set[str]) -> Path:
    """The demo's directory with only these files of its log, of which the newest checkpoint is always one."""
    place = folder / "d" / "__cluster_metadata-0"
    place.mkdir(parents=True)
    demo = Path(demo_directory()) / "__cluster_metadata-0"
    for name in (*keep, f"{329:020d}-0000000001.checkpoint"):
        data = (demo / name).read_bytes()
        if name == f"{0:020d}.log":
            # As if what follows offset 200 had been lost.
            data = b"".join(batch.data for batch in checked_batches(data, name) if batch.header.base_offset < 200)
        elif name == f"{251:020d}.log":
            name = f"{329:020d}.log"
            data = b"".join(batch.data for batch in checked_batches(data, name) if batch.header.base_offset >= 329)
        (place / name).write_bytes(data)
    return place.parent


@pytest.mark.parametrize(
    ("keep", "words"),
    [
        ((f"{0:020d}.log",), "between 2026-11-21T00:23:02.550Z and 2026-11-21T00:23:49.403Z"),
        ((f"{141:020d}-0000000001.checkpoint",), "between 2026-11-21T00:21:42.428Z and 2026-11-21T00:23:49.403Z"),
        ((), "before 2026-11-21T00:23:49.403Z"),
    ],
)
def test_what_began_in_a_gap_of_the_log_began_between_two_times(tmp_path: Path, keep: tuple[str, ...], words: str):
    folder = holed(tmp_path, {*keep, f"{251:020d}.log"})
    past = Past(opener_of(str(folder)))
    image = past.image(340)

    def make_root(image, before):
        return build_root(image, voice="own", local=LocalInfo(version="0", commit_id="0"), before=before)

    ctx = Context(
        root=make_root(image, None),
        image=image,
        display=Display(StringIO()),
        err=StringIO(),
        source_label="log",
        make_root=make_root,
        past=lambda: past,
    )
    # Broker 5 was fenced at offset 328, broker 6 only after 340.
    assert fenced_since(ctx, [5]).words(5) == words
    image = past.image(360)
    ctx.show(image)
    assert fenced_since(ctx, [6]).words(6) == "2026-11-21T00:23:54.449Z"
