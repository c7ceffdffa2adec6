"""All log directories of a run: each is looked at once, and those with a metadata log of one cluster are compared."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from metashell.verify.finding import Report
from metashell.verify.replicas import MetadataPlace, compare_replicas


@dataclass(slots=True)
class Census:
    """Takes log directories as they are met; `path` is looked at once, also where it is named twice."""

    metadata: list[MetadataPlace] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)

    def is_new(self, path: str) -> bool:
        """Whether a directory was not met before under any name."""
        real = os.path.realpath(path)
        if real in self._seen:
            return False
        self._seen.add(real)
        return True

    def finish(self, report: Report) -> None:
        """Report where the logs of one cluster differ."""
        clusters: dict[str | None, list[MetadataPlace]] = {}
        for place in self.metadata:
            clusters.setdefault(place.cluster_id, []).append(place)
        for places in clusters.values():
            compare_replicas(places, report)
