"""The text of names and partitions in `ls` and `tree`: columns, colours, and many partitions at once.

Names are laid out in columns as in Kafka's `ls`. The checks of `health` decide what is wrong and how bad it is; this module only knows
which fields show it, and colours them.

Of the many partitions that differ only in ids and epochs, one is decoded and written. The function that makes the text of any leaf gets
a partition in which marks replace the values that differ between partitions of one row (see `metadata/checks/survey.py`). Its text is a
template, and filling it in gives the text of each partition. So the result equals the function's text of the partition itself."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice, repeat
from operator import itemgetter, mod
from typing import TYPE_CHECKING, Any, Final

from metashell.common.forms import compact_json, pretty_json, spaced_json
from metashell.common.values import uuid_text
from metashell.metadata.checks.partitions import BITS
from metashell.metadata.checks.survey import PartitionSurvey
from metashell.metadata.nodes.names import spellings
from metashell.metadata.nodes.node import Leaf
from metashell.metadata.nodes.topics import PartitionNode, TopicNode, partition_text, partition_value
from metashell.shell.paths import child_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from metashell.metadata.image import PartitionRegistration
    from metashell.metadata.nodes import Node
    from metashell.metadata.nodes.node import JsonValue
    from metashell.shell.context import Context

    Render = Callable[[str, Leaf], str]

# Private-use characters: no number, id or field name has one, and JSON leaves them as they are.
_ABOVE, _NAME, _TOPIC_ID, _TOPIC_NAME, _NUMBER, _LEADER_EPOCH, _PARTITION_EPOCH = "\ue000\ue001\ue002\ue003\ue004\ue005\ue006"
_MARK: Final = '"?([\ue004-\ue006])"?|([\ue000-\ue003])'
"""In JSON the mark of a number is quoted, but the number is not; a name is quoted like its mark."""
_NO_ID: Final = bytes(16)
_PIECE: Final = 500
_TEMPLATES_TRIED: Final = 3000
_USES_LEAST: Final = 3
"""The average number of uses from which templates save time; it is checked once enough were made."""
_REMEMBERED_MAX: Final = 1000
"""The largest topic whose order of partitions is kept for the next topic of the same size."""


class PartitionTexts:
    """Texts about the partitions of one image.

    Shape: `render` makes the text of a leaf at a path from nothing but these two and the name of the topic. `encode` returns the form of
    a path or a name in that text, such as the inside of a JSON string.
    """

    def __init__(self, ctx: Context, render: Render, encode: Callable[[str], str] = str) -> None:
        self._is_plain = not (ctx.display.is_terminal or ctx.display.color or ctx.speaks_kafka or ctx.output == "kafka")
        self._render = render
        self._encode = encode
        self._survey = PartitionSurvey(self._template)
        self._marks: list[str] = []
        self._templates = self._texts = 0

    def topic(self, node: Node) -> TopicNode | None:
        """Return the node if it is a topic that `of` can take: its partitions are leaves, and the text has no colours or escapes.

        Return None also once few partitions turn out to be alike: a template costs three times as much as one partition's text.
        """
        if self._templates > _TEMPLATES_TRIED and self._templates * _USES_LEAST > self._texts:
            return None
        return node if self._is_plain and isinstance(node, TopicNode) and not node.has_directories else None

    def of(self, path: str, node: TopicNode) -> tuple[Sequence[int], Iterator[str]]:
        """Return the partitions of a topic in the order of their names, and the text of each."""
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
    """Return a function that sorts columns by the names of partitions; None if they are already sorted."""
    names = list(map(str, ids))
    order = sorted(range(len(ids)), key=names.__getitem__)
    return None if order == list(range(len(ids))) else itemgetter(*order)


def joined(texts: Iterator[str], between: str) -> Iterator[str]:
    """Yield the texts joined by a separator, some hundred at a time, since a topic may have a hundred thousand partitions."""
    while piece := list(islice(texts, _PIECE)):
        yield between.join(piece)


def json_texts(ctx: Context, make: Callable[[str, Leaf], object]) -> PartitionTexts:
    """Return texts that are compact JSON of the result of `make` for a path and its leaf."""
    return PartitionTexts(ctx, lambda path, leaf: compact_json(make(path, leaf)), lambda text: compact_json(text)[1:-1])


class _Marked(Leaf):
    """A partition with marks for the values that may differ between partitions of its row."""

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


if TYPE_CHECKING:
    from metashell.metadata.nodes import Node
    from metashell.shell.context import Context

    Roles = dict[str, str]

_OF_PARTITIONS: Final = {
    "state": ("leaderless", "under_min_isr", "under_replicated"),
    "leader": ("leaderless", "offline", "unclean", "not_preferred"),
    "isr": ("under_min_isr", "under_replicated", "at_min_isr"),
    "replicas": ("unregistered_replica", "racks"),
    "directories": ("offline_directory", "unassigned_directory", "cordoned_directory"),
    "addingReplicas": ("stuck_reassignment", "reassigning"),
    "removingReplicas": ("stuck_reassignment", "reassigning"),
    "eligibleLeaderReplicas": ("elr",),
    "lastKnownElr": ("elr",),
    "leaderRecoveryState": ("unclean",),
}
"""The kinds of trouble that a field shows, worst first."""
_TOPIC_COUNTS: Final = ("leaderless", "under_replicated", "reassigning")
_WIDTH: Final = 100
_FIELD: Final = re.compile(r'  ("(\w+)": .*)')


def roles_of(ctx: Context, node: Node) -> Roles:
    """Return the fields of a node that show trouble, each with the role of its colour; none if output has no colours."""
    if not ctx.display.color:
        return {}

    from metashell.metadata.checks import all_checks

    severities = {one.id: one.severity for one in all_checks()}
    if isinstance(node, PartitionNode):
        return _of_partition(ctx, node, severities)
    if node.type == "topic":
        return {name: severities[name] for name in _TOPIC_COUNTS}
    value = node.value() if node.type == "broker" and not node.is_directory else None  # type: ignore[attr-defined]
    if not isinstance(value, dict):
        return {}
    if value["fenced"]:
        return dict.fromkeys(("state", "fenced", "fenced_since"), severities["fenced"])
    return dict.fromkeys(("state", "inControlledShutdown"), severities["shutting_down"]) if value["inControlledShutdown"] else {}


def _of_partition(ctx: Context, node: PartitionNode, severities: dict[str, str]) -> Roles:
    topic, number = node.place
    bits = ctx.health.judge_of(topic)(topic.partitions[number])
    kept = {name: value for name, value in node.value().items() if value} if bits else {}  # type: ignore[union-attr]
    found: Roles = {}
    for field, kinds in _OF_PARTITIONS.items():
        kind = next((kind for kind in kinds if bits & BITS[kind]), None)
        # An empty list of replicas to add is normal; an empty ISR is not.
        if kind is not None and (field in kept or field in ("state", "leader", "isr")):
            # `cat` shows Kafka's names, `ls -l` ours.
            found |= dict.fromkeys(spellings(field), severities[kind])
    return found


def painted_fields(ctx: Context, texts: dict[str, str], roles: Roles) -> str:
    """Return `name=text` words on one line."""
    paint = ctx.display.paint
    return ctx.display.joined((paint(roles.get(name, ""), f"{name}={text}") for name, text in texts.items()), " ")


def painted_line(ctx: Context, lead: str, value: dict[str, Any], roles: Roles) -> str:
    """Return `lead: {..}` with the value as JSON on one line."""
    display = ctx.display
    fields = (display.paint(roles.get(name, ""), f"{spaced_json(name)}: {spaced_json(item)}") for name, item in value.items())
    return display.joined((f"{lead}: {{", display.joined(fields, ", "), "}"))


def write_painted(ctx: Context, value: dict[str, Any], roles: Roles) -> None:
    """Write a value as indented JSON; a field with a role is coloured as a whole."""
    display = ctx.display
    for line in pretty_json(value, min(display.width or _WIDTH, _WIDTH)).split("\n"):
        found = _FIELD.fullmatch(line)
        role = roles.get(found[2]) if found is not None else None
        shown = display.colored_json(line) if found is None or role is None else f"  {display.paint(role, found[1])}"
        display.out.write(f"{shown}\n")


if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Measure = Callable[[str], int]

_GAP = 2
_COLUMN_LEAST = 4


def column_lines(names: Sequence[str], width: int | None, measure: Measure = len) -> Iterator[str]:
    """Yield lines that show the names column by column, with as many columns as fit.

    Units: `width` in columns of the terminal; None, without a terminal, gives one name per line. `measure` returns the width of a name:
    Kafka counts characters, some of which take two columns or none.
    Source: org.apache.kafka.shell.command.LsCommandHandler.
    """
    widths = column_widths(names, width, measure)
    if len(widths) == 1:
        yield from names
        return
    rows = -(-len(names) // len(widths))
    for row in range(rows):
        cells = [names[index] for index in range(row, len(names), rows)]
        last = len(widths) - 1
        yield "".join(cell if column == last else cell + " " * (widths[column] - measure(cell)) for column, cell in enumerate(cells))


def column_widths(names: Sequence[str], width: int | None, measure: Measure = len) -> list[int]:
    """Return the widths of the columns, gaps included, in the layout with the most columns that fits."""
    count = len(names)
    if width is not None:
        for columns in range(min(width // _COLUMN_LEAST, count), 1, -1):
            rows = -(-count // columns)
            # A layout whose last column stays empty is the same as one with fewer columns.
            if (columns - 1) * rows >= count:
                continue
            widths = _widths(names, rows, width, measure)
            if widths is not None:
                return widths
    return [0]


def _widths(names: Sequence[str], rows: int, limit: int, measure: Measure) -> list[int] | None:
    widths: list[int] = []
    left = limit
    for start in range(0, len(names), rows):
        longest = max(measure(names[index]) for index in range(start, min(start + rows, len(names))))
        widths.append(longest + _GAP)
        left -= longest + _GAP
        if left < 0:
            return None
    return widths
