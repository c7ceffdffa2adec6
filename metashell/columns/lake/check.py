"""Whether all that a lake's commits name is there: each file with its size and the count of its rows. Nothing is mended."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, NamedTuple

from metashell.columns.lake.lake import PARQUET, read_commit
from metashell.columns.lake.ledger import LakeFile
from metashell.columns.lake.names import FORMAT, OWN, WORK, is_commit, is_pending
from metashell.columns.lake.status import LakeStatus, asked, lake_status, pendings_of
from metashell.stores import Store
from metashell.stores.holding import holding
from metashell.stores.retrying import again, may_pass
from metashell.stores.store_lock import FOLDER as LOCKS

_TRIES: Final = 5
_READ_TILL: Final = "readers of the folder take its rows for those of the lake until the next export"
_COMES: Final = "belongs to a commit that is being made"
_GOES: Final = "was replaced by a commit that is being made, and is about to be removed"

Kind = Literal["missing", "size", "rows", "damaged", "sum", "stray", "pending", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is odd about a file of a lake: `name` is relative to it, and may be a table's folder; `is_fault` says that it is wrong."""

    kind: Kind
    name: str
    message: str
    is_fault: bool = True


@dataclass(slots=True)
class Checked:
    """What a check looks at: files that commits name, how many of them it has seen, and their rows as the commits have them.

    `has_files` is false where tables have logs of their own, which name their files.
    """

    commit: int = 0
    files: int = 0
    looked: int = 0
    rows: int = 0
    has_files: bool = True


def check_lake(store: Store, checked: Checked) -> Iterator[Finding]:
    """What is wrong or odd, each as it is found; `checked` has counts when the first is asked for.

    What cannot be read comes last: a commit that was made meanwhile may have removed it.

    Errors: PathError where no lake is; MetashellError where its ledger cannot be read, or the store fails.
    """
    moment = _one_moment(store)
    status, files = moment.status, moment.status.state.files
    if status.format.table_format != PARQUET:
        checked.commit, checked.rows, checked.has_files = status.state.number, sum(status.state.rows.values()), False
        said = f"only the ledger was looked at: what its tables hold is in their own logs, of {status.format.table_format}"
        yield Finding(kind="other", name=OWN, message=said, is_fault=False)
        return
    checked.commit, checked.files, checked.rows = status.state.number, len(files), sum(file.rows for file in files.values())
    unread = []
    for found in asked(store, partial(_look, store, moment.sizes), [files[name] for name in sorted(files)]):
        checked.looked += 1
        if found is None:
            continue
        if found.kind in ("missing", "damaged"):
            unread.append(found)
        else:
            yield found
    if unread:
        gone = _removed_since(store, status.state.number)
        yield from (found for found in unread if found.name not in gone)
    for table in status.tables():
        counted = status.state.rows.get(table.table, 0)
        if counted != table.rows:
            message = f"its commits add up to {counted:,} rows, and name files with {table.rows:,}"
            yield Finding(kind="sum", name=f"table={table.table}", message=message)
    if moment.is_mixed:
        said = "exports ended while this lake was listed, one after the other: files that no commit names were not looked for"
        yield Finding(kind="other", name=OWN, message=said, is_fault=False)
    else:
        yield from _beside(moment)


class _Moment(NamedTuple):
    """A lake's ledger, the sizes of all its files, and whether somebody writes to it. `is_mixed` says that they may be of several times."""

    status: LakeStatus
    sizes: dict[str, int]
    is_written: bool
    is_mixed: bool


def _one_moment(store: Store) -> _Moment:
    """All of one time: an export may end in between, which is then looked at once more."""
    for _ in range(_TRIES):
        status = lake_status(store)
        sizes = {file.name: file.size for file in store.files()}
        is_written = bool(status.pendings) and holding(store) is not None
        after = [pending.commit.id for pending in pendings_of(store)]
        if after == [commit.id for commit in status.pendings] and read_commit(store, status.state.number + 1) is None:
            return _Moment(status, sizes, is_written, is_mixed=False)
    return _Moment(status, sizes, is_written, is_mixed=True)


def _removed_since(store: Store, number: int) -> set[str]:
    """The files that commits after this one have removed."""
    gone: set[str] = set()
    while (commit := read_commit(store, number := number + 1)) is not None:
        gone.update(commit.removed)
    return gone


def _look(store: Store, sizes: Mapping[str, int], file: LakeFile) -> Finding | None:
    """What is wrong with a file that a commit names. A list may lack what was written a moment ago: then the file itself is asked for."""
    from metashell.stores.file_systems import TROUBLE, store_error

    size = sizes.get(file.name)
    if size not in (None, file.size):
        return Finding(kind="size", name=file.name, message=f"has {size:,} bytes, and its commit says {file.size:,}")
    try:
        rows = again(partial(_row_count, store, file.name))
    except FileNotFoundError:
        return Finding(kind="missing", name=file.name, message=f"is missing, with {file.rows:,} rows")
    except TROUBLE as error:
        if not store.is_local and may_pass(str(error)):
            raise store_error(store.place, error) from error
        said = str(store_error(store.place, error)).removeprefix(f"{store.shown}: ")
        return Finding(kind="damaged", name=file.name, message=f"cannot be read: {said}")
    if rows != file.rows:
        return Finding(kind="rows", name=file.name, message=f"has {rows:,} rows, and its commit says {file.rows:,}")
    return None


def _row_count(store: Store, name: str) -> int:
    """The rows of a file, by its footer."""
    # `status` goes by the ledger alone, and needs no pyarrow.
    from pyarrow.parquet import read_metadata

    if store.is_local:
        return int(read_metadata(os.path.join(store.place, name)).num_rows)
    from metashell.stores.file_systems import file_system

    system, top = file_system(store.place)
    return int(read_metadata(f"{top.rstrip('/')}/{name}", filesystem=system).num_rows)


def _beside(moment: _Moment) -> Iterator[Finding]:
    """Files that no commit names. Those of a commit that is being made are there for a moment; where nobody makes it, they stay."""
    status, is_left = moment.status, not moment.is_written
    comes = {file.name for commit in status.pendings for file in commit.added}
    goes = {name for commit in status.pendings if status.stage_of(commit) == "made" for name in commit.removed}
    for name, size in sorted(moment.sizes.items()):
        if name in status.state.files:
            continue
        base = name.rpartition("/")[2]
        if name in comes:
            message = f"belongs to a commit that was interrupted: {_READ_TILL} completes or drops it" if is_left else _COMES
            yield Finding(kind="pending", name=name, message=message, is_fault=is_left)
        elif name in goes:
            message = f"was replaced, and is still there: {_READ_TILL} removes it" if is_left else _GOES
            yield Finding(kind="pending", name=name, message=message, is_fault=is_left)
        elif name.startswith("table=") and not base.startswith(("_", ".")):
            message = f"no commit names it ({size:,} bytes): readers of the folder take its rows for those of the lake"
            yield Finding(kind="stray", name=name, message=message)
        elif name.startswith(f"{WORK}/"):
            if not status.pendings:
                yield Finding(kind="pending", name=name, message="is being written, or an export left it there", is_fault=False)
        elif name != FORMAT and not (is_commit(name) or is_pending(name) or name.startswith(f"{LOCKS}/")):
            yield Finding(kind="other", name=name, message="is no file of a lake", is_fault=False)
