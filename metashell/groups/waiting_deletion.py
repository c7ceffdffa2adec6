"""A DeleteGroups request that waits until share state is gone."""

from __future__ import annotations

from dataclasses import dataclass, field

from metashell.groups.request import Request


@dataclass(slots=True)
class WaitingDeletion:
    """Shape: `groups` are the share groups whose state is still being deleted, `failed` those whose state could not be."""

    request: Request
    groups: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
