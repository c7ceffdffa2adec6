"""Numbers that must not be taken for each other, as types of their own. Apart from `values`, which imports nothing but what it must."""

from __future__ import annotations

from typing import Final, NewType

NodeId = NewType("NodeId", int)
"""The id of a broker or controller; -1 where none is known."""
NO_LEADER: Final = -1
"""For nobody known, of a quorum or of a partition."""
Epoch = NewType("Epoch", int)
"""The number of an election."""
Offset = NewType("Offset", int)
"""A position in the log."""
