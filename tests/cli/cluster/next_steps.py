"""The next steps that a live quorum is tried with; see test_next_steps.py beside this."""

from __future__ import annotations

LIVE: dict[str, str] = {}
