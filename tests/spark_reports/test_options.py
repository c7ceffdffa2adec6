"""Columns that are said never to be null: no row of any log has a null there, and readers of rows are told."""

from __future__ import annotations

import json
import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.codec.coordinator import COORDINATOR_LOGS
from metashell.disk.names import KNOWN_LOGS
from metashell.tables.columns import record_tables
from metashell.tables.columns.typed_tables import plain_batch, typed_batch, typed_schema
from metashell.tables.dictionary import table_names
from metashell.tables.schemas import spark_row_metadata
from spark_reports.options import never_null, with_required
from tests.tables.columns.test_typed_tables import NAME, raw_batches
from tests.tables.logs import any_log


@pytest.mark.parametrize("log", ["metadata", *COORDINATOR_LOGS])
@given(seed=st.integers(0, 1 << 32))
@settings(max_examples=8, deadline=None)
def test_no_row_of_any_log_has_a_null_where_none_is_said_to_be(log: str, tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    path = tmp_path_factory.mktemp("log") / NAME
    path.write_bytes(any_log(random.Random(seed), log, batch_count=8))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_tables, "VECTOR_ROWS_MIN", random.Random(seed).choice((1, 24)))
        for name, raw in raw_batches(path, log):
            found = plain_batch(typed_batch(name, raw))
            for field in with_required(name, found.schema):
                array = found.column(field.name)
                assert field.nullable or not array.null_count, (name, field.name)
                if pa.types.is_list(field.type) and not field.type.value_field.nullable:
                    assert not array.flatten().null_count, (name, field.name)


def test_most_columns_are_never_null_but_those_that_a_record_may_leave_out_are() -> None:
    of_partition = set(typed_schema("partition").names) - never_null("partition")
    assert of_partition == {"timestamp", "eligible_leader_replicas", "last_known_elr"}
    assert {"isr", "leader_recovery_state_name"}.isdisjoint(never_null("partition_change"))
    assert {"leader", "leader_recovery_state"} <= never_null("partition_change")
    # A tombstone has a key and no value.
    assert {"group", "topic", "tombstone"} <= never_null("offset_commit")
    assert {"version", "value_offset", "metadata"}.isdisjoint(never_null("offset_commit"))
    assert {"timestamp", "payload", "type"}.isdisjoint(never_null("records"))


def test_every_table_of_events_has_its_columns_and_types_whether_marked_or_not() -> None:
    assert KNOWN_LOGS
    for table in table_names():
        schema = typed_schema(table)
        marked = with_required(table, schema)
        assert marked.names == schema.names
        assert {field.name for field in marked if not field.nullable} == never_null(table) <= set(schema.names)
        assert [field.type for field in marked if not pa.types.is_nested(field.type)] == [
            field.type for field in schema if not pa.types.is_nested(field.type)
        ]


def test_spark_is_told() -> None:
    found = {
        field["name"]: field for field in json.loads(spark_row_metadata(with_required("partition", typed_schema("partition"))))["fields"]
    }
    assert (found["offset"]["nullable"], found["timestamp"]["nullable"]) == (False, True)
    assert found["replicas"]["type"] == {"type": "array", "elementType": "integer", "containsNull": False}
    plain = json.loads(spark_row_metadata(typed_schema("partition")))["fields"]
    assert all(field["nullable"] for field in plain)
