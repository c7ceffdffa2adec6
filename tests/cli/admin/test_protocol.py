"""What is known of each API: beside the schemas of ten releases of Kafka, and by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metashell.cli.admin import protocol
from metashell.cli.admin.protocol import SINCE, AdminError, Since, api_name, is_change, java_api_name, lacks, may_repeat, right_for
from metashell.codec import messages
from metashell.codec.error_codes import (
    BROKER_ID_NOT_REGISTERED,
    CLUSTER_AUTHORIZATION_FAILED,
    CONTROLLER_ID_NOT_REGISTERED,
    DUPLICATE_VOTER,
    GROUP_AUTHORIZATION_FAILED,
    INVALID_PARTITIONS,
    INVALID_REQUEST,
    NOT_CONTROLLER,
    RESOURCE_NOT_FOUND,
    TOPIC_ALREADY_EXISTS,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
    VOTER_NOT_FOUND,
)

LISTENERS = Path(__file__).parents[2] / "golden" / "admin" / "listeners.tsv"
NOT_ANSWERED = {("controller", 29, "3.3"), ("controller", 29, "3.6")}
"""Listed in the schemas, but ControllerApis has no case for it before KIP-919."""
NEVER_ANSWERED = ("controller", 50)
"""Listed in the schemas of all releases, but ControllerApis of none has a case for it."""
BEFORE_KRAFT = {("broker", 50, "3.3"), ("broker", 51, "3.3")}
"""Only brokers with ZooKeeper had it then, as had those of earlier releases."""


def number(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


@pytest.mark.parametrize("line", [line for line in LISTENERS.read_text().splitlines() if not line.startswith("#")])
def test_a_release_has_the_apis_of_its_schemas(line: str) -> None:
    release, kind, listed = line.split("\t")
    keys = set(map(int, listed.split()))
    for key, since in SINCE.items():
        if (kind, key) == NEVER_ANSWERED or (kind, key, release) in NOT_ANSWERED | BEFORE_KRAFT:
            continue
        first = since.brokers if kind == "broker" else since.controllers
        assert (bool(first) and number(first) <= number(release)) is (key in keys), (key, first)


def test_brokers_had_an_api_before_controllers_did() -> None:
    # DescribeQuorum came with controllers; of a broker it was asked later.
    late = {key for key, since in SINCE.items() if since.controllers and number(since.controllers) < number(since.brokers)}
    assert late == {55}
    assert SINCE.keys() == {*protocol._NEEDED, 18} and right_for(18) == ""


READS = ("ApiVersions", "DescribeTopicPartitions", "FindCoordinator", "ListOffsets", "Metadata", "OffsetFetch")


def test_what_changes_nothing_has_a_name_that_says_so() -> None:
    for key in SINCE:
        name = api_name(key)
        is_read = name in READS or "Describe" in name or name.startswith("List")
        assert is_change(key, object()) is not is_read, name
        # Also of those that change something, some may be repeated.
        assert key in (20, 31) or may_repeat(key, object()) is (is_read or name in REPEATED), name
        # To look needs a right to look.
        assert key == 18 or (right_for(key).startswith(("DESCRIBE", "ALTER on the cluster" if key == 60 else "DESCRIBE")) is is_read), name


REPEATED = ("CreateAcls", "IncrementalAlterConfigs", "AlterClientQuotas", "AlterUserScramCredentials")


def test_what_is_only_checked_changes_nothing() -> None:
    dry, wet = messages.CreateTopicsRequest(validate_only=True), messages.CreateTopicsRequest(validate_only=False)
    assert (is_change(19, dry), may_repeat(19, dry)) == (False, True)
    assert (is_change(19, wet), may_repeat(19, wet)) == (True, False)


def test_topics_are_deleted_again_by_their_ids_alone() -> None:
    topic = messages.DeleteTopicsRequest.DeleteTopicState
    one, named = topic(topic_id=b"\1" * 16, name=None), topic(name="a")
    for topics, names, repeats in (((one,), (), True), ((one, named), (), False), ((), ("a",), False), ((one,), ("a",), False)):
        assert may_repeat(20, messages.DeleteTopicsRequest(topics=topics, topic_names=names)) is repeats


EXACT = {
    "resource_type_filter": 2,
    "resource_name_filter": "a",
    "pattern_type_filter": 3,
    "principal_filter": "User:a",
    "host_filter": "*",
    "operation": 3,
    "permission_type": 3,
}


@pytest.mark.parametrize(
    ("changed", "repeats"),
    [
        ({}, True),
        ({"pattern_type_filter": 4}, True),
        ({"pattern_type_filter": 2}, False),
        ({"pattern_type_filter": 1}, False),
        *(({name: None}, False) for name in ("resource_name_filter", "principal_filter", "host_filter")),
        *(({name: 1}, False) for name in ("resource_type_filter", "operation", "permission_type")),
    ],
)
def test_acls_are_deleted_again_where_the_filter_is_of_one(changed: dict[str, Any], repeats: bool) -> None:
    make = messages.DeleteAclsRequest
    exact, other = make.DeleteAclsFilter(**EXACT), make.DeleteAclsFilter(**EXACT | changed)
    assert may_repeat(31, make(filters=(exact, other))) is repeats


def test_an_api_has_a_name_in_kafkas_messages_and_in_ours() -> None:
    assert (api_name(60), java_api_name(60)) == ("DescribeCluster", "DESCRIBE_CLUSTER")
    assert (api_name(9999), java_api_name(18)) == ("api key 9999", "API_VERSIONS")


@pytest.mark.parametrize(
    ("key", "of_brokers", "text", "since"),
    [
        (60, True, "does not have DescribeCluster, which brokers have since Kafka 2.8", "2.8"),
        (60, False, "does not have DescribeCluster, which controllers have since Kafka 3.7", "3.7"),
        (3, False, "is a controller, and controllers do not answer Metadata: use --bootstrap-server", ""),
        (9999, True, "does not have api key 9999", ""),
        (9999, False, "does not have api key 9999", ""),
    ],
)
def test_what_a_node_lacks_is_said_in_words(key: int, of_brokers: bool, text: str, since: str) -> None:
    assert lacks(key, of_brokers=of_brokers) == (text, since)


def test_of_an_api_that_no_broker_answers_nothing_is_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SINCE, 60, Since("", ""))
    assert lacks(60, of_brokers=True) == lacks(60, of_brokers=False) == ("does not have DescribeCluster", "")


OWN_WORK = {
    TOPIC_ALREADY_EXISTS,
    UNKNOWN_TOPIC_OR_PARTITION,
    INVALID_PARTITIONS,
    RESOURCE_NOT_FOUND,
    BROKER_ID_NOT_REGISTERED,
    CONTROLLER_ID_NOT_REGISTERED,
    DUPLICATE_VOTER,
    VOTER_NOT_FOUND,
}
REFUSED = {CLUSTER_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED, GROUP_AUTHORIZATION_FAILED}


@pytest.mark.parametrize("code", [*sorted(OWN_WORK | REFUSED), NOT_CONTROLLER, INVALID_REQUEST])
def test_an_error_says_what_its_code_cannot(code: int) -> None:
    error = AdminError(code)
    assert error.remark == ""
    error.right = "ALTER on the topic"
    assert error.remark == ("It needs the right ALTER on the topic." if code in REFUSED else "")
    error.right, error.was_asked_again = "", True
    assert error.remark.startswith("It was asked for twice") is (code in OWN_WORK)


def test_the_words_of_an_error_are_the_answers_or_else_kafkas() -> None:
    assert str(AdminError(TOPIC_ALREADY_EXISTS, "Topic 'a' already exists.", "a")) == "a: TOPIC_ALREADY_EXISTS: Topic 'a' already exists."
    assert str(AdminError(NOT_CONTROLLER)).startswith("NOT_CONTROLLER: This is not the correct controller")
    printed = AdminError(CLUSTER_AUTHORIZATION_FAILED, "Request Request(processor=1) is not authorized.")
    assert str(printed) == "CLUSTER_AUTHORIZATION_FAILED: Cluster authorization failed."
    assert printed.words == "Request Request(processor=1) is not authorized."
