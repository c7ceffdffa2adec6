"""count, health and ls --sort as they are typed, on the directory that ships with the package."""

from __future__ import annotations

import json
from collections import Counter
from io import StringIO
from pathlib import Path

import pytest

from metashell.common.forms import Display, text_width
from metashell.demo import demo_directory
from metashell.disk.source import open_source
from metashell.metadata.image import load_image
from metashell.metadata.nodes import LocalInfo, build_root
from metashell.shell import Context, run_line

AS_OF = "as of offset 521, epoch 2, 2026-11-21T00:25:57.050Z, committed to 329"


BAD = str(Path(__file__).parents[1] / "golden" / "cases" / "01-stale-registrations" / "node-1")
"""A broker of this one is gone, and a controller that is gone holds back an upgrade."""


def run(
    line: str, *, color: bool = False, width: int | None = None, is_terminal: bool = False, source_path: str = ""
) -> tuple[int, str, str]:
    out, err = StringIO(), StringIO()
    with open_source(source_path or demo_directory()) as source:
        image = load_image(source)
    root = build_root(image, voice="own", local=LocalInfo(version="0", commit_id="0"))
    ctx = Context(
        root=root, image=image, display=Display(out, color=color, width=width, is_terminal=is_terminal), err=err, source_label="demo"
    )
    return run_line(ctx, line), out.getvalue(), err.getvalue()


def test_topics_count_once_though_they_have_two_names():
    status, text, _ = run("count /image/topics")
    assert (status, text.split()[-6:]) == (0, ["leaf", "30", "partition", "36", "topic", "15"])


def test_a_topic_that_two_paths_name_counts_once():
    assert run("count --by leader /image/topics/byName/orders /image/topics/byName/o*") == run(
        "count --by leader /image/topics/byName/orders"
    )


def test_leaves_count_by_a_field_or_by_what_a_listing_says():
    assert run("count --by fenced /image/cluster/brokers")[1] == "fenced  leaves\nfalse        3\n"
    assert run("count --by state /image/cluster/brokers")[1] == "state   leaves\nactive       3\n"


def test_nodes_count_as_a_walk_over_them_finds_them():
    """What the image knows how many there are of is not walked; the second name of topics does not count."""
    walked: Counter[str] = Counter()
    for line in run("find / -o jsonl")[1].splitlines():
        node = json.loads(line)
        if not node["path"].startswith("/image/topics/byId"):
            walked[node["type"]] += 1
    assert dict(walked) == {row["value"]: row["count"] for row in map(json.loads, run("count -o jsonl")[1].splitlines())}


def test_what_lies_below_two_paths_counts_once():
    assert run("count /image/topics /image /image/topics/byName/orders/0 /image") == run("count /image")
    assert run("count /") != run("count /image")


def test_partitions_that_paths_name_count_and_no_others():
    one = run("count --by broker /image/topics/byName/orders/0 -o jsonl")[1].splitlines()
    assert [json.loads(line)["count"] for line in one] == [1, 1]
    two = json.loads(run("count --by state /image/topics/byName/orders/[01] -o jsonl")[1])
    assert (two["value"], two["of"], two["count"]) == ("sound", "partitions", 2)
    assert run("count --by topic /image/topics/byName/orders/0")[1].splitlines()[1].split() == ["orders", "1"]


def test_the_largest_counts_can_be_asked_for():
    whole = [line.split() for line in run("count --by topic")[1].splitlines()[1:]]
    few = [line.split() for line in run("count --by topic -n 3")[1].splitlines()[1:]]
    assert [int(count) for _, count in few] == sorted((int(count) for _, count in whole), reverse=True)[:3]
    assert all(row in whole for row in few)
    assert run("count --by topic -n 0")[1] == "topic  partitions\n"


def test_a_path_that_names_nothing_has_no_count():
    assert run("count /nope")[:2] == (1, "")


def test_a_field_that_nothing_has_is_refused():
    status, text, error = run("count --by nope")
    assert (status, text) == (2, "")
    assert error.startswith("count: --by: no node here has a field 'nope'; there is broker, rack, state, topic, leader, ")
    assert run("count --by lead")[2].endswith("(did you mean leader?)\n")


def test_health_has_a_status_that_says_whether_anything_is_bad():
    assert run("health")[0] == run("health reassigning")[0] == 0
    assert run("health", source_path=BAD)[0] == 1
    others = "--allow vanished --allow stale_controller --allow unregistered_replica"
    assert run(f"health {others} --allow under_replicated=3", source_path=BAD)[0] == 0
    assert run(f"health {others} --allow under_replicated=2", source_path=BAD)[0] == 1
    status, text, _ = run("health leaderless elr")
    assert (status, text.splitlines()) == (0, ["none: leaderless, elr", AS_OF])


def test_what_cannot_be_known_is_no_good_news():
    status, text, errors = run("health lagging vanished", source_path=BAD)
    assert (status, text.count("vanished  "), "none:" in text) == (1, 1, False)
    assert errors == "health: lagging: no live quorum asked, -C\n"
    assert run("health lagging")[1].splitlines() == [AS_OF]


def test_health_says_how_old_it_is_to_a_person_only():
    assert run("health")[1].splitlines()[-1] == AS_OF
    assert " ago), committed to 329" in run("health", is_terminal=True)[1].splitlines()[-1]


def test_health_gives_paths_to_paste():
    row = json.loads(run("health reassigning -o jsonl")[1].splitlines()[0])
    assert (row["names"], row["paths"]) == (["reassigned-1/0"], ["/image/topics/byName/reassigned-1/0"])
    assert run(f"ls {row['paths'][0]}")[0] == 0


def test_health_as_a_table_has_a_row_for_each_name():
    lines = run("health -o table")[1].splitlines()
    assert lines[0].split() == ["SEVERITY", "KIND", "COUNT", "NAME", "SINCE"]
    assert ["unusual", "reassigning", "1", "/image/topics/byName/reassigned-1/0", "-"] in [line.split() for line in lines]
    assert len(run("health -o csv --limit 1 one_replica")[1].splitlines()) == 2
    assert run("health -o csv --limit 0 reassigning")[1].splitlines()[1].startswith("unusual,reassigning,1,,")


@pytest.mark.parametrize("width", [80, 30])
def test_no_line_of_health_is_wider_than_the_terminal_but_for_what_is_one_word(width: int):
    lines = run("health", width=width, is_terminal=True)[1].splitlines()
    assert all(text_width(line) <= width or len(line.split()) == 1 for line in lines)
    whole = run("health", width=None, is_terminal=True)[1]
    assert " ".join(" ".join(lines).split()) == " ".join(whole.split())


def test_health_names_as_many_as_it_is_told():
    assert "and 1 more" in run("health --limit 1")[1]
    assert "changelog" not in run("health --limit 0 one_replica")[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--allow nope", "--allow: 'nope' is not a kind of trouble"),
        ("--allow unclean=x", "--allow: 'x' is not a number of unclean"),
        ("--min-isr 0", "--min-isr: 0 is not a min.insync.replicas"),
        ("--min-isr 2147483648", "--min-isr: 2147483648 is not a min.insync.replicas"),
        ("nope", "'nope' is not one of acl_range, "),
    ],
)
def test_what_health_does_not_understand_is_refused(words, message):
    status, text, error = run(f"health {words}")
    assert (status, text) == (2, "")
    assert error.startswith(f"health: {message}")


def test_what_is_bad_is_red_and_what_is_unusual_yellow():
    lines = run("health", color=True, source_path=BAD)[1].splitlines()
    assert lines[0].startswith("\x1b[31mbad")
    assert any(line.startswith("\x1b[33munusual") for line in lines)


def test_names_are_broken_at_the_width_of_the_terminal():
    names = [line for line in run("health --limit 9 under_replicated", width=60, source_path=BAD)[1].splitlines() if "/image" in line]
    assert len(names) == 3


def test_ls_sorts_by_a_field_numbers_from_the_largest_down():
    assert run("ls --sort epoch /image/cluster/brokers")[1] == "6\n5\n4\n"
    assert run("ls --sort epoch --reverse /image/cluster/brokers")[1] == "4\n5\n6\n"
    assert run("ls -1 --sort partitions /image/topics/byName")[1].splitlines()[1] == "plain-topic"
    names = [json.loads(line)["name"] for line in run("ls --sort epoch /image/cluster/brokers -o jsonl")[1].splitlines()]
    assert names == ["6", "5", "4"]


def test_ls_sorts_text_upwards_and_what_lacks_the_field_last():
    assert run("ls --sort rack /image/cluster/brokers")[1] == "4\n5\n6\n"
    assert run("ls --sort type /image/topics/byName/orders")[1].split() == ["id", "name", "0", "1", "2"]


def test_ls_refuses_a_field_that_nothing_has():
    status, text, error = run("ls --sort nope /image")
    assert (status, text) == (2, "")
    assert error.startswith("ls: --sort: no node here has a field 'nope'; there is type, entries")
    assert run("ls --sort nope -R /image/features")[0] == 0
    assert run("ls -o kafka --sort type /image")[0] == 2
