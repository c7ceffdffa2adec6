"""The walk of `find`, `ls --where` and `count --where`: every node for which a tree of tests holds, in the order of the tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import islice
from operator import or_
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.metadata.checks import EarlyRow, PartitionSurvey
from metashell.metadata.nodes import Directory
from metashell.metadata.nodes.names import sorted_names
from metashell.metadata.nodes.topics import PartitionNode, TopicNode
from metashell.shell.conditions import And, Conditions, Tree, holds, leaves
from metashell.shell.node_fields import PARTITION, TOPIC, Subject
from metashell.shell.paths import child_path, children
from metashell.shell.predicates import TESTS, Predicate, Row

if TYPE_CHECKING:
    from metashell.metadata.checks.partitions import PartitionJudge
    from metashell.metadata.checks.survey import Shape
    from metashell.metadata.image import TopicImage
    from metashell.metadata.nodes import Node
    from metashell.shell.context import Context
    from metashell.shell.paths import Match


_LEAF: Final = "leaf"
_FIRST_PIECE: Final = 100
_LARGEST_PIECE: Final = 10_000
"""The most topics that are judged together before the first is shown; the first hit must not wait for all."""


class FoundNode(NamedTuple):
    """A node for which the tests hold."""

    path: str
    node: Node


class TreeSearch:
    """A search with one tree of tests, at and below places."""

    def __init__(self, ctx: Context, tree: Tree[Predicate]) -> None:
        self._ctx = ctx
        self._tree = tree
        self._rows = [test for test in leaves(tree) if test.row is not None]
        self._surveys: dict[PartitionJudge, PartitionSurvey[int]] = {}
        self._verdicts: dict[int, bool | None] = {}
        self._kinds: dict[tuple[str, bool], bool | None] = {}
        self._leaf_verdict = self._of_kind(_LEAF, False)
        self._partition_verdict = self._of_kind(PARTITION, False)
        # The union of the faults of all partitions of a topic, by its id; computed for many topics at once.
        self._unions: dict[bytes, int] = {}
        self._open_unions: dict[int, bool] = {}
        self._of_shapes: dict[Shape[int], bool | None] = {}
        bits = [test for test in self._rows if test.bit] if self._partition_verdict is None else []
        self._skips_topics = self._leaf_verdict is False and self._of_kind(TOPIC, True) is False
        self._ready: tuple[TopicImage, dict[str, bool]] | None = None
        self._sweeps = any(test.of_counts is None for test in bits)

    def below(self, matches: Iterable[Match], depth_max: int | None = None) -> Iterator[FoundNode]:
        """Yield every node at or below the matches for which the tree holds, as it is found."""
        for match in matches:
            if self.holds(match.path, match.node):
                yield FoundNode(match.path, match.node)
            if isinstance(match.node, Directory) and depth_max != 0:
                yield from self._below(match.path, match.node, depth_max)

    def listed(self, path: str, directory: Directory) -> Iterator[Node]:
        """Yield the children of one directory for which the tree holds."""
        is_topic = isinstance(directory, TopicNode) and not directory.has_directories
        pairs = self._children(path, directory) if is_topic else ((child, False) for child in directory.iter_children())
        return (node for node, is_sure in pairs if is_sure or self.holds(child_path(path, node.name), node))

    def holds(self, path: str, node: Node) -> bool:
        """Return whether the tree holds for one node."""
        known = self._of_kind(node.type, node.is_directory)
        if known is not None:
            return known
        subject = Subject(self._ctx, path, node)
        found = holds(self._tree, lambda test: test.holds(subject))
        assert found is not None
        return found

    def _below(self, path: str, directory: Directory, depth_max: int | None) -> Iterator[FoundNode]:
        pending = [(path, self._children(path, directory))]
        while pending:
            above, siblings = pending[-1]
            pair = next(siblings, None)
            if pair is None:
                pending.pop()
                continue
            node, is_sure = pair
            here = child_path(above, node.name)
            if is_sure or self.holds(here, node):
                yield FoundNode(here, node)
            if isinstance(node, Directory) and (depth_max is None or len(pending) < depth_max):
                pending.append((here, self._children(here, node)))

    def _children(self, path: str, directory: Directory) -> Iterator[tuple[Node, bool]]:
        """Return the children to test, each with whether the tree is known to hold for it."""
        if isinstance(directory, TopicNode) and not directory.has_directories:
            return self._in_topic(directory)
        found: Iterator[tuple[Node, bool]] = ((child, False) for child in children(path, directory, each_once=True))
        if self._sweeps:
            found = self._swept(found)
        return self._without_idle_topics(found) if self._skips_topics else found

    def _without_idle_topics(self, found: Iterable[tuple[Node, bool]]) -> Iterator[tuple[Node, bool]]:
        """Yield the pairs without topics in which the tree holds for no node, if it does not hold for topics themselves."""
        for pair in found:
            node = pair[0]
            if isinstance(node, TopicNode) and not node.has_directories:
                self._ready = node.topic, self._partitions(node.topic)
                if not self._ready[1]:
                    continue
            yield pair

    def _swept(self, found: Iterator[tuple[Node, bool]]) -> Iterator[tuple[Node, bool]]:
        """Yield the same pairs, in pieces: the faults of all topics in a piece are computed together first."""
        size = _FIRST_PIECE
        while piece := list(islice(found, size)):
            topics = [node.topic for node, _ in piece if isinstance(node, TopicNode)]
            if topics:
                self._unions = {topic.id: reduce(or_, set(answers), 0) for topic, answers in self._ctx.health.sweep(topics)}
                size = _LARGEST_PIECE
            yield from piece

    def _may_hold_in(self, topic: TopicImage) -> bool:
        """Return whether the tree may hold for a partition of a topic, by the union of their faults."""
        union = self._unions.get(topic.id)
        if union is None:
            return True
        if union not in self._open_unions:

            def decide(test: Predicate) -> bool | None:
                known = test.of_type(PARTITION, False)
                return False if known is None and test.bit and not test.bit & union else known

            self._open_unions[union] = holds(self._tree, decide) is not False
        return self._open_unions[union]

    def _of_kind(self, type: str, is_directory: bool) -> bool | None:
        """Return the answer if the kind of a node decides it, else None."""
        key = type, is_directory
        if key not in self._kinds:
            self._kinds[key] = holds(self._tree, lambda test: test.of_type(type, is_directory))
        return self._kinds[key]

    def _in_topic(self, node: TopicNode) -> Iterator[tuple[Node, bool]]:
        topic = node.topic
        found = self._ready[1] if self._ready is not None and self._ready[0] is topic else self._partitions(topic)
        for name in sorted_names(found) if len(found) > 1 else found:
            yield PartitionNode(name, topic, int(name)), found[name]
        if self._leaf_verdict is not False:
            for name in ("id", "name"):
                child = node.child(name)
                assert child is not None
                yield child, self._leaf_verdict is True

    def _partitions(self, topic: TopicImage) -> dict[str, bool]:
        """Return the numbers of the partitions for which the tree may hold, each with whether it is known to."""
        if self._partition_verdict is not None or not self._rows:
            verdict = self._partition_verdict
            return {} if verdict is False else dict.fromkeys(map(str, topic.partition_ids()), verdict is True)
        if not self._may_hold_in(topic):
            return {}
        survey = self._survey(topic)
        verdicts = self._verdicts
        found = {}
        for number, mask in self._asked(survey, topic):
            verdict = verdicts[mask] if mask in verdicts else self._verdict(mask)
            if verdict is not False:
                found[str(number)] = verdict is True
        return found

    def _asked(self, survey: PartitionSurvey[int], topic: TopicImage) -> Iterable[tuple[int, int]]:
        """Return the answers of a topic's partitions by number, without records whose shape rules them out."""
        runs = survey.runs(topic)
        if runs is None:
            return survey.by_id(topic).items()
        of_shapes = self._of_shapes
        left = [run for run in runs if (of_shapes[run[0]] if run[0] in of_shapes else self._of_shape(*run)) is not False]
        if not left:
            return ()
        ids = [id for shape, piece in runs for id in shape.ids.iter_unpack(piece)] if len(left) < len(runs) else ()
        if len(set(ids)) < len(ids) or not ids:
            # If a partition's record is repeated, the last one counts.
            return survey.by_id(topic).items()
        return [
            (id, answer)
            for shape, piece in left
            for (id,), answer in zip(shape.ids.iter_unpack(piece), map(shape.answers, shape.rows.iter_unpack(piece)), strict=True)
        ]

    def _of_shape(self, shape: Shape[int], piece: memoryview) -> bool | None:
        """Return the answer if the shape of the records decides it, which gives the number of items in each array; else None."""
        first, _ = shape.rows.unpack_from(piece)
        row = EarlyRow(first)

        def decide(test: Predicate) -> bool | None:
            known = test.of_type(PARTITION, False)
            return test.of_counts(row) if known is None and test.of_counts is not None else known

        found = self._of_shapes[shape] = holds(self._tree, decide)
        return found

    def _verdict(self, mask: int) -> bool | None:
        """Return the value of the tree for the answer of a survey."""
        bits = {test: mask >> index & 1 == 1 for index, test in enumerate(self._rows)}

        def decide(test: Predicate) -> bool | None:
            known = test.of_type(PARTITION, False)
            return bits.get(test) if known is None else known

        found = self._verdicts[mask] = holds(self._tree, decide)
        return found

    def _survey(self, topic: TopicImage) -> PartitionSurvey[int]:
        judge = self._ctx.health.judge_of(topic)
        survey = self._surveys.get(judge)
        if survey is None:
            survey = self._surveys[judge] = row_survey(judge, self._rows)
        return survey


def row_survey(judge: PartitionJudge, tests: Sequence[Predicate]) -> PartitionSurvey[int]:
    """Return a survey that runs all tests on a partition at once: bit N of an answer is that of test N."""
    rows = [test.row for test in tests if test.row is not None]
    has_bits = any(test.has_bits for test in tests)

    def mask(partition: Row, bits: int) -> int:
        return sum(1 << index for index, row in enumerate(rows) if row(partition, bits))

    def quick(row: tuple[bytes, bytes]) -> int | None:
        bits = judge.sound_row(row) if has_bits else 0
        return None if bits is None else mask(EarlyRow(row[0]), bits)

    is_early = all(test.is_early for test in tests)
    return PartitionSurvey(lambda partition: mask(partition, judge(partition) if has_bits else 0), quick if is_early else None)


class Choice:
    """The nodes that pass. At the end `finish` reports names in the expressions that no node had."""

    def __init__(self, ctx: Context, texts: Sequence[str]) -> None:
        self._ctx = ctx
        self._conditions = Conditions(ctx)
        self._tree = And(tuple(map(self._conditions.tree, texts)))
        self._search = TreeSearch(ctx, self._tree)
        self.finish = self._conditions.finish

    def holds(self, path: str, node: Node) -> bool:
        """Return whether one node passes."""
        return any(self._conditions.counted([node] if self._search.holds(path, node) else []))

    def listed(self, path: str, directory: Directory) -> Iterator[Node]:
        """Return the children of a directory that pass."""
        return self._conditions.counted(self._search.listed(path, directory))

    def below(self, matches: Iterable[Match]) -> Iterator[FoundNode]:
        """Return the matches, and all nodes below them, that pass."""
        return self._conditions.counted(self._search.below(matches))

    def partitions(self, matches: Iterable[Match]) -> tuple[dict[bytes, TopicImage], dict[bytes, set[int]]]:
        """Return the topics at and below the matches that have passing partitions, and the numbers of these."""
        topics: dict[bytes, TopicImage] = {}
        only: dict[bytes, set[int]] = {}
        search = TreeSearch(self._ctx, And((TESTS["-type"].make(self._ctx, PARTITION), self._tree)))
        for path, node in self._conditions.counted(search.below(matches)):
            place = Subject(self._ctx, path, node).place
            assert place is not None
            topic, number = place
            topics[topic.id] = topic
            only.setdefault(topic.id, set()).add(number)
        return topics, only
