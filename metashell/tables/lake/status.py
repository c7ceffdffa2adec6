"""The content of a lake, checks of its tables and files, and their upkeep: small files become large ones, and unused files go.
An append as lines of text: what it added to a lake, or would add."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeVar

from metashell.common.errors import MetashellError, UsageError
from metashell.common.forms import aligned, counted
from metashell.common.values import size_text
from metashell.disk.names import METADATA_DIRECTORY
from metashell.tables.lake.appends import APPENDS, Append, LakeState, complete, done_id, read_state
from metashell.tables.lake.delta import (
    LOG,
    ConflictError,
    LakeFile,
    active_files,
    delta_errors,
    has_append,
    mend,
    open_table,
    replace_files,
)
from metashell.tables.lake.log_state import LogKey, LogState
from metashell.tables.stores import Store

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from metashell.tables.lake.append import AppendReport


T = TypeVar("T")
R = TypeVar("R")
_AT_ONCE: Final = 8
TARGET_SIZE: Final = 128 << 20
"""The size of the files that `optimize` makes of small ones."""
GRACE_HOURS: Final = 168
GRACE_HOURS_MIN: Final = 1
"""An append that runs has files that no commit names yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """The rows and files of one table of a lake, and its version in Delta's log. Days are `2026-11-20`, None where no row has one."""

    table: str
    version: int
    rows: int
    files: int
    bytes: int
    first_day: str | None
    last_day: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Offsets from `first` to `last` that no append covers; `in_checkpoint`: one that the lake has stands for them."""

    first: int
    last: int
    in_checkpoint: bool


@dataclass(frozen=True, slots=True)
class LakeStatus:
    """A lake and its tables. `lacking` are the tables that do not have the last append yet: it is under way, or was interrupted."""

    state: LakeState
    tables: tuple[TableState, ...]
    lacking: tuple[str, ...]

    @property
    def last(self) -> Append:
        return self.state.appends[-1]


def lake_status(store: Store) -> LakeStatus:
    """Return the lake's present state. Errors: PathError where no lake is; MetashellError for one that is damaged."""
    state = read_state(store, is_required=True)
    opened = dict(_in_parallel(store, lambda name: (name, open_table(store, name)), sorted(state.last)))
    lacking: tuple[str, ...] = ()
    if state.appends and not has_append(open_table(store, APPENDS), done_id(state), state.number):
        changes = state.appends[-1].changes
        lacking = tuple(name for name in changes if not has_append(opened.get(name), state.app_id(), state.number))
    tables = tuple(_table_state(name, table, active_files(table, name)) for name, table in opened.items() if table is not None)
    return LakeStatus(state, tables, lacking)


def _table_state(name: str, table: DeltaTable, files: list[LakeFile]) -> TableState:
    times = [file.bounds()["timestamp"] for file in files if "timestamp" in file.bounds()]
    return TableState(
        table=name,
        version=table.version(),
        rows=sum(file.rows for file in files),
        files=len(files),
        bytes=sum(file.size for file in files),
        first_day=_day(min(least for least, _ in times)) if times else None,
        last_day=_day(max(most for _, most in times)) if times else None,
    )


def _day(at_ms: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at_ms // 1000, UTC).date().isoformat()


def _in_parallel(store: Store, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
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


# ---- checks

Kind = Literal["missing", "size", "rows", "damaged", "append", "restored", "stray"]


class Finding(NamedTuple):
    """A finding about a table or a file of a lake. `name` is relative to the lake; `is_fault` is false for an oddity."""

    kind: Kind
    name: str
    message: str
    is_fault: bool = True


@dataclass(slots=True)
class Checked:
    """The progress of a check: the number of the last append, the files that tables name, those looked at so far, and their rows."""

    number: int = 0
    files: int = 0
    looked: int = 0
    rows: int = 0


def check_lake(store: Store, checked: Checked) -> Iterator[Finding]:
    """Yield what is wrong or odd, each as it is found; `checked` has its counts when the first is asked for.

    Errors: PathError where no lake is; MetashellError where `appends` cannot be read, or the store fails.
    """
    sizes = {file.name: file.size for file in store.files()}
    state = read_state(store, is_required=True)
    checked.number = state.number
    named: list[LakeFile] = []
    names = {APPENDS, *state.last}
    is_done = not state.appends or has_append(open_table(store, APPENDS), done_id(state), state.number)
    coming = {file.name for change in state.appends[-1].changes.values() for file in change.files} if state.appends else set()
    for name in sorted(names):
        try:
            table = open_table(store, name)
        except MetashellError as error:
            yield Finding("damaged", name, str(error))
            continue
        last = state.last.get(name, state.number)
        if not has_append(table, state.app_id(), last):
            if last == state.number and not is_done:
                yield Finding("append", name, f"append {last} is under way, or was interrupted: then the next export completes it")
            elif table is not None:
                yield Finding("restored", name, f"lacks append {last}, which it had: it was put back to an earlier version")
            else:
                yield Finding("missing", name, f"the table is gone, and append {last} wrote to it")
        if table is not None:
            named += active_files(table, name)
    checked.files, checked.rows = len(named), sum(file.rows for file in named if file.table != APPENDS)
    for found in _in_parallel(store, lambda file: _look(store, sizes, file), named):
        checked.looked += 1
        if found is not None:
            yield found
    known = {*(file.name for file in named), *(() if is_done else coming)}
    stray = [file for file in sizes if file.endswith(".parquet") and file not in known and f"/{LOG}/" not in file]
    for name in sorted(file for file in stray if file.partition("/")[0] in names):
        message = "no commit names it now: it is being written, was left, or belongs to an earlier version; vacuum removes it in time"
        yield Finding("stray", name, message, is_fault=False)


def _look(store: Store, sizes: dict[str, int], file: LakeFile) -> Finding | None:
    """Return what is wrong with a file that a table names, None if nothing is. What a list lacks is asked for by its name."""
    size = sizes.get(file.name)
    if size is None:
        size = store.sizes([file.name]).get(file.name)
    if size is None:
        return Finding("missing", file.name, f"is missing, with {file.rows:,} rows")
    if size != file.size:
        return Finding("size", file.name, f"has {size:,} bytes, and its table says {file.size:,}")
    try:
        rows = _row_count(store, file.name)
    except MetashellError as error:
        return Finding("damaged", file.name, f"cannot be read: {error}")
    if rows != file.rows:
        return Finding("rows", file.name, f"has {rows:,} rows, and its table says {file.rows:,}")
    return None


def _row_count(store: Store, name: str) -> int:
    """Return the rows of a file, by its footer."""
    import pyarrow as pa
    from pyarrow.parquet import read_metadata

    where: str | io.BytesIO = store.shown_name(name) if store.is_local else io.BytesIO(store.read(name) or b"")
    try:
        return int(read_metadata(where).num_rows)
    except (OSError, pa.ArrowException) as error:
        raise MetashellError((str(error).splitlines() or [type(error).__name__])[0]) from error


# ---- upkeep


def optimize_lake(store: Store, *, target_size: int = TARGET_SIZE) -> Iterator[tuple[str, int, int]]:
    """Make large files of small ones; yields each table that changed, and how many files it had and has. Rows stay as they are.

    An append that was interrupted is completed first. Errors: PathError where no lake is; MetashellError.
    """
    from metashell.tables.lake.write_tasks import rewritten

    state, names = _upkept(store)
    assert state.form is not None, "a lake has a form"
    for name in names:
        table = open_table(store, name)
        if table is None or name == APPENDS:
            continue
        files = active_files(table, name)
        for group in _groups(files, target_size):
            made = rewritten(store, group, show_secrets=state.form.show_secrets)
            new = [] if made is None else [made]
            try:
                replace_files(store, name, table, group, new)
            except ConflictError:
                store.remove_all([file.name for file in new])
                break  # somebody writes to it: the next run does the rest
        after = len(active_files(table, name))
        if after != len(files):
            yield name, len(files), after


def _groups(files: Iterable[LakeFile], target_size: int) -> Iterator[list[LakeFile]]:
    """Yield the small files of each folder that become one: each below half the target, up to the target together."""
    groups: dict[str | None, list[LakeFile]] = {}
    for file in files:
        if file.size >= target_size // 2:
            continue
        group = groups.setdefault(file.month, [])
        if group and sum(each.size for each in group) + file.size > target_size:
            if len(group) > 1:
                yield group
            group = groups[file.month] = []
        group.append(file)
    yield from (group for group in groups.values() if len(group) > 1)


def vacuum_lake(store: Store, *, grace_hours: int = GRACE_HOURS, is_dry: bool = False) -> Iterator[tuple[str, list[str]]]:
    """Remove files that no commit names and that are older than the grace period; yields them by table.

    They were left by an append that failed, or belong to versions before an optimize or an overwrite: those can then not be read any more.
    Errors: UsageError for a grace period in which an append that runs would lose its files; as of `optimize_lake`.
    """
    if grace_hours < GRACE_HOURS_MIN:
        raise UsageError(f"--grace: at least {GRACE_HOURS_MIN} hour: an export that runs has files that no commit names yet", "--grace")
    for name in _upkept(store)[1]:
        table = open_table(store, name)
        if table is None:
            continue
        with delta_errors(store, name):
            gone = table.vacuum(retention_hours=grace_hours, dry_run=is_dry, enforce_retention_duration=False, full=True)
            if not is_dry:
                table.cleanup_metadata()
        if gone:
            yield name, sorted(gone)


def _upkept(store: Store) -> tuple[LakeState, list[str]]:
    """Return the state and the tables of a lake, all of which have its last append."""
    mend(store, APPENDS)
    state = read_state(store, is_required=True)
    complete(store, state)
    return state, [APPENDS, *sorted(state.last)]


# ---- lines


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
        yield f"added as append {report.number}{there}"
    else:
        yield f"nothing new: the lake has all of {counted(plan.file_count, 'file')} already"
    if report.removed:
        yield f"removed {counted(sum(report.removed.values()), 'row')} that were there"


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
