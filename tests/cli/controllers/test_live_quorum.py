"""metashell quorum describe, add-controller, remove-controller and unregister-controller, on live quorums."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from metashell.cli.admin.cluster import QuorumDescription, Replica
from metashell.cli.controllers.voters import FreshQuorum, fresh_quorum
from metashell.common.errors import MetashellError
from metashell.common.values import uuid_text
from metashell.quorum.embedded import EmbeddedQuorum
from tests.administering import command, lines, objects

NOW_MS = 1_700_000_000_000
BROKERS: Final[Any] = SimpleNamespace(admin=None, asks_controllers=False)
"""Stands for a `Work` through brokers."""


@pytest.fixture
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(controllers=3) as quorum:
        while command(quorum, "quorum", "describe").status:
            pass  # a voter may have to fetch its first records yet
        yield quorum


def replica(id: int, *, fetched_ms: int | None = 0, caught_up_ms: int | None = 0, offset: int = 100) -> Replica:
    """A voter that fetched, and was caught up, so long ago."""
    return Replica(
        id=id,
        directory_id=bytes(15) + bytes([id]),
        log_end_offset=offset,
        last_fetch_ms=None if fetched_ms is None else NOW_MS - fetched_ms,
        last_caught_up_ms=None if caught_up_ms is None else NOW_MS - caught_up_ms,
    )


def described(*voters: Replica, leader: int = 1) -> QuorumDescription:
    return QuorumDescription(leader_id=leader, leader_epoch=5, high_watermark=100, voters=voters, observers=())


def test_a_quorum_is_described(quorum: EmbeddedQuorum) -> None:
    told = lines(quorum, "quorum", "describe")
    leader = quorum.wait_for_leader()
    assert told[0].startswith(f"controller {leader} leads, epoch ") and told[0].endswith("; 3 voters, 1 more may fail")
    assert told[1].split() == [
        "ID",
        "ROLE",
        "LOG_END_OFFSET",
        "LAG",
        "FETCHED_MS_AGO",
        "CAUGHT_UP_MS_AGO",
        "REACHED",
        "DIRECTORY_ID",
        "ENDPOINTS",
    ]
    assert told[2].split()[:2] == [str(leader), "leader"]
    (answer,) = objects(quorum, "quorum", "describe")
    assert answer["leader"] == leader and answer["findings"] == [] and len(answer["replicas"]) == 3


def test_a_voter_is_removed_and_added_again(quorum: EmbeddedQuorum) -> None:
    leader = quorum.wait_for_leader()
    id = next(id for id in (1, 2, 3) if id != leader)
    before = {row["id"]: row for row in objects(quorum, "quorum", "describe")[0]["replicas"]}[id]
    warning, refused = lines(quorum, "quorum", "remove-controller", str(id), status=2)
    assert warning.endswith("warning: 2 voters remain, of which 0 may fail") and "--yes" in refused
    assert lines(quorum, "quorum", "remove-controller", str(id), "--dry-run")[0].endswith(": would be removed; 2 voters, 2 have to agree")
    told = lines(quorum, "quorum", "remove-controller", str(id), "--yes")
    assert told[0] == f"controller {id} (directory id {before['directory_id']}): removed; 2 voters, 2 have to agree"
    quorum.wait_for(lambda image: image.voters is not None and len(image.voters.voters) == 2)
    known = lines(quorum, "quorum", "remove-controller", str(id), "--yes", status=1)
    assert "no such voter; the voters are controller" in known[0]

    endpoint = before["endpoints"][0]
    words = ["--id", str(id), "--directory-id", before["directory_id"], "--endpoint", endpoint]
    assert "would be added" in lines(quorum, "quorum", "add-controller", *words, "--dry-run")[0]
    added = lines(quorum, "quorum", "add-controller", *words, "--wait")
    assert added == [f"controller {id} (directory id {before['directory_id']}): is a voter now; 3 voters, 2 have to agree"]
    (again,) = lines(quorum, "quorum", "add-controller", *words, status=1)
    assert again.endswith(": it is a voter already")


def test_a_controller_is_added_from_its_configuration(quorum: EmbeddedQuorum, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    config = tmp_path / "server.properties"
    config.write_text(
        "process.roles=controller\nnode.id=9\ncontroller.listener.names=CONTROLLER\nlisteners=CONTROLLER://host9:9093\n"
        f"log.dirs={tmp_path / 'data'}\ncontroller.quorum.bootstrap.servers={quorum.bootstrap_controllers}\n"
    )
    words = ["add-controller", "--server-config", str(config)]
    (told,) = lines(quorum, "quorum", *words, status=1)
    assert f"Unable to read meta.properties from {tmp_path / 'data'}" in told
    meta = tmp_path / "data" / "meta.properties"
    id = uuid_text(bytes(15) + b"\x09")
    meta.write_text(f"version=1\nnode.id=9\ncluster.id=another\ndirectory.id={id}\n")
    (told,) = lines(quorum, "quorum", *words, status=1)
    assert f"controller 9 (directory id {id}): it was formatted for another cluster, another" in told
    meta.write_text(f"version=1\nnode.id=9\ncluster.id={quorum.cluster_id}\ndirectory.id={id}\n")
    (told,) = lines(quorum, "quorum", *words, status=1)
    assert "it does not follow the quorum yet, so with its vote 3 of 4 would have to be there" in told
    assert objects(quorum, "quorum", *words, "--force", "--dry-run")[0]["endpoints"] == ["CONTROLLER://host9:9093"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "--server-config is missing, or --id, --directory-id, --endpoint"),
        (["--id", "4"], "--server-config is missing, or --directory-id, --endpoint"),
        (["--id", "4", "-d", "x", "--endpoint", "C://h:1"], "option --directory-id: "),
        (["--id", "4", "-d", "AAAAAAAAAAAAAAAAAAAAAQ", "--endpoint", "h:1"], "option --endpoint: 'h:1' is not like CONTROLLER://host:9093"),
        (["--server-config", "f", "--id", "4"], "--server-config says everything: leave --id out"),
    ],
)
def test_a_wrong_command_line_is_one_line(words: list[str], text: str) -> None:
    with EmbeddedQuorum(controllers=1) as quorum:
        (told,) = lines(quorum, "quorum", "add-controller", *words, status=2)
    assert text in told


def test_the_only_voter_and_the_voters_of_a_static_quorum_stay() -> None:
    with EmbeddedQuorum(controllers=1) as quorum:
        (told,) = lines(quorum, "quorum", "remove-controller", "1", "--yes", status=1)
        assert "it is the only voter" in told
    with EmbeddedQuorum(controllers=1, static=True) as quorum:
        (told,) = lines(quorum, "quorum", "remove-controller", "1", "--yes", status=1)
        assert "kraft.version is 0 for the quorum: the voters are those of controller.quorum.voters" in told


def test_a_majority_is_not_removed(quorum: EmbeddedQuorum) -> None:
    leader = quorum.wait_for_leader()
    dead, other = (id for id in (1, 2, 3) if id != leader)
    quorum.kill(dead)
    # It counts as silent a while after its last fetch; what was removed meanwhile must not leave one of two.
    told = lines(quorum, "quorum", "remove-controller", str(dead), "--yes")
    assert told[0].endswith(": removed; 2 voters, 2 have to agree")
    assert {voter.id for voter in quorum.wait_for(lambda image: len(image.voters.voters) == 2).voters.voters} == {leader, other}


def test_a_controller_that_is_gone_is_unregistered(quorum: EmbeddedQuorum, monkeypatch: pytest.MonkeyPatch) -> None:
    leader = quorum.wait_for_leader()
    gone, other = (id for id in (1, 2, 3) if id != leader)
    quorum.wait_for(lambda image: len(image.cluster.controllers) == 3)
    (told,) = lines(quorum, "quorum", "unregister-controller", str(leader), "--force", status=1)
    assert "it is the active controller, which cannot be unregistered" in told
    (told,) = lines(quorum, "quorum", "unregister-controller", str(gone), status=1)
    assert f"controller {gone}: it votes until it is removed (metashell quorum remove-controller {gone}); it runs, so it registers" in told
    (told,) = lines(quorum, "quorum", "unregister-controller", "77", status=1)
    assert told.endswith("controller 77: CONTROLLER_ID_NOT_REGISTERED: registered are 1, 2, 3.")
    quorum.kill(gone)
    lines(quorum, "quorum", "remove-controller", str(gone), "--yes", "--force")
    assert lines(quorum, "quorum", "unregister-controller", str(gone), "--dry-run") == [f"controller {gone}: would be unregistered"]
    assert gone in quorum.image.cluster.controllers
    assert objects(quorum, "quorum", "unregister-controller", str(gone)) == [{"type": "controller", "id": gone, "result": "unregistered"}]
    assert set(quorum.image.cluster.controllers) == {leader, other}


def test_a_controller_is_removed_and_unregistered_together(quorum: EmbeddedQuorum) -> None:
    leader = quorum.wait_for_leader()
    gone = next(id for id in (1, 2, 3) if id != leader)
    quorum.wait_for(lambda image: len(image.cluster.controllers) == 3)
    told = lines(quorum, "quorum", "remove-controller", str(gone), "--unregister", "--dry-run")
    assert told[1] == f"controller {gone}: would be unregistered"
    assert told[-1].endswith("warning: it runs, so it registers again at once: stop it first")
    quorum.kill(gone)
    removed, unregistered = objects(quorum, "quorum", "remove-controller", str(gone), "--unregister", "--yes", "--force")
    assert (removed["result"], unregistered) == ("removed", {"type": "controller", "id": gone, "result": "unregistered"})
    assert quorum.image.voters is not None and len(quorum.image.voters.voters) == 2
    assert gone not in quorum.image.cluster.controllers


def test_controllers_are_unregistered_from_a_level_on() -> None:
    with EmbeddedQuorum(controllers=2, metadata_version="4.3-IV0") as quorum:
        other = next(id for id in (1, 2) if id != quorum.wait_for_leader())
        says = (
            "controllers can be unregistered from metadata.version 4.4-IV2 on, and the cluster has 4.3-IV0: "
            "metashell features upgrade metadata.version=4.4-IV2"
        )
        for words in (["unregister-controller", str(other)], ["remove-controller", str(other), "--unregister", "--yes"]):
            (told,) = lines(quorum, "quorum", *words, status=1)
            assert told == f"metashell quorum {words[0]}: {says}"
        assert quorum.image.voters is not None and len(quorum.image.voters.voters) == 2


def test_who_unregisters_a_controller_as_a_broker_is_told_the_verb(quorum: EmbeddedQuorum) -> None:
    leader = quorum.wait_for_leader()
    quorum.wait_for(lambda image: leader in image.cluster.controllers)
    told = lines(quorum, "brokers", "unregister", str(leader), "--yes", status=1)
    assert told[-1].endswith(f"{leader} is a controller: metashell quorum unregister-controller {leader} lets the cluster forget it")
    assert len(lines(quorum, "brokers", "unregister", "77", "--yes", status=1)) == 1


def test_a_quorum_without_a_leader_says_what_each_controller_says(quorum: EmbeddedQuorum) -> None:
    first = quorum.wait_for_leader()
    quorum.wait_for(lambda image: len(image.cluster.controllers) == 3)
    quorum.kill(first)
    second = quorum.wait_for_leader()
    quorum.kill(second)
    (last,) = {1, 2, 3} - {first, second}
    addresses = dict(zip((1, 2, 3), quorum.bootstrap_controllers.split(","), strict=True))
    began = time.monotonic()
    (told,) = lines(quorum, "topics", "list", "--timeout=1", status=1)
    assert time.monotonic() - began < 5
    assert told.startswith("metashell topics list: no controller leads the quorum: nothing can be changed: quorum (1 of 3 voters reached ")
    assert f"controller {last} at {addresses[last]} answers, " in told
    for id in (first, second):
        assert f"voter {id} ({addresses[id]}: registered there; Connection refused)" in told
    (answer,) = objects(quorum, "quorum", "describe", status=1)
    assert answer["leader"] is None and answer["replicas"] == [] and answer["voters_that_may_fail"] is None
    assert {one["id"]: one["reached"] for one in answer["probes"]} == {first: "refused", second: "refused", last: "answers"}
    assert [one["kind"] for one in answer["findings"]] == ["unreachable_voter", "no_leader"]
    (answer,) = objects(quorum, "cluster", "--timeout=60", status=1)
    assert answer["found"] == ["unreachable_voter", "no_leader"] and answer["active_controller"] is None and answer["brokers"] is None


def test_a_voter_that_died_a_moment_ago_is_dead_to_the_gate(quorum: EmbeddedQuorum) -> None:
    leader = quorum.wait_for_leader()
    dead, other = (id for id in (1, 2, 3) if id != leader)
    quorum.kill(dead)
    for id in (other, leader):
        (told,) = lines(quorum, "quorum", "remove-controller", str(id), "--yes", status=1)
        assert (
            f"of the 2 voters that remain 1 fetch, are caught up and can be elected, which is no majority ({dead} did not fetch while"
            in told
        )
    assert quorum.image.voters is not None and len(quorum.image.voters.voters) == 3
    told = lines(quorum, "quorum", "remove-controller", str(dead), "--yes")[0]
    assert ": removed; 2 voters, 2 have to agree" in told


def test_who_fetched_between_two_looks_is_there() -> None:
    voters = (replica(1), replica(2, fetched_ms=400), replica(3, fetched_ms=9_000, caught_up_ms=9_000))
    later = described(replica(1), replace(replica(2), last_fetch_ms=NOW_MS + 900), voters[2])
    fresh = FreshQuorum(later, frozenset({(1, voters[0].directory_id), (2, voters[1].directory_id)}))
    assert [fresh.counts(voter) for voter in later.voters] == [True, True, False]
    assert fresh.lacking(later.voters) == "3 did not fetch while this was looked at"
    # One that runs, and that the others look for elsewhere, elects nobody.
    lost = fresh._replace(unreached=frozenset({2}))
    assert not lost.counts(later.voters[1]) and "2 cannot be reached where" in lost.lacking(later.voters)
    assert fresh.spare(later.voters) == 0 and fresh.spare(later.voters[1:]) == -1


def test_a_leader_that_changes_while_it_is_looked_at_is_asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metashell.cli.controllers.voters.SAMPLE_S", 0)
    first = described(replica(1), replica(2))
    moved = replace(first, leader_id=2, leader_epoch=6)
    after = replace(moved, voters=tuple(replace(voter, last_fetch_ms=NOW_MS + 500) for voter in moved.voters))
    answers = iter([first, moved, moved, after])
    monkeypatch.setattr("metashell.cli.controllers.voters.describe_quorum", lambda admin: next(answers))
    fresh = fresh_quorum(BROKERS)
    assert fresh.quorum is after and all(map(fresh.is_present, after.voters))
    epochs = iter(range(99))
    monkeypatch.setattr("metashell.cli.controllers.voters.describe_quorum", lambda admin: replace(first, leader_epoch=next(epochs)))
    with pytest.raises(MetashellError, match="changes all the time"):
        fresh_quorum(BROKERS)


def test_a_voter_that_fails_while_the_question_is_open_is_noticed(quorum: EmbeddedQuorum, monkeypatch: pytest.MonkeyPatch) -> None:
    failing, removed = (id for id in (1, 2, 3) if id != quorum.wait_for_leader())
    monkeypatch.setattr("metashell.cli.cluster.noun_tool.can_ask", lambda: True)

    def agreed(question: str, place: str) -> bool:
        """Yes, but only after another voter has died."""
        quorum.kill(failing)
        return True

    monkeypatch.setattr("metashell.cli.cluster.noun_tool.confirm", agreed)
    told = lines(quorum, "quorum", "remove-controller", str(removed), status=1)
    assert "of the 2 voters that remain 1 fetch, are caught up and can be elected, which is no majority" in told[-1]
    assert quorum.image.voters is not None and len(quorum.image.voters.voters) == 3
