"""Administration in our own voice through a real broker: what no controller answers, and what a broker hands on."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metashell.cli.main import tool_of
from tests.interop.one_broker import BROKER_ID, OneBroker, one_broker
from tests.running import Outcome, run_main

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
LIMIT_S = 120.0


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneBroker]:
    with one_broker(tmp_path_factory.mktemp("broker")) as broker:
        yield broker


def run(broker: OneBroker, noun: str, *words: str, through: str = "-b") -> Outcome:
    main = tool_of(noun)
    address = broker.bootstrap if through == "-b" else broker.quorum.bootstrap_controllers
    done = run_main(main, [*words, through, address], cwd=HERE)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def lines(broker: OneBroker, noun: str, *words: str, status: int = 0, through: str = "-b") -> list[str]:
    """The lines on stdout, then those on stderr."""
    done = run(broker, noun, *words, through=through)
    assert done.status == status, done
    return [*done.stdout.decode().splitlines(), *done.stderr.splitlines()]


def objects(broker: OneBroker, noun: str, *words: str, status: int = 0, through: str = "-b") -> list[dict[str, Any]]:
    done = run(broker, noun, *words, "-o", "jsonl", through=through)
    assert done.status == status, done
    return [json.loads(line) for line in done.stdout.splitlines()]


def both_ways(broker: OneBroker, noun: str, *words: str) -> list[dict[str, Any]]:
    """What both ways say, once the broker has applied what the controllers have decided: it comes a moment later."""
    until = time.monotonic() + LIMIT_S
    while (told := objects(broker, noun, *words)) != (decided := objects(broker, noun, *words, through="-C")):
        assert time.monotonic() < until, (told, decided)
        time.sleep(0.05)
    return told


SAME = {
    ("topics", "list"): ("topic", "partitions", "replication_factor", "offline", "under_replicated", "id"),
    ("topics", "describe", "orders"): ("topic", "partition", "leader", "leader_epoch", "replicas", "isr", "problems", "min_isr"),
    ("brokers", "list"): ("id", "state", "host", "port", "rack", "leaders", "replicas", "not_in_sync"),
    ("features", "describe"): ("feature", "finalized"),
    ("cluster",): (
        "cluster_id",
        "metadata_version",
        "active_controller",
        "voters",
        "brokers",
        "topics",
        "partitions",
        "offline",
    ),
}
"""Commands, and what both ways must say alike."""


def test_both_ways_show_the_same_cluster(broker: OneBroker) -> None:
    lines(broker, "topics", "create", "orders", "--assignment", f"{BROKER_ID}:101,101:{BROKER_ID}", "--wait")
    for words, keys in SAME.items():
        ways = []
        for through in ("-b", "-C"):
            # The brokers that do nothing listen nowhere: who asks brokers finds that out.
            status = 1 if (words, through) == (("cluster",), "-b") else 0
            ways.append([{key: row[key] for key in keys} for row in objects(broker, *words, through=through, status=status)])
        assert ways[0] == ways[1] != [], words
    lines(broker, "topics", "delete", "orders", "--yes", "--wait")
    assert lines(broker, "topics", "list") == ["metashell topics list: no topics that this user may see"]


def test_only_brokers_know_their_disks(broker: OneBroker) -> None:
    (row,) = objects(broker, "brokers", "describe", str(BROKER_ID))
    assert [one["path"] for one in row["log_dirs"]] == [str(broker.directory)]
    assert row["log_dirs"][0]["total_bytes"] > row["log_dirs"][0]["usable_bytes"] > 0
    told = lines(broker, "brokers", "describe", "101", status=1)
    assert "metashell brokers describe: not seen: log directories of broker 101: localhost:1: Connection refused" in told


def test_settings_of_a_broker_come_from_itself_and_one_that_is_away_fails_alone(broker: OneBroker) -> None:
    words = ["configs", "set", f"broker:{BROKER_ID}", "broker:101", "log.cleaner.threads=2"]
    told = lines(broker, *words, status=1)
    assert f"broker:{BROKER_ID}: log.cleaner.threads: set to 2, 1 before (default)" in told
    assert "metashell configs set: broker:101: localhost:1: Connection refused" in told
    rows = {row["key"]: row for row in objects(broker, "configs", "get", f"broker:{BROKER_ID}")}
    assert rows["log.cleaner.threads"]["source"] == "broker"
    assert (rows["log.dirs"]["value"], rows["log.dirs"]["source"]) == (str(broker.directory), "server.properties")
    assert rows["log.dirs"]["read_only"]
    # The broker itself checks what a controller would take.
    (told,) = lines(broker, "configs", "set", f"broker:{BROKER_ID}", "num.network.threads=99", "--dry-run", status=1)
    assert "INVALID_REQUEST" in told or "INVALID_CONFIG" in told
    (told,) = lines(broker, "configs", "set", f"broker:{BROKER_ID}", "log.dirs=/elsewhere", status=1)
    assert "Cannot update these configs dynamically" in told
    assert (
        lines(broker, "configs", "get", f"broker-logger:{BROKER_ID}", "-k", "kafka.server.KafkaApis", "--all")[1].split()[1]
        == "kafka.server.KafkaApis"
    )


def test_a_broker_hands_on_what_the_controller_decides(broker: OneBroker) -> None:
    lines(broker, "topics", "create", "payments", "-r", "3", "--config", "retention.ms=700000000", "--wait")
    assert lines(broker, "topics", "alter", "payments", "-p", "3", "--yes")[0] == "payments: has 3 partitions, 1 before"
    (told,) = lines(broker, "configs", "set", "topic:payments", "retention.ms=never", status=1)
    assert "INVALID_CONFIG: Invalid value never for configuration retention.ms: Not a number of type LONG" in told
    assert lines(broker, "elect", "preferred", "payments") == ["metashell elect preferred: every preferred replica leads already"]
    assert "would be disabled" in lines(broker, "features", "disable", "streams.version", "--dry-run")[0]
    (answer,) = objects(broker, "quorum", "describe")
    assert answer["leader"] == broker.quorum.leader_id
    assert {row["id"]: row["role"] for row in answer["replicas"]}[BROKER_ID] == "observer"


def test_a_dry_run_through_brokers_is_rehearsed_on_the_controllers_behind_them(broker: OneBroker) -> None:
    lines(broker, "topics", "create", "shipments", "-r", "2", "--wait")
    told = lines(broker, "topics", "delete", "shipments", "--dry-run")
    assert told[0] == "shipments: would be deleted, 1 partition"
    assert any("rehearsed on a copy of the metadata at offset" in line for line in told)
    assert "shipments" in broker.quorum.image.topics.by_name


def test_a_voter_goes_and_comes_through_a_broker(broker: OneBroker) -> None:
    id = next(id for id in (1, 2, 3) if id != broker.quorum.wait_for_leader())
    before = {row["id"]: row for row in objects(broker, "quorum", "describe")[0]["replicas"]}[id]
    assert ": removed; 2 voters" in lines(broker, "quorum", "remove-controller", str(id), "--yes")[0]
    words = ["--id", str(id), "--directory-id", before["directory_id"], "--endpoint", before["endpoints"][0]]
    assert ": is a voter now; 3 voters" in lines(broker, "quorum", "add-controller", *words, "--wait")[0]


def test_a_controller_is_unregistered_through_a_broker_and_registers_again(broker: OneBroker) -> None:
    id = next(id for id in (1, 2, 3) if id != broker.quorum.wait_for_leader())
    before = broker.quorum.wait_for(lambda image: id in image.cluster.controllers).cluster.controllers[id]
    (told,) = lines(broker, "quorum", "unregister-controller", str(id), status=1)
    assert "it votes until it is removed" in told and "it registers again at once" in told
    assert f"controller {id}: unregistered" in lines(broker, "quorum", "unregister-controller", str(id), "--force", "--yes")
    broker.quorum.wait_for(lambda image: id in image.cluster.controllers)
    assert broker.quorum.image.cluster.controllers[id].incarnation_id == before.incarnation_id
    (told,) = lines(broker, "quorum", "unregister-controller", "77", status=1)
    assert "controller 77: CONTROLLER_ID_NOT_REGISTERED: Controller ID 77 is not currently registered." in told
    hint = f"{id} is a controller: metashell quorum unregister-controller {id} lets the cluster forget it"
    assert lines(broker, "brokers", "unregister", str(id), "--yes", status=1)[-1].endswith(hint)


def test_quotas_and_credentials_are_described_by_brokers_as_the_metadata_has_them(
    broker: OneBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALICES_PASSWORD", "secret")
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        lines(broker, "scram", "set", "alice", "--mechanism", mechanism, "--password-env", "ALICES_PASSWORD")
    lines(broker, "quotas", "set", "--user", "alice", "producer_byte_rate=10M")
    # What was there before is what the broker knows.
    assert both_ways(broker, "quotas", "list") != []
    assert lines(broker, "quotas", "set", "--user", "alice", "producer_byte_rate=9M", "request_percentage=12.5") == [
        "user=alice: producer_byte_rate: set to 9437184, 10485760 before",
        "user=alice: request_percentage: set to 12.5, not set before",
    ]
    lines(broker, "quotas", "set", "--user-default", "--client-id", "app", "consumer_byte_rate=1M")
    lines(broker, "quotas", "set", "--ip", "127.0.0.2", "connection_creation_rate=7")
    lines(broker, "quotas", "set", "--ip-default", "connection_creation_rate=700", "--dry-run")
    for words in (
        ("scram", "list"),
        ("quotas", "list"),
        ("quotas", "list", "--user", "alice"),
        ("quotas", "list", "--user-default"),
        ("quotas", "list", "--client-id", "app", "--user-default", "--strict"),
        ("quotas", "list", "--ip", "127.0.0.2"),
    ):
        assert both_ways(broker, *words) != [], words
    for words in (
        ("quotas", "list", "--user", "app"),
        ("quotas", "list", "--client-id", "app", "--strict"),
        ("quotas", "list", "--ip-default"),
    ):
        assert [objects(broker, *words, through=through) for through in ("-b", "-C")] == [[], []], words
    ways_told = [lines(broker, "scram", "list", "alice", "nobody", status=1, through=through) for through in ("-b", "-C")]
    assert ways_told[0] == ways_told[1] and "nobody: RESOURCE_NOT_FOUND: " in ways_told[0][-1]
    assert len(lines(broker, "quotas", "unset", "--user", "alice", "--all")) == 2
    lines(broker, "scram", "delete", "alice", "--yes")
    assert both_ways(broker, "scram", "list") == []


@pytest.mark.parametrize(
    "words", [("topics", "list"), ("brokers", "list"), ("quorum", "describe"), ("cluster",), ("configs", "get", "broker:1")]
)
def test_a_listener_of_the_wrong_kind_is_one_line(broker: OneBroker, words: tuple[str, ...]) -> None:
    main = tool_of(words[0])
    controller = broker.quorum.bootstrap_controllers.partition(",")[0]
    for option, address, right in (("-b", controller, "--bootstrap-controller"), ("-C", broker.bootstrap, "--bootstrap-server")):
        done = run_main(main, [*words[1:], option, address], cwd=HERE)
        # `cluster` shows what it knows, as an answer.
        told = done.stderr + (done.stdout.decode() if words == ("cluster",) else "")
        assert done.status == 1 and (words == ("cluster",) or (done.stdout == b"" and told.count("\n") == 1))
        assert address in told and right in told
