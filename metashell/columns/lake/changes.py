"""The commits of what tasks have written: which files and columns they add, and which files go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from metashell import __version__
from metashell.columns.lake.compact import MANY, TARGET_SIZE, Rewrite, merges
from metashell.columns.lake.lake import LakeFormat
from metashell.columns.lake.ledger import Commit, LakeFile, LakeState
from metashell.columns.lake.names import part_name, work_of
from metashell.columns.lake.plan import Plan
from metashell.errors import UsageError
from metashell.stores import Store

if TYPE_CHECKING:
    from metashell.columns.lake.write import TaskResult, Written

Rewriting = Callable[[Sequence[Rewrite], str, str], "Iterable[Written | None]"]
"""Runs tasks that rewrite files of a place, with their work below a folder; gives their results in order."""


def commit_of(
    store: Store,
    state: LakeState,
    plan: Plan,
    results: Sequence[TaskResult],
    rewritten: Sequence[tuple[Rewrite, Written | None]],
    commit_id: str,
    *,
    on_error: str,
    lake: LakeFormat,
    is_reset: bool = False,
) -> tuple[dict[str, int], Commit, list[str]]:
    """The commit of what tasks have written: the rows that it adds by table, itself, and where its files lie.

    With `is_reset` all that was there goes. `lake` is the format of a lake that begins, or begins anew, here.
    Errors: UsageError for columns of another type.
    """
    schemas: dict[str, dict[str, str]] = {}
    rows: dict[str, int] = {}
    for result in results:
        schemas.update(result.schemas)
        for table, count in result.rows.items():
            rows[table] = rows.get(table, 0) + count
    schemas = new_columns(store, LakeState() if is_reset else state, schemas)
    written = [file for result in results for file in result.written]
    changes = dict(rows)
    removed = list(state.files) if is_reset else []
    for task, made in rewritten:
        if made is None:
            continue
        (old,) = task.files
        removed.append(old.name)
        changes[old.table] = changes.get(old.table, 0) - (old.rows - made.rows)
        if made.staged:
            written.append(made)
    commit = _commit(state, "overwrite" if is_reset else "append", commit_id, written, removed, changes)
    commit.on_error, commit.logs, commit.cut, commit.schemas = on_error, plan.logs, plan.cut, schemas
    commit.sources, commit.is_reset = tuple(plan.sources), is_reset
    commit.first_source = plan.first_source
    commit.format = lake.to_json() if is_reset or state.number == 0 else {}
    return rows, commit, [file.staged for file in written]


def merge_of(state: LakeState, place: str, target_size: int | None, run: Rewriting, commit_id: str) -> tuple[Commit, list[str]] | None:
    """The commit that puts small files together, and where its files lie; None where there are too few."""
    tasks = merges(state, target_size or TARGET_SIZE, 2 if target_size is not None else MANY)
    if not tasks:
        return None
    made = [file for _, file in rewritten(place, commit_id, tasks, run) if file is not None]
    removed = [file.name for task in tasks for file in task.files]
    return _commit(state, "compact", commit_id, made, removed, {}), [file.staged for file in made]


def rewritten(place: str, commit_id: str, tasks: Sequence[Rewrite], run: Rewriting) -> list[tuple[Rewrite, Written | None]]:
    """What came of tasks that rewrite files."""
    return list(zip(tasks, run(tasks, place, f"{work_of(commit_id)}/whole"), strict=True)) if tasks else []


def _commit(
    state: LakeState, kind: str, commit_id: str, written: Sequence[Written], removed: Sequence[str], rows: dict[str, int]
) -> Commit:
    number = state.number + 1
    return Commit(
        number=number,
        version=__version__,
        at_ms=time.time_ns() // 1_000_000,
        kind=kind,
        id=commit_id,
        first_source=len(state.sources),
        added=tuple(
            LakeFile(part_name(file.folder, number, at, commit_id), file.rows, file.size, file.sources) for at, file in enumerate(written)
        ),
        removed=tuple(removed),
        rows={table: count for table, count in sorted(rows.items()) if count},
    )


def new_columns(store: Store, state: LakeState, found: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """The columns that a lake has not had yet. Errors: UsageError where the type of one is another now."""
    new = {}
    for table, columns in sorted(found.items()):
        known = state.schemas.get(table, {})
        for name, kind in columns.items():
            if known.get(name, kind) != kind:
                raise UsageError(
                    f"{store.shown}: column {name} of {table} is {known[name]} in this lake and {kind} in this version of metashell: "
                    "name another --out",
                    "--out",
                )
        if columns.keys() - known.keys():
            new[table] = {name: kind for name, kind in columns.items() if name not in known}
    return new
