"""The command `find`: search for nodes below directories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from metashell.options import Argument, Option
from metashell.shell.command import NODE_PATH, OUTPUT, WHERE, make_command
from metashell.shell.output import node_object, write_answer
from metashell.shell.paths import HERE
from metashell.shell.search.conditions import Conditions
from metashell.shell.search.finding import Search
from metashell.shell.search.logic import EVERYTHING, OPERATOR_OPTIONS, leaves, mapped, read_words
from metashell.shell.search.patterns import DEEP
from metashell.shell.search.predicates import TEST_OPTIONS, TESTS
from metashell.shell.search.subjects import Subject
from metashell.shell.search.walk import kafka_find
from metashell.values import uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import SimpleNamespace

    from metashell.shell.context import Context
    from metashell.shell.search.finding import Found
    from metashell.shell.search.logic import Test, Tree
    from metashell.shell.search.predicates import Predicate


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
    """The tests among the words, as a tree, and all other words."""
    return read_words(words, _TESTS, (MAXDEPTH, OUTPUT))


def run_find(ctx: Context, args: SimpleNamespace) -> None:
    """Print the paths below each start for which the tests hold."""
    targets = args.path or (HERE,)
    # Kafka's find has no tests and prints the argument as it was typed; with tests the answer is paths.
    tree: Tree[Test] = getattr(args, "taken", EVERYTHING)
    if ctx.output == "kafka" and not leaves(tree) and args.maxdepth is None:
        for target in targets:
            for match in ctx.resolve([target]):
                for line in kafka_find(target, match.node):
                    ctx.line(line)
        return
    conditions = Conditions(ctx)
    search = Search(ctx, mapped(tree, lambda test: _predicate(ctx, test, conditions)))
    # With -maxdepth a start below another one leads further.
    starts = ctx.resolve(targets, as_starts=args.maxdepth is None)
    below = search.below(starts, args.maxdepth)
    is_repeated = args.maxdepth is not None and any(DEEP in target for target in targets)
    found = conditions.counted(_each_once(below) if is_repeated else below)
    write_answer(ctx, _objects(ctx, found), (path for path, _ in found), columns=("path", "type"))
    conditions.finish()


def _each_once(found: Iterator[Found]) -> Iterator[Found]:
    seen: set[str] = set()
    for each in found:
        if each.path not in seen:
            seen.add(each.path)
            yield each


def _predicate(ctx: Context, test: Test, conditions: Conditions) -> Tree[Predicate]:
    if test.option is WHERE:
        return conditions.tree(str(test.value))
    return TESTS[test.option.names[0]].make(ctx, test.value)


def _objects(ctx: Context, found: Iterator[Found]) -> Iterator[dict[str, Any]]:
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
