"""What a start would do, as findings and one verdict for each log directory."""

from __future__ import annotations

from metashell.codec.releases import Release
from metashell.verify.finding import Finding, Report
from metashell.verify.output import Writer
from metashell.verify.start.forecast import forecast
from metashell.verify.start_places import find_places


def report_start(path: str, node_id: int | None, release: Release, writer: Writer, report: Report) -> bool:
    """Report on the log directories at or below a path; True if a server would start on all of them and lose nothing.

    Errors: UsageError where there is none; OSError.
    """
    is_safe = True
    for place in find_places(path):
        verdict = forecast(place.log_directory, place.directory, node_id, place.not_judged, release)
        report.counts["directories"] += 1
        for name, count in zip(("files", "batches", "records"), verdict.counts, strict=True):
            report.counts[name] += count
        for change in verdict.changes:
            position = change.position if change.action != "delete" else -1
            report.add(Finding(change.file, position, change.offset, "error" if change.loses else "info", str(change)))
        for fault in verdict.unnoticed:
            report.error(verdict.path, f"not noticed: {fault}")
        # The verdict names its reason and what is lost, so no finding repeats them.
        if verdict.starts is None:
            report.count("warning")
        elif not verdict.starts or verdict.lost:
            report.count("error")
        if verdict.not_judged:
            what = f"{len(verdict.not_judged)} other directories are not checked, such as {verdict.not_judged[0]}"
            report.note(verdict.path, what)
        writer.start(verdict)
        is_safe = is_safe and verdict.is_safe
    return is_safe
