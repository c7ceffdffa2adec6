"""The metadata directory of a node as a source."""

from __future__ import annotations
