"""Levels against the release that is to run on them."""

from __future__ import annotations

import pytest

from metashell.codec.releases import RELEASES
from metashell.metadata.checks import Facts, Health, judge
from metashell.metadata.image import ImageLoader
from tests.metadata.image.batches import batch, record


def found(level: int, release: str) -> list[str]:
    loader = ImageLoader()
    loader.load_batch(batch(record("FeatureLevelRecord", name="metadata.version", feature_level=level)))
    (one,) = (one for one in RELEASES if one.name == release)
    verdict = judge(Facts(health=Health(loader.image()), release=one), {"release_too_old"})
    return [found.name for finding in verdict.findings for found in finding]


def test_a_level_above_those_of_the_release_is_bad() -> None:
    assert found(33, "4.3") == ["Kafka 4.3: metadata.version 33 (4.4-IV2) is not supported: 7 to 30 are; Kafka 4.4 supports it"]


def test_a_level_that_the_release_no_longer_knows_is_bad() -> None:
    assert found(5, "4.0")[0].startswith("Kafka 4.0: metadata.version 5 (3.3-IV")


@pytest.mark.parametrize(("level", "release"), [(30, "4.3"), (7, "4.0"), (33, "4.4"), (21, "3.9")])
def test_a_level_that_the_release_supports_is_none(level: int, release: str) -> None:
    assert found(level, release) == []
