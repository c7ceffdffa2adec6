"""Controllers that register and are unregistered: what the log says of them, wherever it is read."""

from __future__ import annotations

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import CONTROLLER_ID_NOT_REGISTERED, INVALID_UPDATE_VERSION, NONE, UNSUPPORTED_VERSION
from metashell.codec.releases import METADATA_VERSION
from metashell.metadata.image import ReplayError
from tests.quorum.controller.cluster import NODE, Cluster


def register(cluster: Cluster, id: int, newest_level: int = 33) -> None:
    made = messages.ControllerRegistrationRequest
    features = (made.Feature(name=METADATA_VERSION, min_supported_version=7, max_supported_version=newest_level),)
    listeners = (made.Listener(name="CONTROLLER", host=f"c{id}", port=9000),)
    body = made(controller_id=id, incarnation_id=id.to_bytes(16, "big"), listeners=listeners, features=features)
    assert cluster.ask(70, 0, body).error_code == NONE


def unregister(cluster: Cluster, id: int) -> int:
    return int(cluster.ask(94, 0, messages.UnregisterControllerRequest(controller_id=id)).error_code)


def upgrade(cluster: Cluster, level: int) -> int:
    made = messages.UpdateFeaturesRequest
    update = made.FeatureUpdateKey(feature=METADATA_VERSION, max_version_level=level, upgrade_type=1)
    return int(cluster.ask(57, 2, made(timeout_ms=1000, feature_updates=(update,))).error_code)


def test_a_controller_that_is_unregistered_is_gone_on_standbys_too() -> None:
    cluster = Cluster()
    register(cluster, 3001)
    register(cluster, 3002)

    assert unregister(cluster, 3001) == NONE
    assert unregister(cluster, 3001) == CONTROLLER_ID_NOT_REGISTERED

    for image in (cluster.controller.image, cluster.standby().image):
        assert set(image.cluster.controllers) == {3002}


def test_an_unregistration_that_is_not_committed_is_undone_with_the_leadership() -> None:
    cluster = Cluster()
    register(cluster, 3001)
    decision = cluster.decide(94, 0, messages.UnregisterControllerRequest(controller_id=3001))
    cluster.write(decision, commit=False)
    assert not cluster.state.image.cluster.controllers

    cluster.controller.renounce()

    assert set(cluster.state.image.cluster.controllers) == {3001}


def test_what_is_not_committed_yet_counts() -> None:
    cluster = Cluster()
    body = messages.UnregisterControllerRequest(controller_id=3001)
    register(cluster, 3001)
    cluster.write(cluster.decide(94, 0, body), commit=False)

    assert cluster.decide(94, 0, body).answer.error_code == CONTROLLER_ID_NOT_REGISTERED


def test_a_controller_without_registration_stops_the_replay() -> None:
    cluster = Cluster()

    with pytest.raises(ReplayError, match="3001"):
        cluster.controller.replay([(messages.UnregisterControllerRecord(controller_id=3001), 0)], cluster.end_offset)


def test_a_registration_for_older_levels_is_in_the_way_until_the_controller_registers_anew() -> None:
    cluster = Cluster(level=32)
    register(cluster, 3001, 32)

    assert upgrade(cluster, 33) == INVALID_UPDATE_VERSION
    assert unregister(cluster, 3001) == UNSUPPORTED_VERSION
    register(cluster, 3001, 33)
    assert upgrade(cluster, 33) == NONE
    # From here on one that is gone for good can be unregistered, and the active one never.
    assert unregister(cluster, 3001) == NONE
    assert unregister(cluster, NODE) != NONE
