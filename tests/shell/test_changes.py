"""`follow` and `watch` over a feed of steps, without sockets or clocks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import StringIO
from types import SimpleNamespace

import pytest

from metashell.common.forms import Display
from metashell.metadata.image import EMPTY_IMAGE, ImageLoader, MetadataImage
from metashell.metadata.image.differences import Step
from metashell.metadata.nodes import LocalInfo, build_root
from metashell.shell import Context, run_line
from metashell.shell.terminal.prompt import prompt_text
from tests.metadata.image.batches import EPOCH, TIMESTAMP, batch, record
from tests.shell.fake_nodes import complaints, printed

TOPIC, OTHER = bytes(range(16)), bytes(range(1, 17))


def topic(name: str = "orders", id: bytes = TOPIC):
    return record("TopicRecord", name=name, topic_id=id)


def partition(number: int = 0, id: bytes = TOPIC, **fields):
    values = {"replicas": (1, 2), "isr": (1, 2), "leader": 1, "leader_epoch": 0, "partition_epoch": 0} | fields
    return record("PartitionRecord", topic_id=id, partition_id=number, **values)


def setting(value: str | None, key: str = "retention.ms", resource: str = "orders"):
    return record("ConfigRecord", resource_type=2, resource_name=resource, name=key, value=value)


class FakeFeed:
    """Gives steps that were prepared, then a Ctrl-C; `troubles` are what stands in the way at each look."""

    is_live = True

    def __init__(self, *groups: Sequence[object], image: MetadataImage = EMPTY_IMAGE) -> None:
        self.start = image
        self.image = image
        self.steps: list[Step | None] = []
        self.trouble = ""
        self.troubles: list[str] = []
        self.lag: int | None = 0
        loader, end = ImageLoader(image), image.provenance.end_offset
        before = image
        for group in groups:
            item = batch(*group, base_offset=end)
            end += len(group)
            loader.load_batch(item)
            self.steps.append(Step(before, loader.image(), (item,)))
            before = loader.image()

    def view(self):
        details = {"leader": {"id": 1, "epoch": 3}, "high_watermark": 7, "lag": self.lag, "trouble": self.trouble or None}
        return SimpleNamespace(image=self.image, lag=self.lag, trouble=self.trouble, details=details)

    def subscribe(self) -> FakeFeed:
        return self

    def next(self, timeout_s: float) -> Step | None:
        if self.troubles:
            self.trouble = self.troubles.pop(0)
        if not self.steps:
            raise KeyboardInterrupt
        step = self.steps.pop(0)
        if step is not None:
            self.image = step.after
        return step

    def close(self) -> None:
        self.closed = True


def context(feed: FakeFeed, **fields) -> Context:
    def make_root(image, before):
        return build_root(image, voice="own", local=LocalInfo(), before=before)

    root = build_root(feed.image, voice="own", local=LocalInfo())
    return Context(
        root=root,
        image=feed.image,
        display=Display(StringIO()),
        err=StringIO(),
        feed=feed,
        make_root=make_root,
        source_label="b1:9093",
        **fields,
    )


def told(line: str, *groups: Sequence[object], **fields) -> str:
    ctx = context(FakeFeed(*groups), **fields)
    assert run_line(ctx, line) == 0, complaints(ctx)
    return printed(ctx)


def objects(line: str, *groups: Sequence[object], **fields) -> list[dict[str, object]]:
    return [json.loads(text) for text in told(line, *groups, output="jsonl", **fields).splitlines()]


def test_follow_prints_each_change_with_its_offset():
    lines = told(
        "follow",
        [topic(), partition()],
        [setting("1000")],
        [record("PartitionChangeRecord", topic_id=TOPIC, partition_id=0, isr=(1,), leader=1)],
        [setting("2000")],
        [setting(None)],
        [record("RemoveTopicRecord", topic_id=TOPIC)],
    )
    assert lines == (
        "0 created /image/topics/byName/orders partitions=1 id=AAECAwQFBgcICQoLDA0ODw\n"
        "1 created /image/topics/byName/orders/0 leader=1 isr=1,2 replicas=1,2\n"
        "2 created /image/configs/TOPIC:orders/retention.ms 1000\n"
        "3 changed /image/topics/byName/orders/0 isr: 1,2 -> 1; leaderEpoch: 0 -> 1; partitionEpoch: 0 -> 1\n"
        "4 changed /image/configs/TOPIC:orders/retention.ms 1000 -> 2000\n"
        "5 removed /image/configs/TOPIC:orders/retention.ms\n"
        "6 removed /image/topics/byName/orders\n"
    )


def test_a_change_as_an_object_has_offset_kind_before_and_after():
    first, second = objects("watch /image/configs", [setting("1000")], [topic()], [setting(None)])
    assert first == {
        "path": "/image/configs/TOPIC:orders/retention.ms",
        "type": "config",
        "kind": "created",
        "offset": 0,
        "epoch": EPOCH,
        "timestamp": TIMESTAMP,
        "record": "CONFIG_RECORD",
        "before": None,
        "after": "1000",
        "certain_to": None,
        "end_offset": 1,
    }
    assert (second["kind"], second["offset"], second["before"], second["after"]) == ("removed", 2, "1000", None)


@pytest.mark.parametrize("line", ("follow", "watch /image/configs"))
def test_what_is_newer_than_known_is_said_when_it_comes(line: str):
    tagged = record("TopicRecord", name="t", topic_id=bytes([5] * 16), unknown_tags=((9, b"new"),))
    level = record("FeatureLevelRecord", name="metadata.version", feature_level=40)
    ctx = context(FakeFeed([setting("1")], [level], [setting("2")]))
    assert run_line(ctx, line) == 0
    text = "newer than Kafka 4.4, the newest release known: metadata.version 40: all that is known was applied"
    assert [said for said in complaints(ctx).splitlines() if "newer" in said] == [f"{line.split()[0]}: {text}"]
    # What cannot be read makes the status that of an answer that may lack something; the changes go on.
    ctx = context(FakeFeed([tagged], [setting("1")]))
    assert run_line(ctx, line) == 1
    said = complaints(ctx)
    assert "TOPIC_RECORD tag 9 (1 record, at offset 0): topics and partitions may lack what it says" in said
    assert "created /image/configs/TOPIC:orders/retention.ms 1" in printed(ctx)


def test_json_is_one_array_also_after_control_c():
    ctx = context(FakeFeed([setting("1")], [setting("2")]), output="json")
    assert run_line(ctx, "follow") == 0
    assert [change["after"] for change in json.loads(printed(ctx))] == ["1", "2"]


def test_a_table_of_what_is_to_come_is_refused():
    ctx = context(FakeFeed())
    assert run_line(ctx, "follow -o table") == 2
    assert complaints(ctx) == "follow: -o table: changes have the forms text, json, jsonl\n"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", ["orders", "orders/0", "orders/1", "other", "other/0"]),
        ("/image/topics/byName/orders", ["orders", "orders/0", "orders/1"]),
        ("/image/topics/byName/orders/1", ["orders/1"]),
        ("/image/topics/byName/*/0", ["orders/0", "other/0"]),
        ("/image/topics/byName/{other,nope}", ["other", "other/0"]),
        ("/image/cluster", []),
    ],
)
def test_watch_takes_paths_and_patterns(path: str, expected: list[str]):
    changes = objects(f"watch {path}", [topic(), partition(0), partition(1), topic("other", OTHER), partition(0, OTHER)])
    assert [str(change["path"]).removeprefix("/image/topics/byName/") for change in changes] == expected


def test_watch_takes_several_paths_relative_ones_too():
    changes = objects("watch orders/0 ../../configs", [topic(), partition()], [setting("1")], cwd="/image/topics/byName")
    assert [change["type"] for change in changes] == ["partition", "config"]


def test_a_topic_is_also_watched_by_its_id():
    (change, *_) = objects("watch /image/topics/byId/AAECAwQFBgcICQoLDA0ODw", [topic(), partition()])
    assert change["path"] == "/image/topics/byId/AAECAwQFBgcICQoLDA0ODw"


def test_a_partition_that_is_watched_goes_with_its_topic():
    changes = objects(
        "watch /image/topics/byName/orders/1", [topic(), partition(0), partition(1)], [record("RemoveTopicRecord", topic_id=TOPIC)]
    )
    assert [(change["kind"], change["path"]) for change in changes] == [
        ("created", "/image/topics/byName/orders/1"),
        ("removed", "/image/topics/byName/orders/1"),
    ]


def test_names_of_the_second_view_and_what_no_record_names_are_compared_whole():
    changes = objects("watch /topics/orders", [topic(), partition()], [setting("1")])
    assert [change["path"] for change in changes] == ["/topics/orders/0/data", "/topics/orders/id", "/topics/orders/name"]
    offsets = objects("watch /image/provenance", [record("NoOpRecord")], [record("NoOpRecord")])
    assert [change["after"]["offset"] for change in offsets] == [0, 1]


def test_records_that_change_nothing_are_left_out():
    assert told("follow", [setting("1")], [setting("1")], [record("NoOpRecord")]).count("\n") == 1


def test_a_secret_that_changes_shows_as_a_change_and_stays_hidden():
    changes = objects("follow", [setting("a", "ssl.keystore.password", "")], [setting("b", "ssl.keystore.password", "")])
    assert [change["kind"] for change in changes] == ["created", "changed"]
    assert {change["after"] for change in changes} == {"[redacted]"}
    shown = objects("follow", [setting("a", "ssl.keystore.password", "")], redact=False)
    assert shown[0]["after"] == "a"


def test_a_transaction_shows_when_it_ends_and_an_aborted_one_never_does():
    begin, end, abort = record("BeginTransactionRecord"), record("EndTransactionRecord"), record("AbortTransactionRecord")
    changes = objects("follow", [begin, setting("1")], [setting("2", "other")], [end])
    assert [(change["offset"], change["end_offset"]) for change in changes] == [(1, 4), (2, 4)]
    assert objects("follow", [begin, setting("1")], [abort]) == []


def test_a_snapshot_in_place_of_records_is_compared_and_names_no_record():
    feed = FakeFeed([topic(), partition()])
    (step,) = feed.steps
    assert step is not None
    feed.steps = [step._replace(batches=None)]
    ctx = context(feed, output="jsonl")
    assert run_line(ctx, "follow") == 0
    changes = [json.loads(line) for line in printed(ctx).splitlines()]
    assert [(change["path"], change["record"]) for change in changes] == [
        ("/image/topics/byName/orders", None),
        ("/image/topics/byName/orders/0", None),
    ]


def test_what_was_committed_since_the_prompt_is_told_first():
    feed = FakeFeed([setting("1")])
    ctx = context(feed)
    (step,) = feed.steps
    assert step is not None
    feed.start, feed.steps = step.after, []
    assert run_line(ctx, "follow") == 0
    assert printed(ctx) == "0 created /image/configs/TOPIC:orders/retention.ms 1\n"
    assert ctx.image is step.after


def test_a_quorum_that_is_lost_and_comes_back_is_told_once_each():
    feed = FakeFeed()
    feed.steps = [None, None, None, None]
    feed.troubles = ["", "no leader for 6 s", "no leader for 7 s", ""]
    ctx = context(feed)
    assert run_line(ctx, "watch /image") == 0
    assert complaints(ctx) == "watch: b1:9093: no leader for 6 s\nwatch: b1:9093: is updated again\n"


def test_what_is_not_there_yet_is_told_before_it_is_waited_for():
    ctx = context(FakeFeed([topic(), partition()]))
    assert run_line(ctx, "watch /image/topics/byName/orders /image /image/topics/byName/o*/7") == 0
    assert complaints(ctx) == "".join(f"watch: /image/topics/byName/{name}: does not exist yet, waiting\n" for name in ("orders", "o*/7"))
    assert printed(ctx).startswith("0 created /image/topics/byName/orders ")


def test_a_source_that_does_not_go_on_is_refused():
    ctx = context(FakeFeed())
    ctx.feed = None
    assert run_line(ctx, "follow") == 1
    assert complaints(ctx) == "follow: b1:9093: this source does not change; open the directory of a running node, or a quorum with -C\n"


def test_a_command_sees_the_newest_image_and_names_stay_sorted_while_topics_are_the_same():
    feed = FakeFeed([topic(), partition()], [record("NoOpRecord")])
    ctx = context(feed)
    first = feed.next(0)
    assert first is not None
    assert run_line(ctx, "ls /image/topics/byName") == 0
    assert printed(ctx) == "orders\n"
    old = ctx.root
    ctx.show(first.after._replace(provenance=first.after.provenance._replace(offset=9)))
    assert ctx.root is not old
    assert ctx.root.tree.topic_names() is old.tree.topic_names()


def test_the_prompt_tells_offset_and_lag_and_what_is_lost():
    feed = FakeFeed()
    ctx = context(feed)
    image = feed.image
    feed.image = image._replace(provenance=image.provenance._replace(offset=6, certain_to=7, end_offset=7))
    ctx.refresh()
    assert prompt_text(ctx) == "b1:9093@6 lag 0 /> "
    feed.lag = 12
    assert prompt_text(ctx) == "b1:9093@6 lag 12 /> "
    feed.lag = None
    assert prompt_text(ctx) == "b1:9093@6 lag ? /> "
    feed.trouble = "no leader for 14 s"
    assert prompt_text(ctx) == "b1:9093@6 no leader for 14 s /> "


def test_status_tells_leader_lag_and_high_watermark():
    feed = FakeFeed()
    ctx = context(feed)
    assert run_line(ctx, "status") == 0
    lines = printed(ctx).splitlines()
    assert "leader            1, epoch 3" in lines
    assert "quorum            lag 0, high watermark 7" in lines
    assert run_line(ctx, "status -o json") == 0
    assert json.loads(printed(ctx))["lag"] == 0
