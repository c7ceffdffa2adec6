"""What stands in a metadata log and has not happened: the records of aborted transactions, and those that the quorum never had.

A controller that dies in the middle of a transaction leaves records that everybody reads and nobody applies (KIP-868); its successor
aborts it. A leader that is cut off goes on to write what it cannot commit; the others elect the next one, whose records have the same
offsets.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.reports.catalog import GROUP_MEMBERS, GROUP_TOPICS, GROUP_TRANSACTIONS
from metashell.reports.places import INT64_MAX, in_checkpoint, with_places

if TYPE_CHECKING:
    import pyarrow as pa

BEGIN, ABORT, CONTROL, BATCHES = "begin_transaction", "abort_transaction", "control", "batches"
TABLES: Final = (ABORT, BEGIN, CONTROL, BATCHES)
"""The base tables that tell what is undone."""
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


def aborted_spans(begins: Iterable[Place], aborts: Iterable[Place]) -> list[Span]:
    """What each abort takes back: all from the transaction's begin on. An abort whose begin was not read takes back nothing.

    Shape: in any order, and as often as there are copies.
    """
    by_cluster: dict[str, set[int]] = defaultdict(set)
    for cluster, offset in begins:
        by_cluster[cluster].add(offset)
    starts = {cluster: sorted(offsets) for cluster, offsets in by_cluster.items()}
    found = []
    for cluster, offset in sorted(set(aborts)):
        at = bisect_left(starts.get(cluster, []), offset) - 1
        if at >= 0:
            found.append(Span(cluster, starts[cluster][at], offset))
    return found


def overwritten_spans(elections: Iterable[tuple[str, int, int]], ends: Iterable[tuple[str, int, int]]) -> list[Span]:
    """What a leader wrote from the offset on at which a later one began.

    Shape: (cluster, epoch, offset): where each leader began, and of the batches of an epoch the one that lies furthest.
    """
    begun: dict[str, dict[int, int]] = defaultdict(dict)
    for cluster, epoch, offset in elections:
        begun[cluster][epoch] = min(offset, begun[cluster].get(epoch, offset))
    found = set()
    for cluster, epoch, end in ends:
        first = min((offset for later, offset in begun[cluster].items() if later > epoch), default=INT64_MAX)
        if end >= first:
            found.add(Span(cluster, first, INT64_MAX, epoch))
    return sorted(found)


def spans_in(tables: dict[str, pa.Table]) -> list[Span]:
    """The same from the base tables, as far as these have rows."""
    overwritten = overwritten_spans(_elections(tables), _ends(tables))
    begins, aborts = (_places(without_undone(name, tables[name], overwritten)) if name in tables else [] for name in (BEGIN, ABORT))
    return [*overwritten, *aborted_spans(begins, aborts)]


def _elections(tables: dict[str, pa.Table]) -> Iterable[tuple[str, int, int]]:
    rows = tables[CONTROL].to_pylist() if CONTROL in tables else []
    return [
        (row["cluster_id"], row["epoch"], row["log_offset"])
        for row in rows
        if row["type"] == "LEADER_CHANGE" and not in_checkpoint(row["file"])
    ]


def _ends(tables: dict[str, pa.Table]) -> Iterator[tuple[str, int, int]]:
    for rows in tables[BATCHES].to_batches() if BATCHES in tables else ():
        # All of one file, as they were read.
        if not in_checkpoint(rows.column("file")[0].as_py()):
            epochs, offsets = rows.column("epoch").to_numpy(), rows.column("log_offset").to_numpy()
            for epoch in set(epochs.tolist()):
                yield rows.column("cluster_id")[0].as_py(), epoch, int(offsets[epochs == epoch].max())


def _places(table: pa.Table) -> list[Place]:
    return [(row["cluster_id"], row["log_offset"]) for row in table.select(["cluster_id", "log_offset"]).to_pylist()]


def spans_for(name: str, spans: Iterable[Span]) -> list[Span]:
    """The spans that a base table is without: batches of an aborted transaction are in the log all the same."""
    return [] if name in _WHOLE else [span for span in spans if name != BATCHES or span.epoch is not None]


def happened_sql(name: str, spans: Iterable[Span]) -> str | None:
    """The condition for the rows of a base table that have happened, None for all of them."""
    undone = " or ".join(
        f"(hex(cluster_id) = '{span.cluster_id.encode().hex().upper()}' and log_offset between {span.first} and {span.last}"
        + (")" if span.epoch is None else f" and epoch = {span.epoch})")
        for span in spans_for(name, spans)
    )
    return with_places(f"in_checkpoint(file) or not ({undone})") if undone else None


def without_undone(name: str, table: pa.Table, spans: Iterable[Span]) -> pa.Table:
    """A base table without what has not happened. What checkpoints hold stays: their offsets are their own."""
    own = spans_for(name, spans)
    if not own or not table.num_rows:
        return table
    import numpy as np
    import pyarrow as pa

    clusters, files = table.column("cluster_id"), table.column("file")
    offsets, epochs = table.column("log_offset").to_numpy(), table.column("epoch").to_numpy()
    is_gone = np.zeros(len(offsets), bool)
    for span in own:
        for at in np.flatnonzero(are_in(span, offsets, epochs)).tolist():
            is_gone[at] |= clusters[at].as_py() == span.cluster_id and not in_checkpoint(files[at].as_py())
    return table.filter(pa.array(~is_gone))


def are_in(span: Span, offsets: Any, epochs: Any) -> Any:
    """Which of some rows of the span's cluster lie in it."""
    inside = (offsets >= span.first) & (offsets <= span.last)
    return inside if span.epoch is None else inside & (epochs == span.epoch)
