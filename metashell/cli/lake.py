"""metashell lake: what a lake holds, how it came to that, and whether all of it is there."""

from __future__ import annotations

from metashell.cli.common import STATUS_FAILED, STATUS_OK, Tool, parsed, run_sub_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import SimpleNamespace
    from typing import Any

    from metashell.columns.lake.ledger import Commit, LogKey, LogState
    from metashell.columns.lake.status import LakeStatus, Stage
    from metashell.forms import Display
    from metashell.options import CommandSpec
    from metashell.stores import Store
    from metashell.stores.holding import Holding

NAME = "metashell lake"
LOG_COLUMNS = ("cluster_id", "node", "log", "offsets", "gaps", "checkpoints", "directory_id")
COMMIT_COLUMNS = ("commit", "at", "kind", "rows", "files", "bytes", "removed")
FINDING_COLUMNS = ("finding", "is_fault", "name", "message")
_SPANS_MAX = 4


def run(words: list[str]) -> int:
    """Find the command and run it."""
    from metashell.options.lake_tools import LAKE

    return run_sub_command(LAKE._replace(name=NAME), words, _run_command)


def _run_command(command: CommandSpec, words: list[str]) -> int:
    values = parsed(command, words)
    if values is None:
        return STATUS_OK
    from metashell.forms import standard_output
    from metashell.stores import open_store

    work = {"status": _status, "log": _log, "check": _check}[command.name.rpartition(" ")[2]]
    return work(open_store(values.lake, only_reads=True), standard_output(), values)


# ---- status


def _status(store: Store, display: Display, values: SimpleNamespace) -> int:
    from metashell.columns.lake.status import lake_status
    from metashell.forms import write_objects
    from metashell.stores.holding import holding

    status = lake_status(store)
    logs = [log_object(key, log) for key, log in sorted(status.state.logs.items())]
    if values.output in ("csv", "table"):
        write_objects(display, values.output, logs, columns=LOG_COLUMNS)
        return STATUS_OK
    held = holding(store)
    if values.output == "text":
        for line in _status_lines(store, status, held):
            display.line(line)
    else:
        write_objects(display, values.output, [_status_object(store, status, held, logs)], single=True)
    return STATUS_OK


def _status_object(store: Store, status: LakeStatus, held: Holding | None, logs: list[dict[str, Any]]) -> dict[str, Any]:
    from dataclasses import asdict

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
    """What a lake has of a log. Intervals are [first, last], both with it."""
    from metashell.columns.lake.status import gaps_of

    return {
        **_names(key),
        "offsets": [[start, end - 1] for start, end in log.offsets],
        "gaps": [{"first": gap.first, "last": gap.last, "in_checkpoint": gap.in_checkpoint} for gap in gaps_of(key, log)],
        "checkpoints": log.checkpoints,
        "directory_id": log.directory or None,
    }


def _names(key: LogKey) -> dict[str, Any]:
    """Which log it is; a loose file has a name alone."""
    return {
        "cluster_id": key.cluster or None,
        "node": int(key.node) if key.node.isdecimal() else None,
        "log": key.log.partition("@")[0],
    }


def _status_lines(store: Store, status: LakeStatus, held: Holding | None) -> Iterator[str]:
    from metashell.amounts import moment_text, size_text
    from metashell.forms import aligned, counted

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


def _held_text(held: Holding) -> str:
    from metashell.amounts import duration_text

    return held.by if held.silent_ms is None else f"{held.by}, last heard of {duration_text(held.silent_ms)} ago"


def _pending_text(pending: Commit, stage: Stage, held: Holding | None) -> str:
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
    from metashell.columns.lake.status import gaps_of

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
    from metashell.amounts import time_text

    return {"commit": commit.number, "at": time_text(commit.at_ms), "kind": commit.kind, "version": commit.version}


def _log(store: Store, display: Display, values: SimpleNamespace) -> int:
    from metashell.columns.lake.status import lake_commits
    from metashell.forms import write_objects

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
    """A line for each commit, as it is read; below it one for each log that it is about."""
    from metashell.amounts import moment_text, size_text
    from metashell.escape import terminal_line
    from metashell.forms import counted

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
    from metashell.columns.lake.check import Checked, check_lake
    from metashell.escape import terminal_line
    from metashell.forms import counted, write_objects
    from metashell.progress import shown_while

    checked = Checked()
    fault_count = 0

    def findings() -> Iterator[Mapping[str, Any]]:
        nonlocal fault_count
        for found in check_lake(store, checked):
            fault_count += found.is_fault
            yield {"finding": found.kind, "is_fault": found.is_fault, "name": found.name, "message": found.message}

    with shown_while(lambda _: f"{checked.looked:,} of {checked.files:,} files looked at"):
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


main = Tool(NAME, run)
