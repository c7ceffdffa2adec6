"""What listings write about partitions, made from bytes: of the many that differ in ids and epochs only, one is decoded and written.

A listing has a function that makes the text of any leaf. Here it is given a partition in which a mark stands for whatever differs between
partitions of one row (see `health.runs`): its text is a template, and the text of each partition is that template filled in. So a text
made here cannot differ from the one that the function makes of the partition itself.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice, repeat
from operator import itemgetter, mod
from typing import TYPE_CHECKING, Any, Final

from metashell.checks.runs import PartitionSurvey
from metashell.forms import compact_json
from metashell.nodes.node import Leaf
from metashell.nodes.topics import TopicNode, partition_text, partition_value
from metashell.shell.paths import child_path
from metashell.values import uuid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from metashell.image import PartitionRegistration
    from metashell.nodes import Node
    from metashell.nodes.node import JsonValue
    from metashell.shell.context import Context

    Render = Callable[[str, Leaf], str]

# Characters for private use: no number, id or field name has one, and JSON leaves them as they are.
_ABOVE, _NAME, _TOPIC_ID, _TOPIC_NAME, _NUMBER, _LEADER_EPOCH, _PARTITION_EPOCH = "\ue000\ue001\ue002\ue003\ue004\ue005\ue006"
_MARK: Final = '"?([\ue004-\ue006])"?|([\ue000-\ue003])'
"""In JSON a number has no quotes, which its mark has; a name has them."""
_NO_ID: Final = bytes(16)
_PIECE: Final = 500
_TEMPLATES_TRIED: Final = 3000
_USES_LEAST: Final = 3
"""How often a template has to be used to be worth it, once so many were made."""
_REMEMBERED_MAX: Final = 1000
"""The most partitions of a topic whose order is kept for the next topic with as many."""


class PartitionTexts:
    """Texts about the partitions of one image.

    Shape: `render` makes the text of a leaf, given its path, from nothing but these and the name of the topic; `encode` makes what stands
    in that text for a path or a name, such as the inside of a JSON string.
    """

    def __init__(self, ctx: Context, render: Render, encode: Callable[[str], str] = str) -> None:
        self._is_plain = not (ctx.display.is_terminal or ctx.display.color or ctx.speaks_kafka or ctx.output == "kafka")
        self._render = render
        self._encode = encode
        self._survey = PartitionSurvey(self._template)
        self._marks: list[str] = []
        self._templates = self._texts = 0

    def topic(self, node: Node) -> TopicNode | None:
        """The node if it is a topic that `of` takes: its partitions are leaves, and what is written holds neither colours nor escapes.

        None too once it turns out that few partitions are alike: a template costs three times what a partition's own text does.
        """
        if self._templates > _TEMPLATES_TRIED and self._templates * _USES_LEAST > self._texts:
            return None
        return node if self._is_plain and isinstance(node, TopicNode) and not node.has_directories else None

    def of(self, path: str, node: TopicNode) -> tuple[Sequence[int], Iterator[str]]:
        """The partitions of a topic in the order of their names, and the text of each."""
        topic = node.topic
        told = self._survey.with_epochs(topic)
        self._texts += len(told.ids)
        pick = _picker(told.ids) if len(told.ids) <= _REMEMBERED_MAX else _picker.__wrapped__(told.ids)
        ids, leader_epochs, partition_epochs, templates = told if pick is None else map(pick, told)
        if not self._marks:
            return ids, iter(templates)
        columns = {
            _ABOVE: repeat(self._encode(path)),
            _TOPIC_ID: repeat(uuid_text(topic.id)),
            _TOPIC_NAME: repeat(self._encode(topic.name)),
            _NAME: ids,
            _NUMBER: ids,
            _LEADER_EPOCH: leader_epochs,
            _PARTITION_EPOCH: partition_epochs,
        }
        return ids, map(mod, templates, zip(*(columns[mark] for mark in self._marks), strict=False))

    def _template(self, partition: PartitionRegistration) -> str:
        self._templates += 1
        marks: list[str] = []

        def take(found: re.Match[str]) -> str:
            marks.append(found[1] or found[2])
            return "%s"

        text = self._render(child_path(_ABOVE, _NAME), _Marked(partition)).replace("%", "%%")
        template = re.sub(_MARK, take, text)
        if not marks:
            return template.replace("%%", "%")
        assert self._marks in ([], marks), "a listing writes the same fields of each partition, in the same order"
        self._marks = marks
        return template


@lru_cache(maxsize=256)
def _picker(ids: tuple[int, ...]) -> Callable[[Sequence[Any]], Sequence[Any]] | None:
    """A function that puts columns into the order of the names; None if they are in that order."""
    names = list(map(str, ids))
    order = sorted(range(len(ids)), key=names.__getitem__)
    return None if order == list(range(len(ids))) else itemgetter(*order)


def joined(texts: Iterator[str], between: str) -> Iterator[str]:
    """The texts with something between them, some hundred at a time: a topic may have a hundred thousand."""
    while piece := list(islice(texts, _PIECE)):
        yield between.join(piece)


def json_texts(ctx: Context, make: Callable[[str, Leaf], object]) -> PartitionTexts:
    """The texts that are compact JSON of what `make` gives for a path and its leaf."""
    return PartitionTexts(ctx, lambda path, leaf: compact_json(make(path, leaf)), lambda text: compact_json(text)[1:-1])


class _Marked(Leaf):
    """A partition with marks where another partition of its row may differ."""

    __slots__ = ("_partition",)

    def __init__(self, partition: PartitionRegistration) -> None:
        super().__init__(_NAME, "partition")
        marked: Any = partition._asdict() | {"leader_epoch": _LEADER_EPOCH, "partition_epoch": _PARTITION_EPOCH}
        self._partition = type(partition)(**marked)

    @property
    def envelope_info(self) -> dict[str, Any]:
        return {"topic": _TOPIC_NAME}

    def kafka_text(self, redact: bool = False) -> str:
        return partition_text(self._partition)

    def value(self, redact: bool = True) -> JsonValue:
        marks: dict[str, JsonValue] = {"partitionId": _NUMBER, "topicId": _TOPIC_ID}
        return partition_value(self._partition, _NO_ID, 0) | marks
