"""The table `appends` of a lake: what each append took of which logs, and which files it gave to which tables.

It is a Delta table like the others. The commit of an append to it comes first, and is the append: from then on its files count, and
whoever writes next commits them to the tables that lack them (`append.complete`). A row without a log is the append as a whole; the others
have what it took of one log. The state of a lake is the sum of all rows. Every `WHOLE_EVERY` appends the sum takes the place of its rows,
so the table stays small whatever the history."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.tables.lake.delta import (
    Change,
    ConflictError,
    Cut,
    LakeFile,
    active_files,
    commit_change,
    delta_schema,
    has_append,
    mend,
    milliseconds,
    open_table,
)
from metashell.tables.lake.log_state import LogKey, Logs, LogState
from metashell.tables.stores import Store

if TYPE_CHECKING:
    from deltalake import DeltaTable

APPENDS: Final = "appends"
WHOLE_EVERY: Final = 25
FORMAT_NUMBER: Final = 2
TRIES: Final = 20
"""Of a commit that meets others, each of which was made meanwhile."""
_AT_ONCE: Final = 8
"""Tables of a store to which an append is committed at the same time."""
SCHEMA: Final = pa.schema(
    [
        ("append", pa.int64()),
        ("at", pa.timestamp("ms", "UTC")),
        ("kind", pa.string()),
        ("version", pa.string()),
        ("cluster_id", pa.string()),
        ("node_id", pa.string()),
        ("log", pa.string()),
        ("first_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("rows", pa.int64()),
        ("note", pa.string()),
        ("files", pa.string()),
    ]
)


_OURS: Final = re.compile(r"\w+/(?:month=[^/]+/)?part-[0-9a-f]{32}(?:-[0-9a-f]{32})?(?:-\d{5,}){0,2}\.parquet")
"""The files that tasks write, and the one of an append."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeForm:
    """The choices that hold for a whole lake, fixed by its first append or by the last one that wrote all of it anew.

    `tables` is None for the usual ones; `id` is the lake's own.
    """

    id: str
    tables: tuple[str, ...] | None
    show_secrets: bool

    def to_json(self) -> dict[str, Any]:
        tables = None if self.tables is None else list(self.tables)
        return {"format": FORMAT_NUMBER, "id": self.id, "tables": tables, "show_secrets": self.show_secrets}

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> LakeForm:
        if found["format"] != FORMAT_NUMBER:
            raise ValueError(f"a lake of format {found['format']}, which this version of metashell does not know")
        tables = found["tables"]
        return cls(id=found["id"], tables=None if tables is None else tuple(tables), show_secrets=found["show_secrets"])


@dataclass(slots=True, kw_only=True)
class Append:
    """One append: its number, its id, when and by which version it was made, and what it took.

    `kind` is append or overwrite. `rows` are those that it added by table. `cut` are logs of which everything from an offset on was removed
    first; `is_whole` says that `logs` are those of the lake after it, not only what it took.
    """

    number: int
    id: str
    at_ms: int
    version: str
    kind: str = "append"
    rows: dict[str, int] = field(default_factory=dict)
    logs: Logs = field(default_factory=dict)
    cut: dict[LogKey, int] = field(default_factory=dict)
    is_whole: bool = False
    form: LakeForm | None = None
    changes: dict[str, Change] = field(default_factory=dict)


@dataclass(slots=True)
class LakeState:
    """All that a lake's appends say together. `last` is for each table the number of the last append that wrote to it."""

    appends: list[Append] = field(default_factory=list)
    logs: Logs = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    form: LakeForm | None = None

    @property
    def number(self) -> int:
        return self.appends[-1].number if self.appends else 0

    def add(self, append: Append) -> None:
        """Add the next append."""
        if append.kind == "overwrite":
            self.logs, self.rows = {}, {}
            self.last = dict.fromkeys(self.last, append.number)
        for key, offset in append.cut.items():
            if key in self.logs:
                self.logs[key].remove_from(offset)
        if append.is_whole:
            self.logs = {}
        for key, log in append.logs.items():
            self.logs.setdefault(key, LogState()).add(log)
        for table, count in append.rows.items():
            self.rows[table] = self.rows.get(table, 0) + count
            self.last[table] = append.number
        for key_table in append.changes:
            self.last[key_table] = append.number
        self.form = append.form or self.form
        self.appends.append(append)

    def after(self, append: Append) -> LakeState:
        """Return the state after the next append."""
        logs = {key: log.copy() for key, log in self.logs.items()}
        made = LakeState([*self.appends], logs, dict(self.rows), dict(self.last), self.form)
        made.add(append)
        return made

    def pending(self) -> dict[str, Change]:
        """Return what the last append gives to each table; whether they have it, the tables say."""
        return self.appends[-1].changes if self.appends else {}

    def app_id(self) -> str:
        """Return the id of the application whose transactions are the numbers of appends."""
        assert self.form is not None, "a lake with appends has a form"
        return f"metashell-{self.form.id}"


# ---- reading


def read_state(store: Store, *, is_required: bool = False) -> LakeState:
    """Return the state of a lake, an empty one where there is none yet.

    Errors: PathError where a lake `is_required` and none is there; MetashellError for one that is damaged or of another format.
    """
    table = open_table(store, APPENDS)
    if table is None:
        if is_required:
            raise no_lake(store)
        return LakeState()
    state = LakeState()
    for append in _appends_of(store, table):
        state.add(append)
    if state.appends:
        state.appends[-1].changes = _changes_of(store, table, state.number)
        for name in state.appends[-1].changes:
            state.last[name] = state.number
    return state


def no_lake(store: Store) -> PathError:
    from os.path import lexists

    if store.is_local and not lexists(store.place):
        return PathError(f"{store.shown}: No such file or directory", store.shown)
    return PathError(f"{store.shown}: no lake here: there is no table {APPENDS}; metashell export --append makes one", store.shown)


def _appends_of(store: Store, table: DeltaTable) -> Iterator[Append]:
    """Yield the appends in order, each with its logs."""
    found: dict[int, Append] = {}
    logs: dict[int, Logs] = {}
    for row in _rows(store, table, [name for name in SCHEMA.names if name != "files"]):
        number = row["append"]
        with damaged(store, number):
            note = json.loads(row["note"])
            if row["log"] is not None:
                logs.setdefault(number, {})[LogKey(row["cluster_id"], row["node_id"], row["log"])] = LogState.of_json(note)
                continue
            found[number] = Append(
                number=number,
                id=note["id"],
                at_ms=milliseconds(row["at"]),
                version=row["version"],
                kind=row["kind"],
                rows=note["rows"],
                cut={LogKey(*key): offset for *key, offset in note["cut"]},
                is_whole=note["is_whole"],
                form=None if note["form"] is None else LakeForm.of_json(note["form"]),
            )
    expected = range(min(found, default=1), max(found, default=0) + 1)
    if sorted(found) != list(expected) or not logs.keys() <= found.keys():
        raise MetashellError(f"{store.shown_name(APPENDS)}: appends are missing: nothing says what this lake holds")
    for number, append in sorted(found.items()):
        append.logs = logs.get(number, {})
        yield append


@contextmanager
def damaged(store: Store, number: int) -> Iterator[None]:
    """Errors: MetashellError where a row is not what was written there."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise MetashellError(f"{store.shown_name(APPENDS)}: append {number}: damaged: {error}") from error


def _changes_of(store: Store, table: DeltaTable, number: int) -> dict[str, Change]:
    """Return what the last append gave to each table."""
    for row in _rows(store, table, ["append", "log", "files"]):
        if row["append"] == number and row["log"] is None and row["files"] is not None:
            with damaged(store, number):
                return {
                    name: Change(
                        tuple(LakeFile(*file) for file in files),
                        overwrites,
                        tuple(Cut(LogKey(*key), offset, tuple(names)) for key, offset, names in cuts),
                    )
                    for name, (files, overwrites, cuts) in json.loads(row["files"]).items()
                }
    return {}


def _rows(store: Store, table: DeltaTable, columns: list[str]) -> Iterator[dict[str, Any]]:
    for file in active_files(table, APPENDS):
        data = store.read(file.name)
        if data is None:
            raise MetashellError(f"{store.shown_name(file.name)}: is gone: nothing says what this lake holds")
        try:
            yield from pq.read_table(io.BytesIO(data), columns=columns).to_pylist()
        except pa.ArrowException as error:
            raise MetashellError(f"{store.shown_name(file.name)}: damaged: {str(error).splitlines()[0]}") from error


# ---- writing


def put_append(store: Store, state: LakeState, made: Append) -> None:
    """Commit an append to `appends`, which makes it: the state has it then.

    Errors: ConflictError where another append has that number; MetashellError of the store. Nothing was appended then.
    """
    after = state.after(made)
    is_whole = made.number % WHOLE_EVERY == 0
    written = [*(_head(append, is_bare=True) for append in state.appends)] if is_whole else []
    kept = after.logs if is_whole else made.logs
    written.append(_head(made, is_whole=is_whole))
    written += [_log_row(made, key, log) for key, log in sorted(kept.items())]
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(written, SCHEMA), sink, compression="zstd", store_schema=False)
    name = f"{APPENDS}/part-{made.id}.parquet"
    store.put(name, sink.getvalue(), durable=True)
    stats = json.dumps({"numRecords": len(written), "minValues": {"append": made.number}, "maxValues": {"append": made.number}})
    file = LakeFile(name, len(written), len(sink.getvalue()), None, stats if not is_whole else json.dumps({"numRecords": len(written)}))
    change = Change((file,), overwrites=is_whole)
    table = open_table(store, APPENDS)
    if has_append(table, after.app_id(), made.number) or (table is None) != (made.number == 1):
        raise ConflictError(f"{store.shown_name(APPENDS)}: has append {made.number} of another writer")
    about = {"append": made.number, "kind": made.kind, "version": made.version, "rows": sum(made.rows.values()), "logs": len(made.logs)}
    commit_change(store, APPENDS, table, SCHEMA, change, (after.app_id(), made.number), about, is_first=True)
    state.logs, state.rows, state.last, state.form, state.appends = after.logs, after.rows, after.last, after.form, after.appends


def _head(append: Append, *, is_whole: bool = False, is_bare: bool = False) -> dict[str, Any]:
    """Return the row of an append. `is_bare`: its files are in their tables by now, and its logs are in the sum."""
    note = {
        "id": append.id,
        "rows": append.rows,
        "cut": [] if is_bare else [[*key, offset] for key, offset in sorted(append.cut.items())],
        "is_whole": is_whole,
        "form": None if append.form is None else append.form.to_json(),
    }
    changes = {name: [[list(file) for file in each.files], each.overwrites, each.cuts] for name, each in append.changes.items()}
    return {
        **_about(append),
        "rows": sum(append.rows.values()),
        "note": json.dumps(note, separators=(",", ":")),
        "files": None if is_bare else json.dumps(changes, separators=(",", ":")),
    }


def _log_row(append: Append, key: LogKey, log: LogState) -> dict[str, Any]:
    offsets = list(log.offsets)
    return {
        **_about(append),
        "cluster_id": key.cluster,
        "node_id": key.node,
        "log": key.log,
        "first_offset": offsets[0][0] if offsets else None,
        "last_offset": offsets[-1][1] - 1 if offsets else None,
        "note": json.dumps(log.to_json(), separators=(",", ":")),
    }


def _about(append: Append) -> dict[str, Any]:
    return {"append": append.number, "at": append.at_ms, "kind": append.kind, "version": append.version}


# ---- giving an append to its tables


def complete(store: Store, state: LakeState) -> str:
    """Commit the last append to the tables that lack it; return a line where it was interrupted.

    Errors: MetashellError where files of it are gone, or a table lacks an append that it had.
    """
    changes = state.pending()
    ledger = open_table(store, APPENDS)
    if not changes or has_append(ledger, done_id(state), state.number):
        return ""
    give_to_tables(store, state)
    return f"append {state.number} was interrupted, and was completed"


def done_id(state: LakeState) -> str:
    """Return the id of the application whose transactions in `appends` are the numbers of appends that all tables have."""
    return f"{state.app_id()}-done"


def give_to_tables(store: Store, state: LakeState) -> None:
    """Commit the last append to all of its tables, and then say so in `appends`. What is done already stays as it is."""
    made = state.appends[-1]
    give = partial(_give, store, state, made)
    if store.is_local:
        for table, change in made.changes.items():
            give(table, change)
    else:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for each in [pool.submit(give, table, change) for table, change in made.changes.items()]:
                each.result()
    for _ in range(TRIES):
        ledger = open_table(store, APPENDS)
        if has_append(ledger, done_id(state), made.number):
            return
        with suppress(ConflictError):
            about = {"append": made.number, "kind": "done"}
            commit_change(store, APPENDS, ledger, SCHEMA, Change(), (done_id(state), made.number), about)


def _give(store: Store, state: LakeState, made: Append, table: str, change: Change) -> None:

    about = {"append": made.number, "kind": made.kind, "version": made.version, "rows": made.rows.get(table, 0)}
    for _ in range(TRIES):
        mend(store, table)
        there = open_table(store, table)
        if has_append(there, state.app_id(), made.number) or (there is None and not change.files):
            return
        require_files(store, made, change)
        anew, replaced = change, list[LakeFile]()
        if change.cuts and there is not None:
            from metashell.tables.lake.write_tasks import without_cuts

            assert state.form is not None, "a lake with appends has a form"
            replaced, kept = without_cuts(store, active_files(there, table), change.cuts, show_secrets=state.form.show_secrets)
            anew = change._replace(files=(*change.files, *kept))
        try:
            transaction = state.app_id(), made.number
            commit_change(store, table, there, delta_schema(table), anew, transaction, about, replaced=replaced)
        except ConflictError:
            continue  # somebody completes the same append, or optimizes the table
        return
    raise MetashellError(
        f"{store.shown_name(table)}: other writers came first {TRIES} times; the next export completes append {made.number}"
    )


def require_files(store: Store, made: Append, change: Change) -> None:
    """Errors: MetashellError where a file is not as the task that wrote it said: it wrote on another machine, or somebody removed it."""
    there = store.sizes([file.name for file in change.files])
    for file in change.files:
        if there.get(file.name) != file.size:
            found = f"has {there[file.name]} bytes, not {file.size}" if file.name in there else "is not there"
            raise MetashellError(
                f"{store.shown_name(file.name)}: {found}, and append {made.number} has it: it was removed, or lies on another machine"
            )


# ---- what does not go together


def require_same(store: Store, lake: LakeForm, wanted: LakeForm) -> None:
    """Errors: UsageError where an append would put other rows beside those of a lake. `wanted.tables` is None for those that it has."""
    if wanted.tables is not None and wanted.tables != lake.tables:
        has = "all tables but records" if lake.tables is None else ", ".join(lake.tables)
        raise UsageError(f"{store.shown}: this lake was begun with {has}: append without --tables, or name another --out", "--tables")
    if wanted.show_secrets != lake.show_secrets:
        said = "shows secrets: append with --show-secrets" if lake.show_secrets else "hides secrets: append without --show-secrets"
        raise UsageError(f"{store.shown}: this lake {said}, or name another --out", "--show-secrets")


def refuse_other_output(store: Store, names: Sequence[str]) -> None:
    """Errors: UsageError where a folder that is no lake has tables already: nobody knows of which offsets."""
    for name in names:
        if name == "_manifest.json":
            raise UsageError(f"{store.shown}: has a plain export, to which nothing can be appended: name another --out", "--out")
        if _OURS.fullmatch(name):
            continue  # a first append was killed
        if name.endswith((".parquet", ".parquet.crc")) or "_delta_log/" in name or "metadata/version-hint" in name:
            raise UsageError(f"{store.shown_name(name)}: is there already, and no lake has it: name another --out", "--out")
