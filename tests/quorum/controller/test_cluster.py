"""Updates of features: in which order a request's features are refused, and in which words."""

from __future__ import annotations

import pytest

from metashell.codec import messages
from metashell.codec.releases import METADATA_VERSION
from tests.quorum.controller.cluster import NODE, Cluster

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
