"""The steps that put a commit into a lake, whole or not at all, whatever ends the process between two of them.

    1  parts lie below the commit's own folder of work, written and closed
    2  pending/NUMBER-ID.json: the commit, and where its files lie
    3  of a lake's first commit, format.json
    4  the files get their names, which no other commit has
    5  commits/NUMBER.json: from here on the commit is there
    6  of a commit that wrote all anew, format.json; removals, the folder of work, the pending file

Whoever has the lock next goes on. Work without a pending file is dropped. With one and without the commit's file, every file must be
there with its size, under one name or the other: then 3 to 6 are done again, each of which may be done twice. If one is not, or the
commit of that number is another, this commit never was: what has its name is removed. With both, 6 is done again.

A writer that slept may wake after another took its lock over, and do one more step before it looks. Each step is harmless then: its
parts, its pending file and its files have names of their own, and from step 2 on the new owner does the same steps with the same bytes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from metashell import __version__
from metashell.common.errors import MetashellError, UsageError
from metashell.tables.lake.layout import (
    CHECKPOINT_EVERY,
    MANY,
    OWN,
    PARQUET,
    TARGET_SIZE,
    WORK,
    LakeFormat,
    Pending,
    Rewrite,
    checkpoint_name,
    commit_name,
    format_of,
    json_bytes,
    merges,
    part_name,
    put_pending,
    read_commit,
    read_pendings,
    require_same_tables,
    work_of,
    write_format,
)
from metashell.tables.lake.ledger import Commit, LakeFile, LakeState
from metashell.tables.lake.plan import Plan
from metashell.tables.stores import Held, Store

if TYPE_CHECKING:
    from metashell.tables.lake.write_tasks import TaskResult, Written


class AfterCommitError(MetashellError):
    """A failure after a commit was made: its rows are in the lake."""


class Commits:
    """The way commits get into a lake whose tables are Parquet files. A table format that has a log of its own replaces step 4.

    `can_rewrite` says whether single files can be made anew, `divides` whether tasks write a file for each cluster and day.
    """

    table_format = PARQUET
    can_rewrite = True
    divides = True

    def make(self, store: Store, held: Held, state: LakeState, commit: Commit, staged: Sequence[str]) -> None:
        """Make a commit whose files lie under the names `staged`, in the order of `commit.added`; the state has it then.

        Errors: MetashellError of the store, for a part that is not there, or where the lock was lost; the next to write goes on. It is an
        AfterCommitError where the commit is there.
        """
        assert len(staged) == len(commit.added), "each file has a staged name"
        try:
            _require_parts(store, commit, staged)
            more = self.prepared(store, state, commit, staged)
            held.require()
            pending = put_pending(store, commit, staged, more)
        except BaseException:
            # If a store has the pending file yet, it stands for a commit without parts, which is undone.
            with suppress(MetashellError):
                _drop(store, work_of(commit.id))
            raise
        self._finish(store, held, pending)
        state.apply(self.kept(commit))
        if commit.number % CHECKPOINT_EVERY == 0:
            # It only saves time: without it opening the lake reads up to twice as many commits, and the next one is as good.
            with suppress(MetashellError):
                store.put(checkpoint_name(commit.number), json_bytes(state.to_json()), durable=True)

    def recover(self, store: Store, held: Held) -> str:
        """Finish or undo what other writers left; what was done, in a line, or nothing. Errors: MetashellError."""
        names = [file.name for file in held.listed(store, OWN)]
        said = [self._recover(store, held, pending) for pending in read_pendings(store, names)]
        # In a store only what was listed: a writer that sleeps here may wake when another's work lies there.
        listed = {"/".join(name.split("/")[:3]) for name in names if name.startswith(f"{WORK}/")}
        for folder in [WORK] if store.is_local else sorted(listed):
            _drop(store, folder)
        return "; ".join(dict.fromkeys(said))

    def prepared(self, store: Store, state: LakeState, commit: Commit, staged: Sequence[str]) -> dict[str, Any]:
        """Return what the pending file must hold to finish after an interruption. Errors: MetashellError where the rest cannot be done."""
        return {}

    def require_kept(self, store: Store, state: LakeState) -> None:
        """Errors: MetashellError where a table has lost rows that the ledger counts, by its own log."""

    def may_finish(self, store: Store, pending: Pending) -> bool:
        """Return whether a commit of which nothing else is known is completed, and not undone."""
        return pending.is_complete(store)

    def place(self, store: Store, held: Held, pending: Pending) -> None:
        """Put the rows into the tables; what is done already stays so."""
        store.move_all([(source, file.name, file.size) for source, file in zip(pending.staged, pending.commit.added, strict=True)])

    def kept(self, commit: Commit) -> Commit:
        """Return the commit as the ledger records it."""
        return commit

    def _recover(self, store: Store, held: Held, pending: Pending) -> str:
        commit = pending.commit
        made = read_commit(store, commit.number)
        if made is None or made.id == commit.id:
            require_same_tables(store, commit, self.table_format)
        if made is not None and made.id == commit.id:
            _tidy(store, held, pending)
            return "an interrupted export was completed"
        if made is None and self.may_finish(store, pending):
            self._finish(store, held, pending)
            return "an interrupted export was completed"
        held.require()
        store.remove_all([file.name for file in commit.added])
        store.remove(pending.name)
        return f"an interrupted export was undone: {'not all of its files were there' if made is None else 'another one came before it'}"

    def _finish(self, store: Store, held: Held, pending: Pending) -> None:
        commit, name = pending.commit, commit_name(pending.commit.number)
        held.require()
        if commit.format and commit.number == 1:
            write_format(store, format_of(store, commit.format))
        self.place(store, held, pending)
        held.require()
        store.put(name, json_bytes(self.kept(commit).to_json()), durable=True)
        there = read_commit(store, commit.number)
        if there is None or there.id != commit.id:
            raise MetashellError(f"{store.shown_name(name)}: was written by another export at the same time: nothing more is done here")
        try:
            _tidy(store, held, pending)
        except MetashellError as error:
            raise AfterCommitError(
                f"{error}; commit {commit.number} was made before, and the next export does what is left of it"
            ) from error


def _tidy(store: Store, held: Held, pending: Pending) -> None:
    held.require()
    if pending.commit.is_reset:
        write_format(store, format_of(store, pending.commit.format))
    store.remove_all(pending.commit.removed)
    with suppress(MetashellError):  # a late task of Spark may still write there: it goes the next time
        _drop(store, work_of(pending.commit.id))
    store.remove(pending.name)


def _require_parts(store: Store, commit: Commit, staged: Sequence[str]) -> None:
    """Errors: MetashellError where a part is not as the task that wrote it said: it wrote on another machine, or somebody removed it."""
    there = store.sizes(staged)
    for source, file in zip(staged, commit.added, strict=True):
        if there.get(source) != file.size:
            found = f"has {there[source]} bytes, not {file.size}" if source in there else "is not there"
            raise MetashellError(
                f"{store.shown_name(source)}: {found}, and a task has just written it: it was removed, or lies on another machine"
            )


def _drop(store: Store, folder: str) -> None:
    """Remove what is being written. A worker of a killed run may live a moment longer and write there: that goes the next time."""
    try:
        store.remove_below(folder)
    except MetashellError:
        store.remove_below(folder)


# ---- commits of written files

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
    """Return the commit of what tasks have written: the rows that it adds by table, itself, and where its files lie.

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
    """Return the commit that puts small files together, and where its files lie; None where there are too few."""
    tasks = merges(state, target_size or TARGET_SIZE, 2 if target_size is not None else MANY)
    if not tasks:
        return None
    made = [file for _, file in rewritten(place, commit_id, tasks, run) if file is not None]
    removed = [file.name for task in tasks for file in task.files]
    return _commit(state, "compact", commit_id, made, removed, {}), [file.staged for file in made]


def rewritten(place: str, commit_id: str, tasks: Sequence[Rewrite], run: Rewriting) -> list[tuple[Rewrite, Written | None]]:
    """Run tasks that rewrite files; return each with its result."""
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
    """Return the columns that a lake has not had yet. Errors: UsageError where the type of one is another now."""
    new = {}
    for table, columns in found.items():
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
