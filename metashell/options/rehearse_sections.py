"""The parts of the answer of `metashell rehearse`."""

from __future__ import annotations

SECTIONS = (
    *("steps", "events", "troubles", "quorum", "states", "brokers", "racks", "copied", "diff", "findings", "ranges", "records"),
    "assumptions",
)
"""The parts of an answer, in its order."""
