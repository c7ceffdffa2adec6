"""A task that makes one file of some: it puts them together, or leaves rows out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.parquet import ParquetFile

from metashell.columns.export.parquet import ParquetTable
from metashell.columns.lake.compact import Rewrite, sources_of
from metashell.columns.lake.names import SPOOL
from metashell.columns.lake.write import Written, about_spool, sync_file
from metashell.columns.meanings.comments import commented
from metashell.errors import MetashellError, PathError
from metashell.stores import Store, open_store

_ROWS = 1 << 17


def rewrite_task(number: int, task: Rewrite, place: str, work: str) -> Written | None:
    """Write the rows of a task's files to one; None where no row was left out of a single file, which then stays. No rows: no name."""
    store = open_store(place)
    staged = f"{work}/{number:06d}.part"
    with nullcontext("") if store.is_local else TemporaryDirectory(prefix=SPOOL) as spool:
        try:
            return _rewrite(store, task, staged, spool)
        except PathError as error:
            raise about_spool(error, spool) from None


def _rewrite(store: Store, task: Rewrite, staged: str, spool: str) -> Written | None:
    path = str(store.sink(staged)) if store.is_local else os.path.join(spool, "rows")
    files: list[ParquetFile] = []
    try:
        for at, file in enumerate(task.files):
            with _reading(store, file.name):
                files.append(ParquetFile(_copy(store, file.name, spool, at)))
        before = sum(file.metadata.num_rows for file in files)
        rows = _write(files, path, task, store)
    finally:
        for opened in files:
            opened.close()
    folder = task.files[0].folder
    if task.left_out and rows == before:
        return None
    if rows == 0:
        return Written("", folder, 0, 0, ())
    size = os.stat(path).st_size
    if store.is_local:
        sync_file(path)
    else:
        store.put_file(staged, path)
    return Written(staged, folder, rows, size, sources_of(task.files))


def _copy(store: Store, name: str, spool: str, number: int) -> str:
    """The path of a file on this machine; those of stores are copied, which may be tried again, unlike reads in their middle."""
    if store.is_local:
        return str(store.sink(name))
    path = os.path.join(spool, f"{number}.source")
    store.get_file(name, path)
    return path


@contextmanager
def _reading(store: Store, name: str) -> Iterator[None]:
    """Errors: MetashellError with the name of the file that cannot be read."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise MetashellError(f"{store.shown_name(name)}: cannot be read: {said}") from None


def _write(files: list[ParquetFile], path: str, task: Rewrite, store: Store) -> int:
    # A comment of an older release is replaced by today's.
    schema = commented(task.files[0].table, _merged([file.schema_arrow for file in files]))
    writer = ParquetTable(path, schema)
    count = 0
    try:
        for file, source in zip(files, task.files, strict=True):
            with _reading(store, source.name):
                for batch in file.iter_batches(_ROWS):
                    kept = _without(batch, task.left_out)
                    if kept.num_rows:
                        count += kept.num_rows
                        writer.write([_as(kept, schema)])
    finally:
        writer.close()
    return count


def _merged(schemas: list[pa.Schema]) -> pa.Schema:
    """The columns of the newest file, and those that only older ones have."""
    merged = schemas[-1]
    for schema in reversed(schemas[:-1]):
        for field in schema:
            if field.name not in merged.names:
                merged = merged.append(field)
    return merged


def _as(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The rows with all columns of a schema: what they lack is null. The names of files are stored once for each."""
    made = []
    fields = []
    for field in schema:
        at = batch.schema.get_field_index(field.name)
        column = pa.nulls(batch.num_rows, field.type) if at < 0 else batch.column(at)
        if field.name == "file" and not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        made.append(column)
        fields.append(field.with_type(column.type))
    return pa.RecordBatch.from_arrays(made, schema=pa.schema(fields, schema.metadata))


def _without(batch: pa.RecordBatch, left_out: tuple[tuple[str, int], ...]) -> pa.RecordBatch:
    """The rows without those of some files from an offset on; rows without an offset go with them."""
    if not left_out:
        return batch
    goes = pa.array([False] * batch.num_rows)
    for path, offset in left_out:
        is_late = pc.fill_null(pc.greater_equal(batch.column("offset"), offset), True)
        goes = pc.or_(goes, pc.and_(pc.fill_null(pc.equal(batch.column("file"), path), False), is_late))
    return batch.filter(pc.invert(goes))
