"""metashell groups reset-offsets, delete and delete-offsets: what is refused before anything is asked, and the CSV of Kafka's tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.cli.groups.changes import _csv_lines, _plans_of_file, iso_duration_ms
from metashell.cli.groups.command import main
from metashell.common.errors import UsageError
from metashell.net.addresses import parse_addresses
from metashell.net.client import Client
from metashell.quorum.embedded import EmbeddedQuorum
from tests.cli.groups.test_description import classic_group
from tests.running import run_main

NOWHERE = ("-b", "localhost:1")


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("P7D", 7 * 86_400_000),
        ("PT1H30M", 5_400_000),
        ("P1DT0.5S", 86_400_500),
        ("-PT1M", -60_000),
        ("pt1s", 1000),
        ("PT0S", 0),
    ],
)
def test_durations_are_javas(text: str, ms: int) -> None:
    assert iso_duration_ms(text) == ms


@pytest.mark.parametrize("text", ["", "P", "PT", "7d", "P1W", "P1Y", "PT1.5H", "P1DT"])
def test_what_java_does_not_read_as_a_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--by-duration"):
        iso_duration_ms(text)


def test_csv_is_written_and_read_as_kafka_does(tmp_path: Path) -> None:
    names = ("orders", "x" * 24, "x" * 25, 'a "group"', "a,b")
    rows = [{"group": name, "topic": "orders", "partition": 0, "offset": number} for number, name in enumerate(names)]
    lines = list(_csv_lines(rows, has_group=True))
    assert [line.partition(",orders")[0] for line in lines] == ["orders", "x" * 24, f'"{"x" * 25}"', '"a ""group"""', '"a,b"']
    path = tmp_path / "plan.csv"
    path.write_text("\n".join(lines) + "\n")
    assert _plans_of_file(str(path), ["a"]) == {name: {("orders", 0): number} for number, name in enumerate(names)}
    path.write_text("orders,0,7\n")
    assert _plans_of_file(str(path), ["only"]) == {"only": {("orders", 0): 7}}
    with pytest.raises(UsageError, match="line 1: names no group, and 2 are to be reset"):
        _plans_of_file(str(path), ["a", "b"])
    path.write_text("orders,0,7\norders,zero,7\n")
    with pytest.raises(UsageError, match=r"plan.csv: line 2: not TOPIC,PARTITION,OFFSET"):
        _plans_of_file(str(path), ["a"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["g", "--topic", "t"], "name where to, by one of --to-offset"),
        (["g", "--topic", "t", "--to-earliest", "--to-latest"], "name where to, by one of --to-offset"),
        (["g", "--to-earliest"], "name the partitions by --topic"),
        (["g", "--to-earliest", "--topic", "t", "--all-topics"], "name the partitions by --topic"),
        (["--to-earliest", "--all-topics"], "name groups, or take all by --all-groups"),
        (["g", "--all-groups", "--to-earliest", "--all-topics"], "name groups, or take all by --all-groups"),
        (["g", "--to-earliest", "--all-topics", "--execute", "--dry-run"], "give one of the two"),
        (["g", "--to-earliest", "--all-topics", "--export", "-o", "json"], "--export prints CSV"),
    ],
)
def test_a_command_line_that_does_not_say_what_to_do_is_refused(tmp_path: Path, words: list[str], said: str) -> None:
    done = run_main(main, ["reset-offsets", *words, *NOWHERE], cwd=tmp_path)
    assert done.status == 2 and said in done.stderr and not done.stdout


def test_a_group_with_members_is_never_changed(tmp_path: Path) -> None:
    with EmbeddedQuorum(1, groups=True) as running:
        running.create_topic("orders", 2)
        with Client(parse_addresses(running.bootstrap_servers), client_id="till") as client:
            classic_group(client)
            to = ("-b", running.bootstrap_servers)
            for words in (["reset-offsets", "billing", "--topic", "orders", "--to-earliest", "--execute"], ["delete", "billing", "--yes"]):
                done = run_main(main, [*words, *to], cwd=tmp_path)
                assert (
                    done.status == 1 and "billing: NON_EMPTY_GROUP: The group is not empty: it is Stable and has 1 member." in done.stderr
                )
            assert b"billing" in run_main(main, ["list", *to], cwd=tmp_path).stdout
