"""The commands find and tree, which walk down the tree."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from metashell.common.forms import JSON_FORMS, OBJECT_FORMS, compact_json, plain_text, spaced_json
from metashell.common.options import Argument, Option
from metashell.common.terminal import DIRECTORY
from metashell.common.values import uuid_text
from metashell.metadata.nodes import Directory, Leaf
from metashell.shell.commands import NODE_PATH, OUTPUT, WHERE, make_command
from metashell.shell.conditions import EVERYTHING, OPERATOR_OPTIONS, Conditions, leaves, mapped, read_words
from metashell.shell.listing import PartitionTexts, joined, json_texts, painted_line, roles_of
from metashell.shell.node_fields import Subject
from metashell.shell.output import kafka_leaf_text, leaf_object, node_object, write_answer, write_leaf, write_objects
from metashell.shell.paths import DEEP, HERE, Match, child_path, descend, entering, kafka_find, listed_children
from metashell.shell.predicates import TEST_OPTIONS, TESTS
from metashell.shell.tree_walk import TreeSearch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import SimpleNamespace

    from metashell.metadata.nodes import Node
    from metashell.shell.conditions import Test, Tree
    from metashell.shell.context import Context
    from metashell.shell.output import Object
    from metashell.shell.predicates import Predicate
    from metashell.shell.tree_walk import FoundNode


FIND_HELP: Final = """find - search for nodes below directories

SYNOPSIS
    find [PATH...] [TEST...] [-maxdepth N]

DESCRIPTION
    Prints the path of every node at or below each PATH (by default the working directory) that passes the tests. PATHs come first. Tests
    that stand side by side must all hold; -or, -not (or `!`) and parentheses join them otherwise, with spaces around each. A path that
    begins with ( or ! is written ./( or ./!.

    A test that does not apply to a node is false for it: no topic is under-replicated, only partitions are. -not reverses that, so
    put `-type partition` before `-not -under-replicated`. Tests such as -under-replicated have the names of `health`.

    --where takes an expression over the fields that `ls -l` and `cat` show: ==, !=, <, <=, >, >=, in, not in, and, or, not, len(NAME),
    lists, true, false and null. A topic also has racks, brokers, leaders, configs, and the count of its partitions in each state that
    `health` names; a partition has racks, topic, partition and each of those states; a broker has configs. A field that a node lacks is
    null; nothing is greater or less than null, so `not (x > 5)` holds for it. A number never equals text; an expression that
    compares a field only with the wrong kind is an error. Settings are text: `"retention.ms" in configs`.

    In -path a * also matches slashes; -regex is a Python expression for the whole path. A topic is found by name; by id only if
    PATH is below byId, or if a later topic took its name. A search from / leaves out the names of Kafka 2.8 to 3.2, which show the same
    nodes again.

EXAMPLES
    >> find /image/topics/byName/orders -name {id,name}
    /image/topics/byName/orders/id
    /image/topics/byName/orders/name
    >> find /image/cluster -type broker -maxdepth 2
    /image/cluster/brokers/4
    /image/cluster/brokers/5
    /image/cluster/brokers/6
    >> find / -type broker ( -rack rack-a -or -rack rack-b )
    /image/cluster/brokers/4
    /image/cluster/brokers/5
    >> find / -type partition -replica 4 -not -leader 4 -path */grp-*
    /image/topics/byName/grp-out/0
    >> find /image/topics --where 'partitions > 2 and not ("rack-c" in racks) and name < "o"'
    /image/topics/byName/__consumer_offsets
    /image/topics/byName/grp-streams-KSTREAM-AGGREGATE-STATE-STORE-0000000001-changelog
"""


MAXDEPTH = Option(names=("-maxdepth", "--maxdepth"), metavar="N", type="int", help="go no deeper than N levels below PATH")
_TESTS = {name: kind.option for name, kind in TESTS.items()} | dict.fromkeys(WHERE.names, WHERE)


def split_tests(words: list[str]) -> tuple[list[str], Tree[Test]]:
    """Return the other words, and the tests among the words as a tree."""
    return read_words(words, _TESTS, (MAXDEPTH, OUTPUT))


def run_find(ctx: Context, args: SimpleNamespace) -> None:
    """Print the paths at and below each start for which the tests hold."""
    targets = args.path or (HERE,)
    # Kafka's find has no tests and prints the argument as typed. With tests, the answer is paths.
    tree: Tree[Test] = getattr(args, "taken", EVERYTHING)
    if ctx.output == "kafka" and not leaves(tree) and args.maxdepth is None:
        for target in targets:
            for match in ctx.resolve([target]):
                for line in kafka_find(target, match.node):
                    ctx.line(line)
        return
    conditions = Conditions(ctx)
    search = TreeSearch(ctx, mapped(tree, lambda test: _predicate(ctx, test, conditions)))
    # With -maxdepth, a start below another start reaches deeper.
    starts = ctx.resolve(targets, as_starts=args.maxdepth is None)
    below = search.below(starts, args.maxdepth)
    is_repeated = args.maxdepth is not None and any(DEEP in target for target in targets)
    found = conditions.counted(_each_once(below) if is_repeated else below)
    write_answer(ctx, _objects(ctx, found), (path for path, _ in found), columns=("path", "type"))
    conditions.finish()


def _each_once(found: Iterator[FoundNode]) -> Iterator[FoundNode]:
    seen: set[str] = set()
    for each in found:
        if each.path not in seen:
            seen.add(each.path)
            yield each


def _predicate(ctx: Context, test: Test, conditions: Conditions) -> Tree[Predicate]:
    if test.option is WHERE:
        return conditions.tree(str(test.value))
    return TESTS[test.option.names[0]].make(ctx, test.value)


def _objects(ctx: Context, found: Iterator[FoundNode]) -> Iterator[dict[str, Any]]:
    for path, node in found:
        topic = Subject(ctx, path, node).topic
        yield node_object(ctx, path, node, **({} if topic is None else {"topic_id": uuid_text(topic.id)}))


FIND_COMMAND = make_command(
    run_find,
    FIND_HELP,
    options=(*TEST_OPTIONS, WHERE, *OPERATOR_OPTIONS, MAXDEPTH),
    arguments=(Argument(name="path", nargs="*", kind=NODE_PATH, help="where to start, by default here"),),
    split_words=split_tests,
)


TREE_HELP: Final = """tree - show directories and the leaves in them

SYNOPSIS
    tree [PATH...]

DESCRIPTION
    Shows everything below each PATH (by default the working directory). Each directory is a heading with its contents below, each
    leaf a line with its value; records are JSON on one line. With -o json each path is one object whose `children` are nested;
    with -o jsonl, csv and table each leaf and each empty directory is a row.

EXAMPLES
    >> tree /image/configs/TOPIC:orders
    cleanup.policy: compact
    min.insync.replicas: 1
    retention.ms: 86400000
"""


_INDENT = 2
_LINE_END = "\n"


def run_tree(ctx: Context, args: SimpleNamespace) -> None:
    """Print the tree below each path."""
    targets = args.path or (HERE,)
    matches = ctx.resolve(targets, as_starts=True)
    if ctx.output == "json":
        _write_json(ctx, matches, ctx.is_single(targets))
    elif ctx.output in OBJECT_FORMS:
        rows = (row for match in matches for row in _rows(ctx, match))
        write_objects(ctx, rows, columns=("path", "type", "value"))
    else:
        texts = PartitionTexts(ctx, lambda path, leaf: _line(ctx, leaf.name, leaf))
        for _, _, node in matches:
            if isinstance(node, Leaf):
                write_leaf(ctx, node)
            else:
                _write_text(ctx, node, 0, texts)


def _write_text(ctx: Context, directory: Node, indent: int, texts: PartitionTexts) -> None:
    assert isinstance(directory, Directory)
    lead = " " * indent
    if (topic := texts.topic(directory)) is not None:
        for piece in joined(texts.of("", topic)[1], f"\n{lead}"):
            ctx.line(lead + piece)
        for name, value in topic.fact_values().items():
            ctx.line(lead + _plain_line(name, value))
        return
    for name, child in listed_children(directory, speaks_kafka=ctx.speaks_kafka):
        if isinstance(child, Leaf) and ctx.output != "kafka":
            ctx.out.write(lead)
            ctx.line(_line(ctx, name, child))
            continue
        # Kafka lists such a name but cannot resolve it; it is a heading with nothing below.
        ctx.out.write(lead)
        ctx.line(ctx.display.paint(DIRECTORY, f"{name}:") if ctx.display.color else f"{name}:")
        if isinstance(child, Leaf):
            ctx.line(f"{lead}{' ' * _INDENT}{kafka_leaf_text(ctx, child)}")
        elif child is not None:
            _write_text(ctx, child, indent + _INDENT, texts)


def _line(ctx: Context, name: str, leaf: Leaf) -> str:
    value = leaf.value(ctx.redact)
    if isinstance(value, dict) and ctx.display.color:
        return painted_line(ctx, name, value, roles_of(ctx, leaf))
    return _plain_line(name, value)


def _plain_line(name: str, value: object) -> str:
    return f"{name}: {spaced_json(value) if isinstance(value, str) and _LINE_END in value else plain_text(value)}"


def _rows(ctx: Context, match: Match) -> Iterator[Object | str]:
    texts = json_texts(ctx, partial(leaf_object, ctx))
    is_json = ctx.output in JSON_FORMS
    for path, node, _ in descend(match.path, match.node, enter=entering(lambda directory: not is_json or texts.topic(directory) is None)):
        if isinstance(node, Leaf):
            yield leaf_object(ctx, path, node)
        elif is_json and (topic := texts.topic(node)) is not None:
            yield from joined(texts.of(path, topic)[1], JSON_FORMS[ctx.output])
            for leaf in topic.facts():
                yield leaf_object(ctx, child_path(path, leaf.name), leaf)
        elif isinstance(node, Directory) and node.child_count() == 0:
            yield node_object(ctx, path, node, value=None)


def _write_json(ctx: Context, matches: Iterator[Match], single: bool) -> None:
    """Write nested objects while walking: one object for a single path, else an array."""
    opening, between, closing = ("", "", "\n") if single else ("[\n", ",\n", "\n]\n")
    count = 0
    texts = json_texts(ctx, partial(leaf_object, ctx))
    for match in matches:
        ctx.out.write(between if count else opening)
        _write_nested(ctx, match.path, match.node, texts)
        count += 1
    if count:
        ctx.out.write(closing)
    elif not single:
        ctx.out.write("[]\n")


def _write_nested(ctx: Context, path: str, node: Node, texts: PartitionTexts) -> None:
    if isinstance(node, Leaf):
        ctx.out.write(ctx.display.json(compact_json(leaf_object(ctx, path, node))))
        return
    assert isinstance(node, Directory)
    head = compact_json(node_object(ctx, path, node, **node.envelope_info))
    ctx.out.write(ctx.display.json(head[:-1] + ',"children":['))
    if (topic := texts.topic(node)) is not None:
        for piece in joined(texts.of(path, topic)[1], ","):
            ctx.out.write(ctx.display.json(piece) + ",")
        facts = (compact_json(leaf_object(ctx, child_path(path, leaf.name), leaf)) for leaf in topic.facts())
        ctx.out.write(ctx.display.json(",".join(facts)) + "]}")
        return
    separator = ""
    for name, child in listed_children(node, speaks_kafka=ctx.speaks_kafka):
        if child is not None:
            ctx.out.write(separator)
            _write_nested(ctx, child_path(path, name), child, texts)
            separator = ","
    ctx.out.write("]}")


TREE_COMMAND = make_command(
    run_tree, TREE_HELP, arguments=(Argument(name="path", nargs="*", kind=NODE_PATH, help="what to show, by default here"),)
)
