"""Base tables that are made in Python, from rows of several tables of columns/: what SQL cannot read, such as blobs inside records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import pyarrow as pa

from metashell.reports.access_records import ACL_SCHEMA, ACL_SOURCES, QUOTA_SCHEMA, QUOTA_SOURCES, SCRAM_SCHEMA, SCRAM_SOURCES
from metashell.reports.catalog import ACL_RECORDS, GROUP_MEMBERS, GROUP_TOPICS, GROUP_TRANSACTIONS, QUOTA_RECORDS, SCRAM_RECORDS
from metashell.reports.group_members import GROUP_MEMBERS_SCHEMA, GROUP_MEMBERS_SOURCES, Row
from metashell.reports.group_topics import GROUP_TOPICS_SCHEMA, GROUP_TOPICS_SOURCES
from metashell.reports.group_transactions import GROUP_TRANSACTIONS_SCHEMA, GROUP_TRANSACTIONS_SOURCES, only_transactions


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
    GROUP_MEMBERS: Derived(GROUP_MEMBERS_SCHEMA, GROUP_MEMBERS_SOURCES),
    GROUP_TOPICS: Derived(GROUP_TOPICS_SCHEMA, GROUP_TOPICS_SOURCES),
    GROUP_TRANSACTIONS: Derived(GROUP_TRANSACTIONS_SCHEMA, GROUP_TRANSACTIONS_SOURCES, only_transactions),
    QUOTA_RECORDS: Derived(QUOTA_SCHEMA, QUOTA_SOURCES),
    ACL_RECORDS: Derived(ACL_SCHEMA, ACL_SOURCES),
    SCRAM_RECORDS: Derived(SCRAM_SCHEMA, SCRAM_SOURCES),
}
