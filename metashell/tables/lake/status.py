"""The content and the commits of a lake, from its ledger, and checks of its files. Nothing is written.
An append as lines of text: what it added to a lake, or would add."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeVar

from metashell.common.errors import PathError, UsageError
from metashell.common.forms import aligned, counted
from metashell.common.values import size_text
from metashell.disk.names import METADATA_DIRECTORY
from metashell.tables.lake.layout import (
    COMMITS,
    FORMAT,
    NO_VALUE,
    OWN,
    PARQUET,
    PENDINGS,
    TARGET_SIZE_MAX,
    WORK,
    LakeFormat,
    Pending,
    commit_is_missing,
    is_commit,
    is_pending,
    numbers_of,
    read_commit,
    read_format,
    read_pendings,
    read_state,
)
from metashell.tables.lake.ledger import Commit, LakeFile, LakeState, LogKey, LogState
from metashell.tables.stores import Store
from metashell.tables.stores.locks import LOCK_FOLDER, find_lock_owner
from metashell.tables.stores.store import is_transient, retry

if TYPE_CHECKING:
    from metashell.tables.lake.append import AppendReport


T = TypeVar("T")
R = TypeVar("R")
Stage = Literal["made", "begun", "lost"]
_AT_ONCE: Final = 8
_TRIES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """The rows and files of one table of a lake. Days are `2026-11-20`, None where no row has one or the table has a log of its own."""

    table: str
    rows: int
    files: int
    bytes: int
    first_day: str | None
    last_day: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Offsets from `first` to `last` that no commit covers; `in_checkpoint`: one that the lake has stands for them."""

    first: int
    last: int
    in_checkpoint: bool


@dataclass(frozen=True, slots=True)
class LakeStatus:
    """A lake as its ledger has it: `last` is the newest commit, `pendings` are those that were begun and are not done."""

    format: LakeFormat
    state: LakeState
    last: Commit | None
    pendings: tuple[Commit, ...]

    def stage_of(self, pending: Commit) -> Stage:
        """Return the stage of a pending commit.

        `made`: it has its number, and the files it replaces are still to be removed. `begun`: it may get its number yet. `lost`: another
        commit has that number.
        """
        if self.last is not None and pending.id == self.last.id:
            return "made"
        return "begun" if pending.number == self.state.number + 1 else "lost"

    def tables(self) -> list[TableState]:
        """Return the tables that have files, or once had rows, by name."""
        found = []
        for table in sorted({*self.state.rows, *(file.table for file in self.state.files.values())}):
            files = [file for file in self.state.files.values() if file.table == table]
            days = sorted({day for file in files if (day := file.folder.rpartition("date=")[2]) != NO_VALUE})
            found.append(
                TableState(
                    table=table,
                    rows=sum(file.rows for file in files) if self.format.table_format == PARQUET else self.state.rows.get(table, 0),
                    files=len(files),
                    bytes=sum(file.size for file in files),
                    first_day=days[0] if days else None,
                    last_day=days[-1] if days else None,
                )
            )
        return found


def lake_status(store: Store) -> LakeStatus:
    """Return the lake's present state by its ledger. Errors: PathError where no lake is; MetashellError for a damaged ledger."""
    lake = require_lake(store)
    for _ in range(_TRIES):
        # An export may make its commit meanwhile: what is pending before it and the state after it do not belong together.
        pendings = pendings_of(store)
        state = read_state(store)
        if pendings_of(store) == pendings:
            break
    last = read_commit(store, state.number) if state.number else None
    return LakeStatus(lake, state, last, tuple(pending.commit for pending in pendings))


def pendings_of(store: Store) -> list[Pending]:
    return read_pendings(store, [file.name for file in store.files(PENDINGS)])


def require_lake(store: Store) -> LakeFormat:
    """Return the format of a lake. Errors: PathError where there is none."""
    lake = read_format(store)
    if lake is None:
        if store.is_local and not _is_there(store.place):
            raise PathError(f"{store.shown}: No such file or directory", store.shown)
        if not store.is_local:
            from metashell.tables.stores.file_systems import file_system, has_bucket, nothing_at

            system, path = file_system(store.place)
            if not has_bucket(system, path):
                raise nothing_at(store.place, system, path)
        raise PathError(f"{store.shown}: no lake here: there is no {FORMAT}; metashell export --append makes one", store.shown)
    return lake


def _is_there(path: str) -> bool:
    from os.path import lexists

    return lexists(path)


def lake_commits(store: Store, last: int | None = None) -> Iterator[Commit]:
    """Yield the commits of a lake, or only the `last` ones, the oldest first. Errors: as of `lake_status`, after the commits before."""
    require_lake(store)
    newest = max(numbers_of(file.name for file in store.files(COMMITS))[0], default=0)
    while read_commit(store, newest + 1) is not None:  # a list may lack what was written a moment ago
        newest += 1
    numbers = range(max(newest - last, 0) + 1 if last is not None else 1, newest + 1)
    for number, commit in zip(numbers, ask_in_parallel(store, lambda number: read_commit(store, number), numbers), strict=True):
        if commit is None:
            raise commit_is_missing(store, number)
        yield commit


def ask_in_parallel(store: Store, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Yield the results of requests, in order; of those to a store a few wait at a time."""
    if store.is_local:
        yield from map(work, items)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from pool.map(work, items)


def gaps_of(key: LogKey, log: LogState) -> list[Gap]:
    """Return the offsets that the lake lacks before the end of a log. Gaps that compaction leaves count as covered."""
    spans = list(log.offsets)
    if not spans:
        return []
    start = 0 if key.log == METADATA_DIRECTORY else spans[0][0]
    return [
        Gap(first=first, last=end - 1, in_checkpoint=log.stood_for.has(first, end))
        for first, end in log.offsets.missing(start, log.offsets.end)
    ]


_CHECK_TRIES: Final = 5
_READ_TILL: Final = "readers of the folder take its rows for those of the lake until the next export"
_COMES: Final = "belongs to a commit that is being made"
_GOES: Final = "was replaced by a commit that is being made, and is about to be removed"

Kind = Literal["missing", "size", "rows", "damaged", "sum", "stray", "pending", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A finding about a file of a lake. `name` is relative to the lake and may be a table's folder; `is_fault` is false for an oddity."""

    kind: Kind
    name: str
    message: str
    is_fault: bool = True


@dataclass(slots=True)
class Checked:
    """The progress of a check: the files that commits name, the number checked so far, and their rows by the commits.

    `has_files` is false where tables have logs of their own, which name their files.
    """

    commit: int = 0
    files: int = 0
    looked: int = 0
    rows: int = 0
    has_files: bool = True


def check_lake(store: Store, checked: Checked) -> Iterator[Finding]:
    """Yield what is wrong or odd, each as it is found; `checked` has its counts when the first is asked for.

    Files that cannot be read come last: a commit that was made meanwhile may have removed them.

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
    for found in ask_in_parallel(store, partial(_look, store, moment.sizes), [files[name] for name in sorted(files)]):
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
    """Return status and files of one moment. An export may end in between: then both are read again."""
    for _ in range(_CHECK_TRIES):
        status = lake_status(store)
        sizes = {file.name: file.size for file in store.files()}
        is_written = bool(status.pendings) and find_lock_owner(store) is not None
        after = [pending.commit.id for pending in pendings_of(store)]
        if after == [commit.id for commit in status.pendings] and read_commit(store, status.state.number + 1) is None:
            return _Moment(status, sizes, is_written, is_mixed=False)
    return _Moment(status, sizes, is_written, is_mixed=True)


def _removed_since(store: Store, number: int) -> set[str]:
    """Return the files that commits after this one have removed."""
    gone: set[str] = set()
    while (commit := read_commit(store, number := number + 1)) is not None:
        gone.update(commit.removed)
    return gone


def _look(store: Store, sizes: Mapping[str, int], file: LakeFile) -> Finding | None:
    """Return what is wrong with a file that a commit names, None if nothing is.

    A list may lack what was written a moment ago: then the file itself is opened.
    """
    from metashell.tables.stores.file_systems import TROUBLE, store_error

    size = sizes.get(file.name)
    if size not in (None, file.size):
        return Finding(kind="size", name=file.name, message=f"has {size:,} bytes, and its commit says {file.size:,}")
    try:
        rows = retry(partial(_row_count, store, file.name))
    except FileNotFoundError:
        return Finding(kind="missing", name=file.name, message=f"is missing, with {file.rows:,} rows")
    except TROUBLE as error:
        if not store.is_local and is_transient(str(error)):
            raise store_error(store.place, error) from error
        said = str(store_error(store.place, error)).removeprefix(f"{store.shown}: ")
        return Finding(kind="damaged", name=file.name, message=f"cannot be read: {said}")
    if rows != file.rows:
        return Finding(kind="rows", name=file.name, message=f"has {rows:,} rows, and its commit says {file.rows:,}")
    return None


def _row_count(store: Store, name: str) -> int:
    """Return the rows of a file, by its footer."""
    # `status` goes by the ledger alone, and needs no pyarrow.
    from pyarrow.parquet import read_metadata

    if store.is_local:
        return int(read_metadata(os.path.join(store.place, name)).num_rows)
    from metashell.tables.stores.file_systems import file_system

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
        elif name != FORMAT and not (is_commit(name) or is_pending(name) or name.startswith(f"{LOCK_FOLDER}/")):
            yield Finding(kind="other", name=name, message="is no file of a lake", is_fault=False)


def checked_target_size(given: int) -> int | None:
    """Return the wanted size of files; None where none was given. Errors: UsageError for one that stores do not take."""
    if given > TARGET_SIZE_MAX:
        raise UsageError("--target-file-size: at most 1G, since a store copies files of 5 GB at most in one step", "--target-file-size")
    return given or None


def added_lines(report: AppendReport) -> Iterator[str]:
    """Yield the rows that were added by table, and what was there already."""
    if report.rows:
        yield from aligned([(table, f"{count:>12,}") for table, count in sorted(report.rows.items())])
    yield from outcome_lines(report)


def outcome_lines(report: AppendReport) -> Iterator[str]:
    """Yield the lines that report what an append changed in the lake."""
    plan = report.plan
    if report.number:
        there = f"; {plan.known_count:,} of {counted(plan.file_count, 'file')} had nothing new" if plan.known_count else ""
        yield f"added as commit {report.number}{there}"
    else:
        yield f"nothing new: the lake has all of {counted(plan.file_count, 'file')} already"
    if report.removed:
        yield f"removed {counted(sum(report.removed.values()), 'row')} that were there"
    before, after = report.merged
    if after:
        yield f"{counted(before, 'small file')} of rows became {after:,}"


def planned_lines(report: AppendReport) -> Iterator[str]:
    """For each log what the lake has, and what would be added."""
    plan, state = report.plan, report.state
    keys = sorted({*plan.logs, *(key for key in plan.seen if key in state.logs)})
    if keys:
        rows = [("LOG", "IN THE LAKE", "TO ADD")]
        for key in keys:
            has = _offsets(state.logs[key].offsets) if key in state.logs else "nothing"
            new = [*plan.logs[key].checkpoints, _offsets(plan.logs[key].offsets)] if key in plan.logs else ["nothing"]
            rows.append((str(key), has, ", ".join(filter(None, new))))
        yield from aligned(rows)
    new_count = plan.file_count - plan.known_count
    goes = f", {counted(sum(report.removed.values()), 'row')} to remove" if report.removed else ""
    yield (
        f"{new_count:,} of {counted(plan.file_count, 'file')} with something new, {size_text(plan.bytes)} to read{goes}; "
        "nothing was written"
    )


def _offsets(intervals: Iterable[tuple[int, int]]) -> str:
    return ", ".join(f"{start} to {end - 1}" for start, end in intervals)
