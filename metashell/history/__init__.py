"""What a metadata log says of earlier times: images as of an offset or a time, what touched a node, and what differs.

Promises:
- An image at an offset is what replaying all records before it gives, from the newest checkpoint that ends there or earlier; which
  way led to it does not show. One that cannot be made is refused, never guessed.
- A `Story` gives every record that changed a node or anything below it. Records that cannot touch it are skipped undecoded; a test
  holds the answer to that of a replay of everything.
- Nothing is written, and nothing here knows of commands or terminals.
"""

from __future__ import annotations

from metashell.history.moment import Moment, parse_moment
from metashell.history.past import Past
from metashell.history.touched import Story, Target, Touch
from metashell.log.reach import Reach, common_offset

__all__ = ["Moment", "Past", "Reach", "Story", "Target", "Touch", "common_offset", "parse_moment"]
