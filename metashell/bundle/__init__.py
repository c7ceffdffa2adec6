"""A copy of a metadata log for somebody else: the same records at the same offsets, without secrets, and if wanted without names.

Promises:
- Nothing is copied as bytes. Each batch is decoded and written again: offsets, epochs, times and control batches are kept; compression,
  keys, headers and unknown tagged fields are not. What does not decode, or is of a type or version that is not known, may hold
  anything: a NoOpRecord stands in its place, and `Left` says so.
- What is secret, `codec.redact` says, and nothing else does.
- With `Names` every text and every bytes field is replaced or known to be harmless; a field that a later release adds is hidden until
  `naming` knows it. One name has one alias of its kind wherever it stands, and patterns match what they matched.
- Chance is passed in. Files are only read, and written where the caller says.
"""

from __future__ import annotations

from metashell.bundle.aliases import Aliases
from metashell.bundle.copying import Copy, Plan, plan_copy
from metashell.bundle.naming import Names, Settings
from metashell.bundle.rewriting import Left, Rewriter

__all__ = ["Aliases", "Copy", "Left", "Names", "Plan", "Rewriter", "Settings", "plan_copy"]
