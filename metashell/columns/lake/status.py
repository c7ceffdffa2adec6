"""What a lake holds, and how it came to that, by its ledger alone: no file of rows is opened, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from metashell.columns.lake.lake import PARQUET, LakeFormat, Pending, commit_is_missing, read_commit, read_format, read_pendings, read_state
from metashell.columns.lake.ledger import Commit, LakeState, LogKey, LogState
from metashell.columns.lake.names import COMMITS, FORMAT, NO_VALUE, PENDINGS, numbers_of
from metashell.errors import PathError
from metashell.log.names import METADATA_DIRECTORY
from metashell.stores import Store

T = TypeVar("T")
R = TypeVar("R")
Stage = Literal["made", "begun", "lost"]
_AT_ONCE: Final = 8
_TRIES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """What a lake has of one table; days are `2026-11-20`, None where no row has one, and where the table has a log of its own."""

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
        """How far a commit has come: it has its number, and what it replaces is still to be removed; or it may get its number yet; or
        another one has that.
        """
        if self.last is not None and pending.id == self.last.id:
            return "made"
        return "begun" if pending.number == self.state.number + 1 else "lost"

    def tables(self) -> list[TableState]:
        """The tables that have files, or once had rows, by name."""
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
    """What the ledger says now. Errors: PathError where no lake is; MetashellError for a ledger that is damaged."""
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
    """What holds for a lake. Errors: PathError where there is none."""
    lake = read_format(store)
    if lake is None:
        if store.is_local and not _is_there(store.place):
            raise PathError(f"{store.shown}: No such file or directory", store.shown)
        if not store.is_local:
            from metashell.stores.file_systems import file_system, has_bucket, nothing_at

            system, path = file_system(store.place)
            if not has_bucket(system, path):
                raise nothing_at(store.place, system, path)
        raise PathError(f"{store.shown}: no lake here: there is no {FORMAT}; metashell export --append makes one", store.shown)
    return lake


def _is_there(path: str) -> bool:
    from os.path import lexists

    return lexists(path)


def lake_commits(store: Store, last: int | None = None) -> Iterator[Commit]:
    """The commits of a lake, or only the `last` ones, the oldest first. Errors: as of `lake_status`, once what is before was given."""
    require_lake(store)
    newest = max(numbers_of(file.name for file in store.files(COMMITS))[0], default=0)
    while read_commit(store, newest + 1) is not None:  # a list may lack what was written a moment ago
        newest += 1
    numbers = range(max(newest - last, 0) + 1 if last is not None else 1, newest + 1)
    for number, commit in zip(numbers, asked(store, lambda number: read_commit(store, number), numbers), strict=True):
        if commit is None:
            raise commit_is_missing(store, number)
        yield commit


def asked(store: Store, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """The results of requests, in order; of those to a store a few wait at a time."""
    if store.is_local:
        yield from map(work, items)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from pool.map(work, items)


def gaps_of(key: LogKey, log: LogState) -> list[Gap]:
    """What the lake lacks before the end of a log. Compaction leaves gaps in all logs but one, which count as covered."""
    spans = list(log.offsets)
    if not spans:
        return []
    start = 0 if key.log == METADATA_DIRECTORY else spans[0][0]
    return [
        Gap(first=first, last=end - 1, in_checkpoint=log.stood_for.has(first, end))
        for first, end in log.offsets.missing(start, log.offsets.end)
    ]
