"""Finds records of a metadata log that were never committed: those of transactions without an end, and those that the quorum never had.

A controller that dies in the middle of a transaction leaves records that everybody reads and nobody applies (KIP-868); its successor
aborts it, and until then it is open. A leader that is cut off goes on to write what it cannot commit; the others elect the next one,
whose records have the same offsets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from metashell.common.uris import folder_of
from metashell.tables.reports.catalog import GROUP_MEMBERS, GROUP_TOPICS, GROUP_TRANSACTIONS, INT64_MAX, in_checkpoint, with_places

BEGIN, END, ABORT, CONTROL, BATCHES = "begin_transaction", "end_transaction", "abort_transaction", "control", "batches"
TABLES: Final = (ABORT, BEGIN, END, CONTROL, BATCHES)
"""The base tables that show which records were not committed."""
_WHOLE: Final = frozenset((CONTROL, "records", "offset_commit", GROUP_MEMBERS, GROUP_TOPICS, GROUP_TRANSACTIONS))
"""Base tables of which nothing is left out: elections that took place, what fills disks, and what is of another log."""


class Span(NamedTuple):
    """Offsets of a cluster's log, the last one included, of all epochs (None) or of one."""

    cluster_id: str
    first: int
    last: int
    epoch: int | None = None


Place = tuple[str, int]
"""A cluster, and an offset."""


class Election(NamedTuple):
    """The offset at which a leader began, and the file that says so."""

    cluster_id: str
    file: str
    epoch: int
    offset: int


class Run(NamedTuple):
    """The batches of one epoch in a file: where the first and the last of them begin."""

    cluster_id: str
    file: str
    epoch: int
    first: int
    last: int


def transaction_spans(
    begins: Iterable[Place], ends: Iterable[Place], aborts: Iterable[Place], has_gap_after: Callable[[Place], bool]
) -> list[Span]:
    """Return the span that each abort takes back, from the transaction's begin on, and that of one still open at the log's end.

    An abort whose begin was not read takes back nothing; nor is a transaction open whose end may lie in what was not read.

    Shape: in any order, and as often as there are copies.
    """
    steps = sorted({(*place, kind) for kind, places in ((BEGIN, begins), (END, ends), (ABORT, aborts)) for place in places})
    opened: dict[str, int] = {}
    found = []
    for cluster, offset, kind in steps:
        begin = opened.pop(cluster, None)
        if kind == BEGIN:
            opened[cluster] = offset
        elif kind == ABORT and begin is not None:
            found.append(Span(cluster, begin, offset))
    return found + [Span(*place, INT64_MAX) for place in opened.items() if not has_gap_after(place)]


def overwritten_spans(elections: Iterable[Election], runs: Iterable[Run]) -> list[Span]:
    """Return the spans that were overwritten: a leader's, from where a later leader began whose log prevailed, or all if its own did not.

    A leader that died before anybody fetched its first record has overwritten nothing: the newest log lacks it (figure 8 of Raft).
    """
    runs = list(runs)
    begun: dict[str, dict[int, int]] = defaultdict(dict)
    lost: dict[tuple[str, int], int] = {}
    for (cluster, _, epoch, offset), has_prevailed in _judged(elections, runs):
        if has_prevailed:
            begun[cluster][epoch] = min(offset, begun[cluster].get(epoch, offset))
        else:
            lost[cluster, epoch] = offset
    found = set()
    for cluster, _, epoch, _, last in runs:
        later = (offset for later, offset in begun[cluster].items() if later > epoch)
        first = min(*later, lost.get((cluster, epoch), INT64_MAX), INT64_MAX)
        if last >= first:
            found.add(Span(cluster, first, INT64_MAX, epoch))
    return sorted(found)


def _judged(elections: Iterable[Election], runs: Iterable[Run]) -> Iterator[tuple[Election, bool]]:
    """Yield each election, and whether the log with the newest epoch of its cluster has records of its epoch, if it reaches there.

    The election's own record may be the one that is damaged.
    """
    newest: dict[str, tuple[int, int, str]] = {}
    reach: dict[tuple[str, str], tuple[int, int]] = {}
    epochs: set[tuple[str, str, int]] = set()
    for cluster, file, epoch, first, last in runs:
        folder = folder_of(file)
        newest[cluster] = max(newest.get(cluster, (-1, -1, "")), (epoch, last, folder))
        least, most = reach.get((cluster, folder), (first, last))
        reach[cluster, folder] = min(least, first), max(most, last)
        epochs.add((cluster, folder, epoch))
    for each in elections:
        folder = newest.get(each.cluster_id, (-1, -1, ""))[2]
        least, most = reach.get((each.cluster_id, folder), (0, -1))
        yield each, not least <= each.offset <= most or (each.cluster_id, folder, each.epoch) in epochs


def spans_in(tables: dict[str, pa.Table]) -> list[Span]:
    """Return the spans of the base tables that were overwritten, or are of aborted or open transactions, as far as these have rows."""
    overwritten = overwritten_spans(_elections(tables), _runs(tables))
    begins, ends, aborts = (
        _places(without_uncommitted(name, tables[name], overwritten)) if name in tables else [] for name in (BEGIN, END, ABORT)
    )
    return [*overwritten, *transaction_spans(begins, ends, aborts, lambda place: _has_gap_after(place, tables))]


def _elections(tables: dict[str, pa.Table]) -> Iterable[Election]:
    rows = tables[CONTROL].to_pylist() if CONTROL in tables else []
    return [
        Election(row["cluster_id"], row["file"], row["epoch"], row["log_offset"])
        for row in rows
        if row["type"] == "LEADER_CHANGE" and not in_checkpoint(row["file"])
    ]


def _runs(tables: dict[str, pa.Table]) -> Iterator[Run]:
    for rows in _batches_of_logs(tables):
        cluster, file = (rows.column(name)[0].as_py() for name in ("cluster_id", "file"))
        epochs, offsets = rows.column("epoch").to_numpy(), rows.column("log_offset").to_numpy()
        for epoch in set(epochs.tolist()):
            own = offsets[epochs == epoch]
            yield Run(cluster, file, epoch, int(own.min()), int(own.max()))


def _batches_of_logs(tables: dict[str, pa.Table]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of `batches`, those of one file together, as they were read; without those of checkpoints."""
    for rows in tables[BATCHES].to_batches() if BATCHES in tables else ():
        if not in_checkpoint(rows.column("file")[0].as_py()):
            yield rows


def _has_gap_after(place: Place, tables: dict[str, pa.Table]) -> bool:
    """Return whether offsets behind a place were not read, though later ones were."""
    cluster, offset = place
    found = [rows for rows in _batches_of_logs(tables) if rows.column("cluster_id")[0].as_py() == cluster]
    starts = np.concatenate([rows.column("log_offset").to_numpy() for rows in found])
    ends = starts + np.concatenate([rows.column("count").to_numpy() for rows in found])
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    return bool(((starts[1:] > ends[:-1]) & (starts[1:] > offset)).any())


def _places(table: pa.Table) -> list[Place]:
    return [
        (row["cluster_id"], row["log_offset"])
        for row in table.select(["cluster_id", "file", "log_offset"]).to_pylist()
        if not in_checkpoint(row["file"])
    ]


def spans_for(name: str, spans: Iterable[Span]) -> list[Span]:
    """Return the spans that a base table is without: batches of a transaction are in the log all the same."""
    return [] if name in _WHOLE else [span for span in spans if name != BATCHES or span.epoch is not None]


def committed_sql(name: str, spans: Iterable[Span]) -> str | None:
    """Return the condition for the rows of a base table that have happened, None for all of them."""
    undone = " or ".join(
        f"(hex(cluster_id) = '{span.cluster_id.encode().hex().upper()}' and log_offset between {span.first} and {span.last}"
        + (")" if span.epoch is None else f" and epoch = {span.epoch})")
        for span in spans_for(name, spans)
    )
    return with_places(f"in_checkpoint(file) or not ({undone})") if undone else None


def without_uncommitted(name: str, table: pa.Table, spans: Iterable[Span]) -> pa.Table:
    """Return a base table without what has not happened. What checkpoints hold stays: their offsets are their own."""
    own = spans_for(name, spans)
    if not own or not table.num_rows:
        return table

    kept = []
    # What loses no row stays where it is, in a file that is mapped.
    for rows in table.to_batches():
        clusters, files = rows.column("cluster_id"), rows.column("file")
        offsets, epochs = rows.column("log_offset").to_numpy(), rows.column("epoch").to_numpy()
        is_gone = np.zeros(len(offsets), bool)
        for span in own:
            for at in np.flatnonzero(are_in(span, offsets, epochs)).tolist():
                is_gone[at] |= clusters[at].as_py() == span.cluster_id and not in_checkpoint(files[at].as_py())
        kept.append(rows.filter(pa.array(~is_gone)) if is_gone.any() else rows)
    return pa.Table.from_batches(kept, table.schema)


def are_in(span: Span, offsets: Any, epochs: Any) -> Any:
    """Return a mask of the rows of the span's cluster that lie in it."""
    inside = (offsets >= span.first) & (offsets <= span.last)
    return inside if span.epoch is None else inside & (epochs == span.epoch)
