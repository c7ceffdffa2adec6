"""metashell export --append: what is new in logs goes into a lake."""

from __future__ import annotations

import sys

from metashell.cli.common import complain, with_way_out
from metashell.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import SimpleNamespace

    from metashell.columns.lake.append import AppendOptions, AppendReport

_LAKE_ONLY = {"target_file_size": "--target-file-size", "dry_run": "--dry-run"}


def require_fitting(values: SimpleNamespace) -> None:
    """Errors: UsageError for options that do not go together."""
    if values.append:
        if values.format != "parquet":
            raise UsageError(f"--append: a lake is Parquet, not {values.format}", "--format")
        return
    for name, option in _LAKE_ONLY.items():
        if getattr(values, name):
            raise UsageError(f"{option} goes with --append", option)


def append_to_lake(values: SimpleNamespace, tables: tuple[str, ...] | None, name: str) -> int:
    """Add what is new, or say what that is; returns how many faults were skipped."""
    from metashell.columns.lake.append import append, plan_only
    from metashell.errors import LogCorruptError

    options = _options(values, tables)
    try:
        if values.dry_run:
            report = plan_only(options)
        else:
            from metashell.columns.export.progress import progress_bar

            with progress_bar(sys.stderr, is_shown=sys.stderr.isatty() and not values.quiet) as bar:
                report = append(options, bar.advance, bar.start)
    except LogCorruptError as error:
        raise with_way_out(error) from error
    # Some tell of changes that are lost. A timer's job is quiet, and its errors are read.
    for note in filter(None, (report.recovered, *report.plan.notes)):
        complain(name, note)
    if not values.quiet:
        lines = planned_lines(report) if values.dry_run else added_lines(report)
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return report.rows.get("faults", 0)


def _options(values: SimpleNamespace, tables: tuple[str, ...] | None) -> AppendOptions:
    from metashell.columns.lake.append import AppendOptions

    return AppendOptions(
        paths=tuple(values.paths),
        out=values.out,
        tables=tables,
        on_error=values.on_error,
        jobs=values.jobs,
        show_secrets=values.show_secrets,
        log=values.log,
        columns="raw" if values.old_columns else "typed",
        target_size=checked_target_size(values.target_file_size),
        replaces=values.replace,
    )


def checked_target_size(given: int) -> int | None:
    """The wanted size of files; None where none was given. Errors: UsageError for one that stores do not take."""
    from metashell.columns.lake.compact import TARGET_SIZE_MAX

    if given > TARGET_SIZE_MAX:
        raise UsageError("--target-file-size: at most 1G, since a store copies files of 5 GB at most in one step", "--target-file-size")
    return given or None


def added_lines(report: AppendReport) -> Iterator[str]:
    """The rows that were added by table, and what was there already."""
    from metashell.forms import aligned

    if report.rows:
        yield from aligned([(table, f"{count:>12,}") for table, count in sorted(report.rows.items())])
    yield from outcome_lines(report)


def outcome_lines(report: AppendReport) -> Iterator[str]:
    """What became of the lake."""
    from metashell.forms import counted

    plan = report.plan
    if report.number:
        there = f"; {plan.known_count:,} of {counted(plan.file_count, 'file')} had nothing new" if plan.known_count else ""
        yield f"added as commit {report.number}{there}"
    else:
        yield f"nothing new: the lake has all of {counted(plan.file_count, 'file')} already"
    if report.removed:
        yield f"removed {counted(sum(report.removed.values()), 'row')} that were there"
    before, after = report.merged
    if after:
        yield f"{counted(before, 'small file')} of rows became {after:,}"


def planned_lines(report: AppendReport) -> Iterator[str]:
    """For each log what the lake has, and what would be added."""
    from metashell.amounts import size_text
    from metashell.forms import aligned, counted

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
