"""Append: what is new in logs goes into a lake, exactly once."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, Literal, Protocol
from uuid import uuid4

from metashell import __version__
from metashell.common.errors import MetashellError, UsageError
from metashell.common.runtime import processors
from metashell.tables.dictionary import table_names
from metashell.tables.export.workers import Workers, is_large
from metashell.tables.lake.commit import AfterCommitError, Commits, commit_of, merge_of, rewritten
from metashell.tables.lake.layout import (
    OWN,
    PARQUET,
    PENDINGS,
    SPOOL,
    LakeFormat,
    Rewrite,
    commit_name,
    cuts,
    format_of,
    read_format,
    read_state,
    read_state_to_be,
    refuse_other_output,
    require_few_files,
    require_same,
    require_same_format,
    work_of,
    write_format,
)
from metashell.tables.lake.ledger import LakeState
from metashell.tables.lake.plan import Plan, Task, plan_append
from metashell.tables.read_options import ReadOptions
from metashell.tables.splits import TARGET_BYTES
from metashell.tables.stores import Held, Store, open_store

if TYPE_CHECKING:
    from metashell.disk.names import LogKind
    from metashell.tables.lake.write_tasks import Job, TaskResult, Written
    from metashell.tables.read_options import Form, OnError

Mode = Literal["append", "overwrite", "error"]
"""The treatment of a lake that exists: add to it, remove its rows once the new ones are written, or refuse it."""
Progress = Callable[[int, int], None]
FILES: Final = Commits()


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendOptions:
    """The options of an append: the inputs, the lake, and how it is written.

    `tables` is None for those that the lake has; `target_size` is None for the usual one, and little compaction.
    """

    paths: tuple[str, ...]
    out: str
    mode: Mode = "append"
    tables: tuple[str, ...] | None = None
    on_error: OnError = "fail"
    jobs: int = 0
    show_secrets: bool = False
    log: LogKind | None = None
    columns: Form = "typed"
    target_bytes: int = TARGET_BYTES
    target_size: int | None = None
    replaces: bool = False

    def wanted(self, made_id: str, table_format: str = PARQUET) -> LakeFormat:
        return LakeFormat(
            id=made_id,
            version=__version__,
            columns=self.columns,
            tables=self.tables,
            show_secrets=self.show_secrets,
            table_format=table_format,
        )


@dataclass(slots=True)
class AppendReport:
    """The result of an append, or of its plan: the rows that it added by table, and the lake's state after it.

    `removed` counts the rows by table that an overwrite removed, or would; `number` is that of the commit, 0 where there was none.
    """

    plan: Plan
    state: LakeState
    rows: dict[str, int] = field(default_factory=dict)
    merged: tuple[int, int] = (0, 0)
    recovered: str = ""
    removed: dict[str, int] = field(default_factory=dict)
    number: int = 0


class Runner(Protocol):
    """A runner of the tasks of an append, in processes of this machine or of a cluster. All arguments and results can be pickled."""

    def balanced(self, tasks: list[Task]) -> list[Task]:
        """Return the same work in tasks that fit the runner."""
        ...

    def write(self, tasks: Sequence[Task], job: Job) -> Iterable[tuple[int, TaskResult]]:
        """Write the rows of tasks; the result of each as it comes, with its number. Errors are in the results, or MetashellError."""
        ...

    def rewrite(self, tasks: Sequence[Rewrite], place: str, work: str) -> Iterable[Written | None]:
        """Write files anew, with their work below the folder `work`; the results in order."""
        ...

    def stop(self) -> None:
        """Results that have not come yet are not wanted any more."""
        ...


def append(options: AppendOptions, progress: Progress | None = None, planned: Callable[[int], None] | None = None) -> AppendReport:
    """Add to a lake what it lacks, by processes of this machine; `planned` gets the number of bytes before the first is read.

    Errors: as of `add_to`.
    """
    store = open_store(options.out, sources=options.paths)
    with (
        spool_of(store) as spool,
        Workers(options.jobs or processors(), load_worker_modules, partial(prepare_append_worker, spool=spool)) as workers,
    ):
        if is_large(options.paths):
            # Before the lock: what has threads must not be forked.
            workers.start(workers.jobs)
        return append_to_store(store, options, Processes(workers), purpose="metashell export --append", progress=progress, planned=planned)


def append_to_store(
    store: Store,
    options: AppendOptions,
    runner: Runner,
    commits: Commits = FILES,
    *,
    purpose: str,
    progress: Progress | None = None,
    planned: Callable[[int], None] | None = None,
) -> AppendReport:
    """Add to a lake what it lacks, or write it anew. Others see `purpose` while it is locked.

    Errors: LogCorruptError for the first fault, unless faults are skipped; UsageError for what cannot be opened, contradicts the lake or
    does not fit it, and where another writes to it; MetashellError of the store. The lake is then as it was.
    """
    store.require_writable()
    with store.lock(purpose) as held:
        return _add(options, store, held, runner, commits, progress, planned)


def plan_only(options: AppendOptions, table_format: str = PARQUET) -> AppendReport:
    """Return the report of an append that is only planned. Nothing is written or locked. Errors: as of `append`."""
    store = open_store(options.out, sources=options.paths)
    refuse_unfit(store, options, table_format)
    state, is_interrupted = read_state_to_be(store, table_format)
    resets = options.mode == "overwrite"
    lake = options.wanted("", table_format)
    if state.number and not resets:
        lake = format_of(store, state.format)
        require_same(store, lake, options.wanted(lake.id, table_format))
    plan = plan_of(options, lake, LakeState() if resets else state)
    recovered = "an interrupted export is there: the next one completes it" if is_interrupted else ""
    return AppendReport(plan, state, recovered=recovered, removed=dict(state.rows) if resets else {})


def refuse_unfit(store: Store, options: AppendOptions, table_format: str = PARQUET) -> None:
    """Errors: UsageError where the options do not go with what is in a store."""
    lake = read_format(store)
    if lake is None:
        refuse_other_output(store)
        return
    wanted = options.wanted(lake.id, table_format)
    require_same_format(store, lake, wanted)
    if options.mode == "error" and (store.sizes([commit_name(1)]) or store.files(PENDINGS)):
        raise _is_there(store)
    if options.mode == "append" and store.sizes([commit_name(1)]):
        require_same(store, lake, wanted)


def _is_there(store: Store, more: str = "") -> UsageError:
    return UsageError(f"{store.shown}: is a lake already{more}: --mode append adds to it, --mode overwrite writes it anew", "--out")


class _WrongGuessError(MetashellError):
    """A task found other batches than a plan by guesses had."""


def plan_of(options: AppendOptions, lake: LakeFormat, state: LakeState, *, guesses: bool = True) -> Plan:
    named = lake.tables or ()
    return plan_append(
        state,
        options.paths,
        log=options.log,
        target_bytes=options.target_bytes,
        named_tables=named if len(named) < len(table_names()) else (),
        replaces=options.replaces,
        # A fault beside a place that was guessed would make the guess look wrong: with them the plan has to know.
        guesses=guesses and options.on_error == "fail",
    )


def _add(
    options: AppendOptions,
    store: Store,
    held: Held,
    runner: Runner,
    commits: Commits,
    progress: Progress | None,
    planned: Callable[[int], None] | None,
) -> AppendReport:
    lake, state, recovered = open_to_write(store, held, options, commits)
    resets = options.mode == "overwrite" and state.number > 0
    if not resets:
        commits.require_kept(store, state)
    work = partial(_added, options, store, held, lake, state, runner, commits, progress)
    try:
        report = work(planned)
    except _WrongGuessError:
        report = work(None, guesses=False)
    report.recovered = recovered
    # What is written whole has as many files as there were tasks. Later appends put them together, or who asks for it.
    if commits.can_rewrite and (options.mode == "append" or options.target_size is not None):
        try:
            report.merged = _merge(options, store, held, state, runner, commits)
        except MetashellError as error:
            if not report.number or isinstance(error, AfterCommitError):
                raise
            raise MetashellError(
                f"{error}; what is new was added as commit {report.number} before, small files stay as they are"
            ) from error
    return report


def _added(
    options: AppendOptions,
    store: Store,
    held: Held,
    lake: LakeFormat,
    state: LakeState,
    runner: Runner,
    commits: Commits,
    progress: Progress | None,
    planned: Callable[[int], None] | None,
    *,
    guesses: bool = True,
) -> AppendReport:
    """Plan and add. Errors: _WrongGuessError where a guess of the plan was wrong: nothing was added."""
    resets = options.mode == "overwrite" and state.number > 0
    plan = plan_of(options, lake, LakeState() if resets else state, guesses=guesses)
    if commits.divides:
        require_few_files(store.shown, len({key.cluster for key in plan.logs}))  # each has one at least
    plan.tasks = runner.balanced(plan.tasks)
    if planned is not None:
        planned(plan.bytes)
    report = AppendReport(plan, state, removed=dict(state.rows) if resets else {})
    if plan.tasks or plan.cut or resets:
        if plan.cut and not commits.can_rewrite:
            what = f"{store.shown}: a log was cut and written anew, and rows of {commits.table_format} tables are not replaced"
            raise UsageError(f"{what}: --mode overwrite writes all anew, or name another --out", "--replace")
        commit_id = uuid4().hex
        with leaving_no_work(store, state, commit_id, runner):
            results = _written(store, runner, plan, job_of(options, lake, commit_id, divides=commits.divides), progress)
            anew = rewritten(store.place, commit_id, cuts(state, plan.cut), runner.rewrite)
            report.rows, commit, staged = commit_of(
                store, state, plan, results, anew, commit_id, on_error=options.on_error, lake=lake, is_reset=resets
            )
        commits.make(store, held, state, commit, staged)
        report.number = commit.number
    return report


def _merge(options: AppendOptions, store: Store, held: Held, state: LakeState, runner: Runner, commits: Commits) -> tuple[int, int]:
    """Put small files together; how many there were, and how many came of them."""
    commit_id = uuid4().hex
    with leaving_no_work(store, state, commit_id, runner):
        merge = merge_of(state, store.place, options.target_size, runner.rewrite, commit_id)
    if merge is None:
        return 0, 0
    commits.make(store, held, state, *merge)
    return len(merge[0].removed), len(merge[0].added)


def open_to_write(store: Store, held: Held, options: AppendOptions, commits: Commits) -> tuple[LakeFormat, LakeState, str]:
    """Return the lake of a store whose lock is held, with the work of others completed or undone. A new one's format is not written."""
    refuse_unfit(store, options, commits.table_format)
    recovered = commits.recover(store, held)
    state = read_state(store)
    if state.number == 0:
        return options.wanted(uuid4().hex, commits.table_format), state, recovered
    made = format_of(store, state.format)
    if read_format(store) != made:
        # Its first commit was completed just now, or a writer that slept wrote another form of long ago.
        write_format(store, made)
    wanted = options.wanted(made.id, commits.table_format)
    if options.mode == "error":
        raise _is_there(store, f" ({recovered})" if recovered else "")
    if options.mode == "overwrite":
        require_same_format(store, made, wanted)
        return wanted, state, recovered
    require_same(store, made, wanted)
    return made, state, recovered


@contextmanager
def leaving_no_work(store: Store, state: LakeState, commit_id: str, runner: Runner) -> Iterator[None]:
    """Remove the work of a commit if the block fails, and nothing else: another process may have the lock by then."""
    try:
        yield
    except BaseException:
        runner.stop()  # what still runs would write more
        with suppress(MetashellError):
            store.remove_below(work_of(commit_id))
            if state.number == 0 and store.is_local:  # in a store the lock lies there too, and may be another's
                store.remove_below(OWN)
        raise


def job_of(options: AppendOptions, lake: LakeFormat, commit_id: str, *, divides: bool = True) -> Job:
    """Return the job that the tasks of an append share."""
    from metashell.tables.lake.write_tasks import Job

    reading = ReadOptions(
        tables=lake.tables, on_error=options.on_error, show_secrets=lake.show_secrets, columns=lake.columns, fails_with_store=True
    )
    return Job(options.out, work_of(commit_id), reading, divides)


def _written(store: Store, runner: Runner, plan: Plan, job: Job, progress: Progress | None) -> list[TaskResult]:
    """Return the results of all tasks, in order. Errors: that of the first task that failed; UsageError once there are too many files."""
    results: dict[int, TaskResult] = {}
    count = 0
    for number, result in runner.write(plan.tasks, job):
        if result.error is not None:
            runner.stop()
            raise _WrongGuessError(str(result.error)) if result.is_misguessed else result.error
        results[number] = result
        count += len(result.written)
        require_few_files(store.shown, count)
        if progress is not None:
            progress(plan.tasks[number].split.bytes, sum(result.rows.values()))
    return [results[number] for number in range(len(plan.tasks))]


class Processes:
    """Runs tasks by processes of this machine."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def balanced(self, tasks: list[Task]) -> list[Task]:
        return tasks

    def write(self, tasks: Sequence[Task], job: Job) -> Iterator[tuple[int, TaskResult]]:
        return self._workers.results(_write, [(number, task, job) for number, task in enumerate(tasks)])

    def rewrite(self, tasks: Sequence[Rewrite], place: str, work: str) -> Iterable[Written | None]:
        """By the processes that there are, else one after another in this one."""
        words = [(number, task, place, work) for number, task in enumerate(tasks)]
        if not self._workers.are_started:
            return (_rewrite(*each) for each in words)
        made = dict(self._workers.results(_rewrite, words))
        return [made[number] for number in range(len(tasks))]

    def stop(self) -> None:
        self._workers.stop()


def _write(number: int, task: Task, job: Job) -> TaskResult:
    from metashell.tables.lake.write_tasks import write_task

    return write_task(number, task, job)


def _rewrite(number: int, task: Rewrite, place: str, work: str) -> Written | None:
    from metashell.tables.lake.write_tasks import rewrite_task

    return rewrite_task(number, task, place, work)


def load_worker_modules() -> None:
    """Import what a process of an append needs."""
    import metashell.tables.export.parquet
    import metashell.tables.lake.write_tasks  # noqa: F401


def spool_of(store: Store) -> AbstractContextManager[str]:
    """Return a folder for what workers upload to a store, "" where they do not: one that is killed cannot remove its own."""
    if store.is_local:
        return nullcontext("")

    return TemporaryDirectory(prefix=SPOOL)


def prepare_append_worker(*, spool: str) -> None:
    """In a process of its own. Its temporary files lie in `spool`, where there is one."""
    from metashell.tables.export.split_writer import prepare_worker

    prepare_worker(is_local=not spool)
    tempfile.tempdir = spool or tempfile.tempdir
