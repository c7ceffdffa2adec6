"""SQL over the tables of logs: reads the tables that a query names, and answers it by a confined DuckDB.

Columns that are words of SQL too, `offset`, `group` and `at`, need no quotes. Each stands for a column where an expression is expected,
and for the word of SQL elsewhere: `select offset ... limit 10 offset 5`."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pyarrow as pa

from metashell.common.errors import MetashellError, UsageError
from metashell.common.terminal import update_progress
from metashell.common.uris import shown_uri
from metashell.disk.names import METADATA, OFFSETS
from metashell.metadata.image.image import newer_line, newer_parts
from metashell.tables.columns.typed_arrays import EARLIEST_MS, LATEST_MS, row_values
from metashell.tables.dictionary import CLUSTER_TABLES, GROUP_TABLES, STATE_TABLES
from metashell.tables.read_options import Form, parts_of_notes
from metashell.tables.schemas import UUID_MARK
from metashell.tables.splits import absent_log
from metashell.tables.sql.database import Database, RefusedError, Scan
from metashell.tables.sql.sources import EventTables, LakeTables, is_lake
from metashell.tables.state.clusters import Cluster, ImageAt, NoMetadataError, read_state
from metashell.tables.state.tables import GroupOffsets, read_group_offsets, state_schemas, state_table

if TYPE_CHECKING:
    from metashell.disk.names import LogKind
    from metashell.tables.read_options import OnError


_AS_TEXT: Final = "rtrim(replace(replace(base64({}), '+', '-'), '/', '_'), '=')"
_BYTES_OF_UUID: Final = "unhex(replace(cast(id as varchar), '-', ''))"
"""DuckDB before 1.4 casts no UUID to bytes."""
_AS_ID: Final = "cast(lower(hex(from_base64(replace(replace(text, '-', '+'), '_', '/') || '=='))) as uuid)"
_IN_CALENDAR: Final = f"between {EARLIEST_MS} and {LATEST_MS}"
_MACROS: Final[dict[Form, tuple[str, ...]]] = {
    "raw": (
        f"uuid_text(id) as {_AS_TEXT.format('id')}",
        f"time_of(ms) as case when ms {_IN_CALENDAR} then make_timestamp(ms * 1000) end",
    ),
    # What they are given may be a column, or what a query makes of it: an id or its bytes or its text, a time or a number.
    "typed": (
        f"uuid_text(id) as case typeof(id) when 'VARCHAR' then cast(id as varchar) "
        f"when 'UUID' then {_AS_TEXT.format(_BYTES_OF_UUID)} else {_AS_TEXT.format('try_cast(id as blob)')} end",
        f"uuid_of(text) as case when length(text) = 36 then cast(text as uuid) else {_AS_ID} end",
        "time_of(ms) as coalesce(try_cast(ms as timestamptz), case when try_cast(ms as bigint) "
        f"{_IN_CALENDAR} then cast(make_timestamp(try_cast(ms as bigint) * 1000) as timestamptz) end)",
    ),
}
_NO_UUID: Final = re.compile("^Conversion Error: Could not convert string .* to (UUID|INT128)")
_HINT: Final = "an id as Kafka prints it is in the column NAME_text, as in topic_id_text = 'TEXT', or topic_id = uuid_of('TEXT')"
_MISSING_TABLE: Final = r"Table with name (\w+) does not exist"


@dataclass(slots=True)
class Answer:
    """The names of an answer's columns and its rows, as values that JSON knows.

    `note` says what is odd about the state that was read.
    """

    columns: list[str]
    rows: Iterator[list[Any]]
    count_faults: Callable[[], int]
    note: str = ""
    newer: Callable[[], str] = str
    """A line on what a newer release wrote, if the note has none; it may come until all rows are read."""

    @property
    def fault_count(self) -> int:
        """The number of skipped faults; it may grow until all rows are read."""
        return self.count_faults()


class QueryError(UsageError):
    """DuckDB refuses a question: the first line of its message, and the others in `excerpt`."""

    def __init__(self, refused: RefusedError) -> None:
        super().__init__(str(refused))
        self.excerpt = (*refused.excerpt, _HINT) if _NO_UUID.search(str(refused)) else refused.excerpt


class Session:
    """Questions to the logs at some paths; a table is read when a question names it for the first time, and kept.

    A question that is broken off, at whatever place, leaves the next one to answer all of its own.

    `image_at` gives the image of a path where the newest one is not wanted. `columns` "raw" gives tables in the form of before.
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        on_error: OnError = "fail",
        show_secrets: bool = False,
        log: LogKind | None = None,
        image_at: ImageAt | None = None,
        columns: Form = "typed",
    ) -> None:
        self._paths = paths
        self._on_error: OnError = on_error
        self._show_secrets = show_secrets
        self._log = log
        self._image_at = image_at
        self._columns: Form = columns
        self._clusters: list[Cluster] | None = None
        self._group_offsets: GroupOffsets | None = None
        self._state_read: set[str] = set()
        self._has_found = False
        self._absent: dict[str, MetashellError] = {}
        """Tables that cannot be made, and why. No table stands for them: an empty one would say that there is nothing."""
        state = state_schemas(columns)
        self._database = Database({}, _MACROS[columns])
        self._state_scanned: set[str] = set()
        """The tables of the state that the last question read without naming them by a word: `query_table('top' || 'ics')`."""
        self._scanning_state = Lock()
        for name, schema in state.items():
            self._database.serve(name, schema, self._serve_state)
        go_on = self._database.go_on
        self._events: EventTables | LakeTables
        if (lake := _lake(paths)) is not None:
            if log is not None or image_at is not None:
                said = "is of many logs: ask without --log" if log is not None else "has no state: ask without --at"
                raise UsageError(f"{shown_uri(lake)}: a lake {said}", lake)
            self._events = LakeTables(lake, show_secrets=show_secrets, go_on=go_on)
        else:
            self._events = EventTables(paths, log=log, on_error=on_error, show_secrets=show_secrets, columns=columns, go_on=go_on)
        for name, schema in self._events.schemas.items():
            self._database.serve(name, schema, self._events.serve)
        self._schemas: Mapping[str, pa.Schema] = {**state, **self._events.schemas}
        if lake is not None:
            self._find()

    def columns(self) -> dict[str, list[str]]:
        """Return the names of all tables, the state's first, and of their columns."""
        return {name: list(schema.names) for name, schema in self._schemas.items() if name not in self._absent}

    def functions(self) -> list[str]:
        """Return the names of DuckDB's functions that are words, with ours."""
        _, batches = self._database.ask(
            "select distinct function_name from duckdb_functions() where regexp_full_match(function_name, '[a-z]\\w*') order by 1"
        )
        return [name for batch in batches for name in batch.column(0).to_pylist()]

    def statements(self, text: str) -> list[str]:
        """Return the statements of a text. Errors: QueryError for what is no SQL."""
        try:
            return self._database.statements(with_quotes(text))
        except RefusedError as error:
            raise QueryError(error) from error

    def ask(self, text: str) -> Answer:
        """Return the answer to one statement; rows come as they are read.

        Errors: QueryError for what DuckDB refuses; UsageError for a table of a log that is not there; LogCorruptError or MetashellError
        at a fault, unless faults are skipped.
        """
        text = with_quotes(text)
        # Every word that is a table's name counts: DuckDB's own list of a query's tables fails for joins with USING (2.0).
        wanted = set(re.findall("[a-z0-9_]+", text.lower())) & set(self._schemas)
        state = [name for name in STATE_TABLES if name in wanted]
        events = wanted - set(STATE_TABLES)
        if state:
            self._read_state(state)
        if events or not state:
            self._find()
        self._events.name(events)
        self._state_scanned.clear()
        update_progress("answering")
        try:
            schema, batches = self._database.ask(text)
            # Logs are read when the first rows are wanted: what is wrong with them comes before any row.
            begun = list(islice(batches, 1))
        except RefusedError as error:
            named = re.search(_MISSING_TABLE, str(error))
            if named is not None and named[1].lower() in self._absent:
                raise self._absent[named[1].lower()] from None
            raise QueryError(error) from error

        def count_faults() -> int:
            asked = {*state, *self._state_scanned}
            clusters = self._clusters or [] if asked - set(GROUP_TABLES) else []
            of_groups = self._group_offsets.fault_count if self._group_offsets and asked & set(GROUP_TABLES) else 0
            return max(sum(cluster.fault_count for cluster in clusters), of_groups, self._events.fault_count)

        return Answer(
            list(schema.names),
            _rows(schema, chain(begun, batches), self._columns),
            count_faults,
            self._note([*state, *self._state_scanned], events),
            lambda: "" if state or self._state_scanned else newer_line(parts_of_notes(self._events.newer)),
        )

    def _put(self, name: str, table: pa.Table) -> None:
        self._database.put(name, table)
        self._state_read.add(name)

    def _leave_out(self, name: str, reason: MetashellError) -> None:
        if name not in self._absent:
            self._database.drop(name)
            self._absent[name] = reason

    def _read_state(self, wanted: Sequence[str]) -> None:
        # The word may be a column's name: whether a table that cannot be made is needed, DuckDB says.
        if not set(wanted) <= set(GROUP_TABLES) and self._clusters is None and not self._absent.keys() >= set(CLUSTER_TABLES):
            try:
                self._clusters = self._read_clusters()
            except MetashellError as error:
                for name in CLUSTER_TABLES:
                    self._leave_out(name, error)
                self._clusters = []
        for name in wanted:
            if name in self._state_read or name in self._absent:
                continue
            try:
                self._put(name, self._state_table(name))
            except MetashellError as error:
                self._leave_out(name, error)

    def _serve_state(self, name: str, scan: Scan) -> Any:
        """Return the rows of a table of the state that a scan wants where no word of the question was its name."""
        with self._scanning_state:
            self._state_scanned.add(name)
            return scan.of(self._state_table(name))

    def _state_table(self, name: str) -> pa.Table:
        """Return a table of the state. Errors: those of `read_state` and `read_group_offsets`."""
        if name in GROUP_TABLES:
            if self._log not in (None, OFFSETS):
                raise absent_log(self._paths, name)
            if self._image_at is not None:
                raise UsageError(f"the table {name} has the newest state only: ask without --at", "--at")
            if self._group_offsets is None:
                self._group_offsets = read_group_offsets(self._paths, on_error=self._on_error)
            return self._group_offsets.table(self._columns)
        if self._clusters is None:
            self._clusters = self._read_clusters()
        return state_table(name, self._clusters, show_secrets=self._show_secrets, columns=self._columns)

    def _read_clusters(self) -> list[Cluster]:
        if self._log not in (None, METADATA):
            raise NoMetadataError(f"the tables of the state are made from a metadata log, not from one of {self._log} (--log)")
        try:
            update_progress(f"reading the state of {', '.join(map(shown_uri, self._paths))}")
            clusters = read_state(self._paths, on_error=self._on_error, image_at=self._image_at)
        finally:
            # Loading hides all objects from the collector, and DuckDB complains on stderr about those of its own that outlive it.
            gc.unfreeze()
        return clusters

    def _note(self, state: Sequence[str], events: set[str]) -> str:
        """Return a note about the state: several clusters, perhaps by mistake, a newer release, or rows of a lake that are not shown."""
        if isinstance(self._events, LakeTables):
            return self._events.note(events)
        clusters = self._clusters if state and self._clusters else []
        several = f"the state of {len(clusters)} clusters: {', '.join(item.cluster_id for item in clusters)}" if len(clusters) > 1 else ""
        newer = newer_line(part for cluster in clusters for part in newer_parts(cluster.image))
        return "; ".join(filter(None, (several, newer)))

    def _find(self) -> None:
        """Find out which tables there are. One that nothing was read of is no empty table; its name may still be that of a column."""
        if not self._has_found:
            for name, reason in self._events.find().items():
                self._leave_out(name, reason)
            self._has_found = True


def _lake(paths: Sequence[str]) -> str | None:
    """Return the path that is a lake. Errors: UsageError if there are other paths beside it."""
    lakes = [path for path in paths if is_lake(path)]
    if lakes and len(paths) > 1:
        raise UsageError(f"{shown_uri(lakes[0])}: a lake is queried alone, without other paths", lakes[0])
    return lakes[0] if lakes else None


def query(text: str, paths: Sequence[str], **how: Any) -> Answer:
    """Return the answer to one statement over the logs at `paths`; `how` and errors are those of `Session`."""
    return Session(paths, **how).ask(text)


def _rows(schema: pa.Schema, batches: Iterator[pa.RecordBatch], columns: Form) -> Iterator[list[Any]]:
    # In the form of before, bytes in an answer are shown as an id where they are 16: DuckDB keeps no mark of what they are.
    fields = [column.with_metadata(UUID_MARK) for column in schema] if columns == "raw" else list(schema)
    try:
        for batch in batches:
            yield from row_values(batch, fields)
    except RefusedError as error:
        raise QueryError(error) from error


# ---- column names that are words of SQL

_NAMES: Final = frozenset({"offset", "group", "at"})
_WORDS: Final = (
    "select distinct all where and or not on having by case when then else between in like ilike is as using filter qualify"
    " returning values set if"
)
_BEFORE: Final = frozenset(_WORDS.split())
"""Words of SQL behind which an expression or a name is expected."""
_OF_GROUPS: Final = frozenset({"by", "all", "sets"})


def with_quotes(question: str) -> str:
    """Return the question with quotes around the names of columns that DuckDB would take for words of its own."""
    lowered = question.lower()
    if not any(name in lowered for name in _NAMES):
        return question
    data = question.encode("utf-8")
    tokens = [(start, str(kind).rpartition(".")[2]) for start, kind in duckdb.tokenize(question)]
    starts, kinds = zip(*(token for token in tokens if token[1] != "comment"), strict=True)
    words = [_word(data, start) for start in starts]
    made = data
    for index in reversed(range(len(words))):
        before = words[index - 1] if index else ""
        after = words[index + 1] if index + 1 < len(words) else ""
        if kinds[index] in ("keyword", "identifier") and words[index] in _NAMES and _is_column(words[index], before, after):
            start, size = starts[index], len(words[index])
            made = b'%s"%s"%s' % (made[:start], made[start : start + size], made[start + size :])
    return made.decode("utf-8")


def _word(data: bytes, start: int) -> str:
    """Return the word or the sign that begins there, in small letters."""
    end = start
    while end < len(data) and (data[end : end + 1].isalnum() or data[end : end + 1] == b"_"):
        end += 1
    return data[start : max(end, start + 1)].decode("utf-8", "replace").lower()


def _is_column(word: str, before: str, after: str) -> bool:
    if before == "." or before in _BEFORE or not (before.isalnum() or before in ('"', "'", ")", "]", "", "_")):
        return not (word == "group" and after in _OF_GROUPS) or before == "."
    return False
