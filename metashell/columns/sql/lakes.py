"""The tables of a lake for questions in SQL: the rows of the files that its commits name, and of no others.

Files are read as a scan asks for them, by pyarrow, here and in stores. Those of other clusters and days than its condition allows are not
opened, and of the others only columns and row groups that it may hold. The columns are those of the tables over logs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypedDict

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow.fs import FileType, LocalFileSystem

from metashell.codec.uris import is_uri, shown_uri
from metashell.columns.decode.newer import NewerNotes
from metashell.columns.lake.lake import PARQUET, LakeFormat, format_of, read_format, read_state
from metashell.columns.lake.ledger import LakeFile, LakeState
from metashell.columns.lake.names import FORMAT, partition_of
from metashell.columns.names import STATE_TABLES, log_of_table
from metashell.columns.schemas import tables
from metashell.columns.sql.served import Scan
from metashell.columns.state.reading import NoMetadataError
from metashell.columns.typed.ids import UUID, as_uuids, stored
from metashell.columns.typed.shapes import file_schema, with_children
from metashell.columns.typed.tables import typed_schema
from metashell.errors import MetashellError, PathError, UsageError
from metashell.stores import open_store
from metashell.stores.local import path_of_uri

if TYPE_CHECKING:
    from metashell.columns.decode.options import Form

_PARQUET: Final = ds.ParquetFileFormat()
_FILES_AHEAD: Final = 2
_BATCHES_AHEAD: Final = 4
_DAY: Final = timedelta(days=1)


def is_lake(place: str) -> bool:
    """Whether a path or URI is that of a lake. Errors: PathError of a store that fails."""
    if not is_uri(place) or place.lower().startswith("file:"):
        return os.path.isfile(os.path.join(path_of_uri(place) if is_uri(place) else place, FORMAT))
    from metashell.stores.file_systems import errors_of, file_system
    from metashell.stores.retrying import again

    system, top = file_system(place)
    with errors_of(place):
        return bool(again(lambda: system.get_file_info(f"{top.rstrip('/')}/{FORMAT}")).type == FileType.File)


class Asked(TypedDict):
    """The form of rows that was asked for, which a lake has to have."""

    show_secrets: bool
    columns: Form


class LakeTables:
    """Tables of events by name, as `served` asks for them. `go_on` raises where nobody waits for them any more."""

    fault_count = 0
    newer: Final[NewerNotes] = {}
    """What was skipped when the lake was written is in its table `faults`."""

    def __init__(self, place: str, *, show_secrets: bool, columns: Form, go_on: Callable[[], None]) -> None:
        from metashell.stores.file_systems import file_system

        self._place = place
        self._store = open_store(place)
        self._shown = shown_uri(place)
        self._system, self._top = file_system(place) if is_uri(place) else (LocalFileSystem(), os.path.abspath(place))
        self._go_on = go_on
        lake = read_format(self._store)
        if lake is None:
            raise PathError(f"{self._shown}: no lake here", self._shown)
        self._asked: Asked = {"show_secrets": show_secrets, "columns": columns}
        _require_readable(self._shown, lake, **self._asked)
        self._lake = lake
        self._state = LakeState()
        self._is_new = False
        self.schemas: dict[str, pa.Schema] = tables() if columns == "raw" else {name: typed_schema(name) for name in tables()}

    def find(self) -> Mapping[str, MetashellError]:
        """Read the ledger; gives the tables that the lake does not have, and why. Errors: MetashellError for a ledger that is damaged."""
        self._read()
        self._is_new = True
        wanted = self._lake.tables or [name for name in tables() if name != "records"]
        logs = {log_of_table(name) for name, count in self._state.rows.items() if count}
        absent: dict[str, MetashellError] = {
            name: PathError(f"{self._shown}: this lake does not have the table {name}", name)
            for name in self.schemas
            if name not in wanted or log_of_table(name) not in {None, *logs}
        }
        stateless = NoMetadataError(f"{self._shown}: a lake, which has tables of events only; the state is made from logs", self._shown)
        return {**absent, **dict.fromkeys(STATE_TABLES, stateless)}

    def name(self, named: Collection[str]) -> None:
        """Say which tables the next question names: its scans all see what the lake holds now."""
        if named and not self._is_new:
            self._read()
        self._is_new = False

    def _read(self) -> None:
        """Read what the lake holds now. Errors: UsageError where somebody has written it anew in another form; MetashellError."""
        self._state = read_state(self._store)
        if self._state.format:
            # `format.json` follows the commit that wrote all anew, by the next export if that one was interrupted.
            self._lake = format_of(self._store, self._state.format)
            _require_readable(self._shown, self._lake, **self._asked)

    def note(self, named: Collection[str]) -> str:
        """What a newer version has written into these tables, and this one does not know."""
        more = [f"{name}.{column}" for name in sorted(named) for column in self._unknown(name)]
        return f"{self._shown}: written by a newer version of metashell, and not shown: {', '.join(more)}" if more else ""

    def _unknown(self, name: str) -> list[str]:
        known = self.schemas[name].names if name in self.schemas else ()
        return [column for column in self._state.schemas.get(name, {}) if column not in known] if known else []

    def serve(self, name: str, scan: Scan) -> Any:
        """The rows of one table that a scan wants."""
        self._go_on()
        schema = self.schemas[name]
        files = [file for file in self._state.files.values() if file.table == name]
        fragments = [
            _PARQUET.make_fragment(self._path(file), self._system, partition_expression=_known_of(file, schema)) for file in sorted(files)
        ]
        whole = ds.FileSystemDataset(fragments, file_schema(schema), _PARQUET, self._system)
        wanted = schema if scan.columns is None else pa.schema([schema.field(column) for column in scan.columns])
        return ds.Scanner.from_batches(self._rows(whole, scan, wanted, files), schema=wanted)

    def _rows(self, whole: ds.Dataset, scan: Scan, wanted: pa.Schema, files: Sequence[LakeFile]) -> Iterator[pa.RecordBatch]:
        from metashell.stores.file_systems import TROUBLE

        try:
            found = whole.scanner(
                columns=wanted.names, filter=scan.condition, fragment_readahead=_FILES_AHEAD, batch_readahead=_BATCHES_AHEAD
            )
            for batch in found.to_batches():
                self._go_on()
                yield _with_ids(batch, wanted)
        except BaseException as error:
            scan.fail(self._reason(error, files) if isinstance(error, TROUBLE) else error)
            raise

    def _reason(self, error: Exception, files: Sequence[LakeFile]) -> MetashellError:
        """Why files cannot be read: one that is gone is named."""
        from metashell.stores.file_systems import TROUBLE, store_error

        with suppress(*TROUBLE):
            for file in files:
                if self._system.get_file_info(self._path(file)).type != FileType.File:
                    more = "; ask again, if somebody has written to the lake meanwhile"
                    return MetashellError(f"{self._store.shown_name(file.name)}: is gone, and a commit of this lake names it{more}")
        return store_error(self._place, error)

    def _path(self, file: LakeFile) -> str:
        return f"{self._top.rstrip('/')}/{file.name}"


def _require_readable(shown: str, lake: LakeFormat, *, show_secrets: bool, columns: Form) -> None:
    """Errors: UsageError for a lake whose rows are others than those that were asked for."""
    if lake.table_format != PARQUET:
        raise UsageError(
            f"{shown}: a lake of tables in the format {lake.table_format}, which metashell sql does not read: ask Spark", shown
        )
    if lake.show_secrets and not show_secrets:
        raise UsageError(f"{shown}: this lake shows secrets: ask with --show-secrets", "--show-secrets")
    if show_secrets and not lake.show_secrets:
        raise UsageError(f"{shown}: this lake has no secrets: ask without --show-secrets", "--show-secrets")
    if columns != lake.columns:
        said = "the old columns: ask with --old-columns" if lake.columns == "raw" else "the new columns: ask without --old-columns"
        raise UsageError(f"{shown}: this lake has {said}", "--old-columns")


def _known_of(file: LakeFile, schema: pa.Schema) -> pc.Expression:
    """What is known of the rows of a file by its name: their cluster, and between which times they are."""
    cluster_id, day = partition_of(file.name)
    known = pc.field("cluster_id") == pa.scalar(cluster_id, pa.string())
    if not day or "timestamp" not in schema.names:
        return known
    kind = schema.field("timestamp").type
    begin = datetime.combine(date.fromisoformat(day), datetime.min.time(), UTC)
    first = (begin - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    last = first + _DAY // timedelta(milliseconds=1) - 1
    time = pc.field("timestamp")
    return known & (time >= pa.scalar(first, kind)) & (time <= pa.scalar(last, kind))


def _with_ids(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch of a file with the types that the table has: ids in lists are bytes in files."""
    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        if pa.types.is_list(field.type) and field.type.value_type == UUID:
            column = with_children(field.type, column, [as_uuids(stored(column.values))])
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)
