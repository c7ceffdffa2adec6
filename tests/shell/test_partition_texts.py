"""Listings of partitions made from bytes are, word for word, those made of the nodes one by one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.common.forms import Display
from metashell.metadata.image import ImageLoader, MetadataImage
from metashell.metadata.nodes import LocalInfo, build_root
from metashell.metadata.nodes.topics import PartitionNode, TopicNode
from metashell.shell import Context, listing, run_line
from metashell.shell.listing import PartitionTexts
from tests.metadata.checks.test_survey import partition_fields
from tests.metadata.image.batches import batch, record

NAMES = ("orders", '50%d "%s" \\ \ue000\ue004', "größe\x1b[31m\u202e\n", "a/b")
LINES = (
    "ls -lR /image/topics",
    "ls -R /image/topics",
    "ls -lR -o json /image",
    "ls -R -o jsonl /image/topics/byName",
    "ls -l /image/topics/byName/*",
    "tree /image/topics",
    "tree / -o jsonl",
    "tree /image/topics -o json",
    "tree /image/topics/byName/orders /image/topics/byId/* -o json",
    "tree /image/topics -o kafka",
    "tree /topics",
    "ls -lR /topicIds",
    "find /",
    "find /image/topics/byName -o jsonl",
)
DISPLAYS: tuple[dict[str, Any], ...] = ({}, {"is_terminal": True, "width": 60}, {"is_terminal": True, "color": True}, {"color": True})

ids = st.one_of(st.integers(0, 15), st.sampled_from([-(1 << 31), -1, 100, (1 << 31) - 1]))


@st.composite
def images(draw: st.DrawFn) -> MetadataImage:
    """Topics with hostile names, their partitions in runs, repeated, in no order, and changed later."""
    loader = ImageLoader()
    bodies: list[Any] = []
    for number, name in enumerate(NAMES[: draw(st.integers(1, len(NAMES)))]):
        topic_id = bytes([number + 1]) * 16
        bodies.append(record("TopicRecord", name=name, topic_id=topic_id))
        for fields in draw(st.lists(partition_fields(), max_size=3)):
            epochs = draw(st.lists(st.integers(0, (1 << 31) - 1), min_size=1, max_size=3))
            for turn, id in enumerate(draw(st.lists(ids, max_size=4)) or range(8)):
                varied = {"partition_epoch": epochs[turn % len(epochs)], "leader_epoch": turn}
                bodies.append(record("PartitionRecord", partition_id=id, topic_id=topic_id, **fields | varied))
                if draw(st.integers(0, 5)) == 0:
                    bodies.append(record("PartitionChangeRecord", partition_id=id, topic_id=topic_id, leader=2, isr=(2, 3)))
    loader.load_batch(batch(*bodies))
    return loader.image()


def answer(image: MetadataImage, line: str, display: dict[str, Any]) -> str:
    out, err = StringIO(), StringIO()
    root = build_root(image, voice="own", local=LocalInfo())
    assert run_line(Context(root=root, image=image, display=Display(out, **display), err=err), line) == 0, err.getvalue()
    return out.getvalue()


@contextmanager
def node_by_node() -> Iterator[None]:
    """Nothing is taken for a topic that could be quick."""

    with mock.patch.object(PartitionTexts, "topic", return_value=None):
        yield


@pytest.mark.slow
@settings(max_examples=max(60, settings.default.max_examples))
@given(images())
def test_a_listing_is_the_same_from_bytes_and_node_by_node(image):
    quick = {line: answer(image, line, {}) for line in LINES}
    with node_by_node():
        assert quick == {line: answer(image, line, {}) for line in LINES}


@pytest.mark.parametrize("line", ["ls -lR /image/topics", "tree /image/topics/byName", "tree -o jsonl /image", "ls -lR -o json /image"])
def test_no_node_is_made_of_a_partition(line):
    loader = ImageLoader()
    made = [record("PartitionRecord", partition_id=id, topic_id=bytes(16), replicas=(1, 2), isr=(1,), leader=1) for id in range(50)]
    loader.load_batch(batch(record("TopicRecord", name="orders", topic_id=bytes(16)), *made))
    with mock.patch.object(PartitionNode, "__init__", side_effect=AssertionError("a partition's node")):
        assert answer(loader.image(), line, {}).count("49") > 0
        with node_by_node(), pytest.raises(AssertionError, match="a partition's node"):
            answer(loader.image(), line, {})


def test_partitions_that_are_all_different_are_soon_taken_one_by_one(monkeypatch):
    monkeypatch.setattr(listing, "_TEMPLATES_TRIED", 40)
    loader = ImageLoader()
    bodies: list[Any] = []
    for number in range(20):
        topic_id = bytes([number + 1]) * 16
        bodies.append(record("TopicRecord", name=f"t{number}", topic_id=topic_id))
        for id in range(10):
            replicas = (number, 100 + id)
            bodies.append(record("PartitionRecord", partition_id=id, topic_id=topic_id, replicas=replicas, isr=replicas, leader=number))
    loader.load_batch(batch(*bodies))
    made: list[str] = []
    whole = PartitionTexts._template
    monkeypatch.setattr(PartitionTexts, "_template", lambda self, partition: made.append("") or whole(self, partition))
    quick = answer(loader.image(), "tree /image/topics", {})
    assert 40 < len(made) <= 50
    with node_by_node():
        assert quick == answer(loader.image(), "tree /image/topics", {})


def test_the_second_view_and_a_terminal_go_node_by_node():
    loader = ImageLoader()
    loader.load_batch(batch(record("TopicRecord", name="orders", topic_id=bytes(16))))
    image = loader.image()
    ctx = Context(root=build_root(image, voice="own", local=LocalInfo()), image=image, display=Display(StringIO()), err=StringIO())
    (topic,) = image.topics
    node = TopicNode("orders", topic)
    for display, taken in ((Display(StringIO()), node), *((Display(StringIO(), **traits), None) for traits in DISPLAYS[1:])):
        ctx.display = display
        texts = PartitionTexts(ctx, lambda path, leaf: path)
        assert texts.topic(node) is taken
        assert texts.topic(TopicNode("orders", topic, nested=True)) is None
