"""Which places differ between two images, whatever way led to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from metashell.image.steps import Place, different_places

if TYPE_CHECKING:
    from metashell.image import MetadataImage


def differences(old: MetadataImage, new: MetadataImage) -> Iterator[Place]:
    """Every place whose value differs. Images of one history are compared by what they share: equal parts cost nothing.

    Shape: a topic that is gone is one place, and so is each partition that it had.
    """
    yield from different_places(old, new)
    if old.topics is new.topics:
        return
    for id, topic in old.topics.by_id.items():
        if id not in new.topics.by_id:
            yield from (("partition", id, number) for number in sorted(topic.partition_ids()))
