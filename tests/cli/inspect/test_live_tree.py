"""/groups of kafka-shell: of a cluster that runs, and of the logs beside its metadata, which say the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metashell.cli.groups import command
from metashell.cli.inspect import kafka_shell
from metashell.codec import messages
from metashell.groups.server.topic_requests import TOPIC
from metashell.net.addresses import parse_addresses
from metashell.net.client import Client
from metashell.quorum.embedded import EmbeddedQuorum
from tests.groups.golden import scenarios
from tests.groups.log import written_logs
from tests.groups.log.written_logs import NAME, golden_batches
from tests.running import run_main

ODD = "a/b %"


@pytest.fixture(scope="module")
def quorum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(1, groups=True, directory=tmp_path_factory.mktemp("kept")) as running:
        running.create_topic("orders", 2)
        with Client(parse_addresses(running.bootstrap_servers), client_id="till") as client:
            fill(client)
            write_log(client, Path(running.directory) / "controller-1" / "metadata" / f"{TOPIC}-0")
        yield running


def fill(client: Client) -> None:
    heartbeat = messages.ConsumerGroupHeartbeatRequest(
        group_id="modern", member_id="till-1", rebalance_timeout_ms=30_000, subscribed_topic_names=("orders",), topic_partitions=()
    )
    assert client.request(heartbeat).error_code == 0
    commit = messages.OffsetCommitRequest
    partition = commit.OffsetCommitRequestPartition(partition_index=1, committed_offset=12, committed_metadata="")
    for group in ("audit", ODD):
        client.request(commit(group_id=group, topics=(commit.OffsetCommitRequestTopic(name="orders", partitions=(partition,)),)), version=9)


def write_log(client: Client, folder: Path) -> None:
    """What is fetched of the log of groups, as a broker has it on disk."""
    fetch = messages.FetchRequest
    wanted = (fetch.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20),)
    answer = client.request(fetch(max_wait_ms=0, min_bytes=0, topics=(fetch.FetchTopic(topic=TOPIC, partitions=wanted),)), version=12)
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(bytes(answer.responses[0].partitions[0].records))


def shell(*words: str, status: int = 0) -> list[str]:
    done = run_main(kafka_shell.main, list(words), cwd=Path("."))
    assert "Traceback" not in done.stderr and done.status == status, done
    return [*done.stdout.decode().splitlines(), *done.stderr.splitlines()]


@pytest.fixture(params=["quorum", "directory", "folder"])
def source(request: pytest.FixtureRequest, quorum: EmbeddedQuorum) -> list[str]:
    """The ways to name where groups are."""
    return {
        "quorum": ["-C", quorum.bootstrap_controllers],
        "directory": ["--snapshot", f"{quorum.directory}/controller-1/metadata/__cluster_metadata-0"],
        "folder": ["--snapshot", f"{quorum.directory}/controller-1/metadata"],
    }[str(request.param)]


def test_groups_stand_beside_the_image_with_members_and_offsets(source: list[str]) -> None:
    assert "groups" in shell(*source, "ls", "/")
    assert shell(*source, "ls", "/groups") == ["a%2Fb %25", "audit", "modern"]
    assert [line.split()[-3:] for line in shell(*source, "ls", "-l", "/groups")][1:] == [
        ["audit", "group_type=classic", "state=Empty"],
        ["modern", "group_type=consumer", "state=Stable"],
    ]
    assert shell(*source, "cat", "/groups/modern/{epoch,state,type}") == ["2", "Stable", "consumer"]
    assert shell(*source, "ls", "/groups/modern/members") == ["till-1"]
    assert shell(*source, "ls", "/groups/audit/offsets/orders") == ["1"]
    (shown,) = shell(*source, "cat", "-o", "jsonl", "/groups/modern/members/till-1")
    member: dict[str, Any] = json.loads(shown)
    assert (member["path"], member["type"]) == ("/groups/modern/members/till-1", "member")
    assert member["value"]["assigned"] == {"orders": [0, 1]} and member["value"]["client"] == "till"
    (shown,) = shell(*source, "cat", "-o", "jsonl", "/groups/a%2Fb %25/offsets/orders/1")
    assert json.loads(shown)["value"]["offset"] == 12


def test_a_walk_from_the_root_leaves_groups_out(source: list[str]) -> None:
    assert not [line for line in shell(*source, "find", "/") if line.startswith("/groups")]
    assert "/groups/modern/members/till-1" in shell(*source, "find", "/groups")


def test_what_was_fetched_is_a_log_that_commands_read(quorum: EmbeddedQuorum) -> None:
    done = run_main(command.main, ["list", f"{quorum.directory}/controller-1/metadata", "-o", "jsonl"], cwd=Path("."))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.status == 0 and [(row["group"], row["group_type"], row["offsets"]) for row in rows] == [
        (ODD, "classic", 1),
        ("audit", "classic", 1),
        ("modern", "consumer", 0),
    ]


def test_metadata_without_logs_of_groups_has_no_groups(tmp_path: Path) -> None:
    with EmbeddedQuorum(1, directory=tmp_path / "kept") as plain:
        folder = f"{plain.directory}/controller-1/metadata"
        assert "groups" not in shell("--snapshot", folder, "ls", "/")
        missing = shell("-C", plain.bootstrap_controllers, "ls", "/groups", status=1)
        assert "no broker is up that listens with PLAINTEXT" in missing[-1]


@pytest.mark.parametrize("below", ["", "__consumer_offsets-0", f"__consumer_offsets-0/{NAME}"])
def test_groups_without_metadata_are_refused_with_the_command_that_shows_them(tmp_path: Path, below: str) -> None:
    log = written_logs.write_log(tmp_path, golden_batches(scenarios()["worked-trace"]))
    named = tmp_path / below
    folder = log if named.is_file() else named
    (told,) = shell("--snapshot", str(named), "ls", "/groups", status=1)
    assert told.endswith(f"; metashell groups list {folder} shows the groups")
    assert run_main(command.main, ["list", str(folder)], cwd=tmp_path).status == 0
