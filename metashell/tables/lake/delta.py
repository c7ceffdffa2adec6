"""The Delta tables of a lake, through delta-rs: opening, committing, and the rules that make a commit exactly once and durable.

A commit adds files that are written and closed before. It carries an application transaction with the number of the append, so a table
says which appends it has: an append that a table has is not committed to it again. Two writers that complete one append at the same time
commit the same transaction, and delta-rs refuses the second of them as a concurrent transaction.

delta-rs syncs nothing. So on this machine each commit is synced before the next one begins, with the name that it has; a commit, or a
checkpoint of the log, that a power cut has torn is then the newest one of its table and was never reported. `mend` removes it.

Only this module imports deltalake, when a lake is opened: 36 ms."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from stat import S_ISDIR
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote

import pyarrow as pa

from metashell.common.errors import MetashellError, PathError
from metashell.common.runtime import sync_path
from metashell.common.uris import URI_MARK, is_uri
from metashell.disk.file_system import errors_naming
from metashell.tables import require_packages
from metashell.tables.columns.typed_arrays import binary_ids_type, shaped_schema
from metashell.tables.columns.typed_tables import typed_schema
from metashell.tables.schemas import commented
from metashell.tables.stores import Store
from metashell.tables.stores.local import LocalStore

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from deltalake.transaction import AddAction, RemoveAction

    from metashell.tables.lake.log_state import LogKey

LOG: Final = "_delta_log"
MONTH: Final = "month"
"""The column by which large tables are divided: the month of a row's time in UTC, as `2026-11`."""
DIVIDED: Final = frozenset(
    (
        *("records", "batches", "partition", "partition_change"),
        *("offset_commit", "legacy_offset_commit", "group_metadata", "transaction_log", "consumer_group_current_member_assignment"),
    )
)
"""The tables that grow with time. The others stay small, and one folder holds all of their rows."""
CHECKPOINT_EVERY: Final = 25
"""Commits of a table between two checkpoints of its log: who opens the table reads no more than these one by one."""
_RETRIES: Final = 15
_SETTINGS: Final = {"delta.logRetentionDuration": "interval 30 days", "delta.deletedFileRetentionDuration": "interval 7 days"}
_SCHEMES: Final = {"s3a": "s3", "gcs": "gs"}
_NEWEST: Final = re.compile(r"(\d{20})\.(json|checkpoint\.parquet)")
_PARQUET_END: Final = b"PAR1"
_STORE_CODE: Final = re.compile(r"<Code>(\w+)</Code>")
_COLOR: Final = re.compile(r"\x1b\[[0-9;]*m")
_OS_REASON: Final = re.compile(r"([^:\n\u21b3]*) \(os error \d+\)")
"""The operating system's reason in an error of delta-rs, which puts a line for each of its layers before it."""


class LakeFile(NamedTuple):
    """A file of rows: its name in the lake, its rows and bytes, its month (None: none, or its table has none), and its statistics.

    `stats` is JSON text in Delta's form.
    """

    name: str
    rows: int
    size: int
    month: str | None
    stats: str

    @property
    def table(self) -> str:
        return self.name.partition("/")[0]

    def bounds(self) -> dict[str, tuple[Any, Any]]:
        """Return the least and the greatest value of columns of which no row is null."""
        found = json.loads(self.stats)
        nulls, most = found.get("nullCount", {}), found.get("maxValues", {})
        return {name: (least, most[name]) for name, least in found.get("minValues", {}).items() if nulls.get(name) == 0 and name in most}

    def removal(self, *, is_new: bool = True) -> RemoveAction:
        from deltalake.transaction import RemoveAction

        return RemoveAction(self.name.partition("/")[2], is_new, time.time_ns() // 1_000_000, self.size, self.partition())

    def partition(self) -> dict[str, str | None]:
        return {MONTH: self.month} if self.table in DIVIDED else {}

    def action(self, *, is_new: bool = True) -> AddAction:
        """Return the action that adds the file; `is_new` says that its rows were not in the table before, in other files."""
        from deltalake.transaction import AddAction

        return AddAction(self.name.partition("/")[2], self.size, self.partition(), 0, is_new, self.stats)


def row_schema(table: str) -> pa.Schema:
    """Return the columns of a table of a lake, in the types of `typed_schema`."""
    fields = [field.with_name("log_kind") if field.name == "log" else field for field in typed_schema(table)]
    fields[1:1] = [pa.field("node_id", pa.int32()), pa.field("log", pa.string())]
    return pa.schema(fields)


def file_schema(table: str) -> pa.Schema:
    """Return the columns that files of a table have: ids are bytes, since Delta has no UUID."""
    return commented(table, shaped_schema(row_schema(table), binary_ids_type))


def delta_schema(table: str) -> pa.Schema:
    """Return the columns of a table as its log has them: one that is divided has its month last."""
    schema = file_schema(table)
    return schema.append(pa.field(MONTH, pa.string())) if table in DIVIDED else schema


def open_table(store: Store, table: str) -> DeltaTable | None:
    """Return a table as it is now; None if there is none. Errors: MetashellError for a log that cannot be read, and of the store."""
    require_packages("lake", "deltalake")
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    if store.is_local and not _is_folder(os.path.join(_uri(store, table), LOG)):
        return None
    if table == "appends":
        _require_store(store)
    with delta_errors(store, table):
        try:
            return DeltaTable(_uri(store, table), storage_options=storage_options(store.place))
        except TableNotFoundError:
            return None


def has_append(table: DeltaTable | None, app_id: str, number: int) -> bool:
    """Return whether a table has an append, by the application transaction of its commits."""
    if table is None:
        return False
    with _errors_reading(table):
        version = table.transaction_version(app_id)
    return version is not None and version >= number


class Cut(NamedTuple):
    """Rows that go: those of a log from an offset on, and all of its checkpoints of these names."""

    log: LogKey
    offset: int
    checkpoints: tuple[str, ...] = ()


class Change(NamedTuple):
    """The part of an append that one table gets. `overwrites`: all rows before go; `cuts` are rows that go first."""

    files: tuple[LakeFile, ...] = ()
    overwrites: bool = False
    cuts: tuple[Cut, ...] = ()


def commit_change(
    store: Store,
    name: str,
    table: DeltaTable | None,
    schema: pa.Schema,
    change: Change,
    transaction: tuple[str, int],
    metadata: Mapping[str, Any],
    *,
    is_first: bool = False,
    replaced: Sequence[LakeFile] = (),
) -> None:
    """Commit the part of an append that a table gets; the table is made if there is none. `transaction` is the application's id and number.

    The files `replaced` go with the same commit: the rows of them that stay are in the others. delta-rs does not see that another commit
    has replaced them already, so nothing else may come between, as for a commit that has to be the first since the table was opened.

    Errors: ConflictError where another writer came first, and nothing was committed; MetashellError of the store.
    """
    from deltalake import CommitProperties, PostCommitHookProperties, Schema, Transaction
    from deltalake.transaction import create_table_with_add_actions

    hooks = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
    retries = 0 if is_first or replaced or change.overwrites else _RETRIES
    properties = CommitProperties({"metashell": dict(metadata)}, retries, [Transaction(*transaction)])
    by = [MONTH] if MONTH in schema.names else None
    actions = [file.action() for file in change.files]
    with delta_errors(store, name):
        if table is None:
            create_table_with_add_actions(
                _uri(store, name),
                Schema.from_arrow(schema),
                actions,
                mode="error",
                partition_by=by,
                name=name,
                configuration=_SETTINGS,
                storage_options=storage_options(store.place),
                commit_properties=properties,
                post_commithook_properties=hooks,
            )
            _settle(store, name, 0)
            return
        _add_columns(store, name, table, schema)
        table.create_write_transaction(
            [*actions, *(file.removal() for file in replaced)],
            "overwrite" if change.overwrites else "append",
            schema,
            partition_by=by,
            commit_properties=properties,
            post_commithook_properties=hooks,
        )
        table.update_incremental()
        _settle(store, name, table.version())
        if table.version() % CHECKPOINT_EVERY == 0:
            table.create_checkpoint()
            _settle(store, name, table.version(), checkpoint=True)


def _add_columns(store: Store, name: str, table: DeltaTable, schema: pa.Schema) -> None:
    """Add the columns that a table has not had yet. Errors: MetashellError where the type of one is another now."""
    from deltalake import Schema

    known = {field.name: field.type for field in table.schema().fields}
    wanted = Schema.from_arrow(schema).fields
    for field in wanted:
        if known.get(field.name, field.type) != field.type:
            raise MetashellError(
                f"{store.shown_name(name)}: column {field.name} is {known[field.name]} in this lake and {field.type} in this version of "
                "metashell: name another --out"
            )
    new = [field for field in wanted if field.name not in known]
    if new:
        table.alter.add_columns(new)
        _settle(store, name, table.version())


class ConflictError(MetashellError):
    """Another writer committed first."""


@contextmanager
def delta_errors(store: Store, name: str) -> Iterator[None]:
    """Errors of delta-rs and of a store's client in one line that names the table, without credentials."""
    from deltalake.exceptions import CommitFailedError, DeltaError

    shown = store.shown_name(name)
    try:
        yield
    except CommitFailedError as error:
        raise ConflictError(f"{shown}: another writer committed first: {_line(error, store.place)}") from error
    except (DeltaError, OSError, ValueError) as error:
        said = _line(error, store.place)
        if "already exists" in said:
            raise ConflictError(f"{shown}: another writer made it first") from error
        _require_store(store)
        raise PathError(f"{shown}: {said}", shown) from error


@contextmanager
def _errors_reading(table: DeltaTable) -> Iterator[None]:
    """Errors of delta-rs about a table that is open: it reads the table's log again for each question."""
    from deltalake.exceptions import DeltaError

    try:
        yield
    except (DeltaError, OSError) as error:
        place = unquote(table.table_uri).removeprefix(f"file{URI_MARK}").rstrip("/")
        raise PathError(f"{place}: {_line(error, place)}", place) from error


def _line(error: Exception, place: str) -> str:
    from metashell.tables.stores.file_systems import plain_words

    said = _COLOR.sub("", str(error))
    if (reason := _OS_REASON.search(said)) is not None and not is_uri(place):
        return reason[1].strip()
    code = _STORE_CODE.search(said)
    return (plain_words(place, said) or type(error).__name__) + (f" ({code[1]})" if code is not None else "")


def _require_store(store: Store) -> None:
    """Errors: PathError in the words of every command, where a store cannot be reached, has no such bucket, or refuses."""
    if not store.is_local:
        from metashell.tables.stores.file_systems import errors_of, file_system, has_bucket, nothing_at

        system, path = file_system(store.place)
        if not has_bucket(system, path):
            raise nothing_at(store.place, system, path)
        with errors_of(store.place):
            system.get_file_info(path.rstrip("/"))


# ---- places

_WAITS: Final = {"timeout": "60s", "connect_timeout": "5s", "max_retries": "5", "retry_timeout": "60s"}


def _uri(store: Store, table: str) -> str:
    if store.is_local:
        return os.path.join(os.path.abspath(store.place), table)
    scheme, _, rest = store.place.partition(URI_MARK)
    path = unquote(rest.partition("?")[0].rpartition("@")[2]) if scheme in ("s3", "s3a") else unquote(rest.partition("?")[0])
    return f"{_SCHEMES.get(scheme.lower(), scheme.lower())}{URI_MARK}{path.rstrip('/')}/{table}"


def storage_options(place: str) -> dict[str, str] | None:
    """Return what delta-rs needs to open a store, by its URI and by the environment that pyarrow's client reads; None for a folder."""
    if not is_uri(place) or place.lower().startswith("file:"):
        return None
    scheme, _, rest = place.partition(URI_MARK)
    found = dict(_WAITS)
    if scheme.lower() not in ("s3", "s3a"):
        return found
    authority, _, query = rest.partition("?")
    known = dict(parse_qsl(query))
    endpoint = known.get("endpoint_override") or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        found["AWS_ENDPOINT_URL"] = endpoint if URI_MARK in endpoint else f"{known.get('scheme', 'https')}{URI_MARK}{endpoint}"
        found["AWS_ALLOW_HTTP"] = str(found["AWS_ENDPOINT_URL"].startswith("http:")).lower()
    region = known.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region or endpoint:
        found["AWS_REGION"] = region or "us-east-1"
    keys, mark, _ = authority.partition("/")[0].rpartition("@")
    if mark:
        key, _, secret = keys.partition(":")
        found |= {"AWS_ACCESS_KEY_ID": unquote(key), "AWS_SECRET_ACCESS_KEY": unquote(secret)}
    if known.get("anonymous") == "true":
        found["AWS_SKIP_SIGNATURE"] = "true"
    return found


# ---- durable commits on this machine


def _settle(store: Store, name: str, version: int, *, checkpoint: bool = False) -> None:
    """Return when a commit and its name are on disk. A store has what it has acknowledged."""
    if not isinstance(store, LocalStore):
        return
    folder = os.path.join(store.place, name, LOG)
    names = [f"{version:020d}.json"]
    if checkpoint:
        with errors_naming(folder):
            names = [each for each in os.listdir(folder) if each.startswith(f"{version:020d}.checkpoint") or each == "_last_checkpoint"]
    for each in names:
        path = os.path.join(folder, each)
        with errors_naming(path), suppress(FileNotFoundError):
            sync_path(path)
    store.sync_folders([folder])


def replace_files(store: Store, name: str, table: DeltaTable, old: Sequence[LakeFile], new: Sequence[LakeFile]) -> None:
    """Commit that files hold the rows of others. Errors: ConflictError where anything was committed since the table was opened."""
    from deltalake import CommitProperties, PostCommitHookProperties

    hooks = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
    actions: list[AddAction | RemoveAction] = [file.action(is_new=False) for file in new]
    actions += [file.removal(is_new=False) for file in old]
    with delta_errors(store, name):
        table.create_write_transaction(
            actions,
            "append",
            table.schema(),
            partition_by=table.metadata().partition_columns or None,
            commit_properties=CommitProperties({"metashell": {"kind": "optimize"}}, 0),
            post_commithook_properties=hooks,
        )
        table.update_incremental()
        _settle(store, name, table.version())


def mend(store: Store, name: str) -> None:
    """Remove what a power cut tore: the newest commit of a table where it is not whole, and checkpoints of the log that are not.

    Both were written whole before they got their names, and were not reported, so no running writer has them.
    """
    folder = os.path.join(store.place, name, LOG)
    if store.is_local and _is_folder(folder):
        with errors_naming(folder):
            _remove_torn(folder)


def _is_folder(path: str) -> bool:
    """Return whether a folder is there. Errors: PathError where nobody can say: a lake that cannot be read is not one that is missing."""
    with errors_naming(path):
        try:
            return S_ISDIR(os.stat(path).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False


def _remove_torn(folder: str) -> None:
    found = sorted(match[0] for entry in os.listdir(folder) if (match := _NEWEST.fullmatch(entry)))
    commits = [entry for entry in found if entry.endswith(".json")]
    torn = [entry for entry in found if entry.endswith(".parquet") and not _is_whole_parquet(os.path.join(folder, entry))]
    if torn:
        torn.append("_last_checkpoint")
    torn += [entry for entry in commits[-1:] if not _is_whole_commit(os.path.join(folder, entry))]
    for entry in torn:
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, entry))


def _is_whole_commit(path: str) -> bool:
    with open(path, "rb") as file:
        lines = file.read().splitlines()
    try:
        return bool(lines) and all(isinstance(json.loads(line), dict) for line in lines)
    except ValueError:
        return False


def _is_whole_parquet(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == _PARQUET_END and file.seek(-4, os.SEEK_END) > 0 and file.read(4) == _PARQUET_END


# ---- what a table holds


def active_files(table: DeltaTable, name: str) -> list[LakeFile]:
    """Return the files that a table's log names, by name."""
    found = []
    for action in pa.table(table.get_add_actions()).to_pylist():
        month = (action.get("partition") or {}).get(MONTH) if name in DIVIDED else None
        bounds = {"minValues": action.get("min"), "maxValues": action.get("max"), "nullCount": action.get("null_count")}
        stats = {kind: {at: value for at, value in (values or {}).items() if value is not None} for kind, values in bounds.items()}
        rows = action["num_records"] or 0
        found.append(
            LakeFile(f"{name}/{unquote(action['path'])}", rows, action["size_bytes"], month, json.dumps(stats, default=milliseconds))
        )
    return sorted(found)


def milliseconds(at: datetime) -> int:
    """Return a time as Unix milliseconds."""
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def changes_of(files: Sequence[LakeFile]) -> dict[str, tuple[LakeFile, ...]]:
    """Return files by table."""
    found: dict[str, list[LakeFile]] = {}
    for file in files:
        found.setdefault(file.table, []).append(file)
    return {table: tuple(each) for table, each in sorted(found.items())}
