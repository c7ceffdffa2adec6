"""Secrets in columns: the table of codec's redaction, applied before anything leaves this package."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from metashell.codec.redaction import REDACTED, is_sensitive_config, secrets_of
from metashell.columns.schemas import RecordTable

_MARK = "metashell.show_secrets"


def marked_schema(schema: pa.Schema, *, show_secrets: bool) -> pa.Schema:
    """A file's schema that says whether secrets were asked for."""
    return schema.with_metadata({_MARK: str(show_secrets).lower()})


def redact_columns(table: RecordTable, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with their secrets replaced by `[redacted]`; null stays null."""
    secrets = secrets_of(table.value)
    if secrets.has_configs:
        return _redact_configs(batch)
    for column in table.columns:
        if column.field.json_name in secrets.fields:
            name = column.name
            batch = _replaced(batch, name, pc.is_valid(batch.column(name)))
    return batch


def _redact_configs(batch: pa.RecordBatch) -> pa.RecordBatch:
    pairs = list(zip(batch.column("resource_type").to_pylist(), batch.column("name").to_pylist(), strict=True))
    judged = {pair: is_sensitive_config(*pair) for pair in set(pairs)}
    if not any(judged.values()):
        return batch
    hidden = pc.and_(pa.array([judged[pair] for pair in pairs]), pc.is_valid(batch.column("value")))
    return _replaced(batch, "value", hidden)


def _replaced(batch: pa.RecordBatch, name: str, hidden: pa.Array) -> pa.RecordBatch:
    kind = batch.schema.field(name).type
    word = pa.scalar(REDACTED.encode() if pa.types.is_binary(kind) else REDACTED, kind)
    index = batch.schema.get_field_index(name)
    return batch.set_column(index, batch.schema.field(name), pc.if_else(hidden, word, batch.column(name)))
