"""metashell groups lag, and what why, offsets and describe show of the recorded groups (tests/golden/groups/series)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metashell.cli.groups.command import main
from metashell.codec import messages
from metashell.codec.batch_writer import write_batch
from metashell.net.addresses import parse_addresses
from metashell.net.client import Client
from metashell.quorum.embedded import EmbeddedQuorum
from tests.groups.log.series_golden import RECORDED, write_server_log
from tests.groups.log.test_fold import record_of
from tests.groups.log.written_logs import write_log
from tests.running import Outcome, run_main

HOLDS = "producer 0 (hung-1), epoch 0 holds held-0 open from offset 2 since 2026-11-27T21:36:33.326Z"


def run(*words: str | Path) -> Outcome:
    done = run_main(main, list(map(str, words)), cwd=Path(__file__).parent)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def objects(*words: str | Path) -> list[dict[str, Any]]:
    done = run(*words, "-o", "jsonl")
    assert done.status == 0, done
    return [json.loads(line) for line in done.stdout.splitlines()]


# ---- from the disk


def test_a_lag_that_no_consumer_can_work_off_is_held_by_a_producer() -> None:
    (row,) = objects("lag", "held-reader", RECORDED)
    assert (row["lag"], row["readable_lag"], row["last_stable_offset"], row["verdict"]) == (301, 0, 2, "held")
    assert row["why"] == f"of 301 records a read_committed consumer can read 0: {HOLDS}"
    assert (row["held_by"]["transactional"], row["held_by"]["start_offset"], row["held_by"]["state"]) == ("hung-1", 2, "ONGOING")
    done = run("offsets", "held-reader", "--lag", RECORDED)
    assert done.status == 0 and f"{HOLDS} (its coordinator: ONGOING): of 301 records" in done.stderr
    assert [word for word in done.stdout.decode().splitlines()[0].split() if "LAG" in word] == ["LAG", "READABLE_LAG"]


def test_all_groups_are_one_line_each_and_the_worst_comes_first() -> None:
    rows = objects("lag", "--all", RECORDED)
    assert [(row["group"], row["verdict"], row["topic"]) for row in rows] == [
        ("held-reader", "held", None),
        ("well-python", "unknown", None),
    ]
    assert rows[0]["why"].startswith("held-0: of 301 records") and rows[0]["held_by"]["transactional"] == "hung-1"


def test_what_repeats_leads_and_a_server_log_adds_the_reasons(tmp_path: Path) -> None:
    server_log = write_server_log(tmp_path)
    series, *rebalances = objects("why", "sick-twins", RECORDED)
    assert (series["type"], series["series"]) == ("series", "replaced")
    assert {row["type"] for row in rebalances} == {"rebalance"}
    first = objects("history", "sick-twins", RECORDED)[0]
    assert first == series
    text = run("why", "sick-killed", RECORDED, "--server-log", server_log).stdout.decode()
    assert text.splitlines()[2].startswith("crasher@127.0.0.1 joined ")
    assert "is gone: its session ended (server.log, line " in text
    missing = run("why", "sick-killed", RECORDED, "--server-log", tmp_path / "none.log")
    assert (missing.status, missing.stderr.count("\n")) == (1, 1) and "none.log: No such file" in missing.stderr
    other = run("why", "well-static", RECORDED, "--server-log", RECORDED / "held-0" / "00000000000000000000.log")
    assert "no line about group well-static that says why it rebalanced" in other.stderr


@pytest.mark.parametrize("verb", ["lag", "offsets", "describe", "all"])
def test_a_commit_that_an_open_transaction_holds_back_is_named_with_its_producer(tmp_path: Path, verb: str) -> None:
    batches = []
    for offset, producer in enumerate((-1, 9002, 9002)):
        record = record_of(("commit", 0, offset, 0, 7 + offset), offset)
        more = {"producer_id": producer, "producer_epoch": 0, "is_transactional": True} if producer >= 0 else {}
        batches.append(write_batch(offset, [record], leader_epoch=0, **more))
    write_log(tmp_path, batches)
    done = run("lag", "--all", tmp_path) if verb == "all" else run(verb, "g", tmp_path)
    said = "producer 9002 holds 2 commits of g in an open transaction since "
    assert done.status == 0
    text = done.stdout.decode() if verb == "describe" else done.stderr
    assert said in text and ": t:1 to 8, t:2 to 9; consumers with isolation.level=read_committed that start there wait" in text
    assert text.count("producer 9002") == 1


def test_topics_that_were_deleted_keep_their_names() -> None:
    text = run("history", "sick-topics-consumer", RECORDED).stdout.decode()
    assert "gained sick_topics_consumer_2:" in text


# ---- a live cluster


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(1, groups=True) as running:
        running.create_topic("orders", 2)
        with Client(parse_addresses(running.bootstrap_servers), client_id="till") as client:
            for group, offset in (("a", 4), ("b", 0)):
                commit = messages.OffsetCommitRequest
                partition = commit.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
                client.request(
                    commit(group_id=group, topics=(commit.OffsetCommitRequestTopic(name="orders", partitions=(partition,)),)), version=9
                )
        yield running


def test_groups_of_a_cluster_are_looked_at_together(quorum: EmbeddedQuorum) -> None:
    rows = objects("lag", "--all", "-b", quorum.bootstrap_servers)
    assert {row["group"] for row in rows} == {"a", "b"}
    (row,) = objects("lag", "a", "--over", "0s", "-b", quorum.bootstrap_servers)
    assert (row["offset"], row["topic"], row["rate_in"]) == (4, "orders", None)
    (row,) = objects("lag", "a", "--over", "50ms", "-b", quorum.bootstrap_servers)
    assert row["rate_out"] == 0.0


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("lag", "--watch", "--all", "."), "option --watch: a log directory is looked at once"),
        (("describe", "a", "--watch", "1", "."), "option --watch: a log directory is looked at once"),
        (("lag",), "name a group, or --all"),
    ],
)
def test_wrong_command_lines_are_one_line(words: tuple[str, ...], text: str) -> None:
    done = run(*(str(RECORDED) if word == "." else word for word in words))
    assert done.status == 2 and text in done.stderr
