"""`metashell groups` beside kafka-consumer-groups on a real node, with groups in whatever states random conversations leave them."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from metashell.cli.main import tool_of
from metashell.codec import messages
from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.common.values import uuid_from_text
from metashell.net.addresses import Address
from metashell.net.client import Client
from tests.interop.group_walks import Walk
from tests.interop.real_groups import RealGroups, Talk
from tests.java import KAFKA, kafka
from tests.running import run_main

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("METASHELL_SEED", "0"))
WALKS = 20 if os.environ.get("METASHELL_SOAK") else 2
STEPS = 40
KINDS = ("classic", "consumer", "mixed")
TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
TRIES = 20
TIMEOUT = ("--timeout", "120000")
Row = dict[str, str | None]
T = TypeVar("T")


def theirs(groups: RealGroups, *words: str) -> list[Row]:
    """The rows of all tables that Kafka's tool prints, by the heads of their columns; None where a cell is empty or `-`."""
    done = kafka(KAFKA, TOOL, "--bootstrap-server", f"localhost:{groups.port}", *words, *TIMEOUT)
    assert done.returncode == 0 and b"Error:" not in done.stdout, done
    rows: list[Row] = []
    columns: list[tuple[str, int, int | None]] = []
    for line in done.stdout.decode().splitlines():
        if line.startswith("GROUP "):
            starts = [match.start() for match in re.finditer(r"(?<!\S)[#A-Z]\S*", line)]
            columns = [(line[at:end].strip(), at, end) for at, end in zip(starts, [*starts[1:], None], strict=True)]
        elif line.strip():
            cells = {name: line[at:end].strip() for name, at, end in columns}
            rows.append({name: None if cell in ("", "-") else cell for name, cell in cells.items()})
    return rows


def ours(groups: RealGroups, *words: str) -> list[dict[str, Any]]:
    done = run_main(tool_of("groups"), [*words, "-b", f"localhost:{groups.port}", "-o", "jsonl"], cwd=Path(__file__).parent)
    assert done.status == 0, done
    return [json.loads(line) for line in done.stdout.splitlines()]


def at_rest(ask: Callable[[], T], other: Callable[[], Any]) -> tuple[T, Any]:
    """What both say of a group that has not changed meanwhile: members whose time is over leave it."""
    for _ in range(TRIES):
        before, found, after = ask(), other(), ask()
        if before == after:
            return before, found
    raise AssertionError("the group changes all the time")


def number(text: str | None) -> int | None:
    return None if text is None else int(text)


def placed(value: dict[str, list[int]] | None) -> str | None:
    """Partitions as Kafka's tool writes them."""
    return ";".join(f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in sorted((value or {}).items())) or None


def compare(groups: RealGroups, group: str) -> None:
    """All that both tools say of a group."""
    listed, tables = at_rest(
        lambda: {row["group"]: (row["group_type"], row["state"]) for row in ours(groups, "list")},
        lambda: (theirs(groups, "--list", "--state"), theirs(groups, "--list", "--type")),
    )
    kinds = {row["GROUP"]: str(row["TYPE"]).lower() for row in tables[1]}
    assert {row["GROUP"]: (kinds[row["GROUP"]], row["STATE"]) for row in tables[0]} == listed

    offsets, table = at_rest(
        lambda: ours(groups, "offsets", group, "--lag"), lambda: theirs(groups, "--describe", "--group", group, "--offsets")
    )
    numbers = ("PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG")
    read = [(row["TOPIC"], *(number(row[name]) for name in numbers), row["CONSUMER-ID"], row["CLIENT-ID"]) for row in table if row["TOPIC"]]
    keys = ("topic", "partition", "offset", "log_end_offset", "lag", "member", "client")
    assert sorted(read, key=str) == sorted((tuple(row[key] for key in keys) for row in offsets), key=str)

    (described,), tables = at_rest(
        lambda: ours(groups, "describe", group),
        lambda: (
            theirs(groups, "--describe", "--group", group, "--members", "--verbose"),
            theirs(groups, "--describe", "--group", group, "--state"),
        ),
    )
    assert {
        row["CONSUMER-ID"]: (
            row.get("GROUP-INSTANCE-ID"),
            row["HOST"],
            row["CLIENT-ID"],
            row["CURRENT-ASSIGNMENT"],
            number(row["CURRENT-EPOCH"]),
            row["TARGET-ASSIGNMENT"],
        )
        for row in tables[0]
    } == {
        row["member"]: (row["instance"], row["host"], row["client"], placed(row["assigned"]), row["epoch"], placed(row["target"]))
        for row in described["members"]
    }
    (state,) = tables[1]
    assert (state["STATE"], number(state["#MEMBERS"])) == (described["state"], len(described["members"]))


@pytest.fixture(scope="module")
def written(groups: RealGroups, topics: dict[str, tuple[str, int]]) -> None:
    """Another number of records in each partition, for lags that differ."""
    request = messages.ProduceRequest
    for name, (id, partitions) in topics.items():
        parts = tuple(
            request.PartitionProduceData(
                index=at,
                records=write_batch(0, [Record(offset, 0, None, b"text") for offset in range(at + 3)], leader_epoch=-1, base_timestamp=0),
            )
            for at in range(partitions)
        )
        data = request.TopicProduceData(name=name, topic_id=uuid_from_text(id), partition_data=parts)
        with Client([Address("localhost", groups.port)]) as client:
            answer = client.request(request(acks=-1, timeout_ms=10_000, topic_data=(data,)))
        assert {partition.error_code for topic in answer.responses for partition in topic.partition_responses} == {0}


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("kinds", KINDS)
def test_both_tools_say_the_same_of_groups(groups: RealGroups, topics: dict[str, tuple[str, int]], kinds: str) -> None:
    for turn in range(WALKS):
        name = f"tools-{kinds}-{SEED}-{turn}"
        groups.log.read()
        with contextlib.closing(Talk(groups, name, topics)) as talk:
            Walk(talk, random.Random(name), topics, kinds).run(STEPS)
            compare(groups, name)
