"""health of a live quorum: what only its leader knows, and since when brokers are fenced."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from metashell.cli.inspect import kafka_shell
from metashell.metadata.checks.facts import QuorumAnswers
from metashell.quorum.embedded import EmbeddedQuorum
from tests.administering import HERE
from tests.extra_broker import PATIENT, ExtraBroker
from tests.running import Outcome, run_main


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(controllers=1, fake_brokers=2, properties=PATIENT) as running:
        running.create_topic("orders", 2, 2)
        yield running


def shell(quorum: EmbeddedQuorum, *words: str, stdin: str = "") -> Outcome:
    done = run_main(kafka_shell.main, ["-C", quorum.bootstrap_controllers, *words], cwd=HERE, stdin=stdin)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def rows(done: Outcome) -> dict[str, dict[str, object]]:
    return {row["kind"]: row for row in map(json.loads, done.stdout.splitlines()) if row["type"] == "health"}


def test_a_sound_quorum_is_healthy_and_nothing_lags(quorum: EmbeddedQuorum) -> None:
    done = shell(quorum, "health")
    assert (done.status, done.stderr) == (0, "")
    assert b"checks of 2 partitions and 2 brokers: found nothing" in done.stdout.splitlines()[0]
    done = shell(quorum, "health", "lagging", "unregistered_voter")
    assert (done.status, done.stdout.splitlines()[0]) == (0, b"none: lagging, unregistered_voter")


def test_a_fenced_broker_has_the_time_of_the_record_that_fenced_it(quorum: EmbeddedQuorum) -> None:
    broker = ExtraBroker(quorum, 77)
    broker.fence()
    done = shell(quorum, "health", "fenced", "-o", "jsonl")
    assert done.status == 1
    since = rows(done)["fenced"]["since"]
    (row,) = [json.loads(line) for line in shell(quorum, "stat", "/image/cluster/brokers/77", "-o", "jsonl").stdout.splitlines()]
    told = shell(quorum, "ls", "-l", "-d", "/image/cluster/brokers/77").stdout.decode()
    assert row["changed"]["record"] == "BROKER_REGISTRATION_CHANGE_RECORD"
    assert isinstance(since, dict) and f"fenced_since={since['77']}" in told


def test_a_leader_that_does_not_answer_is_no_good_news(quorum: EmbeddedQuorum, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = QuorumAnswers(trouble="nobody leads")
    monkeypatch.setattr("metashell.cli.cluster.live_facts.ask_quorum", lambda named, lag_after_ms: silent)
    done = shell(quorum, "health", "lagging")
    assert done.status == 1
    assert "nobody leads" in done.stderr
    assert b"none" not in done.stdout
