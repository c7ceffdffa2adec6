"""Append: what is new in logs goes into a lake, exactly once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from metashell import __version__
from metashell.columns.export.workers import Workers, is_large
from metashell.columns.inputs.splits import TARGET_BYTES
from metashell.columns.lake.commit import make_commit, recover
from metashell.columns.lake.compact import MANY, TARGET_SIZE, Rewrite, cuts, merges
from metashell.columns.lake.lake import (
    LakeFormat,
    read_format,
    read_state,
    read_state_to_be,
    refuse_other_output,
    require_same,
    write_format,
)
from metashell.columns.lake.ledger import Commit, LakeFile, LakeState
from metashell.columns.lake.names import FORMAT, OWN, WORK, part_name
from metashell.columns.lake.plan import Plan, plan_append
from metashell.columns.names import table_names
from metashell.errors import MetashellError, UsageError
from metashell.stores import Held, Store, open_store

if TYPE_CHECKING:
    from metashell.columns.decode.options import Form, OnError, ReadOptions
    from metashell.columns.lake.write import TaskResult, Written
    from metashell.log.kinds import LogKind

FILES_MAX = 100_000
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendOptions:
    """What goes into which lake. `tables` is None for those that it has; `target_size` None for the usual one, and little compaction."""

    paths: tuple[str, ...]
    out: str
    tables: tuple[str, ...] | None = None
    on_error: OnError = "fail"
    jobs: int = 0
    show_secrets: bool = False
    log: LogKind | None = None
    columns: Form = "typed"
    target_bytes: int = TARGET_BYTES
    target_size: int | None = None
    replaces: bool = False

    def wanted(self, made_id: str) -> LakeFormat:
        return LakeFormat(id=made_id, version=__version__, columns=self.columns, tables=self.tables, show_secrets=self.show_secrets)


@dataclass(slots=True)
class AppendReport:
    """What an append did or, when it was only planned, would do: rows that it added by table, and the lake's state then."""

    plan: Plan
    state: LakeState
    rows: dict[str, int] = field(default_factory=dict)
    merged: tuple[int, int] = (0, 0)
    recovered: str = ""


def append(options: AppendOptions, progress: Progress | None = None, planned: Callable[[int], None] | None = None) -> AppendReport:
    """Add to a lake what it lacks; `planned` gets the number of bytes before the first is read.

    Errors: LogCorruptError for the first fault, unless faults are skipped; UsageError for what cannot be opened, contradicts the lake or
    does not fit it, and where another writes to it; MetashellError of the store. The lake is then as it was.
    """
    store = open_store(options.out, sources=options.paths)
    with Workers(options.jobs or len(os.sched_getaffinity(0)), load, partial(prepare, is_local=store.is_local)) as workers:
        if is_large(options.paths):
            # Before the lock: what has threads must not be forked.
            workers.start(workers.jobs)
        store.require_writable()
        with store.lock("metashell export --append") as held:
            return _append(options, store, held, workers, progress, planned)


def plan_only(options: AppendOptions) -> AppendReport:
    """What `append` would do. Nothing is written or locked. Errors: as of `append`."""
    store = open_store(options.out, sources=options.paths)
    lake = read_format(store)
    if lake is None:
        refuse_other_output(store)
        lake, state, is_interrupted = options.wanted(""), LakeState(), False
    else:
        require_same(store, lake, options.wanted(lake.id))
        state, is_interrupted = read_state_to_be(store)
    plan = plan_of(options, lake, state)
    return AppendReport(plan, state, recovered="an interrupted export is there: the next one completes it" if is_interrupted else "")


def plan_of(options: AppendOptions, lake: LakeFormat, state: LakeState) -> Plan:
    named = lake.tables or ()
    return plan_append(
        state,
        options.paths,
        log=options.log,
        target_bytes=options.target_bytes,
        named_tables=named if len(named) < len(table_names()) else (),
        replaces=options.replaces,
    )


def _append(
    options: AppendOptions, store: Store, held: Held, workers: Workers, progress: Progress | None, planned: Callable[[int], None] | None
) -> AppendReport:
    lake, state, recovered = open_to_write(store, held, options)
    plan = plan_of(options, lake, state)
    if planned is not None:
        planned(plan.bytes)
    report = AppendReport(plan, state, recovered=recovered)
    if plan.tasks or plan.cut:
        commit_id = uuid4().hex
        job = job_of(options, lake, commit_id)
        with leaving_no_work(store, state):
            results = _run(workers, _write, [(number, task, job) for number, task in enumerate(plan.tasks)], plan, progress)
            rewritten = rewrite(store, commit_id, cuts(state, plan.cut), _in_turn)
            report.rows, commit, staged = commit_of(store, state, plan, results, rewritten, commit_id, on_error=options.on_error)
            if state.number == 0:
                write_format(store, lake)
        make_commit(store, held, state, commit, staged)
    report.merged = compact(store, held, state, options.target_size, _in_turn)
    return report


def open_to_write(store: Store, held: Held, options: AppendOptions) -> tuple[LakeFormat, LakeState, str]:
    """The lake of a store whose lock is held, after what another left was completed or undone. The format of a new one is not written."""
    lake = read_format(store)
    if lake is None:
        refuse_other_output(store)
        recover(store, held)
        return options.wanted(uuid4().hex), LakeState(), ""
    require_same(store, lake, options.wanted(lake.id))
    recovered = recover(store, held)
    return lake, read_state(store), recovered


@contextmanager
def leaving_no_work(store: Store, state: LakeState) -> Iterator[None]:
    """What is written in the block goes if it fails; with it all of a lake that has no commit yet."""
    try:
        yield
    except BaseException:
        with suppress(MetashellError):
            store.remove_below(WORK)
            if state.number == 0:
                store.remove(FORMAT)
                if store.is_local:  # in a store the lock lies there too
                    store.remove_below(OWN)
        raise


def job_of(options: AppendOptions, lake: LakeFormat, commit_id: str) -> Any:
    """What the tasks of an append get."""
    from metashell.columns.lake.write import Job

    return Job(options.out, f"{WORK}/{commit_id}", reading(options, lake))


def reading(options: AppendOptions, lake: LakeFormat) -> ReadOptions:
    from metashell.columns.decode.options import ReadOptions

    return ReadOptions(tables=lake.tables, on_error=options.on_error, show_secrets=lake.show_secrets, columns=lake.columns)


def commit_of(
    store: Store,
    state: LakeState,
    plan: Plan,
    results: Sequence[TaskResult],
    rewritten: Sequence[tuple[Rewrite, Written | None]],
    commit_id: str,
    *,
    on_error: str,
    is_reset: bool = False,
) -> tuple[dict[str, int], Commit, list[str]]:
    """The commit of what tasks have written: the rows that it adds by table, itself, and where its files lie.

    Errors: UsageError for columns of another type.
    """
    schemas: dict[str, dict[str, str]] = {}
    rows: dict[str, int] = {}
    for result in results:
        schemas.update(result.schemas)
        for table, count in result.rows.items():
            rows[table] = rows.get(table, 0) + count
    schemas = {} if is_reset and not schemas else new_columns(store, LakeState() if is_reset else state, schemas)
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
    return rows, commit, [file.staged for file in written]


def compact(store: Store, held: Held, state: LakeState, target_size: int | None, run: Callable[..., Any]) -> tuple[int, int]:
    """Put small files together, as a commit of its own; how many files there were, and how many came of them."""
    tasks = merges(state, target_size or TARGET_SIZE, 2 if target_size is not None else MANY)
    if not tasks:
        return 0, 0
    commit_id = uuid4().hex
    made = [file for _, file in rewrite(store, commit_id, tasks, run) if file is not None]
    removed = [file.name for task in tasks for file in task.files]
    commit = _commit(state, "compact", commit_id, made, removed, {})
    make_commit(store, held, state, commit, [file.staged for file in made])
    return len(removed), len(made)


def rewrite(store: Store, commit_id: str, tasks: Sequence[Rewrite], run: Callable[..., Any]) -> list[tuple[Rewrite, Written | None]]:
    """Run tasks that rewrite files: `run(function, list of arguments)` gives their results in order."""
    if not tasks:
        return []
    arguments = [(number, task, store.place, f"{WORK}/{commit_id}/whole") for number, task in enumerate(tasks)]
    return list(zip(tasks, run(_rewrite, arguments), strict=True))


def _commit(
    state: LakeState, kind: str, commit_id: str, written: Sequence[Written], removed: Sequence[str], rows: dict[str, int]
) -> Commit:
    number = state.number + 1
    if len(written) > FILES_MAX:
        raise MetashellError(f"the rows would need {len(written):,} files, for as many days: no lake can be divided like that")
    return Commit(
        number=number,
        version=__version__,
        at_ms=time.time_ns() // 1_000_000,
        kind=kind,
        id=commit_id,
        first_source=len(state.sources),
        added=tuple(LakeFile(part_name(file.folder, number, at), file.rows, file.size, file.sources) for at, file in enumerate(written)),
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


def _run(
    workers: Workers, work: Callable[..., Any], tasks: list[tuple[Any, ...]], plan: Plan, progress: Progress | None
) -> list[TaskResult]:
    results: list[TaskResult | None] = [None] * len(tasks)
    for number, result in workers.results(work, tasks):
        if result.error is not None:
            workers.stop()
            raise result.error
        results[number] = result
        if progress is not None:
            progress(plan.tasks[number].split.bytes, sum(result.rows.values()))
    return [result for result in results if result is not None]


def _in_turn(work: Callable[..., Any], tasks: list[tuple[Any, ...]]) -> Iterator[Any]:
    return (work(*task) for task in tasks)


def _write(number: int, task: Any, job: Any) -> TaskResult:
    from metashell.columns.lake.write import write_task

    return write_task(number, task, job)


def _rewrite(number: int, task: Rewrite, place: str, work: str) -> Written | None:
    from metashell.columns.lake.rewrite import rewrite_task

    return rewrite_task(number, task, place, work)


def load() -> None:
    """Import what a process of an append needs."""
    import metashell.columns.export.parquet
    import metashell.columns.lake.write  # noqa: F401


def prepare(*, is_local: bool) -> None:
    from metashell.columns.export.split import prepare_worker

    prepare_worker(is_local=is_local)
