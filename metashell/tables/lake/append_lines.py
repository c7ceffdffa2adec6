"""An append as lines of text: what it added to a lake, or would add."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from metashell.common.errors import UsageError
from metashell.common.forms import aligned, counted
from metashell.common.values import size_text
from metashell.tables.lake.layout import TARGET_SIZE_MAX

if TYPE_CHECKING:
    from metashell.tables.lake.append import AppendReport


def checked_target_size(given: int) -> int | None:
    """Return the wanted size of files; None where none was given. Errors: UsageError for one that stores do not take."""
    if given > TARGET_SIZE_MAX:
        raise UsageError("--target-file-size: at most 1G, since a store copies files of 5 GB at most in one step", "--target-file-size")
    return given or None


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
