"""Updates of features: in which order a request's features are refused, and in which words."""

from __future__ import annotations

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import INVALID_UPDATE_VERSION, NONE
from metashell.codec.releases import METADATA_VERSION
from metashell.metadata.image import Voter, VoterSet
from tests.quorum.controller.cluster import NODE, Cluster
from tests.quorum.controller.test_brokers import register_controller

FAILED = "The update failed for all features since the following feature had an error: Invalid update version 1 for feature"


@pytest.mark.parametrize(
    ("level", "told"),
    [
        (
            1,
            f"{FAILED} share.version. share.version could not be set to 1 because it depends on metadata.version=7 (3.3-IV3)",
        ),
        (0, f"{FAILED} metadata.version. Local controller {NODE} only supports versions 7-33"),
    ],
)
def test_a_level_of_a_feature_needs_a_metadata_version_that_is_still_there(level: int, told: str) -> None:
    made = messages.UpdateFeaturesRequest.FeatureUpdateKey
    share = made(feature="share.version", max_version_level=level, upgrade_type=1)
    metadata = made(feature=METADATA_VERSION, max_version_level=1, upgrade_type=1)
    answer = Cluster().ask(57, 2, messages.UpdateFeaturesRequest(timeout_ms=60_000, feature_updates=(share, metadata)))
    assert answer.error_message == told


def test_a_voter_that_has_not_registered_keeps_every_feature_as_it_is() -> None:
    """Nobody knows what it supports: it may be of a release that ends over the new level."""
    cluster = Cluster(level=32)
    voters = tuple(Voter(id, bytes(15) + bytes((number,))) for number, id in enumerate((NODE, 3001, 3002)))
    cluster.state.set_quorum(VoterSet(0, voters), 1)
    made = messages.UpdateFeaturesRequest
    update = made.FeatureUpdateKey(feature="group.version", max_version_level=1, upgrade_type=1)

    def why_not() -> str | None:
        answer = cluster.ask(57, 2, made(timeout_ms=1000, feature_updates=(update,)))
        assert answer.error_code == (INVALID_UPDATE_VERSION if answer.error_message else NONE)
        return answer.error_message and answer.error_message.partition("feature group.version. ")[2]

    with_groups = {"group.version": (0, 1)}
    assert why_not() == "controller 3001 has not registered, and may not support this feature"
    register_controller(cluster, 3001, features=with_groups)
    assert why_not() == "controller 3002 has not registered, and may not support this feature"
    register_controller(cluster, 3002)
    assert why_not() == "Controller 3002 does not support this feature."
    register_controller(cluster, 3002, features=with_groups)
    assert why_not() is None
    assert cluster.controller.image.features.levels["group.version"] == 1


def test_controllers_that_cannot_register_yet_are_not_waited_for() -> None:
    cluster = Cluster(level=14, elr=0)
    cluster.state.set_quorum(VoterSet(0, (Voter(NODE, bytes(16)), Voter(3001, bytes(16)))), 0)
    made = messages.UpdateFeaturesRequest
    update = made.FeatureUpdateKey(feature=METADATA_VERSION, max_version_level=15, upgrade_type=1)

    assert cluster.ask(57, 2, made(timeout_ms=1000, feature_updates=(update,))).error_code == NONE
    update = made.FeatureUpdateKey(feature=METADATA_VERSION, max_version_level=16, upgrade_type=1)
    assert cluster.ask(57, 2, made(timeout_ms=1000, feature_updates=(update,))).error_code == INVALID_UPDATE_VERSION
