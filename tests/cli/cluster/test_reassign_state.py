"""What a move waits for, single moves that are cancelled, and which disks take replicas."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from metashell.cli.admin.cluster import LogDirectory
from metashell.cli.admin.protocol import AdminError
from metashell.cli.cluster import reassign_state
from metashell.codec.error_codes import KAFKA_STORAGE_ERROR
from metashell.common.errors import MetashellError
from metashell.quorum.embedded import EmbeddedQuorum
from metashell.rehearse.placement import Assignment, BrokerState, write_plan
from tests.administering import lines, objects
from tests.extra_broker import PATIENT, ExtraBroker

if TYPE_CHECKING:
    from metashell.cli.cluster.noun_tool import Work


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(controllers=1, fake_brokers=4, properties=PATIENT) as quorum:
        yield quorum


@pytest.fixture
def topic(quorum: EmbeddedQuorum) -> Iterator[str]:
    lines(quorum, "topics", "create", "orders", "--assignment", "101:102,102:103,101:103,101:102")
    yield "orders"
    lines(quorum, "topics", "delete", "orders", "--yes")
    quorum.wait_for(lambda image: "orders" not in image.topics.by_name)


@pytest.fixture
def plan(quorum: EmbeddedQuorum, topic: str, tmp_path: Path) -> str:
    """Everything off broker 101."""
    path = tmp_path / "plan.json"
    lines(quorum, "reassign", "plan", "--off", "101", "--out", str(path))
    return str(path)


def test_single_moves_are_cancelled(quorum: EmbeddedQuorum, plan: str) -> None:
    lines(quorum, "reassign", "apply", plan, "--throttle", "1k")
    assert lines(quorum, "reassign", "cancel", "orders:0", "--dry-run") == ["orders:0: would be cancelled"]
    cancelled, refused, throttled = lines(quorum, "reassign", "cancel", "orders:0,1", status=1)
    assert cancelled == "orders:0: cancelled" and "orders:1: NO_REASSIGNMENT_IN_PROGRESS" in refused
    assert throttled.endswith("throttled replicas stay, of orders:0: `metashell reassign status --clear-throttle` once nothing moves")
    assert {row["partition"] for row in objects(quorum, "reassign", "status")} == {2, 3}
    lines(quorum, "reassign", "cancel", plan, "--throttle", "1k", status=None)


def test_a_move_says_what_it_waits_for(quorum: EmbeddedQuorum, topic: str, tmp_path: Path) -> None:
    target = ExtraBroker(quorum, 205)
    path = tmp_path / "plan.json"
    path.write_text(write_plan([Assignment("orders", 0, (205, 102)), Assignment("orders", 1, (205, 103))]))
    lines(quorum, "reassign", "apply", str(path), "--throttle", "1k")
    (row, _) = objects(quorum, "reassign", "status")
    leader = quorum.image.topics.by_name["orders"].partitions[0].leader
    copies, throttle = row["waits_for"]
    assert copies.startswith("broker 205 copies")
    assert [throttle] == [f"throttle of 1024 bytes/s on broker {leader} (leader) and 205 (follower)"]
    target.fence()
    for words in ([], [str(path)]):
        rows = [row for row in objects(quorum, "reassign", "status", *words, status=1 if words else 0) if "partition" in row]
        assert [row["waits_for"][0] for row in rows] == ["broker 205 is fenced"] * 2
    lines(quorum, "brokers", "unregister", "205", "--yes")
    assert objects(quorum, "reassign", "status")[0]["waits_for"][0] == "broker 205 is not registered"
    lines(quorum, "reassign", "cancel", str(path), "--throttle", "1k", status=None)


def directories(*told: tuple[str, int, bool]) -> tuple[LogDirectory, ...]:
    return tuple(LogDirectory(path=path, error=AdminError(code) if code else None, is_cordoned=cordoned) for path, code, cordoned in told)


def test_brokers_say_which_disks_take_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {
        1: directories(("/a", 0, False), ("/b", 0, True)),
        2: directories(("/a", 0, True), ("/b", 0, True)),
        3: directories(("/a", KAFKA_STORAGE_ERROR, False), ("/b", 0, True)),
        4: directories(("/a", KAFKA_STORAGE_ERROR, False), ("/b", 0, False)),
        5: MetashellError("no answer"),
    }
    said: list[str] = []
    missed: list[str] = []
    work = SimpleNamespace(asks_controllers=False, admin=None, note_once=said.append, miss=missed.append)
    monkeypatch.setattr("metashell.cli.cluster.reassign_state.read_brokers", lambda work: tuple(map(BrokerState, (1, 2, 3, 4, 5))))
    monkeypatch.setattr("metashell.cli.admin.cluster.describe_log_dirs", lambda admin, ids, only: told)
    states = {one.id: one.trouble for one in reassign_state.read_brokers_and_disks(cast("Work", work))}
    failed = "has no log directory that takes replicas: /a failed (KAFKA_STORAGE_ERROR), /b is cordoned"
    assert states == {1: "", 2: "is cordoned", 3: failed, 4: "", 5: ""}
    assert said == ["broker 4: /a failed (KAFKA_STORAGE_ERROR): replicas go to its other log directories"]
    assert missed == ["log directories of broker 5: no answer"]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (({}, {("orders", 0): 12}), "broker 1 has 12 records left to copy"),
        (({("orders", 0): 0}, {}), "broker 1 has no record left to copy, and its leader has not taken it into the ISR yet"),
        (({}, {}), "broker 1 has not begun to copy"),
        (({}, KAFKA_STORAGE_ERROR), "broker 1 has failed log directories: /1 (KAFKA_STORAGE_ERROR)"),
    ],
)
def test_how_far_a_copy_is_its_broker_says(told: tuple[dict[tuple[str, int], int] | int, ...], words: str) -> None:
    found = tuple(
        LogDirectory(
            path=f"/{number}", error=AdminError(lags) if isinstance(lags, int) else None, lags={} if isinstance(lags, int) else lags
        )
        for number, lags in enumerate(told)
    )
    assert reassign_state._copying(cast("Work", None), ("orders", 0), 1, found) == [words]
