"""Base tables that are made in Python, from rows of several tables of columns/: what SQL cannot read, such as blobs inside records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pyarrow as pa

from metashell.reports import access_records, group_members, group_topics, group_transactions
from metashell.reports.catalog import ACL_RECORDS, GROUP_MEMBERS, GROUP_TOPICS, GROUP_TRANSACTIONS, QUOTA_RECORDS, SCRAM_RECORDS

Row = dict[str, Any]


class Derived(NamedTuple):
    """A table that is made so: its columns, and for each of its sources how a row of that becomes rows of this; and which rows do."""

    schema: pa.Schema
    sources: dict[str, Callable[[Row], Iterator[Row]]]
    wanted: Callable[[str, pa.RecordBatch], pa.RecordBatch] | None = None

    def rows_of(self, source: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that a batch of one of the sources stands for. Groups are few and their records small, so objects are good enough."""
        make = self.sources[source]
        batch = batch if self.wanted is None else self.wanted(source, batch)
        return pa.RecordBatch.from_pylist([made for row in batch.to_pylist() for made in make(row)], schema=self.schema)


TABLES: Final = {
    GROUP_MEMBERS: Derived(group_members.SCHEMA, group_members.SOURCES),
    GROUP_TOPICS: Derived(group_topics.SCHEMA, group_topics.SOURCES),
    GROUP_TRANSACTIONS: Derived(group_transactions.SCHEMA, group_transactions.SOURCES, group_transactions.wanted),
    QUOTA_RECORDS: Derived(access_records.QUOTA_SCHEMA, access_records.QUOTA_SOURCES),
    ACL_RECORDS: Derived(access_records.ACL_SCHEMA, access_records.ACL_SOURCES),
    SCRAM_RECORDS: Derived(access_records.SCRAM_SCHEMA, access_records.SCRAM_SOURCES),
}
