"""health of a live quorum: what only its leader knows, and since when brokers are fenced."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from metashell.admin.quorum import QuorumDescription, Replica
from metashell.cli import kafka_shell
from metashell.cli.quorum_health import lagging_names
from metashell.embedded import EmbeddedQuorum
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
    return {row["kind"]: row for row in map(json.loads, done.stdout.splitlines())}


def test_a_sound_quorum_is_healthy_and_nothing_lags(quorum: EmbeddedQuorum) -> None:
    done = shell(quorum, "health")
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == b"nothing is wrong: 2 partitions, 2 brokers"
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
    from metashell.cli import shell_changes
    from metashell.errors import MetashellError

    def silent(values: object, timeout_s: float) -> QuorumDescription:
        raise MetashellError("nobody leads")

    monkeypatch.setattr(shell_changes, "quorum_as_told", silent)
    done = shell(quorum, "health", "lagging")
    assert done.status == 1
    assert done.stderr == "health: what lags is not known: nobody leads\n"
    assert b"none" not in done.stdout


def test_replicas_lag_by_the_time_at_which_they_had_everything() -> None:
    def replica(id: int, end: int, caught_up_ms: int | None) -> Replica:
        return Replica(id=id, directory_id=None, log_end_offset=end, last_fetch_ms=100_000, last_caught_up_ms=caught_up_ms)

    told = QuorumDescription(
        leader_id=1,
        leader_epoch=3,
        high_watermark=50,
        voters=(replica(1, 50, 100_000), replica(2, 48, 99_000)),
        observers=(replica(7, 20, 85_000), replica(6, 50, None)),
    )
    assert lagging_names(told, 10_000) == [
        "observer 6: it is 0 records behind, never had everything",
        "observer 7: it is 30 records behind, had everything 15 s ago",
    ]
    assert lagging_names(told, 500)[0].startswith("voter 2: it is 2 records behind")
    assert lagging_names(told, 20_000) == ["observer 6: it is 0 records behind, never had everything"]
