"""--where of `ls` and `count`: what passes is what `find` finds."""

from __future__ import annotations

from collections import Counter

import pytest

from metashell.metadata.checks import PARTITION_GROUPS
from metashell.metadata.nodes.topics import partition_value
from metashell.shell import run_command
from metashell.shell.node_fields import PARTITION_NAMES
from tests.shell.search.test_finding import IMAGE, find
from tests.shell.search.unsound_cluster import unsound_context

WHERES = (
    "leaderless",
    "leader == 2",
    "under_replicated == true and topic != 'orders'",
    "partition < 5 or leaderEpoch > 0",
    "partitions > 3",
)


def run(*words: str) -> tuple[int, list[str], str]:
    ctx = unsound_context(IMAGE)
    status = run_command(ctx, list(words))
    return status, ctx.display.out.getvalue().splitlines(), ctx.err.getvalue()


def counted(*words: str) -> dict[str, int]:
    return {value: int(count) for value, count in (line.split() for line in run("count", *words)[1][1:])}


@pytest.mark.parametrize("where", WHERES)
def test_a_listing_has_what_find_finds(where):
    found = find("/image/topics/byName/orders", "--where", where)[1]
    expected = [path.rpartition("/")[2] for path in found if path.count("/") == 5]
    for more in ([], ["-l"], ["--sort", "type"]):
        names = [
            line.split()[1] if more == ["-l"] else line for line in run("ls", *more, "--where", where, "/image/topics/byName/orders")[1]
        ]
        assert sorted(names) == sorted(expected)
    assert len(run("ls", "-o", "jsonl", "--where", where, "/image/topics/byName/orders")[1]) == len(expected)


@pytest.mark.parametrize("where", WHERES)
def test_a_count_counts_what_find_finds(where):
    found = find("/", "--where", where)[1]
    assert sum(counted("--where", where, "/").values()) == len(found)
    partitions = find("/", "-type", "partition", "--where", where)[1]
    by_topic = Counter(path.split("/")[4] for path in partitions if "byName" in path)
    if where != "partitions > 3":
        assert sum(counted("--by", "leader", "--where", where, "/").values()) == len(partitions)
        assert counted("--by", "topic", "--where", where, "/image/topics/byName/orders").get("orders", 0) == by_topic["orders"]


@pytest.mark.parametrize("by", PARTITION_GROUPS)
def test_what_holds_for_all_counts_all(by):
    assert run("count", "--by", by, "--where", "partition > -1", "/") == run("count", "--by", by, "/")


def test_a_recursive_listing_leaves_out_directories_of_which_nothing_passes():
    lines = run("ls", "-R", "--where", "leader == 9", "/image/topics/byName")[1]
    assert lines[0] == "/image/topics/byName/[a]*:"
    assert all(line for line in lines if line.endswith(":"))
    assert run("ls", "--where", "leader == 9", "/image/cluster/brokers")[1] == []


def test_paths_of_leaves_pass_or_not():
    assert run("ls", "--where", "fenced", "/image/cluster/brokers/1", "/image/cluster/brokers/4")[1] == ["4"]
    assert run("ls", "-o", "csv", "--where", "fenced", "/image/cluster/brokers/{1,4}")[1][1].startswith("/image/cluster/brokers/4,")
    assert counted("--where", "fenced", "/image/cluster") == {"broker": 1}


def test_wrong_expressions_and_names():
    assert run("ls", "--where", "fenced ==", "/")[2] == "ls: invalid syntax\n    fenced ==\n             ^\n"
    assert run("count", "--where", "fencd == 1", "/")[::2] == (1, "count: --where: no node here has 'fencd' (did you mean fenced?)\n")
    assert run("ls", "-o", "kafka", "--where", "fenced", "/")[0] == 2


@pytest.mark.parametrize("where", ['leader == "4"', 'partition > -1 and leader == "4"'])
def test_an_answer_that_is_empty_for_want_of_a_number_says_so(where):
    message = f"--where: leader is a number, not text: write 4 without quotes\n    {where}\n    {' ' * where.index('leader')}^\n"
    status, lines, err = find("/", "--where", where)
    assert (status, lines, err) == (1, [], f"find: {message}")
    assert run("count", "--by", "rack", "--where", where, "/")[::2] == (1, f"count: {message}")
    assert find("/image", "--where", 'name == "4" or leader == 2')[::2] == (0, "")


@pytest.mark.parametrize("where", ["partition > -1 and leader == 99", "leader == 99 and leaderEpoch > -1"])
def test_a_field_that_partitions_have_is_there_though_none_passed(where):
    assert find("/", "--where", where) == (0, [], "")


def test_all_fields_of_partitions_are_known():
    partition = next(iter(IMAGE.topics.by_id.values())).partitions[0]
    assert partition_value(partition, bytes(16), 0).keys() <= PARTITION_NAMES


@pytest.mark.parametrize("more", [("-name", "orders"), ("-type", "topic"), ("-maxdepth", "1"), ()])
def test_a_start_below_a_start_of_the_same_pattern_is_walked_once(more):
    deep = find("/image/**", *more)[1]
    assert len(deep) == len({*deep})
    if "-maxdepth" not in more:
        assert deep == find("/image", *more)[1]
    else:
        assert {*deep} == {*find("/image")[1]}
    assert run("tree", "/image/**") == run("tree", "/image")
    assert run("ls", "-R", "/image/**") == run("ls", "-R", "/image")
