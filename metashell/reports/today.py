"""The state of clusters at the end of their logs, judged as everywhere: by `metashell.checks`."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.checks import Facts, Health, judge
from metashell.errors import MetashellError
from metashell.forms import counted
from metashell.reports.words import moment, second_text

if TYPE_CHECKING:
    from metashell.checks import Finding
    from metashell.columns.decode.options import OnError
    from metashell.columns.state.reading import Cluster

_NAMES_MAX: Final = 5


class Today(NamedTuple):
    """One cluster: its id, when its log ended, how many checks ran and which did not, what they found, and the first names of each."""

    cluster_id: str
    as_of: str
    summary: str
    findings: list[tuple[Finding, list[str]]]


class Judged(NamedTuple):
    """The clusters, or why they could not be judged."""

    clusters: list[Today]
    trouble: str = ""


def judge_clusters(paths: Sequence[str], *, on_error: OnError = "fail") -> Judged:
    """The state of every metadata log at the paths."""
    from metashell.columns.state.reading import read_state

    try:
        return Judged([_today(cluster) for cluster in read_state(paths, on_error=on_error)])
    except MetashellError as error:
        return Judged([], str(error))
    finally:
        # Loading hides all objects from the collector, and DuckDB complains on stderr about those of its own that outlive it.
        gc.unfreeze()


def _today(cluster: Cluster) -> Today:
    health = Health(cluster.image)
    verdict = judge(Facts(health=health))
    causes = [finding for root, below in verdict.causes() for finding in (root, *below)]
    findings = [(finding, [found.name for found in finding.first(_NAMES_MAX)]) for finding in causes]
    partitions = counted(health.counts()["partitions"], "partition")
    return Today(cluster.cluster_id, _as_of(cluster), verdict.summary(partitions), findings)


def _as_of(cluster: Cluster) -> str:
    at = cluster.image.provenance
    words = f"at the end of its log, offset {at.offset}"
    if at.timestamp_ms >= 0:
        words += f", {second_text(moment(at.timestamp_ms))}"
    if at.certain_to is None:
        return f"{words}; how much of it was committed is not known here"
    return f"{words}; what follows offset {at.certain_to - 1} may not have been committed" if at.certain_to < at.end_offset else words
