"""Every command that says what is wrong with a live cluster says the same."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from metashell.cli.cluster import brokers, topics
from metashell.cli.inspect import checks, kafka_shell
from metashell.quorum.embedded import EmbeddedQuorum
from tests.administering import HERE, lines, objects
from tests.extra_broker import PATIENT, ExtraBroker
from tests.running import run_main


@pytest.fixture
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(controllers=3, fake_brokers=2, properties=PATIENT) as running:
        running.wait_for(lambda image: len(image.cluster.controllers) == 3)
        running.create_topic("orders", 2, 2)
        yield running


def kinds(main: object, quorum: EmbeddedQuorum, *words: str) -> tuple[int, set[str]]:
    done = run_main(main, ["-C", quorum.bootstrap_controllers, *words], cwd=HERE)  # type: ignore[arg-type]
    assert "Traceback" not in done.stderr, done.stderr
    text = done.stdout.decode()
    rows = json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]
    return done.status, {row["kind"] for row in rows if row["type"] == "health"}


def answers(quorum: EmbeddedQuorum, status: int) -> list[tuple[int, set[str]]]:
    (cluster,) = objects(quorum, "cluster", "--timeout=60", status=status)
    return [
        (status, set(cluster["found"])),
        kinds(checks.health_main, quorum, "-o", "jsonl"),
        kinds(kafka_shell.main, quorum, "health", "-o", "jsonl"),
    ]


def test_the_same_is_found_by_all(quorum: EmbeddedQuorum) -> None:
    first, *others = answers(quorum, 0)
    assert first[1].isdisjoint({"unreachable_voter", "fenced"}) and others == [first, first]
    broker = ExtraBroker(quorum, 77)
    lines(quorum, "topics", "create", "lone", "--assignment", "77")
    broker.fence()
    quorum.kill(next(id for id in (1, 2, 3) if id != quorum.wait_for_leader()))
    first, *others = answers(quorum, 1)
    assert {"fenced", "leaderless", "unreachable_voter", "no_spare_voter"} <= first[1]
    assert others == [first, first]
    assert [row["problems"][0] for row in objects(quorum, "topics", "describe", "--unavailable")] == ["leaderless"]
    (described,) = objects(quorum, "quorum", "describe", status=1)
    assert {one["kind"] for one in described["findings"]} == {"unreachable_voter", "no_spare_voter"}


def test_the_same_is_found_by_all_without_a_leader(quorum: EmbeddedQuorum) -> None:
    quorum.kill(quorum.wait_for_leader())
    quorum.kill(quorum.wait_for_leader())
    first, *others = answers(quorum, 1)
    assert first == (1, {"unreachable_voter", "no_leader"}) and others == [first, first]


def test_controllers_of_two_clusters_are_not_taken_for_one(quorum: EmbeddedQuorum) -> None:
    with EmbeddedQuorum(controllers=1) as other:
        both = f"{quorum.bootstrap_controllers},{other.bootstrap_controllers}"
        done = run_main(brokers.cluster_main, ["-C", both, "-o", "json"], cwd=HERE)
        answer = json.loads(done.stdout)
        assert (done.status, answer["found"], answer["partitions"]) == (1, ["mixed_clusters"], 2)
        assert other.cluster_id in answer["findings"][0]["found"][0]["cause"]
        done = run_main(topics.main, ["list", "-C", both], cwd=HERE)
        assert done.status == 1 and "controllers of another cluster answer" in done.stderr and other.bootstrap_controllers in done.stderr
