"""What a start would do, as findings and one verdict for each node."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from metashell.checks.disks import REFUSALS, STRAYS, judge_node
from metashell.log.names import METADATA_DIRECTORY
from metashell.verify.finding import Finding, Report
from metashell.verify.output import Writer
from metashell.verify.start.verdict import StartVerdict

if TYPE_CHECKING:
    from metashell.checks.facts import Facts


def usable_paths(paths: Iterable[str], report: Report) -> list[str]:
    """The paths that a server could start on; each other one is reported."""
    from metashell.facts.sources import log_directories

    usable = []
    for path in paths:
        if not os.path.exists(path):
            report.error(path, "No such file or directory")
        elif not os.path.isdir(path):
            report.error(path, "not a directory: a server starts on a log directory")
        elif not os.listdir(path) or any(True for _ in log_directories(path)):
            usable.append(path)
        else:
            report.error(path, "no log directory with a metadata log here")
    return usable


def report_starts(facts: Facts, writer: Writer, report: Report) -> bool:
    """Report on each node whose directories are known; True if a server would start on all of them and lose nothing. Errors: OSError."""
    is_safe = True
    for number in dict.fromkeys(one.node for one in facts.directories):
        verdict = start_of(facts, number)
        _report(verdict, writer, report)
        is_safe = is_safe and verdict.is_safe
    return is_safe


def start_of(facts: Facts, number: int) -> StartVerdict:
    """The start of one node on its directory with the metadata log, by what the checks find about all its directories. Errors: OSError."""
    from metashell.verify.start.forecast import forecast

    directories = [one for one in facts.directories if one.node == number]
    config = next((one for one in facts.configurations if one.node == number), None)
    expected = "" if config is None else config.metadata_directory
    bad = {finding.check.id: finding for finding in judge_node(facts, number).bad}
    home = next((one for one in directories if one.metadata is not None), None)
    home = home or next((one for one in directories if one.path == expected), directories[0])
    not_read = tuple(place.path for one in directories for place in one.partitions)
    refusals = [bad[id] for id in bad if id in REFUSALS]
    if refusals:
        first = refusals[0].first(1)[0]
        reason = f"{refusals[0].check.id}: {first.name}: {first.cause}"
        return StartVerdict(home.path, facts.release.name, starts=False, reason=reason, not_judged=not_read)
    if home.is_alone and home.identity is None:
        reason = f"{os.path.join(home.path, 'meta.properties')}: is missing: the directory was never formatted"
        return StartVerdict(home.path, facts.release.name, starts=False, reason=reason, not_judged=not_read)
    if home.metadata is None and not expected and not_read:
        reason = "none of these directories has the metadata log, and no configuration (-c) says where it is"
        return StartVerdict(home.path, facts.release.name, starts=None, reason=reason, not_judged=not_read)
    place = os.path.join(home.path, METADATA_DIRECTORY) if home.metadata is None else home.metadata.path
    verdict = forecast(home.path, place, not_read, facts.release)
    verdict.lost += [f"{found.name} (renamed to -stray)" for id in bad if id in STRAYS for found in bad[id]]
    # Before 4.0 a migration goes on.
    verdict.troubles += [id for id in bad if id not in STRAYS and not (id == "zk_migration" and facts.release.name.startswith("3."))]
    return verdict


def _report(verdict: StartVerdict, writer: Writer, report: Report) -> None:
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
        what = f"the logs of {len(verdict.not_judged)} partitions are not read, such as {verdict.not_judged[0]}"
        report.note(verdict.path, what)
    writer.start(verdict)
