"""What Kafka's administration tools, in our hands, say beyond Kafka's words, and their JSON."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metashell.codec.messages import DescribeClusterResponse
from metashell.quorum.embedded import EmbeddedQuorum
from tests.cli.admin.peers import BROKER_APIS, CONTROLLER_APIS, Silence, peer
from tests.interop.admin_twins import ours


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(1, fake_brokers=1) as running:
        yield running


def here(_: Any) -> DescribeClusterResponse:
    node = DescribeClusterResponse.DescribeClusterBroker(broker_id=7, host="h\x1b[31m", port=9092)
    return DescribeClusterResponse(cluster_id="here", brokers=(node,))


def test_an_address_that_keeps_silent_is_told_beside_the_answer_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "quick.properties").write_text("default.api.timeout.ms=800\n")
    with peer(here, BROKER_APIS, talks=False) as mute, peer(here, BROKER_APIS) as good:
        done = ours("kafka-cluster", ["cluster-id", "-b", f"{mute.address},{good.address}", "-c", "quick.properties"], tmp_path)
    assert (done.status, done.stdout) == (0, b"Cluster ID: here\n")
    assert done.stderr == f"kafka-cluster: {mute.address}: no answer within 0.4 s; others were asked\n"


def test_a_controller_that_is_asked_as_a_broker_is_named_beside_what_kafka_makes_of_it(tmp_path: Path) -> None:
    with peer(here, CONTROLLER_APIS) as controller:
        listed = ours("kafka-cluster", ["list-endpoints", "-b", str(controller.address)], tmp_path)
        gone = ours("kafka-cluster", ["unregister", "-b", str(controller.address), "--id", "3"], tmp_path)
        plain = ours("kafka-cluster", ["list-endpoints", "-b", str(controller.address), "-o", "json"], tmp_path)
    says = f"kafka-cluster: {controller.address} is a controller's listener: use --bootstrap-controller\n"
    assert (listed.status, listed.stdout, listed.stderr) == (0, b"The node does not support METADATA\n", says)
    assert (gone.status, gone.stdout, gone.stderr) == (0, b"The target cluster does not support the broker unregistration API.\n", says)
    assert (plain.status, plain.stdout, plain.stderr) == (1, b"", says)


def test_addresses_may_stand_in_the_property_file_as_kip_631_has_it(quorum: EmbeddedQuorum, tmp_path: Path) -> None:
    (tmp_path / "there.properties").write_text(f"bootstrap.controllers={quorum.bootstrap_controllers}\n")
    done = ours("kafka-cluster", ["unregister", "--config", "there.properties", "--id", "999"], tmp_path)
    assert done.status == 1
    assert done.stderr == "org.apache.kafka.common.errors.BrokerIdNotRegisteredException: Broker ID 999 is not currently registered\n"
    (tmp_path / "nowhere.properties").write_text("client.id=x\n")
    assert ours("kafka-cluster", ["unregister", "-c", "nowhere.properties", "--id", "3"], tmp_path).stderr.endswith(
        "one of the arguments --bootstrap-server/-b --bootstrap-controller/-C is required\n"
    )


def test_ctrl_c_while_a_change_is_under_way_says_that_it_may_have_been_done(tmp_path: Path) -> None:
    def interrupted(_: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        raise Silence

    with peer(interrupted, BROKER_APIS) as broker:
        done = ours("kafka-cluster", ["unregister", "-b", str(broker.address), "--id", "3"], tmp_path)
        asked = ours("kafka-cluster", ["cluster-id", "-b", str(broker.address)], tmp_path)
    assert (done.status, done.stdout) == (130, b"")
    says = "UnregisterBroker may or may not have been done: look before you try again"
    assert done.stderr == f"kafka-cluster: {broker.address}: {says}\n"
    assert (asked.status, asked.stderr) == (130, "")


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        ("kafka-cluster cluster-id -C {C}", "cluster_id type"),
        ("kafka-cluster list-endpoints -C {C}", "endpoints type"),
        (
            "kafka-metadata-quorum --bootstrap-controller {C} describe --status",
            "cluster_id high_watermark leader_epoch leader_id max_follower_lag max_follower_lag_ms observers type voters",
        ),
        ("kafka-metadata-quorum --bootstrap-controller {C} describe --replication", "replicas type"),
        (
            "kafka-metadata-quorum --bootstrap-controller {C} remove-controller -i 7 -d AAAAAAAAAAAAAAAAAAABAA --dry-run",
            "directory_id id result type",
        ),
        (
            "kafka-metadata-quorum --bootstrap-controller {C} remove-controller -i 7 -d AAAAAAAAAAAAAAAAAAABAA --dry-run --unregister",
            "directory_id id registration result type",
        ),
        ("kafka-cluster api-versions -C {C}", "nodes type"),
        ("kafka-features --bootstrap-controller {C} describe", "epoch features type"),
        ("kafka-features --bootstrap-controller {C} disable --feature group.version --dry-run", "dry_run type updates"),
        ("kafka-features version-mapping", "features metadata_version type"),
        ("kafka-features feature-dependencies --feature group.version=1", "dependencies type"),
        ("kafka-cluster unregister -C {C} --id 101", "broker_id result type"),
    ],
)
def test_json_has_these_keys(line: str, keys: str, quorum: EmbeddedQuorum, tmp_path: Path) -> None:
    tool, *words = line.format(C=quorum.bootstrap_controllers).split()
    done = ours(tool, [*words, "-o", "json"], tmp_path)
    assert done.status == 0, done.stderr
    assert " ".join(sorted(json.loads(done.stdout))) == keys


def test_what_is_said_of_apis_and_of_controllers_that_are_unregistered_in_json(quorum: EmbeddedQuorum, tmp_path: Path) -> None:
    done = ours("kafka-cluster", ["api-versions", "-C", quorum.bootstrap_controllers, "-o", "json"], tmp_path)
    (node,) = json.loads(done.stdout)["nodes"]
    apis = {api["name"]: api for api in node["apis"]}
    assert (node["type"], node["id"], node["error"]) == ("controller", 1, None)
    assert apis["Fetch"] == {"key": 1, "name": "Fetch", "min": 4, "max": 18, "usable": 18}
    assert apis["Produce"] == {"key": 0, "name": "Produce", "min": None, "max": None, "usable": None}
    for id, says in (("1", "InvalidRequestException: Controller cannot unregister itself"), ("7", "ControllerIdNotRegisteredException: ")):
        done = ours("kafka-cluster", ["unregister-controller", "-C", quorum.bootstrap_controllers, "--id", id, "-o", "json"], tmp_path)
        assert (done.status, done.stdout) == (1, b"") and says in done.stderr


def test_a_node_that_does_not_answer_is_an_error_among_the_others(tmp_path: Path) -> None:
    (tmp_path / "quick.properties").write_text("default.api.timeout.ms=2000\n")
    with peer(here, CONTROLLER_APIS) as good, peer(here, CONTROLLER_APIS) as gone:
        nodes = [
            DescribeClusterResponse.DescribeClusterBroker(broker_id=id, host="127.0.0.1", port=each.address.port)
            for id, each in ((1, good), (2, gone))
        ]
        good.answer = lambda _: DescribeClusterResponse(cluster_id="here", endpoint_type=2, brokers=tuple(nodes))
        gone.close()
        words = ["api-versions", "-C", str(good.address), "-c", "quick.properties"]
        told = ours("kafka-cluster", words, tmp_path)
        found = json.loads(ours("kafka-cluster", [*words, "-o", "json"], tmp_path).stdout)["nodes"]
    lines = told.stdout.decode().splitlines()
    assert told.status == 0 and lines[0] == f"{good.address} (id: 1 rack: null isFenced: false) -> ("
    assert lines[-1].startswith(f"{gone.address} (id: 2 rack: null isFenced: false) -> ERROR: ") and "Connection refused" in lines[-1]
    assert found[0]["error"] is None and found[1]["apis"] is None and "Connection refused" in found[1]["error"]
