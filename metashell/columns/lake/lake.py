"""A lake as it lies in a store: what holds for all of it, and the state that its commits come to."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from metashell.columns.lake.ledger import Commit, LakeState
from metashell.columns.lake.names import COMMITS, FORMAT, PENDING, checkpoint_name, commit_name
from metashell.errors import MetashellError, UsageError
from metashell.stores import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from metashell.columns.decode.options import Form

FORMAT_NUMBER: Final = 1
CHECKPOINT_EVERY: Final = 25
"""Commits that are read one by one when a lake is opened, at most."""
_MANIFEST = "_manifest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeFormat:
    """What the first export into a lake fixed. `tables` is None for the usual ones; `id` is the lake's own."""

    id: str
    version: str
    columns: Form
    tables: tuple[str, ...] | None
    show_secrets: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT_NUMBER,
            "id": self.id,
            "version": self.version,
            "columns": self.columns,
            "tables": None if self.tables is None else list(self.tables),
            "show_secrets": self.show_secrets,
        }


def read_format(store: Store) -> LakeFormat | None:
    """The format of the lake in a store, None where there is none. Errors: MetashellError for one that we do not know."""
    found = read_json(store, FORMAT)
    if found is None:
        return None
    if found.get("format") != FORMAT_NUMBER:
        said = found.get("format")
        raise MetashellError(f"{store.shown_name(FORMAT)}: a lake of format {said}, which this version of metashell does not know")
    tables = found["tables"]
    return LakeFormat(
        id=found["id"],
        version=found["version"],
        columns=found["columns"],
        tables=None if tables is None else tuple(tables),
        show_secrets=found["show_secrets"],
    )


def write_format(store: Store, made: LakeFormat) -> None:
    store.put(FORMAT, json_bytes(made.to_json()), durable=True)


def require_same(store: Store, lake: LakeFormat, wanted: LakeFormat) -> None:
    """Errors: UsageError where an export would put other rows beside those of a lake. `wanted.tables` is None for those that it has."""
    if wanted.tables is not None and wanted.tables != lake.tables:
        has = "all but records" if lake.tables is None else ", ".join(lake.tables)
        raise UsageError(f"{store.shown}: this lake has the tables {has}, not {', '.join(wanted.tables)}: name another --out", "--tables")
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


def refuse_other_output(store: Store) -> None:
    """Errors: UsageError where a folder without a ledger has tables already: nobody knows of which offsets."""
    if store.read(_MANIFEST) is not None:
        raise UsageError(f"{store.shown}: has a plain export, to which nothing can be appended: name another --out", "--out")
    for file in store.files():
        if file.name.startswith("table=") or file.name.endswith((".parquet", ".parquet.crc")):
            raise UsageError(
                f"{store.shown_name(file.name)}: is there already, and no ledger says what it holds: name another --out", "--out"
            )


def read_state(store: Store) -> LakeState:
    """The state of a lake. Errors: MetashellError where a commit is missing or damaged."""
    listed = [file.name.rpartition("/")[2] for file in store.files(COMMITS)]
    numbers = [int(name.partition(".")[0]) for name in listed if name.partition(".")[0].isdigit()]
    whole = max((int(name.partition(".")[0]) for name in listed if name.endswith(".checkpoint.json")), default=0)
    state = LakeState()
    if whole:
        found = read_json(store, checkpoint_name(whole))
        if found is None:
            raise MetashellError(f"{store.shown_name(checkpoint_name(whole))}: is gone")
        state = LakeState.of_json(found)
    # A list may lack what was written a moment ago, so the next number is asked for by its name.
    while (commit := read_commit(store, state.number + 1)) is not None:
        state.apply(commit)
    if max(numbers, default=0) > state.number:
        raise MetashellError(f"{store.shown_name(commit_name(state.number + 1))}: is missing: nothing says what this lake holds")
    return state


def read_pending(store: Store) -> tuple[Commit, tuple[str, ...]] | None:
    """The commit that was being made, and the names under which its files were written."""
    found = read_json(store, PENDING)
    return None if found is None else (Commit.of_json(found["commit"]), tuple(found["staged"]))


def read_state_to_be(store: Store) -> tuple[LakeState, bool]:
    """The state, with the commit that the next export completes; and whether there is one."""
    state, pending = read_state(store), read_pending(store)
    if pending is None or pending[0].number != state.number + 1:
        return state, False
    state.apply(pending[0])
    return state, True


def read_commit(store: Store, number: int) -> Commit | None:
    found = read_json(store, commit_name(number))
    return None if found is None else Commit.of_json(found)


def read_json(store: Store, name: str) -> dict[str, Any] | None:
    data = store.read(name)
    if data is None:
        return None
    try:
        found = json.loads(data)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise MetashellError(f"{store.shown_name(name)}: damaged: not the JSON that was written there")
    return found


def json_bytes(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
