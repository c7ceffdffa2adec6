"""`find` on a cluster where much is wrong: what it finds is what a look at every node finds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.common.values import uuid_text
from metashell.metadata.checks import BITS, Health
from metashell.metadata.image import ImageLoader
from metashell.metadata.nodes import Directory, Leaf, Node
from metashell.metadata.nodes.topics import PartitionNode
from metashell.shell import run_command, tree_walk
from tests.metadata.image.batches import batch, record
from tests.shell.search.unsound_cluster import DIRECTORIES, IDS, ORPHAN, RACKS, STATES, unsound_context, unsound_image

IMAGE = unsound_image()
THREE = tuple(DIRECTORIES[id] for id in (1, 2, 3))
Judge = Callable[[str, Node], bool]


def find(*words: str) -> tuple[int, list[str], str]:
    ctx = unsound_context(IMAGE)
    status = run_command(ctx, ["find", *words])
    return status, ctx.display.out.getvalue().splitlines(), ctx.err.getvalue()


def walk(path: str, node: Node) -> Iterator[tuple[str, Node]]:
    """Every node but the second view; of `byId` only the topic that has no name."""
    yield path or "/", node
    if not isinstance(node, Directory):
        return
    names = list(node.child_names())
    if path == "/image/topics":
        names = ["byName", "byId"]
    if path == "/image/topics/byId":
        names = [uuid_text(ORPHAN)]
    for name in names:
        child = node.child(name)
        assert child is not None
        if not child.is_view:
            yield from walk(f"{path}/{name}", child)


@cache
def nodes() -> list[tuple[str, Node]]:
    return list(walk("", unsound_context(IMAGE).root))


@cache
def of_kind(kind: str) -> set[tuple[bytes, int]]:
    return {(topic.id, number) for topic, number in Health(IMAGE).partitions_of(kind)}


def of_partition(question: Callable[[dict[str, Any]], bool]) -> Judge:
    return lambda path, node: isinstance(node, PartitionNode) and question(node.value())


def of_broker(question: Callable[[dict[str, Any]], bool]) -> Judge:
    return lambda path, node: node.type == "broker" and isinstance(node, Leaf) and question(node.value())


def kind_judge(kind: str) -> Judge:
    def is_of_kind(path: str, node: Node) -> bool:
        return isinstance(node, PartitionNode) and (node.place[0].id, node.place[1]) in of_kind(kind)

    return is_of_kind


def either(*judges: Judge) -> Judge:
    return lambda path, node: any(judge(path, node) for judge in judges)


def is_on_rack_a(value: dict[str, Any]) -> bool:
    return any(RACKS.get(id) == "a" for id in value["replicas"])


LEAVES: list[tuple[list[str], Judge]] = [
    *((["-" + kind.replace("_", "-")], kind_judge(kind)) for kind in BITS),
    *((["-leader", str(id)], of_partition(lambda value, id=id: value["leader"] == id)) for id in (-1, 1, 2, 9)),
    *((["-replica", str(id)], of_partition(lambda value, id=id: id in value["replicas"])) for id in (1, 4)),
    (["-isr-lt", "1"], of_partition(lambda value: not value["isr"])),
    (["-isr-lt", "2"], of_partition(lambda value: len(value["isr"]) < 2)),
    (["-rack", "a"], either(of_partition(is_on_rack_a), of_broker(lambda value: value["rack"] == "a"))),
    (["-fenced"], of_broker(lambda value: value["fenced"])),
    *((["-type", type], lambda path, node, type=type: node.type == type) for type in ("partition", "topic", "broker")),
    (["-type", "d"], lambda path, node: node.is_directory),
    (["-name", "[1-3]*"], lambda path, node: fnmatchcase(node.name, "[1-3]*")),
    (["-path", "*/orders/*"], lambda path, node: fnmatchcase(path, "*/orders/*")),
    (["--where", "leader == 2"], of_partition(lambda value: value["leader"] == 2)),
    (
        ["--where", "under_replicated == true and len(isr) == 1"],
        lambda path, node: kind_judge("under_replicated")(path, node) and len(node.value()["isr"]) == 1,
    ),
    (
        ["--where", "leaderRecoveryState > 0 or partition in (3, 4)"],
        of_partition(lambda value: value["leaderRecoveryState"] > 0 or value["partitionId"] in (3, 4)),
    ),
]


class TreeOf:
    """Words of a tree, how tightly they bind, and what it means."""

    def __init__(self, words: list[str], binds: int, judge: Judge) -> None:
        self.words, self.binds, self.judge = words, binds, judge

    def bound(self, binds: int) -> list[str]:
        return self.words if self.binds >= binds else ["(", *self.words, ")"]


def negated(part: TreeOf, sign: str) -> TreeOf:
    return TreeOf([sign, *part.bound(3)], 3, lambda path, node: not part.judge(path, node))


def both(parts: list[TreeOf], sign: list[str]) -> TreeOf:
    words = parts[0].bound(2) + [word for part in parts[1:] for word in (*sign, *part.bound(2))]
    return TreeOf(words, 2, lambda path, node: all(part.judge(path, node) for part in parts))


def one_of(parts: list[TreeOf]) -> TreeOf:
    words = parts[0].bound(1) + [word for part in parts[1:] for word in ("-or", *part.bound(1))]
    return TreeOf(words, 1, lambda path, node: any(part.judge(path, node) for part in parts))


TREES = st.recursive(
    st.sampled_from(LEAVES).map(lambda leaf: TreeOf(leaf[0], 3, leaf[1])),
    lambda trees: (
        st.builds(negated, trees, st.sampled_from(["!", "-not"]))
        | st.builds(both, st.lists(trees, min_size=2, max_size=3), st.sampled_from([[], ["-and"]]))
        | st.builds(one_of, st.lists(trees, min_size=2, max_size=3))
    ),
    max_leaves=6,
)


@pytest.mark.slow
def test_a_tree_of_tests_finds_what_each_node_answers_by_itself():
    seen: Counter[str] = Counter()

    @settings(max_examples=120, deadline=None)
    @given(TREES)
    def finds_the_same(tree: TreeOf) -> None:
        _, found, complaints = find("/", *tree.words)
        assert found == [path for path, node in nodes() if tree.judge(path, node)]
        assert complaints == "" or not found
        seen.update(["some"] if found else ["none"])
        seen.update(word for word in tree.words if word in ("-or", "-not", "!", "(", "-and"))

    finds_the_same()
    assert min(seen[word] for word in ("some", "none", "-or", "-not", "!", "(", "-and")) > 1


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: " ".join(leaf[0]))
def test_each_test_by_itself(leaf):
    words, judge = leaf
    assert find("/", *words)[1] == [path for path, node in nodes() if judge(path, node)]


def test_every_kind_but_a_few_is_planted_here():
    assert {kind for kind in BITS if not of_kind(kind)} <= {"elr", "unassigned_directory", "cordoned_directory", "racks"}


def test_no_node_is_made_of_partitions_that_cannot_match(monkeypatch):
    made: list[str] = []
    init = PartitionNode.__init__

    def counting(self, name, *args, **more):
        made.append(name)
        init(self, name, *args, **more)

    monkeypatch.setattr(PartitionNode, "__init__", counting)
    found = find("/", "-type", "partition", "-leaderless")[1]
    assert 0 < len(found) == len(made)


def test_one_survey_asks_all_tests_at_once_of_topics_that_are_judged_alike(monkeypatch):
    asked: list[int] = []
    row_survey = tree_walk.row_survey
    monkeypatch.setattr(tree_walk, "row_survey", lambda judge, tests: asked.append(len(tests)) or row_survey(judge, tests))
    find("/", "-type", "partition", "(", "-leaderless", "-or", "-leader", "2", ")", "-rack", "a", "-not", "-under-min-isr")
    assert asked == [4, 4]  # one topic has a min.insync.replicas of its own


def test_topics_are_found_by_name_and_by_id_where_a_later_topic_took_the_name():
    topics = find("/", "-type", "topic")[1]
    named = [f"/image/topics/byName/{name}" for name in ("[a]*", "again", "orders", "pay%2Fments %25")]
    assert topics == [*named, f"/image/topics/byId/{uuid_text(ORPHAN)}"]
    assert find("/image/topics", "-type", "topic")[1] == topics
    assert len(find("/image/topics/byId", "-type", "topic")[1]) == 5
    assert find("/topicIds", "-type", "topic", "-maxdepth", "1")[1][0].startswith("/topicIds/")


def test_a_path_that_was_typed_stays_as_it_was_typed():
    id = uuid_text(IDS["orders"])
    assert find(f"/image/topics/byId/{id}", "-leaderless")[1][0] == f"/image/topics/byId/{id}/0"
    assert find("/image/topics/byName/orders/0", "-leaderless")[1] == ["/image/topics/byName/orders/0"]
    assert find("/topics/orders", "-leaderless")[1][:2] == ["/topics/orders/0", "/topics/orders/18"]


def test_objects_have_the_id_of_the_topic():
    ctx = unsound_context(IMAGE, output="jsonl")
    run_command(ctx, ["find", "/", "-type", "partition", "-leaderless"])
    first = json.loads(ctx.display.out.getvalue().splitlines()[0])
    assert (first["type"], first["topic_id"]) == ("partition", uuid_text(IDS["[a]*"]))


def test_settings_are_found_by_key_and_value_and_secrets_are_no_oracle():
    assert find("/", "-type", "topic", "-config", "retention.ms")[1] == ["/image/topics/byName/[a]*", "/image/topics/byName/orders"]
    assert find("/", "-config", "retention.*=1000")[1] == ["/image/configs/TOPIC:orders", "/image/topics/byName/orders"]
    assert find("/", "-config", "*=2", "-type", "broker")[1] == ["/image/cluster/brokers/1"]
    guesses = ("ssl.key.password=s3cr3t", "ssl.key.password=wrong")
    assert [find("/", "-config", guess) for guess in guesses] == [(0, [], "")] * 2
    wheres = ("'s3cr3t' in value", "'wrong!' in value")
    assert [find("/image/configs", "--where", where) for where in wheres] == [(0, [], "")] * 2


@pytest.mark.parametrize(
    ("words", "message", "under"),
    [
        (["/", "-leader", "1", "-or"], "a test is missing at the end", ""),
        (["/", "-or", "-leader", "1"], "a test is missing before -or", "-or"),
        (["/", "(", ")"], "a test is missing before )", ")"),
        (["/", "(", "-fenced"], "`(` is not closed", "("),
        (["/", "-fenced", ")"], "`)` without a `(` before it", ")"),
        (["/", "-not"], "a test is missing at the end", ""),
        (["/", "-leader", "x"], "option -leader: 'x' is not a whole number", "x"),
        (["/", "-leader"], "option -leader needs a value", "-leader"),
        (["/", "-fenced", "/image"], "'/image' stands after a test: paths come first", "/image"),
        (["(x"], "'(x' is no test; a path that begins so is written ./(x", "'(x'"),
        (["-o", "-fenced"], "-o takes a form (text, json, jsonl, table, csv, kafka); alternatives are joined by -or", "-o"),
        (["/", *["("] * 120], "more than 100 brackets", "("),
        (["--fenced=1"], "-fenced takes no value", "--fenced=1"),
    ],
)
def test_words_that_do_not_parse_are_shown_with_a_caret(words, message, under):
    status, found, complaints = find(*words)
    said, line, caret = complaints.splitlines()
    assert (status, found, said) == (2, [], f"find: {message}")
    assert line[caret.index("^") :].startswith(under)


def test_a_name_that_no_node_has_is_said_and_one_that_was_never_asked_for_is_not():
    assert find("/", "--where", "partitons > 5") == (1, [], "find: --where: no node here has 'partitons' (did you mean partitions?)\n")
    assert find("/", "--where", "partitions > 1000 and nope == 1")[2] == ""
    assert find("/image/topics", "--where", "partitions")[2] == (
        "find: --where: partitions alone is no condition; quote the expression: --where 'partitions > 50'\n"
    )
    assert len(find("/", "--where", "leaderless", "-type", "partition")[1]) == len(of_kind("leaderless"))


def test_fields_of_topics_and_brokers():
    assert find("/", "-type", "topic", "--where", 'partitions >= 60 and "c" in racks and "retention.ms" in configs')[1] == [
        "/image/topics/byName/[a]*",
        "/image/topics/byName/orders",
    ]
    assert find("/", "--where", "leaderless > 5 and brokers == [1, 2, 3, 4, 9] and -1 not in leaders and name == 'orders'")[1] == [
        "/image/topics/byName/orders"
    ]
    assert find("/", "--where", 'state == "fenced" and rack == null')[1] == ["/image/cluster/brokers/4"]
    without = find("/image/cluster", "-type", "broker", "--where", "not (rack > 'a')")[1]
    assert without == ["/image/cluster/brokers/1", "/image/cluster/brokers/4"]


@pytest.mark.parametrize("states", [(2, 0), (0, 2)])
def test_of_a_partition_whose_record_is_repeated_the_last_counts(states):
    loader = ImageLoader()
    # Of the first topic the survey learns how the records look.
    for name, first, numbers in (("first", 0, 24), ("twice", 12, 12)):
        id = name.ljust(16).encode()
        bodies = [
            record("PartitionRecord", partition_id=(first + at) % numbers, topic_id=id, directories=THREE, **STATES[states[at // 12]])
            for at in range(24)
        ]
        loader.load_batch(batch(record("TopicRecord", name=name, topic_id=id), *bodies))
    ctx = unsound_context(loader.image())
    run_command(ctx, ["find", "/image/topics/byName/{first,twice}", "-type", "partition", "-isr-lt", "2"])
    found = [path for path in ctx.display.out.getvalue().splitlines() if "twice" in path]
    assert len(found) == (0 if states[1] == 0 else 12)
