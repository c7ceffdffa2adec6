"""metashell lake: shows the contents of a lake, checks whether it is whole, and keeps its files few."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from metashell.cli.tool import parsed, run_sub_command
from metashell.common import options as shared
from metashell.common.command import STATUS_FAILED, STATUS_OK, Tool
from metashell.common.forms import aligned, counted, standard_output, write_objects
from metashell.common.options import Argument, CommandSpec, Option, flag
from metashell.common.terminal import show_progress, terminal_line
from metashell.common.values import moment_text, size_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import SimpleNamespace
    from typing import Any

    from metashell.common.forms import Display
    from metashell.tables.lake.appends import Append
    from metashell.tables.lake.log_state import LogKey, LogState
    from metashell.tables.lake.status import LakeStatus
    from metashell.tables.stores import Store


_FORMS = ("text", "json", "jsonl", "csv", "table")
_LAKE = Argument(name="lake", metavar="DIR", type="path", kind="file", help="the folder of a lake, or its URI such as s3://bucket/folder")
_FILES = (
    ("DIR/TABLE/", "one Delta table for each record type"),
    ("DIR/appends/", "a Delta table, too: what each export added, and of which offsets"),
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
        the last append, and the tables that lack it yet. Only the logs of the tables are read. The forms csv and table list the logs;
        json and jsonl have everything.
        """,
    ("metashell lake status lake", "what is there"),
    ("metashell lake status s3://bucket/lake -o json", "the same for a program"),
    ("metashell lake status lake -o csv", "a line for each log"),
)
LOG = _command(
    "log",
    "list the appends to a lake",
    """
        Shows each append, the oldest first: when it was made, how many rows it added, and which offsets of which logs. Of those before
        the last multiple of 25 only the rows are known: what they took of logs is in the sum that `status` shows.
        """,
    ("metashell lake log lake", "every export into it"),
    ("metashell lake log lake --last 3", "the newest three"),
    options=(Option(names=("--last", "-n"), metavar="N", type="int", help="only the newest N appends"),),
)
CHECK = _command(
    "check",
    "check that all that a lake's tables name is there",
    """
        Looks for every file that the tables name, and compares its size and the count of its rows, and looks whether each table has the
        appends that it was given. Files that no commit names are named too; they are no fault. Nothing is mended, and no row is decoded.
        """,
    ("metashell lake check lake", "whether the lake is whole"),
    ("metashell lake check s3://bucket/lake -o jsonl", "each finding as an object"),
)
OPTIMIZE = _command(
    "optimize",
    "make large files of small ones",
    """
        Puts the small files of each table and month together. Rows stay as they are, and readers see the one form or the other. The small
        files stay until `metashell lake vacuum` removes them.
        """,
    ("metashell lake optimize lake", "files of up to 128 MB"),
    ("metashell lake optimize lake --target-file-size 512M", "larger ones"),
    options=(
        Option(names=("--target-file-size",), metavar="SIZE", type="size", default=0, help="the size of the files; the default is 128M"),
    ),
)
VACUUM = _command(
    "vacuum",
    "remove files that no commit names",
    """
        Removes files that are older than the grace period and that no table names: those of exports that failed, and those that optimize or
        an overwrite replaced. Older versions of the tables can then not be read any more.
        """,
    ("metashell lake vacuum lake --dry-run", "what would go"),
    ("metashell lake vacuum lake --grace 24", "all that is older than a day"),
    options=(
        Option(names=("--grace",), metavar="HOURS", type="int", default=168, help="keep what is younger; at least 1, by default 168 hours"),
        flag("--dry-run", help="say what would be removed, and remove nothing"),
    ),
)

COMMANDS = (STATUS, LOG, CHECK, OPTIMIZE, VACUUM)

LAKE = CommandSpec(
    name="metashell-lake",
    summary="what a lake holds, whether it is whole, and its upkeep",
    description="""
        A lake is what `metashell export --append` makes: Delta tables of many days and clusters in one folder. Status, log and check write
        nothing, and exports may run meanwhile. It needs the extra lake.
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
APPEND_COLUMNS = ("append", "at", "kind", "rows")
FINDING_COLUMNS = ("finding", "is_fault", "name", "message")
_SPANS_MAX = 4


def run_lake(words: list[str]) -> int:
    """Find the command and run it."""
    return run_sub_command(LAKE._replace(name=NAME), words, _run_command)


def _run_command(command: CommandSpec, words: list[str]) -> int:
    values = parsed(command, words)
    if values is None:
        return STATUS_OK
    from metashell.tables import only_what_we_use, require_packages
    from metashell.tables.stores import open_store

    require_packages("lake", "pyarrow", "deltalake")
    work = {"status": _status, "log": _log, "check": _check, "optimize": _optimize, "vacuum": _vacuum}[command.name.rpartition(" ")[2]]
    with only_what_we_use():
        return work(open_store(values.lake, only_reads=work in (_status, _log, _check)), standard_output(), values)


# ---- status


def _status(store: Store, display: Display, values: SimpleNamespace) -> int:
    from metashell.tables.lake.status import lake_status

    status = lake_status(store)
    logs = [log_object(key, log) for key, log in sorted(status.state.logs.items())]
    if values.output in ("csv", "table"):
        write_objects(display, values.output, logs, columns=LOG_COLUMNS)
    elif values.output == "text":
        for line in _status_lines(store, status):
            display.line(terminal_line(line))
    else:
        write_objects(display, values.output, [_status_object(store, status, logs)], single=True)
    return STATUS_OK


def _status_object(store: Store, status: LakeStatus, logs: list[dict[str, Any]]) -> dict[str, Any]:
    form = status.state.form
    assert form is not None, "a lake has a form"
    return {
        "lake": store.shown,
        "id": form.id,
        "tables_wanted": None if form.tables is None else list(form.tables),
        "show_secrets": form.show_secrets,
        "append": _append_head(status.last),
        "lacking": list(status.lacking),
        "rows": sum(table.rows for table in status.tables),
        "files": sum(table.files for table in status.tables),
        "bytes": sum(table.bytes for table in status.tables),
        "tables": [asdict(table) for table in status.tables],
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


def _status_lines(store: Store, status: LakeStatus) -> Iterator[str]:
    tables, form, last = status.tables, status.state.form, status.last
    assert form is not None, "a lake has a form"
    wanted = "the usual tables" if form.tables is None else ", ".join(form.tables)
    rows, files = sum(table.rows for table in tables), sum(table.files for table in tables)
    size = size_text(sum(table.bytes for table in tables))
    head = [
        ("lake", store.shown),
        ("append", f"{last.number} ({last.kind}) at {moment_text(last.at_ms)}, by metashell {last.version}"),
        ("takes", f"{wanted}; secrets {'shown' if form.show_secrets else 'hidden'}"),
        ("holds", f"{rows:,} {'row' if rows == 1 else 'rows'} in {counted(files, 'file')}, {size}"),
    ]
    if status.lacking:
        count = f"{len(last.changes) - len(status.lacking)} of {counted(len(last.changes), 'table')}"
        head.append(("pending", f"append {last.number} is in {count}: it is under way, or the next export completes it"))
    yield from aligned(head)
    if tables:
        yield ""
        cells = [(each.table, f"{each.rows:,}", f"{each.files:,}", size_text(each.bytes), _days(each)) for each in tables]
        yield from aligned([("TABLE", "ROWS", "FILES", "SIZE", "DAYS"), *cells], right=(1, 2, 3))
    if status.state.logs:
        yield ""
        yield from aligned(
            [("LOG", "NODE", "CLUSTER", "OFFSETS", "GAPS"), *(_log_cells(key, log) for key, log in sorted(status.state.logs.items()))]
        )


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


def _append_head(append: Append) -> dict[str, Any]:
    return {"append": append.number, "at": time_text(append.at_ms), "kind": append.kind, "version": append.version}


def _log(store: Store, display: Display, values: SimpleNamespace) -> int:
    from metashell.tables.lake.appends import read_state

    appends = read_state(store, is_required=True).appends
    shown = appends[-values.last :] if values.last else appends
    if values.output == "text":
        _write_log(display, shown)
    else:
        write_objects(display, values.output, map(_append_object, shown), columns=APPEND_COLUMNS)
    return STATUS_OK


def _append_object(append: Append) -> dict[str, Any]:
    logs = {} if append.is_whole else append.logs
    return {
        **_append_head(append),
        "rows": sum(append.rows.values()),
        "tables": append.rows,
        "logs": [
            {**_names(key), "offsets": [[start, end - 1] for start, end in log.offsets], "checkpoints": log.checkpoints}
            for key, log in sorted(logs.items())
        ],
        "cut": [{**_names(key), "from": at} for key, at in sorted(append.cut.items())],
    }


def _write_log(display: Display, appends: Iterable[Append]) -> None:
    """Write one line per append, and below it one per log of it."""
    for append in appends:
        rows = sum(append.rows.values())
        words = f"{rows:+,} {'row' if rows == 1 else 'rows'} in {counted(len(append.rows), 'table')}"
        display.line(terminal_line(f"{append.number:>6}  {moment_text(append.at_ms):<24}  {append.kind:<9}  {words}"))
        for key, at in sorted(append.cut.items()):
            display.line(terminal_line(f"{'':8}{key}: removed from offset {at} on"))
        for key, log in () if append.is_whole else sorted(append.logs.items()):
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
    if values.output == "text":
        whole = f"{counted(checked.files, 'file')} with {checked.rows:,} rows"
        verdict = f"{counted(fault_count, 'fault')} in {whole}" if fault_count else f"all is there: {whole}"
        display.line(f"append {checked.number}: {verdict}")
    return STATUS_FAILED if fault_count else STATUS_OK


# ---- upkeep


def _optimize(store: Store, display: Display, values: SimpleNamespace) -> int:
    from metashell.tables.lake.status import TARGET_SIZE, optimize_lake

    done = (
        {"table": name, "before": before, "after": after}
        for name, before, after in optimize_lake(store, target_size=values.target_file_size or TARGET_SIZE)
    )
    if values.output != "text":
        write_objects(display, values.output, done, columns=("table", "before", "after"))
        return STATUS_OK
    count = 0
    for each in done:
        count += 1
        display.line(f"{each['table']}: {each['before']:,} files became {each['after']:,}")
    if not count:
        display.line("no table has small files to put together")
    return STATUS_OK


def _vacuum(store: Store, display: Display, values: SimpleNamespace) -> int:
    from metashell.tables.lake.status import vacuum_lake

    done = (
        {"table": table, "file": name, "removed": not values.dry_run}
        for table, names in vacuum_lake(store, grace_hours=values.grace, is_dry=values.dry_run)
        for name in names
    )
    if values.output != "text":
        write_objects(display, values.output, done, columns=("table", "file", "removed"))
        return STATUS_OK
    count = 0
    for each in done:
        count += 1
        display.line(terminal_line(f"{each['table']}/{each['file']}"))
    display.line(f"{counted(count, 'file')} {'would be removed' if values.dry_run else 'removed'}")
    return STATUS_OK


main = Tool(NAME, run_lake)
