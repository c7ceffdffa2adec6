"""All log directories of a run, and what they have to agree about however they were named: one cluster, and ids that are there once."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from metashell.log.meta_properties import MetaProperties
from metashell.values import uuid_text
from metashell.verify.finding import Finding, Report, Severity
from metashell.verify.replicas import MetadataPlace, compare_replicas


@dataclass(slots=True)
class Census:
    """Takes log directories as they are met; `path` is looked at once, also where it is named twice."""

    metas: dict[str, MetaProperties] = field(default_factory=dict)
    metadata: list[MetadataPlace] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)

    def is_new(self, path: str) -> bool:
        """Whether a directory was not met before under any name."""
        real = os.path.realpath(path)
        if real in self._seen:
            return False
        self._seen.add(real)
        return True

    def finish(self, report: Report, *, may_be_copies: bool = False) -> None:
        """Report where the log directories do not fit each other. Those whose images are compared may be a directory and its copy."""
        self._compare_ids(report, "warning" if may_be_copies else "error")
        clusters: dict[str | None, list[MetadataPlace]] = {}
        for place in self.metadata:
            clusters.setdefault(place.cluster_id, []).append(place)
        for places in clusters.values():
            compare_replicas(places, report)

    def _compare_ids(self, report: Report, severity: Severity) -> None:
        first: tuple[str, str | None] | None = None
        directories: dict[bytes, str] = {}
        for place, meta in self.metas.items():
            if first is None:
                first = place, meta.cluster_id
            elif meta.cluster_id != first[1]:
                report.error(place, f"cluster.id {meta.cluster_id} is not that of {first[0]}, {first[1]}")
            if meta.directory_id is None:
                continue
            other = directories.setdefault(meta.directory_id, place)
            if other != place and not self._is_copy(other, place):
                report.add(Finding(place, -1, -1, severity, f"directory.id {uuid_text(meta.directory_id)} is also used by {other}"))

    def _is_copy(self, one: str, other: str) -> bool:
        """Whether two log directories may be one and its copy: of one node, and not side by side as those of a server are."""
        folders = {os.path.dirname(os.path.dirname(os.path.abspath(place))) for place in (one, other)}
        return len(folders) > 1 and self.metas[one].node_id == self.metas[other].node_id
