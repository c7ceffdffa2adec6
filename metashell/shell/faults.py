"""What could not be applied, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metashell.image import Fault, MetadataImage


def real_faults(image: MetadataImage) -> list[Fault]:
    """The faults without torn tails, which are the normal end of a running node's last segment."""
    return [fault for fault in image.faults if not fault.is_tail]


def faults_line(image: MetadataImage) -> str | None:
    """One line for stderr that tells how many faults there are and what the first one is; None without faults."""
    faults = real_faults(image)
    if not faults:
        return None
    return f"1 fault: {faults[0]}" if len(faults) == 1 else f"{len(faults)} faults, the first: {faults[0]}; `status` tells more"
