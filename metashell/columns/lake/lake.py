"""A lake as it lies in a store: what holds for all of it, and the state that its commits come to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from metashell.columns.lake.ledger import Commit, LakeState
from metashell.columns.lake.names import COMMITS, FORMAT, PENDINGS, checkpoint_name, commit_name, is_pending, numbers_of, pending_name
from metashell.errors import MetashellError, UsageError
from metashell.stores import Store
from metashell.stores.store import checked_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from metashell.columns.decode.options import Form

FORMAT_NUMBER: Final = 1
PARQUET: Final = "parquet"
CHECKPOINT_EVERY: Final = 25
"""Commits that are read one by one when a lake is opened, at most."""
_MANIFEST = "_manifest.json"
_OTHER_FORMAT: Final = re.compile(r"(^|/)(_delta_log/|\.hoodie/|metadata/([^/]*\.metadata\.json|version-hint\.text)$)")
"""What Delta Lake, Hudi and Iceberg keep beside a table, also beside one that has no rows yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeFormat:
    """What the first export into a lake fixed, or the last one that wrote all of it anew.

    `tables` is None for the usual ones; `id` is the lake's own. `table_format` says what its rows lie in.
    """

    id: str
    version: str
    columns: Form
    tables: tuple[str, ...] | None
    show_secrets: bool
    table_format: str = PARQUET

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT_NUMBER,
            "id": self.id,
            "version": self.version,
            "columns": self.columns,
            "tables": None if self.tables is None else list(self.tables),
            "show_secrets": self.show_secrets,
            "table_format": self.table_format,
        }


def read_format(store: Store) -> LakeFormat | None:
    """The format of the lake in a store, None where there is none. Errors: MetashellError for one that we do not know."""
    found = read_json(store, FORMAT)
    return None if found is None else format_of(store, found)


def format_of(store: Store, found: dict[str, Any]) -> LakeFormat:
    """A format by what was written of it. Errors: MetashellError for one that we do not know."""
    if found.get("format") != FORMAT_NUMBER:
        about = store.shown_name(FORMAT)
        if "format" not in found:
            raise MetashellError(f"{about}: says nothing of a lake: it is another tool's, or damaged")
        raise MetashellError(f"{about}: a lake of format {found['format']}, which this version of metashell does not know")
    with _damaged(store, FORMAT):
        tables = found["tables"]
        return LakeFormat(
            id=found["id"],
            version=found["version"],
            columns=found["columns"],
            tables=None if tables is None else tuple(tables),
            show_secrets=found["show_secrets"],
            table_format=found["table_format"],
        )


def write_format(store: Store, made: LakeFormat) -> None:
    store.put(FORMAT, json_bytes(made.to_json()), durable=True)


def require_same(store: Store, lake: LakeFormat, wanted: LakeFormat) -> None:
    """Errors: UsageError where an export would put other rows beside those of a lake. `wanted.tables` is None for those that it has."""
    require_same_format(store, lake, wanted)
    if wanted.tables is not None and wanted.tables != lake.tables:
        has = "all tables but records" if lake.tables is None else ", ".join(lake.tables)
        raise UsageError(f"{store.shown}: this lake was begun with {has}: append without --tables, or name another --out", "--tables")
    if wanted.show_secrets != lake.show_secrets:
        said = "shows secrets: append with --show-secrets" if lake.show_secrets else "hides secrets: append without --show-secrets"
        raise UsageError(f"{store.shown}: this lake {said}, or name another --out", "--show-secrets")
    if wanted.columns != lake.columns:
        said = (
            "has the old columns: append with --old-columns"
            if lake.columns == "raw"
            else "has the new columns: append without --old-columns"
        )
        raise UsageError(f"{store.shown}: this lake {said}, or name another --out", "--old-columns")


def require_same_format(store: Store, lake: LakeFormat, wanted: LakeFormat) -> None:
    """Errors: UsageError where rows would go into tables of another format."""
    _require_table_format(store, lake, wanted.table_format)


def require_same_tables(store: Store, commit: Commit, table_format: str) -> None:
    """Errors: UsageError where a commit goes into tables of another format.

    The first commit may have been interrupted before `format.json`: then nothing but its pending file says what its rows lie in.
    """
    if commit.format:
        _require_table_format(store, format_of(store, commit.format), table_format)


def _require_table_format(store: Store, lake: LakeFormat, table_format: str) -> None:
    if table_format != lake.table_format:
        raise UsageError(f"{store.shown}: this lake is {lake.table_format}, not {table_format}: name another --out", "--out")


def refuse_other_output(store: Store) -> None:
    """Errors: UsageError where a folder without a ledger has tables already: nobody knows of which offsets."""
    if store.read(_MANIFEST) is not None:
        raise UsageError(f"{store.shown}: has a plain export, to which nothing can be appended: name another --out", "--out")
    for file in store.files():
        if file.name.startswith("table=") or file.name.endswith((".parquet", ".parquet.crc")) or _OTHER_FORMAT.search(file.name):
            raise UsageError(
                f"{store.shown_name(file.name)}: is there already, and no ledger says what it holds: name another --out", "--out"
            )


def read_state(store: Store) -> LakeState:
    """The state of a lake. Errors: MetashellError where a commit is missing or damaged."""
    numbers, checkpoints = numbers_of(file.name for file in store.files(COMMITS))
    whole = max(checkpoints, default=0)
    state = LakeState()
    if whole:
        found = read_json(store, checkpoint_name(whole))
        if found is None:
            raise MetashellError(f"{store.shown_name(checkpoint_name(whole))}: is gone")
        with _damaged(store, checkpoint_name(whole)):
            state = LakeState.of_json(found)
    # A list may lack what was written a moment ago, so the next number is asked for by its name.
    while (commit := read_commit(store, state.number + 1)) is not None:
        with _damaged(store, commit_name(commit.number)):
            state.apply(commit)
    if max(numbers, default=0) > state.number:
        raise commit_is_missing(store, state.number + 1)
    return state


def commit_is_missing(store: Store, number: int) -> MetashellError:
    return MetashellError(f"{store.shown_name(commit_name(number))}: is missing: nothing says what this lake holds")


class Pending(NamedTuple):
    """A commit that is being made, the names under which its files were written, and what else its maker has to remember."""

    commit: Commit
    staged: tuple[str, ...]
    more: dict[str, Any]

    @property
    def name(self) -> str:
        return pending_name(self.commit.number, self.commit.id)

    def is_complete(self, store: Store) -> bool:
        """Whether each file is there with its size, under one name or the other. Names are asked for: lists may be late."""
        pairs = list(zip(self.staged, self.commit.added, strict=True))
        there = store.sizes([file.name for _, file in pairs])
        rest = [(source, file) for source, file in pairs if there.get(file.name) != file.size]
        there = store.sizes([source for source, _ in rest])
        return all(there.get(source) == file.size for source, file in rest)


def put_pending(store: Store, commit: Commit, staged: Sequence[str], more: dict[str, Any] | None = None) -> Pending:
    made = Pending(commit, tuple(staged), more or {})
    store.put(made.name, json_bytes({"commit": commit.to_json(), "staged": made.staged, "more": made.more}), durable=True)
    return made


def read_pendings(store: Store, names: Sequence[str]) -> list[Pending]:
    """Commits that were being made, by the names of their files, as a list of `_metashell` or of `PENDINGS` has them."""
    pendings = []
    for name in sorted(filter(is_pending, names)):
        found = read_json(store, name)
        if found is not None:
            with _damaged(store, name):
                made = Pending(Commit.of_json(found["commit"]), tuple(map(checked_name, found["staged"])), found["more"])
                if len(made.staged) != len(made.commit.added):
                    raise ValueError(len(made.staged))
                pendings.append(made)
    return pendings


def read_state_to_be(store: Store, table_format: str) -> tuple[LakeState, bool]:
    """The state, with the commit that the next export to tables of this format completes; and whether there is one."""
    pendings = read_pendings(store, [file.name for file in store.files(PENDINGS)])
    state = read_state(store)
    for pending in pendings:
        if pending.commit.number != state.number + 1:
            continue
        require_same_tables(store, pending.commit, table_format)
        if pending.is_complete(store):
            state.apply(pending.commit)
            return state, True
    return state, False


def read_commit(store: Store, number: int) -> Commit | None:
    found = read_json(store, commit_name(number))
    with _damaged(store, commit_name(number)):
        commit = None if found is None else Commit.of_json(found)
        if commit is not None and commit.number != number:
            raise ValueError(commit.number)
    return commit


def read_json(store: Store, name: str) -> dict[str, Any] | None:
    data = store.read(name)
    if data is None:
        return None
    try:
        found = json.loads(data)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise _is_damaged(store, name)
    return found


def _is_damaged(store: Store, name: str) -> MetashellError:
    return MetashellError(f"{store.shown_name(name)}: damaged: not the JSON that was written there")


@contextmanager
def _damaged(store: Store, name: str) -> Iterator[None]:
    """Errors: MetashellError where a file of the ledger is JSON, but not what was written there."""
    try:
        yield
    except (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise _is_damaged(store, name) from error


def json_bytes(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
