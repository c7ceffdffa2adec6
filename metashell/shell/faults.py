"""What could not be applied, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.nodes.provenance import fault_value

if TYPE_CHECKING:
    from metashell.image import MetadataImage


def fault_text(fault: dict[str, Any]) -> str:
    """One fault in a line, the place first: `00…0251.log: offset 263: PARTITION_CHANGE_RECORD: unknown topic`."""
    place = fault["file"] or "?"
    if fault["offset"] is not None and fault["offset"] >= 0:
        place += f": offset {fault['offset']}"
    elif fault["position"] is not None and fault["position"] >= 0:
        place += f": position {fault['position']}"
    return ": ".join(filter(None, [place, fault["record_type"], fault["reason"]]))


def faults_line(image: MetadataImage) -> str | None:
    """One line for stderr that tells how many faults there are and what the first one is; None without faults."""
    if not image.faults:
        return None
    count = len(image.faults)
    first = fault_text(fault_value(image.faults[0]))
    return f"1 fault: {first}" if count == 1 else f"{count} faults, the first: {first}; `status` tells more"
