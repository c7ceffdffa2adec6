"""metashell brokers, cluster and features, through the controllers of a quorum without real brokers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from metashell.cli.admin.cluster import Feature
from metashell.cli.admin.topics import Partition, Topic
from metashell.cli.cluster import brokers
from metashell.cli.cluster.brokers import _last_copies
from metashell.cli.cluster.features import _may_raise_kraft_version
from metashell.cli.inspect import checks
from metashell.common.errors import MetashellError
from metashell.disk.bootstrap import release_level
from metashell.quorum.embedded import EmbeddedQuorum
from metashell.quorum.observer.attach import LiveSource
from metashell.quorum.observer.controllers import Target
from tests.administering import command, lines, objects
from tests.extra_broker import PATIENT, ExtraBroker
from tests.running import run_main


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(controllers=3, fake_brokers=1, properties=PATIENT) as quorum:
        yield quorum


def test_brokers_are_listed_with_what_they_carry(quorum: EmbeddedQuorum) -> None:
    broker = ExtraBroker(quorum, 201, rack="r1")
    lines(quorum, "topics", "create", "orders", "--assignment", "201:101")
    told = lines(quorum, "brokers", "list")
    assert told[0].split() == ["ID", "STATE", "HOST", "PORT", "RACK", "LEADERS", "REPLICAS", "NOT_IN_SYNC"]
    assert told[2].split() == ["201", "up", "localhost", "1", "r1", "1", "1", "0"]
    broker.fence()
    rows = {row["id"]: row for row in objects(quorum, "brokers", "list")}
    assert (rows[201]["state"], rows[201]["leaders"], rows[201]["not_in_sync"], rows[101]["leaders"]) == ("fenced", 0, 1, 1)


def test_a_broker_is_shown_in_full(quorum: EmbeddedQuorum) -> None:
    text = "\n".join(lines(quorum, "brokers", "describe", "101"))
    assert "listeners       PLAINTEXT://localhost:1 (PLAINTEXT)" in text and "transaction.version 0-2" in text
    rows = objects(quorum, "brokers", "describe", "101", "55", status=1)
    assert rows[0]["epoch"] == quorum.image.cluster.brokers[101].epoch and len(rows[0]["directories"]) == 1
    assert "55: BROKER_ID_NOT_REGISTERED" in lines(quorum, "brokers", "describe", "55", status=1)[0]


def test_only_brokers_that_are_gone_are_unregistered(quorum: EmbeddedQuorum) -> None:
    broker = ExtraBroker(quorum, 202)
    lines(quorum, "topics", "create", "payments", "--assignment", "202:101")
    (told,) = lines(quorum, "brokers", "unregister", "202", "--yes", status=1)
    assert "broker 202: it runs (it is not fenced): stop it first." in told and "--force" in told
    broker.fence()
    warning, refused = lines(quorum, "brokers", "unregister", "202", status=2)
    assert "broker 202 still has 1 replica: their partitions stay under-replicated" in warning and "--yes" in refused
    assert lines(quorum, "brokers", "unregister", "202", "--dry-run")[0] == "broker 202: would be unregistered"
    assert 202 in quorum.image.cluster.brokers
    assert objects(quorum, "brokers", "unregister", "202", "--yes") == [
        {"type": "broker", "id": 202, "result": "unregistered", "replicas": 1}
    ]
    quorum.wait_for(lambda image: 202 not in image.cluster.brokers)
    assert "broker 202: BROKER_ID_NOT_REGISTERED" in lines(quorum, "brokers", "unregister", "202", "--yes", status=1)[0]
    # What it had is still assigned to it.
    assert {row["id"]: row["state"] for row in objects(quorum, "brokers", "list")}[202] == "gone"
    lines(quorum, "topics", "delete", "payments", "--yes")


def test_a_broker_that_runs_is_unregistered_only_by_force(quorum: EmbeddedQuorum) -> None:
    ExtraBroker(quorum, 203)
    told = lines(quorum, "brokers", "unregister", "203", "--force", "--yes")
    assert told[0] == "broker 203: unregistered" and "serves old data" in told[1]


# ---- the cluster as a whole


def cluster(quorum: EmbeddedQuorum, *words: str) -> tuple[int, str]:
    done = command(quorum, "cluster", "--timeout=60", *words)
    assert "Traceback" not in done.stderr, done.stderr
    return done.status, done.stdout.decode()


def test_a_cluster_that_is_well_is_status_0(quorum: EmbeddedQuorum) -> None:
    with EmbeddedQuorum(controllers=1, fake_brokers=1) as well:
        well.create_topic("orders", partitions=2)
        status, text = cluster(well)
        assert status == 0
        shown = dict(line.split("  ", 1) for line in text.splitlines()[:6])
        assert shown["cluster"].strip() == well.cluster_id
        assert shown["controllers"].strip().startswith("1 voter, controller 1 leads (epoch ")
        assert shown["topics"].strip() == "1 with 2 partitions" and " and 1 broker: found nothing" in text.splitlines()[-1]
        answer = json.loads(cluster(well, "-o", "json")[1])
        assert (answer["findings"], answer["not_run"], answer["complete"]) == ([], answer["not_run"], True) and answer["ran"] > 30


def test_a_cluster_that_is_not_well_says_what_is_wrong_and_is_status_1(quorum: EmbeddedQuorum) -> None:
    broker = ExtraBroker(quorum, 204)
    lines(quorum, "topics", "create", "lone", "--assignment", "204")
    broker.fence()
    status, text = cluster(quorum, "-o", "json")
    answer = json.loads(text)
    assert status == 1
    assert (answer["offline"], answer["brokers_fenced"] >= 1, answer["voters"], answer["voters_that_may_fail"]) == (1, True, 3, 1)
    found = {finding["kind"]: finding for finding in answer["findings"]}
    assert "204" in found["fenced"]["names"] and found["leaderless"]["names"] == ["lone/0"]
    assert found["leaderless"]["follows_from"] == "fenced"


# ---- features


def test_feature_levels_are_shown_and_changed(quorum: EmbeddedQuorum) -> None:
    rows = {row["feature"]: row for row in objects(quorum, "features", "describe")}
    assert rows["metadata.version"] == {
        "type": "feature",
        "feature": "metadata.version",
        "finalized": 33,
        "supported_min": 7,
        "supported_max": 33,
        "registered_max": 33,
        "held_by": [],
        "release": "4.4-IV2",
        "epoch": rows["group.version"]["epoch"],
    }
    assert lines(quorum, "features", "disable", "streams.version", "--dry-run")[0] == "streams.version: would be disabled, 1 before"
    assert lines(quorum, "features", "disable", "streams.version", "--yes")[0] == "streams.version: disabled, 1 before"
    quorum.wait_for(lambda image: "streams.version" not in image.features.levels)
    assert objects(quorum, "features", "upgrade", "-r", "4.4") == [
        {"type": "feature", "feature": "streams.version", "result": "upgraded", "level": 1, "level_before": 0}
    ]
    assert lines(quorum, "features", "upgrade", "-r", "4.4") == [
        "metashell features upgrade: nothing to do: the cluster has these levels already"
    ]


def test_versions_of_apis_are_shown_with_the_nodes_that_have_them(quorum: EmbeddedQuorum) -> None:
    rows = {row["api"]: row for row in objects(quorum, "features", "apis")}
    assert rows["Fetch"] == {"type": "api", "api": "Fetch", "key": 1, "min": 4, "max": 18, "usable": 18, "nodes": [1, 2, 3]}
    assert "Produce" not in rows and rows["UnregisterController"]["nodes"] == [1, 2, 3]
    head, first, *_ = lines(quorum, "features", "apis")
    assert head.split() == ["API", "KEY", "MIN", "MAX", "USABLE", "NODES"]
    assert first.split() == ["Fetch", "1", "4", "18", "18", "1,2,3"]


def test_a_change_of_metadata_version_is_asked_about(quorum: EmbeddedQuorum) -> None:
    warning, refused = lines(quorum, "features", "downgrade", "metadata.version=4.3", status=2)
    assert "what the higher levels bring stops working" in warning and "--yes" in refused
    warning, told = lines(quorum, "features", "downgrade", "metadata.version=4.3", "--dry-run", status=1)
    assert "metadata.version: INVALID_UPDATE_VERSION: " in told and "Unsupported metadata.version downgrade from 33 to 30" in told


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "name features (NAME=LEVEL), or a release (-r 4.4)"),
        (["group.version"], "Can't parse feature=level string group.version: equals sign not found."),
        (["-r", "9.9"], "Unknown metadata.version '9.9'"),
        (["-r", "4.3", "group.version=1"], "--release-version has all features"),
    ],
)
def test_a_wrong_level_is_one_line(quorum: EmbeddedQuorum, words: list[str], text: str) -> None:
    (told,) = lines(quorum, "features", "upgrade", *words, status=2)
    assert text in told


def test_who_may_not_fetch_still_sees_the_quorum_and_why_not_the_rest(quorum: EmbeddedQuorum, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(target: Target, **more: object) -> LiveSource:
        raise MetashellError("localhost:1: not authorized: to fetch the metadata log needs the right CLUSTER_ACTION on the cluster")

    monkeypatch.setattr("metashell.quorum.observer.attach.attach", refuse)
    status, text = cluster(quorum)
    assert status == 1 and "controllers       3 voters, controller " in text
    assert "not seen: the metadata log: localhost:1: not authorized" in text
    assert json.loads(cluster(quorum, "-o", "json")[1])["partitions"] is None


def test_of_several_levels_none_is_changed_where_one_is_refused(quorum: EmbeddedQuorum) -> None:
    told = lines(quorum, "features", "upgrade", "share.version=2", "streams.version=1", "group.version=9", "--yes", status=1)
    assert "share.version: is 2 already" in told and "metashell features upgrade: nothing was changed" in told
    assert any("group.version: INVALID_UPDATE_VERSION" in line for line in told)


def test_what_cannot_be_taken_back_is_asked_about() -> None:
    with EmbeddedQuorum(controllers=1, static=True) as static:
        warning, refused = lines(static, "features", "upgrade", "kraft.version=1", status=2)
        assert "kraft.version cannot be lowered again" in warning and "--yes" in refused


@pytest.mark.parametrize(("newest", "may"), [("3.9", False), ("4.0", False), ("4.1", True), ("4.3", True)])
def test_only_clusters_that_can_make_a_static_quorum_dynamic_are_asked_to(newest: str, may: bool) -> None:
    supported = [Feature(name="metadata.version", low=1, high=release_level(newest, unstable=False), level=1)]
    assert _may_raise_kraft_version(supported) is may


def test_the_last_copies_on_all_brokers_that_go_are_counted_together() -> None:
    def topic(*, isr: tuple[int, ...], elr: tuple[int, ...] | None = None) -> Topic:
        partition = Partition(id=0, leader=-1, leader_epoch=1, replicas=(4, 5, 6), isr=isr, elr=elr)
        return Topic(name="orders", id=bytes(16), partitions=(partition,))

    assert _last_copies([topic(isr=(5,), elr=(4,))], [4], {4, 5, 6}) == []
    assert _last_copies([topic(isr=(5,), elr=(4,))], [4, 5], {4, 5, 6}) == ["orders:0"]
    assert _last_copies([topic(isr=(5, 6))], [4, 5], {4, 5, 6}) == []
    # Who is not registered does not come back with it.
    assert _last_copies([topic(isr=(5, 6))], [5], {4, 5}) == ["orders:0"]
    assert _last_copies([topic(isr=(5,))], [9], {4, 5, 9}) == []


def test_a_disk_that_is_not_there_and_a_kind_that_is_none_are_one_line() -> None:
    done = run_main(brokers.cluster_main, ["no/such"], cwd=Path(__file__).parent)
    assert (done.status, done.stdout, done.stderr) == (1, b"", "metashell cluster: no/such: No such file or directory\n")
    done = run_main(checks.health_main, ["--demo", "--kind", "leaderles"], cwd=Path(__file__).parent)
    assert (done.status, done.stdout) == (2, b"")
    assert done.stderr == "metashell health: 'leaderles' is not a kind of trouble (did you mean leaderless?)\n"


def test_a_disk_says_of_the_cluster_what_its_health_does() -> None:
    tests = Path(__file__).parents[2]
    done = run_main(brokers.cluster_main, [str(tests / "golden" / "cases" / "01-stale-registrations"), "-o", "json"], cwd=tests)
    answer = json.loads(done.stdout)
    assert (done.status, done.stderr) == (1, "")
    assert (answer["voters"], answer["active_controller"], answer["epoch"]) == (2, 1, 4)
    assert {one["kind"] for one in answer["findings"]} >= {"stale_controller", "vanished"}
