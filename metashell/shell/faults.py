"""What could not be applied, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metashell.image import Fault, MetadataImage


def real_faults(image: MetadataImage) -> list[Fault]:
    """The faults without torn tails, which are the normal end of a running node's last segment."""
    return [fault for fault in image.faults if not fault.is_tail]
