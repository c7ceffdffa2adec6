"""Each next step for a live quorum that is a command is run on the situation that it is printed for, and the finding is gone then."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from metashell.cli.main import main
from metashell.codec import messages
from metashell.quorum.embedded import EmbeddedQuorum
from tests.administering import lines
from tests.cli.cluster.next_steps import LIVE
from tests.extra_broker import PATIENT, ExtraBroker
from tests.running import run_main, wait_until

pytestmark = pytest.mark.slow
LIMIT_S = 120


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(controllers=1, fake_brokers=3, properties=PATIENT) as quorum:
        yield quorum


def findings(quorum: EmbeddedQuorum, at: Path) -> dict[str, dict[str, Any]]:
    done = run_main(main, ["health", "-C", quorum.bootstrap_controllers, "-o", "jsonl"], cwd=at)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["kind"]: row for row in rows if row["type"] == "health"}


def steps_of(row: dict[str, Any]) -> str:
    return json.dumps(row)


class Situation:
    """Makes one thing wrong, holds that the check finds it and prints the command, and that it is gone at the end."""

    def __init__(self, quorum: EmbeddedQuorum, at: Path, check: str) -> None:
        self.quorum = quorum
        self.at = at
        self.check = check

    def __enter__(self) -> Callable[..., list[str]]:
        row = self._settled(is_there=True)
        assert row is not None, findings(self.quorum, self.at)
        assert LIVE[self.check] in steps_of(row), row
        return lambda noun, *words: lines(self.quorum, noun, *words)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            left = self._settled(is_there=False)
            assert left is None, left

    def _settled(self, *, is_there: bool) -> dict[str, Any] | None:
        """The finding, once it is there or gone: what was decided is committed, and seen, a moment later."""
        end = time.monotonic() + LIMIT_S
        while True:
            row = findings(self.quorum, self.at).get(self.check)
            if (row is not None) == is_there or time.monotonic() > end:
                return row


def catch_up(quorum: EmbeddedQuorum, topic: str, id: int = 0) -> None:
    """All registered replicas of a partition are in sync: its leader says so."""
    image = quorum.image
    found = image.topics.by_name[topic]
    partition = found.partitions[id]
    request = messages.AlterPartitionRequest
    there = [broker for broker in partition.replicas if broker in image.cluster.brokers]
    epochs = {broker: image.cluster.brokers[broker].epoch for broker in there}
    data = request.PartitionData(
        partition_index=id,
        leader_epoch=partition.leader_epoch,
        new_isr_with_epochs=tuple(request.BrokerState(broker_id=broker, broker_epoch=epoch) for broker, epoch in epochs.items()),
        leader_recovery_state=0,
        partition_epoch=partition.partition_epoch,
    )
    topics = (request.TopicData(topic_id=found.id, partitions=(data,)),)
    answer = quorum.request(request(broker_id=partition.leader, broker_epoch=epochs[partition.leader], topics=topics))
    assert answer.error_code == 0, answer
    quorum.wait_for(lambda image: set(there) <= set(image.topics.by_name[topic].partitions[id].isr) or not there)


def create(quorum: EmbeddedQuorum, name: str, assignment: str) -> None:
    lines(quorum, "topics", "create", name, "--assignment", assignment)


def delete(quorum: EmbeddedQuorum, *names: str) -> None:
    for name in names:
        lines(quorum, "topics", "delete", name, "--yes")
    quorum.wait_for(lambda image: not set(names) & set(image.topics.by_name))


def apply_plan(quorum: EmbeddedQuorum, plan: Path, topic: str) -> None:
    """Apply a plan; the new replicas have copied everything at once."""
    lines(quorum, "reassign", "apply", str(plan), "--yes")
    catch_up(quorum, topic)
    quorum.wait_for(lambda image: not image.topics.by_name[topic].partitions[0].adding_replicas)


def test_a_fenced_broker_that_is_gone_is_unregistered_and_its_replicas_are_moved(quorum: EmbeddedQuorum, tmp_path: Path) -> None:
    broker = ExtraBroker(quorum, 201)
    create(quorum, "gone", "101:201")
    broker.fence()
    with Situation(quorum, tmp_path, "fenced") as run:
        run("brokers", "unregister", "201", "--yes")
        quorum.wait_for(lambda image: 201 not in image.cluster.brokers)
    plan = tmp_path / "plan.json"
    with Situation(quorum, tmp_path, "vanished") as run, Situation(quorum, tmp_path, "unregistered_replica"):
        run("reassign", "plan", "--off", "201", "--out", str(plan))
        apply_plan(quorum, plan, "gone")
    delete(quorum, "gone")


def test_a_partition_whose_only_replica_in_sync_is_lost_gets_a_leader(quorum: EmbeddedQuorum, tmp_path: Path) -> None:
    broker = ExtraBroker(quorum, 202)
    create(quorum, "unclean", "202:101")
    broker.shrink("unclean")
    broker.fence()
    with Situation(quorum, tmp_path, "leaderless") as run:
        run("elect", "unclean", "unclean:0", "--yes")
        quorum.wait_for(lambda image: image.topics.by_name["unclean"].partitions[0].leader == 101)
    lines(quorum, "brokers", "unregister", "202", "--yes")
    delete(quorum, "unclean")


def test_a_move_to_a_broker_that_died_is_cancelled(quorum: EmbeddedQuorum, tmp_path: Path) -> None:
    broker = ExtraBroker(quorum, 203)
    create(quorum, "stuck", "101:102")
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": "stuck", "partition": 0, "replicas": [101, 203]}]}))
    lines(quorum, "reassign", "apply", str(plan), "--yes")
    broker.fence()
    with Situation(quorum, tmp_path, "stuck_reassignment") as run:
        run("reassign", "cancel", "--all", "--yes")
        quorum.wait_for(lambda image: not image.topics.by_name["stuck"].partitions[0].adding_replicas)
    lines(quorum, "brokers", "unregister", "203", "--yes")
    delete(quorum, "stuck")


def test_a_leader_that_is_not_the_preferred_one_is_elected(quorum: EmbeddedQuorum, tmp_path: Path) -> None:
    broker = ExtraBroker(quorum, 204)
    create(quorum, "preferred", "204:101")
    broker.fence()
    broker.fence(False)
    catch_up(quorum, "preferred")
    with Situation(quorum, tmp_path, "not_preferred") as run:
        run("elect", "preferred", "--all")
        quorum.wait_for(lambda image: image.topics.by_name["preferred"].partitions[0].leader == 204)
    delete(quorum, "preferred")
    broker.fence()
    lines(quorum, "brokers", "unregister", "204", "--yes")


def test_settings_that_endanger_a_topic_are_taken_back(quorum: EmbeddedQuorum, tmp_path: Path) -> None:
    create(quorum, "settings", "101:102")
    lines(quorum, "configs", "set", "topic:settings", "unclean.leader.election.enable=true", "--yes")
    with Situation(quorum, tmp_path, "unclean_allowed") as run:
        run("configs", "unset", "topic:settings", "unclean.leader.election.enable", "--yes")
    lines(quorum, "configs", "set", "topic:settings", "min.insync.replicas=2", "--yes")
    with Situation(quorum, tmp_path, "min_isr_at_factor") as run:
        run("configs", "set", "topic:settings", "min.insync.replicas=1", "--yes")
    delete(quorum, "settings")


def test_limits_that_were_forgotten_are_taken_away(quorum: EmbeddedQuorum, tmp_path: Path) -> None:
    create(quorum, "limits", "101:102")
    lines(quorum, "configs", "set", "broker:102", "leader.replication.throttled.rate=1000", "--yes")
    lines(quorum, "configs", "set", "topic:limits", "leader.replication.throttled.replicas=*", "--yes")
    with Situation(quorum, tmp_path, "left_throttles") as run:
        run("reassign", "status", "--clear-throttle")
    lines(quorum, "quotas", "set", "--user-default", "producer_byte_rate=1")
    with Situation(quorum, tmp_path, "tiny_quota") as run:
        run("quotas", "unset", "--user-default", "producer_byte_rate")
    key = "replica.alter.log.dirs.io.max.bytes.per.second"
    lines(quorum, "configs", "set", "broker:default", f"{key}=1000", "--yes")
    with Situation(quorum, tmp_path, "tiny_directory_rate") as run:
        run("configs", "unset", "broker:default", key, "--yes")
    delete(quorum, "limits")


def test_a_topic_gets_more_replicas_and_leaders_are_evened(quorum: EmbeddedQuorum, tmp_path: Path) -> None:
    create(quorum, "single", "101")
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": "single", "partition": 0, "replicas": [101, 102]}]}))
    with Situation(quorum, tmp_path, "one_replica"):
        apply_plan(quorum, plan, "single")
    create(quorum, "many", ",".join(["101:102:103"] * 90))
    even = tmp_path / "even.json"
    with Situation(quorum, tmp_path, "uneven_leaders") as run:
        run("reassign", "plan", "--even", "leaders", "--out", str(even))
        run("reassign", "apply", str(even), "--yes")
        run("elect", "preferred", "--all")
    delete(quorum, "single", "many")


def test_a_controller_that_is_gone_loses_its_vote_and_its_registration(tmp_path: Path) -> None:
    with EmbeddedQuorum(controllers=4, fake_brokers=1, properties=PATIENT) as four:
        leader = four.wait_for_leader()
        gone = next(id for id in four.controller_ids if id != leader)
        four.kill(gone)
        with Situation(four, tmp_path, "even_quorum") as run:
            run("quorum", "remove-controller", str(gone), "--yes")
        with Situation(four, tmp_path, "registered_without_vote") as run:
            run("quorum", "unregister-controller", str(gone), "--yes")


def test_a_quorum_that_lost_its_majority_is_restored_from_what_is_left(tmp_path: Path) -> None:
    with EmbeddedQuorum(controllers=3, fake_brokers=1, properties=PATIENT, directory=str(tmp_path / "q")) as three:
        lines(three, "topics", "create", "orders", "--assignment", "101")
        leader = three.wait_for_leader()
        for id in three.controller_ids:
            if id != leader:
                three.kill(id)
        survivor = next(
            path.parent for path in sorted((tmp_path / "q").rglob("meta.properties")) if f"node.id={leader}\n" in path.read_text()
        )
        wait_until(lambda: "no_leader" in findings(three, tmp_path), lambda: findings(three, tmp_path))
        assert LIVE["no_leader"] in steps_of(findings(three, tmp_path)["no_leader"])
    out = tmp_path / "new"
    words = ["quorum", "restore", str(survivor), "--out", str(out), "--node-id", "9", "--listener", "localhost:19093"]
    done = run_main(main, words, cwd=tmp_path)
    assert done.status == 0, done
    judged = run_main(main, ["verify", "--start-safe", str(out)], cwd=tmp_path)
    assert judged.status == 0, judged
