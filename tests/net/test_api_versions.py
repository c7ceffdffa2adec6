"""Versions: what two peers have in common, and what a server says about itself."""

from __future__ import annotations

import pytest

from metashell.codec.messages import ApiVersionsRequest
from metashell.net.api_versions import (
    ALL_RANGES,
    CommonVersions,
    NodeFeatures,
    NodeIdentity,
    answer_api_versions,
    answer_unknown_api_versions,
    features_of,
    ranges_of,
    supported_ranges,
)

REQUEST = ApiVersionsRequest(client_software_name="some-client", client_software_version="1.0")
FEATURES = NodeFeatures({"kraft.version": (0, 1), "metadata.version": (1, 29)}, {"metadata.version": 29}, 5)


def test_the_highest_common_version_is_taken_and_apis_without_one_are_left_out() -> None:
    ours = {1: (4, 17), 3: (0, 5), 52: (2, 2), 60: (0, 1)}
    theirs = {1: (0, 12), 3: (6, 9), 52: (0, 1), 18: (0, 4), 60: (1, 7)}
    assert dict(CommonVersions(ours, theirs)) == {1: 12, 60: 1}
    assert dict(CommonVersions(theirs, ours)) == {1: 12, 60: 1}


def test_versions_are_found_when_they_are_asked_for() -> None:
    versions = CommonVersions(ALL_RANGES, {18: (0, 99), 60: (0, 0), 3: (90, 99), 9999: (0, 1)})
    assert dict(versions) == {18: 5, 60: 0} == versions
    assert (3 in versions, 9999 in versions, versions.get(1), len(versions)) == (False, False, None, 2)
    assert dict(ALL_RANGES) == supported_ranges() and len(ALL_RANGES) == len(supported_ranges())


def test_ranges_of_all_schemas_hold_those_of_some() -> None:
    assert supported_ranges([18, 60]).items() <= supported_ranges().items()
    assert supported_ranges([18]) == {18: (0, 5)}


@pytest.mark.parametrize(("version", "names"), [(3, {"metadata.version"}), (4, {"metadata.version", "kraft.version"})])
def test_a_feature_from_zero_is_only_told_from_version_four_on(version: int, names: set[str]) -> None:
    answer = answer_api_versions(REQUEST, version, {1: (4, 17)}, FEATURES)
    assert ranges_of(answer) == {1: (4, 17)}
    told = features_of(answer)
    assert told.supported.keys() == names
    assert (told.finalized, told.finalized_epoch) == ({"metadata.version": 29}, 5)


@pytest.mark.parametrize("name", ["", "-a", "a b", "a\n", "é"])
def test_software_that_is_not_named_as_agreed_is_an_invalid_request(name: str) -> None:
    request = ApiVersionsRequest(client_software_name=name, client_software_version="1")
    assert answer_api_versions(request, 3, {}, FEATURES).error_code == 42
    # Before version 3 there is no name.
    assert answer_api_versions(request, 2, {}, FEATURES).error_code == 0


def test_an_unknown_version_is_answered_with_the_range_of_api_versions_alone() -> None:
    answer = answer_unknown_api_versions({1: (4, 17), 18: (0, 4)})
    assert (answer.error_code, ranges_of(answer)) == (35, {18: (0, 4)})


@pytest.mark.parametrize(
    ("cluster_id", "node_id", "of_broker", "of_controller"),
    [
        (None, -1, 0, 0),
        ("here", 1, 0, 0),
        ("here", 2, 129, 0),
        ("there", 1, 129, 0),
        ("", 1, 129, 0),
        ("here", -2, 129, 0),
        (None, 1, 42, 42),
        (None, -2, 42, 42),
        ("here", -1, 42, 42),
    ],
)
def test_a_broker_compares_whom_the_client_means_and_a_controller_does_not(
    cluster_id: str | None, node_id: int, of_broker: int, of_controller: int
) -> None:
    """The answers of 4.4.0."""
    request = ApiVersionsRequest(client_software_name="x", client_software_version="1", cluster_id=cluster_id, node_id=node_id)
    for identity, code in ((NodeIdentity("here", 1), of_broker), (None, of_controller)):
        answer = answer_api_versions(request, 5, {1: (4, 17)}, FEATURES, identity)
        assert (answer.error_code, bool(answer.api_keys)) == (code, not code)
        # Versions before have no such fields.
        assert answer_api_versions(request, 4, {1: (4, 17)}, FEATURES, identity).error_code == 0


def test_names_that_are_not_as_agreed_are_refused_before_the_node_is_compared() -> None:
    request = ApiVersionsRequest(client_software_name="-", client_software_version="1", cluster_id="there", node_id=1)
    assert answer_api_versions(request, 5, {}, FEATURES, NodeIdentity("here", 1)).error_code == 42
