"""Append: what is new in logs goes into a lake, exactly once.

    1  tasks write files into the folders of the tables, where no reader sees them
    2  a commit to the table `appends` names the files and what they hold of which logs: this is the append
    3  a commit to each table adds its files; each carries the append's number as an application transaction
    4  a commit to `appends` says that all tables have it

Whoever appends next does 3 and 4 again where 4 is missing: a table that has the number is left alone. An append that ends before 2 never
was; its files go with `metashell lake vacuum`. Of two appends at a time one makes 2, and the other plans again if they share a log."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, Literal, Protocol
from uuid import uuid4

from metashell import __version__
from metashell.common.errors import MetashellError, UsageError
from metashell.common.runtime import processors
from metashell.tables import require_packages
from metashell.tables.dictionary import table_names
from metashell.tables.export.workers import Workers, is_large
from metashell.tables.lake.plan import Plan, Task, plan_append
from metashell.tables.read_options import ReadOptions
from metashell.tables.splits import TARGET_BYTES
from metashell.tables.stores import Store, open_store

if TYPE_CHECKING:
    from metashell.disk.names import LogKind
    from metashell.tables.lake.appends import Append, LakeForm, LakeState
    from metashell.tables.lake.delta import Cut
    from metashell.tables.lake.log_state import LogKey, Logs
    from metashell.tables.lake.write_tasks import Job, TaskResult
    from metashell.tables.read_options import OnError

Mode = Literal["append", "overwrite", "error"]
"""The treatment of a lake that exists: add to it, remove its rows once the new ones are written, or refuse it."""
Progress = Callable[[int, int], None]
_TRIES: Final = 20
"""Of an append that meets others, each of which made one meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendOptions:
    """The options of an append: the inputs, the lake, and how it is written. `tables` is None for those that the lake has."""

    paths: tuple[str, ...]
    out: str
    mode: Mode = "append"
    tables: tuple[str, ...] | None = None
    on_error: OnError = "fail"
    jobs: int = 0
    show_secrets: bool = False
    log: LogKind | None = None
    target_bytes: int = TARGET_BYTES
    replaces: bool = False
    is_committed_only: bool = False

    def wanted(self, lake_id: str) -> LakeForm:
        from metashell.tables.lake.appends import LakeForm

        return LakeForm(id=lake_id, tables=self.tables, show_secrets=self.show_secrets)


@dataclass(slots=True)
class AppendReport:
    """The result of an append, or of its plan: the rows that it added by table, and the lake's state after it.

    `removed` counts the rows by table that an overwrite removed, or would; `number` is that of the append, 0 where there was none.
    """

    plan: Plan
    state: LakeState
    rows: dict[str, int] = field(default_factory=dict)
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

    def stop(self) -> None:
        """Results that have not come yet are not wanted any more."""
        ...


def append(options: AppendOptions, progress: Progress | None = None, planned: Callable[[int], None] | None = None) -> AppendReport:
    """Add to a lake what it lacks, by processes of this machine; `planned` gets the number of bytes before the first is read.

    Errors: as of `append_to_store`.
    """
    require_packages("lake", "deltalake")
    store = open_store(options.out, sources=options.paths)
    with (
        spool_of(store) as spool,
        Workers(options.jobs or processors(), load_worker_modules, partial(prepare_append_worker, spool=spool)) as workers,
    ):
        if is_large(options.paths):
            # Before the lake is opened: what has threads must not be forked.
            workers.start(workers.jobs)
        return append_to_store(store, options, Processes(workers), progress=progress, planned=planned)


def append_to_store(
    store: Store,
    options: AppendOptions,
    runner: Runner,
    *,
    progress: Progress | None = None,
    planned: Callable[[int], None] | None = None,
) -> AppendReport:
    """Add to a lake what it lacks, or write it anew.

    Errors: LogCorruptError for the first fault, unless faults are skipped; UsageError for what cannot be opened, contradicts the lake or
    does not fit it; MetashellError of the store. The lake is then as it was, unless the error says which append was made.
    """
    from metashell.tables.lake.delta import ConflictError

    store.require_writable()
    guesses, recovered = True, ""
    for _ in range(_TRIES):
        form, state, said = open_to_write(store, options)
        recovered = said or recovered
        try:
            report = _added(options, store, form, state, runner, progress, planned, guesses=guesses)
        except _WrongGuessError:
            guesses = False
        except ConflictError:
            pass  # what was planned is partly there by now
        else:
            report.recovered = recovered
            return report
        planned = None
    raise MetashellError(f"{store.shown}: other appends came first {_TRIES} times: try it again")


def plan_only(options: AppendOptions) -> AppendReport:
    """Return the report of an append that is only planned. Nothing is written. Errors: as of `append`."""
    store = open_store(options.out, sources=options.paths)
    form, state = _opened(store, options)
    resets = options.mode == "overwrite"
    plan = plan_of(options, form, {} if resets else state.logs)
    from metashell.tables.lake.delta import has_append, open_table

    lacking = [table for table in state.pending() if not has_append(open_table(store, table), state.app_id(), state.number)]
    recovered = "an interrupted export is there: the next one completes it" if lacking else ""
    return AppendReport(plan, state, recovered=recovered, removed=dict(state.rows) if resets else {})


class _WrongGuessError(MetashellError):
    """A task found other batches than a plan by guesses had."""


def plan_of(options: AppendOptions, form: LakeForm, covered: Logs, *, guesses: bool = True) -> Plan:
    named = form.tables or ()
    return plan_append(
        covered,
        options.paths,
        log=options.log,
        target_bytes=options.target_bytes,
        named_tables=named if len(named) < len(table_names()) else (),
        replaces=options.replaces,
        is_committed_only=options.is_committed_only,
        # A fault beside a place that was guessed would make the guess look wrong: with them the plan has to know.
        guesses=guesses and options.on_error == "fail",
    )


def _opened(store: Store, options: AppendOptions) -> tuple[LakeForm, LakeState]:
    """Return the form that a lake has or gets, and its state. Errors: UsageError where the options do not go with what is there."""
    from metashell.tables.lake.appends import read_state, refuse_other_output, require_same

    state = read_state(store)
    if state.form is None:
        refuse_other_output(store, [file.name for file in store.files()])
        return options.wanted(uuid4().hex), state
    wanted = options.wanted(state.form.id)
    if options.mode == "error":
        raise UsageError(f"{store.shown}: is a lake already: --mode append adds to it, --mode overwrite writes it anew", "--out")
    if options.mode == "overwrite":
        return wanted, state
    require_same(store, state.form, wanted)
    return state.form, state


def refuse_unfit(store: Store, options: AppendOptions) -> None:
    """Errors: UsageError where the options do not go with what is in a store."""
    _opened(store, options)


def open_to_write(store: Store, options: AppendOptions) -> tuple[LakeForm, LakeState, str]:
    """Return the form and the state of a lake after the append of another that was interrupted is completed, and a line about that."""
    from metashell.tables.lake.appends import APPENDS, complete
    from metashell.tables.lake.delta import mend

    mend(store, APPENDS)
    form, state = _opened(store, options)
    return form, state, complete(store, state)


def _added(
    options: AppendOptions,
    store: Store,
    form: LakeForm,
    state: LakeState,
    runner: Runner,
    progress: Progress | None,
    planned: Callable[[int], None] | None,
    *,
    guesses: bool,
) -> AppendReport:
    """Plan and add.

    Errors: _WrongGuessError where a guess of the plan was wrong, ConflictError where others came first; nothing was added then.
    """
    from metashell.tables.lake.appends import give_to_tables
    from metashell.tables.lake.delta import ConflictError

    resets = options.mode == "overwrite" and state.number > 0
    plan = plan_of(options, form, {} if resets else state.logs, guesses=guesses)
    plan.tasks = runner.balanced(plan.tasks)
    if planned is not None:
        planned(plan.bytes)
    report = AppendReport(plan, state, removed=dict(state.rows) if resets else {})
    if not (plan.tasks or plan.cut or resets):
        return report
    append_id = uuid4().hex
    results: dict[int, TaskResult] = {}
    is_committing = False
    try:
        _write(store, runner, plan, job_of(options, form, append_id), results, progress)
        made = append_of(state, plan, form, results, append_id, resets=resets)
        _require_parts(store, made)
        is_committing = True
        _make(store, options, state, made)
    except BaseException as error:
        runner.stop()  # what still runs would write more
        is_made: bool | None = None
        with suppress(MetashellError):
            is_made = _remove_files(store, append_id, may_be_made=is_committing and not isinstance(error, ConflictError))
        if is_committing and isinstance(error, MetashellError) and not isinstance(error, ConflictError) and is_made is not False:
            raise _made_before(error, state.number + 1, "was" if is_made else "may have been") from error
        raise
    report.rows, report.number = made.rows, made.number
    try:
        give_to_tables(store, state)
    except MetashellError as error:
        raise _made_before(error, made.number) from error
    return report


def _made_before(error: MetashellError, number: int, said: str = "was") -> MetashellError:
    return MetashellError(f"{error}; append {number} {said} made before, and the next export completes it")


def _remove_files(store: Store, append_id: str, *, may_be_made: bool) -> bool | None:
    """Remove the files of an append that failed, and return whether it is there, which keeps them.

    None: nobody knows yet, since a commit to a store that failed may come to be. That keeps them too.
    """
    from metashell.tables.lake.appends import read_state

    if any(append.id == append_id for append in read_state(store).appends):
        return True
    if may_be_made and not store.is_local:
        return None
    with suppress(MetashellError):
        store.remove_all([file.name for file in store.files() if append_id in file.name])
    return False


def _make(store: Store, options: AppendOptions, state: LakeState, made: Append) -> None:
    """Commit an append to `appends`; after appends of others of other logs, with the next number.

    Errors: ConflictError where others took some of the same logs meanwhile.
    """
    from metashell.tables.lake.appends import put_append
    from metashell.tables.lake.delta import ConflictError

    for _ in range(_TRIES):
        try:
            put_append(store, state, made)
        except ConflictError:
            before, number = {key: log.to_json() for key, log in state.logs.items()}, state.number
            _, found, _ = open_to_write(store, options)
            is_ours = any(each.id == made.id for each in found.appends)  # the answer to the first try was lost
            touched: set[LogKey] = {*made.logs, *made.cut}
            is_same = all((found.logs[key].to_json() if key in found.logs else None) == before.get(key) for key in touched)
            if not is_ours and (made.kind == "overwrite" or not is_same or number == 0):
                raise
            state.appends, state.logs, state.rows, state.last, state.form = found.appends, found.logs, found.rows, found.last, found.form
            if is_ours:
                return
            made.number = state.number + 1
            made.form = None
        else:
            return
    raise ConflictError(f"{store.shown}: other appends came first {_TRIES} times")


def _require_parts(store: Store, made: Append) -> None:
    """Errors: as of `require_files`, before the append is made."""
    from metashell.tables.lake.appends import require_files

    for change in made.changes.values():
        require_files(store, made, change)


def append_of(
    state: LakeState, plan: Plan, form: LakeForm, results: dict[int, TaskResult], append_id: str, *, resets: bool = False
) -> Append:
    """Return the append of what tasks have written. With `resets` all that was there goes."""
    from metashell.tables.lake.appends import Append
    from metashell.tables.lake.delta import Change, changes_of

    files = [file for _, result in sorted(results.items()) for file in result.files]
    changes = {table: Change(each, resets) for table, each in changes_of(files).items()}
    if resets:
        changes.update({table: Change((), overwrites=True) for table in state.last if table not in changes})
    if plan.cut:
        cuts = tuple(cut_of(key, offset, state) for key, offset in sorted(plan.cut.items()))
        for table in state.last:
            changes[table] = changes.get(table, Change())._replace(cuts=cuts)
    rows: dict[str, int] = {}
    for file in files:
        rows[file.table] = rows.get(file.table, 0) + file.rows
    return Append(
        number=state.number + 1,
        id=append_id,
        at_ms=time.time_ns() // 1_000_000,
        version=__version__,
        kind="overwrite" if resets else "append",
        rows=dict(sorted(rows.items())),
        logs=plan.logs,
        cut=plan.cut,
        form=form if resets or state.number == 0 else None,
        changes=dict(sorted(changes.items())),
    )


def cut_of(key: LogKey, offset: int, state: LakeState) -> Cut:
    """Return the rows that go of a log from an offset on, with those of checkpoints that stand for more."""
    from metashell.tables.lake.delta import Cut
    from metashell.tables.lake.log_state import checkpoint_end

    known = state.logs.get(key)
    gone = [name for name in (known.checkpoints if known else ()) if offset == 0 or checkpoint_end(name) > offset]
    return Cut(key, offset, tuple(gone))


def job_of(options: AppendOptions, form: LakeForm, append_id: str) -> Job:
    """Return the job that the tasks of an append share."""
    from metashell.tables.lake.write_tasks import Job

    reading = ReadOptions(
        tables=form.tables, on_error=options.on_error, show_secrets=form.show_secrets, columns="typed", fails_with_store=True
    )
    return Job(options.out, append_id, reading)


def _write(store: Store, runner: Runner, plan: Plan, job: Job, results: dict[int, TaskResult], progress: Progress | None) -> None:
    """Run all tasks; their results go to `results`. Errors: that of the first that failed; UsageError once there are too many files."""
    from metashell.tables.lake.write_tasks import require_few_files

    count = 0
    for number, result in runner.write(plan.tasks, job):
        if result.error is not None:
            runner.stop()
            raise _WrongGuessError(str(result.error)) if result.is_misguessed else result.error
        results[number] = result
        count += len(result.files)
        require_few_files(store.shown, count)
        if progress is not None:
            progress(plan.tasks[number].split.bytes, sum(result.rows.values()))
    assert len(results) == len(plan.tasks), "each task has a result"


class Processes:
    """Runs tasks by processes of this machine."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def balanced(self, tasks: list[Task]) -> list[Task]:
        return tasks

    def write(self, tasks: Sequence[Task], job: Job) -> Iterator[tuple[int, TaskResult]]:
        return self._workers.results(_write_task, [(number, task, job) for number, task in enumerate(tasks)])

    def stop(self) -> None:
        self._workers.stop()


def _write_task(number: int, task: Task, job: Job) -> TaskResult:
    from metashell.tables.lake.write_tasks import write_task

    return write_task(number, task, job)


def load_worker_modules() -> None:
    """Import what a process of an append needs."""
    import metashell.tables.export.parquet
    import metashell.tables.lake.write_tasks  # noqa: F401


def spool_of(store: Store) -> AbstractContextManager[str]:
    """Return a folder for what workers upload to a store, "" where they do not: one that is killed cannot remove its own."""
    if store.is_local:
        return nullcontext("")
    from metashell.tables.lake.write_tasks import SPOOL

    return TemporaryDirectory(prefix=SPOOL)


def prepare_append_worker(*, spool: str) -> None:
    """In a process of its own. Its temporary files lie in `spool`, where there is one."""
    from metashell.tables.export.split_writer import prepare_worker

    prepare_worker(is_local=not spool)
    tempfile.tempdir = spool or tempfile.tempdir
