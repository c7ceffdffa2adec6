"""metashell lake: shows the contents of a lake and its commits, and checks whether it is whole."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from metashell.cli.tool import parsed, run_sub_command
from metashell.common import options as shared
from metashell.common.command import STATUS_FAILED, STATUS_OK, Tool
from metashell.common.forms import aligned, counted, standard_output, write_objects
from metashell.common.options import Argument, CommandSpec, Option
from metashell.common.terminal import show_progress, terminal_line
from metashell.common.values import duration_text, moment_text, size_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import SimpleNamespace
    from typing import Any

    from metashell.common.forms import Display
    from metashell.tables.lake.ledger import Commit, LogKey, LogState
    from metashell.tables.lake.status import LakeStatus, Stage
    from metashell.tables.stores import Store
    from metashell.tables.stores.locks import LockOwner


_FORMS = ("text", "json", "jsonl", "csv", "table")
_LAKE = Argument(name="lake", metavar="DIR", type="path", kind="file", help="the folder of a lake, or its URI such as s3://bucket/folder")
_FILES = (
    ("DIR/_metashell/commits/", "what each export added, and of which offsets"),
    ("DIR/_metashell/pending/", "an export that moves its files right now, or was interrupted then"),
)


def _command(name: str, summary: str, text: str, *examples: tuple[str, str], options: tuple[Option, ...] = ()) -> CommandSpec:
    return CommandSpec(
        name,
        summary,
        text,
        (*options, shared.output(*_FORMS)),
        (_LAKE,),
        examples=examples,
        epilog=(shared.EXIT_STATUS,),
        files=_FILES,
        environment=shared.STORE_ENVIRONMENT,
    )


STATUS = _command(
    "status",
    "show what a lake holds",
    """
        Shows the tables with their rows, files and days, the logs with the offsets that the lake has of them and the gaps between these,
        the last commit, one that was interrupted, and who writes right now. Only the ledger is read. The forms csv and table list the
        logs; json and jsonl have everything.
        """,
    ("metashell lake status lake", "what is there"),
    ("metashell lake status s3://bucket/lake -o json", "the same for a program"),
    ("metashell lake status lake -o csv", "a line for each log"),
)
LOG = _command(
    "log",
    "list the commits of a lake",
    """
        Shows each commit, the oldest first: when it was made, what kind it is, how many rows and files it added, and which offsets of
        which logs.
        """,
    ("metashell lake log lake", "every export into it"),
    ("metashell lake log lake --last 3", "the newest three"),
    options=(Option(names=("--last", "-n"), metavar="N", type="int", help="only the newest N commits"),),
)
CHECK = _command(
    "check",
    "check that all that a lake's commits name is there",
    """
        Looks for every file that the commits name, and compares its size and the count of its rows. Files beside them, which no commit
        names, are named too: where a reader of the tables would read one, that is a fault. A commit that is being made is not. Nothing is
        mended, and no row is decoded. It needs the extra arrow.
        """,
    ("metashell lake check lake", "whether the lake is whole"),
    ("metashell lake check s3://bucket/lake -o jsonl", "each finding as an object"),
)

COMMANDS = (STATUS, LOG, CHECK)

LAKE = CommandSpec(
    name="metashell-lake",
    summary="what a lake holds, how it came to that, and whether it is whole",
    description="""
        A lake is what `metashell export --append` makes: tables of many days and clusters in one folder. Nothing here writes to it or
        locks it, and exports may run meanwhile.
        """,
    options=(shared.VERSION,),
    arguments=(Argument(name="command", nargs="+", kind="words", help="one of the commands below, and its words"),),
    first_word_ends_options=True,
    commands=COMMANDS,
    examples=tuple(each.examples[0] for each in COMMANDS),
    epilog=(("COMMANDS", shared.listed({each.name: each.summary for each in COMMANDS})), shared.EXIT_STATUS),
    files=_FILES,
)


NAME = "metashell lake"
LOG_COLUMNS = ("cluster_id", "node", "log", "offsets", "gaps", "checkpoints", "directory_id")
COMMIT_COLUMNS = ("commit", "at", "kind", "rows", "files", "bytes", "removed")
FINDING_COLUMNS = ("finding", "is_fault", "name", "message")
_SPANS_MAX = 4


def run_lake(words: list[str]) -> int:
    """Find the command and run it."""
    return run_sub_command(LAKE._replace(name=NAME), words, _run_command)


def _run_command(command: CommandSpec, words: list[str]) -> int:
    values = parsed(command, words)
    if values is None:
        return STATUS_OK
    from metashell.tables.stores import open_store

    work = {"status": _status, "log": _log, "check": _check}[command.name.rpartition(" ")[2]]
    return work(open_store(values.lake, only_reads=True), standard_output(), values)


# ---- status


def _status(store: Store, display: Display, values: SimpleNamespace) -> int:
    from metashell.tables.lake.status import lake_status
    from metashell.tables.stores.locks import find_lock_owner

    status = lake_status(store)
    logs = [log_object(key, log) for key, log in sorted(status.state.logs.items())]
    if values.output in ("csv", "table"):
        write_objects(display, values.output, logs, columns=LOG_COLUMNS)
        return STATUS_OK
    held = find_lock_owner(store)
    if values.output == "text":
        for line in _status_lines(store, status, held):
            display.line(line)
    else:
        write_objects(display, values.output, [_status_object(store, status, held, logs)], single=True)
    return STATUS_OK


def _status_object(store: Store, status: LakeStatus, held: LockOwner | None, logs: list[dict[str, Any]]) -> dict[str, Any]:

    tables = status.tables()
    return {
        "lake": store.shown,
        "id": status.format.id,
        "made_by": status.format.version,
        "tables_wanted": None if status.format.tables is None else list(status.format.tables),
        "columns": status.format.columns,
        "table_format": status.format.table_format,
        "show_secrets": status.format.show_secrets,
        "commit": None if status.last is None else _commit_head(status.last),
        "pending": [{**_commit_head(commit), "stage": status.stage_of(commit)} for commit in status.pendings],
        "writer": None if held is None else {"by": held.by, "silent_ms": held.silent_ms},
        "rows": sum(table.rows for table in tables),
        "files": sum(table.files for table in tables),
        "bytes": sum(table.bytes for table in tables),
        "tables": [asdict(table) for table in tables],
        "logs": logs,
    }


def log_object(key: LogKey, log: LogState) -> dict[str, Any]:
    """Return the state of a log in the lake. Intervals are [first, last], both inclusive."""
    from metashell.tables.lake.status import gaps_of

    return {
        **_names(key),
        "offsets": [[start, end - 1] for start, end in log.offsets],
        "gaps": [{"first": gap.first, "last": gap.last, "in_checkpoint": gap.in_checkpoint} for gap in gaps_of(key, log)],
        "checkpoints": log.checkpoints,
        "directory_id": log.directory or None,
    }


def _names(key: LogKey) -> dict[str, Any]:
    """Return the columns that identify a log. A loose file has only a name."""
    return {
        "cluster_id": key.cluster or None,
        "node": int(key.node) if key.node.isdecimal() else None,
        "log": key.log.partition("@")[0],
    }


def _status_lines(store: Store, status: LakeStatus, held: LockOwner | None) -> Iterator[str]:

    tables, lake, last = status.tables(), status.format, status.last
    head = [("lake", store.shown)]
    if last is None:
        head.append(("commit", "none yet"))
    else:
        head.append(("commit", f"{last.number} ({last.kind}) at {moment_text(last.at_ms)}, by metashell {last.version}"))
    wanted = "the usual tables" if lake.tables is None else ", ".join(lake.tables)
    secrets = "secrets shown" if lake.show_secrets else "secrets hidden"
    head.append(("takes", "; ".join((wanted, secrets, *(("the old columns",) if lake.columns == "raw" else ())))))
    size = size_text(sum(table.bytes for table in tables))
    rows, files = sum(table.rows for table in tables), sum(table.files for table in tables)
    places = f"{counted(files, 'file')}, {size}" if lake.table_format == "parquet" else f"tables of {lake.table_format}"
    head.append(("holds", f"{rows:,} {'row' if rows == 1 else 'rows'} in {places}"))
    head.append(("writer", "nobody now" if held is None else _held_text(held)))
    head += [("pending", _pending_text(commit, status.stage_of(commit), held)) for commit in status.pendings]
    yield from aligned(head)
    if tables:
        yield ""
        rows_of_tables = [(each.table, f"{each.rows:,}", f"{each.files:,}", size_text(each.bytes), _days(each)) for each in tables]
        yield from aligned([("TABLE", "ROWS", "FILES", "SIZE", "DAYS"), *rows_of_tables], right=(1, 2, 3))
    if status.state.logs:
        yield ""
        yield from aligned(
            [("LOG", "NODE", "CLUSTER", "OFFSETS", "GAPS"), *(_log_cells(key, log) for key, log in sorted(status.state.logs.items()))]
        )


def _held_text(held: LockOwner) -> str:

    return held.by if held.silent_ms is None else f"{held.by}, last heard of {duration_text(held.silent_ms)} ago"


def _pending_text(pending: Commit, stage: Stage, held: LockOwner | None) -> str:
    name = f"commit {pending.number} ({pending.kind})"
    if stage == "lost":
        return f"{name} of another export came to nothing: the next export removes what it left"
    if held is not None:
        return f"{name} is being made"
    if stage == "made":
        return f"{name} was made, and what it replaces is to be removed yet: the next export does it"
    return f"{name} was interrupted: the next export completes or drops it"


def _days(table: Any) -> str:
    if table.first_day is None:
        return "-"
    return table.first_day if table.first_day == table.last_day else f"{table.first_day} to {table.last_day}"


def _log_cells(key: LogKey, log: LogState) -> tuple[str, ...]:
    from metashell.tables.lake.status import gaps_of

    gaps = gaps_of(key, log)
    stood_for = [(gap.first, gap.last) for gap in gaps if gap.in_checkpoint]
    lost = [(gap.first, gap.last) for gap in gaps if not gap.in_checkpoint]
    words = [f"{_spans(stood_for)} (in a checkpoint)"] if stood_for else []
    words += [_spans(lost)] if lost else []
    offsets = _spans([(start, end - 1) for start, end in log.offsets]) or ", ".join(log.checkpoints)
    return key.log.partition("@")[0], key.node or "-", key.cluster or "-", offsets or "-", ", ".join(words) or "-"


def _spans(spans: list[tuple[int, int]]) -> str:
    shown = [f"{first} to {last}" for first, last in spans]
    if len(shown) > _SPANS_MAX:
        shown = [*shown[: _SPANS_MAX - 1], f"{len(shown) - _SPANS_MAX} more", shown[-1]]
    return ", ".join(shown)


# ---- log


def _commit_head(commit: Commit) -> dict[str, Any]:

    return {"commit": commit.number, "at": time_text(commit.at_ms), "kind": commit.kind, "version": commit.version}


def _log(store: Store, display: Display, values: SimpleNamespace) -> int:
    from metashell.tables.lake.status import lake_commits

    commits = lake_commits(store, values.last)
    if values.output == "text":
        _write_log(display, commits)
    else:
        write_objects(display, values.output, map(_commit_object, commits), columns=COMMIT_COLUMNS)
    return STATUS_OK


def _commit_object(commit: Commit) -> dict[str, Any]:
    return {
        **_commit_head(commit),
        "rows": sum(commit.rows.values()),
        "files": len(commit.added),
        "bytes": sum(file.size for file in commit.added),
        "removed": len(commit.removed),
        "tables": commit.rows,
        "logs": [
            {**_names(key), "offsets": [[start, end - 1] for start, end in log.offsets], "checkpoints": log.checkpoints}
            for key, log in sorted(commit.logs.items())
        ],
        "cut": [{**_names(key), "from": at} for key, at in sorted(commit.cut.items())],
        "on_error": commit.on_error,
        "is_reset": commit.is_reset,
    }


def _write_log(display: Display, commits: Iterable[Commit]) -> None:
    """Write one line per commit as it is read, and below it one per log of the commit."""

    for commit in commits:
        rows = sum(commit.rows.values())
        size = size_text(sum(file.size for file in commit.added))
        words = [f"{rows:+,} {'row' if abs(rows) == 1 else 'rows'}", f"{counted(len(commit.added), 'file')} of {size}"]
        if commit.removed:
            words.append(f"{counted(len(commit.removed), 'file')} removed")
        if commit.is_reset:
            words.append("all before it gone")
        display.line(terminal_line(f"{commit.number:>6}  {moment_text(commit.at_ms):<24}  {commit.kind:<9}  {', '.join(words)}"))
        for key, at in sorted(commit.cut.items()):
            display.line(terminal_line(f"{'':8}{key}: removed from offset {at} on"))
        for key, log in sorted(commit.logs.items()):
            new = [*log.checkpoints, _spans([(start, end - 1) for start, end in log.offsets])]
            if any(new):
                display.line(terminal_line(f"{'':8}{key}: {', '.join(filter(None, new))}"))


# ---- check


def _check(store: Store, display: Display, values: SimpleNamespace) -> int:
    from metashell.tables.lake.status import Checked, check_lake

    checked = Checked()
    fault_count = 0

    def findings() -> Iterator[Mapping[str, Any]]:
        nonlocal fault_count
        for found in check_lake(store, checked):
            fault_count += found.is_fault
            yield {"finding": found.kind, "is_fault": found.is_fault, "name": found.name, "message": found.message}

    with show_progress(lambda _: f"{checked.looked:,} of {checked.files:,} files looked at"):
        if values.output != "text":
            write_objects(display, values.output, findings(), columns=FINDING_COLUMNS)
        else:
            for found in findings():
                display.line(terminal_line(f"{found['name']}: {found['message']}"))
    if values.output == "text" and checked.has_files:
        whole = f"{counted(checked.files, 'file')} with {checked.rows:,} rows"
        verdict = f"{counted(fault_count, 'fault')} in {whole}" if fault_count else f"all is there: {whole}"
        display.line(f"commit {checked.commit}: {verdict}")
    return STATUS_FAILED if fault_count else STATUS_OK


main = Tool(NAME, run_lake)
