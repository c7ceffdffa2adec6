"""Earlier states of the metadata: images as of an offset or a time, and the records that changed a place.

Promises:
- An image at an offset is the result of all records before it, replayed from the newest checkpoint that ends there or earlier. Any other
  checkpoint would give the same. An image that cannot be made is refused, never guessed.
- A `Timeline` gives every record that changed a node or anything below it. Records that cannot touch it are skipped undecoded; a test
  compares the result with a replay of everything.
- Nothing is written, and nothing here knows of commands or terminals."""

from __future__ import annotations

from metashell.disk.source import OffsetsWithImage, common_offset
from metashell.metadata.history.past import Moment, Past, parse_moment
from metashell.metadata.history.touched import Target, Timeline, Touch

__all__ = ["Moment", "OffsetsWithImage", "Past", "Target", "Timeline", "Touch", "common_offset", "parse_moment"]
