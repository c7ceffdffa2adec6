"""Brokers, their disks, the quorum, features and versions of APIs: what is asked, and what the answers come to."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from metashell.cli.admin import cluster
from metashell.cli.admin.client import Admin
from metashell.cli.admin.cluster import ApiSupport, Broker, Change, Endpoint, Load, Replica
from metashell.cli.admin.protocol import AdminError, Kind
from metashell.cli.admin.topics import Partition, Topic
from metashell.codec import messages
from metashell.codec.error_codes import (
    BROKER_ID_NOT_REGISTERED,
    CLUSTER_AUTHORIZATION_FAILED,
    CONTROLLER_ID_NOT_REGISTERED,
    DUPLICATE_VOTER,
    INVALID_UPDATE_VERSION,
    KAFKA_STORAGE_ERROR,
    NONE,
    VOTER_NOT_FOUND,
)
from metashell.common.errors import MetashellError
from metashell.common.values import ZERO_UUID, ReplicaKey
from metashell.net.addresses import Address
from metashell.net.api_versions import NodeFeatures
from metashell.net.frames import request_type
from tests.cli.admin.recorder import Recorder

DIRECTORY = b"\1" * 16


def admin(recorder: Recorder) -> Admin:
    return cast("Admin", recorder)


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("fenced", [False, True])
def test_a_cluster_has_its_nodes_and_through_controllers_who_leads(kind: Kind, fenced: bool) -> None:
    made = messages.DescribeClusterResponse
    node = made.DescribeClusterBroker
    brokers = (node(broker_id=2, host="h", port=2, rack="r", is_fenced=True), node(broker_id=0, host="h", port=1))
    recorder = Recorder(
        made(cluster_id="c", controller_id=0, brokers=brokers),
        made(controller_id=-1),
        made(error_code=CLUSTER_AUTHORIZATION_FAILED),
        kind=kind,
    )
    found = cluster.describe_cluster(admin(recorder), fenced=fenced)
    assert [(one.id, one.rack, one.is_fenced, str(one.address)) for one in found.nodes] == [(2, "r", True, "h:2"), (0, None, False, "h:1")]
    assert (found.cluster_id, found.kind, found.active_id) == ("c", kind, 0 if kind is Kind.CONTROLLERS else None)
    listener = 2 if kind is Kind.CONTROLLERS else 1
    assert recorder.asked == [messages.DescribeClusterRequest(endpoint_type=listener, include_fenced_brokers=fenced)]
    assert cluster.describe_cluster(admin(recorder)).active_id is None
    assert not recorder.asked[1].include_fenced_brokers
    with pytest.raises(AdminError, match="CLUSTER_AUTHORIZATION_FAILED"):
        cluster.describe_cluster(admin(recorder))


@pytest.mark.parametrize(
    ("unregister", "code", "noun"),
    [
        (cluster.unregister_broker, BROKER_ID_NOT_REGISTERED, "broker"),
        (cluster.unregister_controller, CONTROLLER_ID_NOT_REGISTERED, "controller"),
    ],
)
def test_what_is_not_registered_any_more_is_an_error_unless_it_was_asked_for_twice(unregister: Any, code: int, noun: str) -> None:
    answer = messages.UnregisterBrokerResponse(error_code=code)
    recorder = Recorder(answer, again=1)
    unregister(admin(recorder), 3)
    (request,) = recorder.asked
    assert getattr(request, f"{noun}_id") == 3
    with pytest.raises(AdminError, match=f"^{noun} 3: "):
        unregister(admin(Recorder(answer)), 3)
    with pytest.raises(AdminError, match=f"^{noun} 3: "):
        unregister(admin(Recorder(messages.UnregisterBrokerResponse(error_code=CLUSTER_AUTHORIZATION_FAILED), again=1)), 3)


@pytest.mark.parametrize(
    ("is_fenced", "is_leaving", "state"),
    [(False, False, "up"), (True, False, "fenced"), (False, True, "leaving"), (True, True, "fenced")],
)
def test_the_state_of_a_broker_is_one_word(is_fenced: bool, is_leaving: bool, state: str) -> None:
    assert Broker(id=1, host="h", port=1, is_fenced=is_fenced, is_leaving=is_leaving).state == state
    assert Broker(id=1, host="h", port=1).state == "up"


def test_the_load_of_brokers_is_counted() -> None:
    def partition(id: int, leader: int, replicas: tuple[int, ...], isr: tuple[int, ...]) -> Partition:
        return Partition(id=id, leader=leader, leader_epoch=0, replicas=replicas, isr=isr)

    a = Topic(name="a", id=DIRECTORY, partitions=(partition(0, 0, (0, 1), (0, 1)), partition(1, 1, (1, 2), (1,))))
    b = Topic(name="b", id=DIRECTORY, partitions=(partition(0, -1, (2, 0), ()), partition(1, 1, (0, 1), (1,))))
    assert cluster.load_of([a, b]) == Load(
        leaders=Counter({0: 1, 1: 2}), replicas=Counter({0: 3, 1: 3, 2: 2}), not_in_sync=Counter({2: 2, 0: 2})
    )


def test_brokers_tell_of_their_disks() -> None:
    made = messages.DescribeLogDirsResponse
    part, topic = made.DescribeLogDirsPartition, made.DescribeLogDirsTopic
    whole = made.DescribeLogDirsResult(
        log_dir="/a",
        total_bytes=100,
        usable_bytes=40,
        is_cordoned=True,
        topics=(
            topic(
                name="t", partitions=(part(partition_index=0, partition_size=7, offset_lag=1), part(partition_index=1, partition_size=8))
            ),
            topic(name="u", partitions=(part(partition_index=0, partition_size=1),)),
        ),
    )
    broken = made.DescribeLogDirsResult(log_dir="/b", error_code=KAFKA_STORAGE_ERROR)
    down = MetashellError("down")
    answers = {1: made(results=(whole, broken)), 2: down, 3: made(error_code=CLUSTER_AUTHORIZATION_FAILED)}
    recorder = Recorder(answers, {1: made()})
    found = cluster.describe_log_dirs(admin(recorder), (1, 2, 3))
    first, second = found[1]  # type: ignore[misc]
    assert first == cluster.LogDirectory(
        path="/a", replicas=3, size=16, total=100, usable=40, is_cordoned=True, lags={("t", 0): 1, ("t", 1): 0, ("u", 0): 0}
    )
    assert (second.replicas, second.size, second.total, second.usable) == (0, 0, -1, -1)
    assert (second.path, str(second.error).split(": ")[:2]) == ("/b", ["/b", "KAFKA_STORAGE_ERROR"])
    assert found[2] is down and str(found[3]).startswith("broker 3: CLUSTER_AUTHORIZATION_FAILED")
    assert cluster.describe_log_dirs(admin(recorder), (1,), {"t": (0, 1), "u": [0]}) == {1: ()}
    wanted = messages.DescribeLogDirsRequest
    some = (wanted.DescribableLogDirTopic(topic="t", partitions=(0, 1)), wanted.DescribableLogDirTopic(topic="u", partitions=(0,)))
    assert recorder.asked == [dict.fromkeys((1, 2, 3), wanted(topics=None)), {1: wanted(topics=some)}]
    empty = cluster.LogDirectory(path="/c")
    assert (empty.replicas, empty.size, empty.total, empty.usable, empty.is_cordoned) == (0, 0, -1, -1, False)


# ---- the quorum

STATE = messages.DescribeQuorumResponse.ReplicaState


def quorum(*, partitions: int = 1, name: str = "__cluster_metadata", code: int = NONE, part_code: int = NONE, leader: int = 1) -> Any:
    made = messages.DescribeQuorumResponse
    voters = (
        STATE(replica_id=1, replica_directory_id=DIRECTORY, log_end_offset=50, last_fetch_timestamp=-1, last_caught_up_timestamp=0),
        STATE(replica_id=2, replica_directory_id=ZERO_UUID, log_end_offset=42, last_fetch_timestamp=5, last_caught_up_timestamp=6),
    )
    part = made.PartitionData(
        error_code=part_code,
        leader_id=leader,
        leader_epoch=3,
        high_watermark=41,
        current_voters=voters,
        observers=(STATE(replica_id=9, log_end_offset=40),),
    )
    nodes = (made.Node(node_id=2, listeners=(made.Listener(name="C", host="h", port=9),)),)
    return made(error_code=code, nodes=nodes, topics=(made.TopicData(topic_name=name, partitions=(part,) * partitions),))


def test_the_quorum_is_as_its_leader_sees_it() -> None:
    recorder = Recorder(quorum(), quorum(leader=9))
    found = cluster.describe_quorum(admin(recorder))
    assert (found.leader_id, found.leader_epoch, found.high_watermark) == (1, 3, 41)
    first = Replica(id=1, directory_id=DIRECTORY, log_end_offset=50, last_fetch_ms=None, last_caught_up_ms=0)
    second = Replica(
        id=2,
        directory_id=None,
        log_end_offset=42,
        last_fetch_ms=5,
        last_caught_up_ms=6,
        endpoints=(Endpoint("C", Address("h", 9)),),
    )
    assert found.voters == (first, second) and [one.id for one in found.observers] == [9]
    assert found.leader == first and [found.lag_of(one) for one in (first, second, *found.observers)] == [0, 8, 10]
    assert str(second.endpoints[0]) == "C://h:9"
    # A leader that is being removed is no voter.
    leaving = cluster.describe_quorum(admin(recorder))
    assert leaving.leader is None and leaving.lag_of(first) is None
    made = messages.DescribeQuorumRequest
    one = made.TopicData(topic_name="__cluster_metadata", partitions=(made.PartitionData(partition_index=0),))
    assert recorder.asked == [made(topics=(one,))] * 2 and recorder.whom == ["active"] * 2


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (quorum(code=CLUSTER_AUTHORIZATION_FAILED), "CLUSTER_AUTHORIZATION_FAILED"),
        (quorum(part_code=3), "UNKNOWN_TOPIC_OR_PARTITION"),
        (quorum(partitions=2), "the answer has 2 partitions, not one"),
        (quorum(partitions=0), "the answer has 0 partitions, not one"),
        (quorum(name="orders"), "UNKNOWN_SERVER_ERROR"),
    ],
)
def test_an_answer_of_another_shape_is_an_error(answer: Any, message: str) -> None:
    with pytest.raises(AdminError, match=f"^DescribeQuorum: .*{message}"):
        cluster.describe_quorum(admin(Recorder(answer)))


@pytest.mark.parametrize(
    ("again", "id", "directory", "is_done"),
    [(0, 1, DIRECTORY, False), (1, 1, DIRECTORY, True), (1, 1, b"\2" * 16, False), (1, 3, DIRECTORY, False)],
)
def test_a_voter_that_is_there_already_was_added_by_us_or_is_another(again: int, id: int, directory: bytes, is_done: bool) -> None:
    recorder = Recorder(messages.AddRaftVoterResponse(error_code=DUPLICATE_VOTER), quorum(), again=again)
    add = lambda: cluster.add_voter(  # noqa: E731
        admin(recorder), ReplicaKey(id, directory), [Endpoint("C", Address("h", 9))], cluster_id="c"
    )
    if is_done:
        add()
    else:
        with pytest.raises(AdminError, match=f"^controller {id}: DUPLICATE_VOTER"):
            add()
    made = messages.AddRaftVoterRequest
    assert recorder.asked[0] == made(
        cluster_id="c",
        timeout_ms=60_000,
        voter_id=id,
        voter_directory_id=directory,
        listeners=(made.Listener(name="C", host="h", port=9),),
    )
    assert len(recorder.asked) == 1 + again


@pytest.mark.parametrize(
    ("again", "code", "is_done"), [(0, VOTER_NOT_FOUND, False), (1, VOTER_NOT_FOUND, True), (1, DUPLICATE_VOTER, False), (0, NONE, True)]
)
def test_a_voter_that_is_not_there_was_removed_by_us_or_never_was(again: int, code: int, is_done: bool) -> None:
    recorder = Recorder(messages.RemoveRaftVoterResponse(error_code=code), again=again)
    try:
        cluster.remove_voter(admin(recorder), ReplicaKey(7, DIRECTORY), cluster_id="c")
        assert is_done
    except AdminError as error:
        assert not is_done and str(error).startswith("controller 7: ")
    assert recorder.asked == [messages.RemoveRaftVoterRequest(cluster_id="c", voter_id=7, voter_directory_id=DIRECTORY)]


# ---- features


@pytest.mark.parametrize(("epoch", "told"), [(-1, None), (0, 0), (7, 7)])
@pytest.mark.parametrize("kind", Kind)
def test_features_are_those_of_the_active_controller_or_of_any_broker(kind: Kind, epoch: int, told: int | None) -> None:
    asked: list[int | None] = []
    features = NodeFeatures({"b": (1, 3), "a": (0, 2)}, {"b": 2}, epoch)
    fake = SimpleNamespace(kind=kind, active_id=lambda: 5, features=lambda node: asked.append(node) or features)
    found = cluster.describe_features(cast("Admin", fake))
    assert [(one.name, one.low, one.high, one.level) for one in found.features] == [("a", 0, 2, 0), ("b", 1, 3, 2)]
    assert found.epoch == told
    cluster.describe_features(cast("Admin", fake), node=0)
    assert asked == [5 if kind is Kind.CONTROLLERS else None, 0]


def test_features_are_changed_in_one_request() -> None:
    made, told = messages.UpdateFeaturesRequest, messages.UpdateFeaturesResponse
    result = told.UpdatableFeatureResult
    some = told(results=(result(feature="b", error_code=INVALID_UPDATE_VERSION, error_message="No."), result(feature="a")))
    recorder = Recorder(some, told(), told(error_code=INVALID_UPDATE_VERSION, error_message="Never."))
    levels = {"a": 1, "b": 2, "c": 0}
    found = cluster.update_features(admin(recorder), levels, Change.UNSAFE_DOWNGRADE, dry_run=True)
    assert {name: str(error) if error else None for name, error in found.items()} == {
        "a": None,
        "b": "b: INVALID_UPDATE_VERSION: No.",
        "c": "c: UNKNOWN_SERVER_ERROR: The controller response did not contain a result for feature c",
    }
    assert cluster.update_features(admin(recorder), levels, Change.UPGRADE) == dict.fromkeys(levels)
    refused = cluster.update_features(admin(recorder), levels, Change.SAFE_DOWNGRADE)
    assert [str(error) for error in refused.values()] == [f"{name}: INVALID_UPDATE_VERSION: Never." for name in levels]
    keys = [
        tuple(made.FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind) for name, level in levels.items())
        for kind in (3, 1, 2)
    ]
    assert recorder.asked == [
        made(timeout_ms=60_000, feature_updates=one, validate_only=dry) for one, dry in zip(keys, (True, False, False), strict=True)
    ]


# ---- versions of APIs


def test_a_node_is_asked_which_versions_it_has() -> None:
    made = messages.ApiVersionsResponse
    high = request_type(3).versions[1]
    rows = ((3, 0, high + 5), (5, 0, 7), (19, high + 100, high + 101), (20, 0, 0), (9999, 1, 2))
    answer = made(api_keys=tuple(made.ApiVersion(api_key=key, min_version=a, max_version=b) for key, a, b in rows))
    down = MetashellError("down")
    recorder = Recorder({1: answer, 2: down, 3: made(error_code=CLUSTER_AUTHORIZATION_FAILED)}, ids=(1, 2, 3))
    (first, support), (_, second), (_, third) = cluster.describe_api_versions(admin(recorder))
    assert first.id == 1 and second is down and str(third).startswith("broker 3: CLUSTER_AUTHORIZATION_FAILED")
    by_key = {one.key: one for one in support}  # type: ignore[union-attr]
    assert list(by_key) == sorted(by_key)
    assert by_key[3] == ApiSupport(3, "Metadata", (0, high + 5), usable=high)
    assert by_key[5] == ApiSupport(5, "StopReplica", (0, 7))
    assert by_key[19] == ApiSupport(19, "CreateTopics", (high + 100, high + 101))
    assert by_key[20] == ApiSupport(20, "DeleteTopics", (0, 0), is_too_old=True)
    assert by_key[9999] == ApiSupport(9999, None, (1, 2))
    # What brokers have and this one lacks is there, what controllers alone have is not.
    assert by_key[18] == ApiSupport(18, "ApiVersions", None) and 52 not in by_key
