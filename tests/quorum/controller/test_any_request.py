"""Whatever a client sends is answered, and what is written keeps the promises of partitions; see test_model.py for what is watched."""

from __future__ import annotations

import os

import pytest

from metashell.metadata.image import EMPTY_IMAGE, MetadataDelta, MetadataImage
from metashell.metadata.image.writer import write_image
from metashell.quorum.controller.controller import ROUTES
from tests.quick import quick
from tests.quorum.controller.test_model import Watched, same

IS_SOAK = bool(os.environ.get("METASHELL_SOAK"))
REQUESTS = 100_000 if IS_SOAK else 2_500


def from_snapshot(image: MetadataImage) -> MetadataImage:
    """The image that a snapshot of an image gives."""
    delta = MetadataDelta(EMPTY_IMAGE)
    for record, _ in write_image(image):
        delta.replay(record)
    return delta.apply()


@pytest.mark.slow
@pytest.mark.parametrize("seed", quick(range(10 if IS_SOAK else 5)))
def test_every_request_that_decodes_is_answered(seed: int) -> None:
    watched = Watched(seed)
    for number in range(REQUESTS):
        watched.turn(number)

    written = {type(record).__name__ for _, batch in watched.cluster.log for record, _ in batch}
    assert {"PartitionRecord", "PartitionChangeRecord", "ConfigRecord", "RemoveTopicRecord", "ClientQuotaRecord"} <= written
    assert watched.asked == set(ROUTES)
    image = watched.cluster.controller.image
    assert same(watched.cluster.standby().image, image)
    assert same(from_snapshot(image), image)
