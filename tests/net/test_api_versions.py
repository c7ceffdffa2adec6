"""Versions: what two peers have in common, and what a server says about itself."""

from __future__ import annotations

import pytest

from metashell.codec.messages import ApiVersionsRequest
from metashell.net.api_versions import (
    ALL_RANGES,
    CommonVersions,
    NodeFeatures,
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
    assert dict(versions) == {18: 4, 60: 0} == versions
    assert (3 in versions, 9999 in versions, versions.get(1), len(versions)) == (False, False, None, 2)
    assert dict(ALL_RANGES) == supported_ranges() and len(ALL_RANGES) == len(supported_ranges())


def test_ranges_of_all_schemas_hold_those_of_some() -> None:
    assert supported_ranges([18, 60]).items() <= supported_ranges().items()
    assert supported_ranges([18]) == {18: (0, 4)}


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
