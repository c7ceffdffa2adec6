"""Prints findings, digests, verdicts and the summary: lines for people, JSON for programs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol

from metashell.common.forms import Display, compact_json, counted
from metashell.common.terminal import terminal_line
from metashell.disk.names import METADATA_DIRECTORY
from metashell.disk.source import CommonOffset
from metashell.inspect.verify import FINDINGS_MAX, Finding, Report
from metashell.inspect.verify.replicas import Digest
from metashell.inspect.verify.start import StartVerdict, verdict_value
from metashell.metadata.checks import REFUSALS, STRAYS, judge_node
from metashell.metadata.checks.model import BAD
from metashell.metadata.facts import log_directories

if TYPE_CHECKING:
    from metashell.metadata.checks.facts import Facts
    from metashell.metadata.checks.model import Check, Found, Verdict


_OF_DISKS = "what the files say of each other"
_NOUNS = ("directory", "file", "batch", "record", "index entry")
"""The nouns of a report's counts, in the order of the counts."""
_PLURALS = {"directory": "directories", "batch": "batches", "index entry": "index entries"}


class ReportWriter(Protocol):
    """Writes the results of a run as they come."""

    def finding(self, finding: Finding) -> None: ...
    def compared(self, common: CommonOffset) -> None: ...
    def digest(self, digest: Digest) -> None: ...
    def start(self, verdict: StartVerdict) -> None: ...
    def checks(self, verdict: Verdict, elsewhere: str) -> None: ...
    def summary(self, report: Report) -> None: ...


class TextWriter:
    """Writes one line for each finding, and the counts at the end. `info` is written only with `verbose`."""

    def __init__(self, display: Display, *, verbose: bool) -> None:
        self._display = display
        self._verbose = verbose

    def finding(self, finding: Finding) -> None:
        if self._verbose or finding.severity != "info":
            self._line(str(finding))
            for step in finding.steps:
                self._line(f"  next: {step}")

    def start(self, verdict: StartVerdict) -> None:
        self._line(f"{verdict.path}: {verdict}")

    def compared(self, common: CommonOffset) -> None:
        what = "the highest committed offset that all have" if common.is_certain else "the highest that all have; it may not be committed"
        self._line(f"compared at offset {common.offset}, {what}")

    def digest(self, digest: Digest) -> None:
        self._line(f"{digest.file}: {digest.text} at offset {digest.end_offset}")

    def checks(self, verdict: Verdict, elsewhere: str) -> None:
        self._line(verdict.summary(_OF_DISKS))
        if elsewhere:
            self._line(f"the cluster itself, which is not verified here, has bad: {elsewhere}; see metashell health")

    def summary(self, report: Report) -> None:
        counts = [counted(count, noun, _PLURALS.get(noun, "")) for noun, count in zip(_NOUNS, report.counts.values(), strict=True)]
        found = report.by_severity
        verdict = ["fine"] if report.is_fine else [counted(found["error"], "error"), counted(found["warning"], "warning")]
        if found["unusual"]:
            verdict.append(f"{found['unusual']} unusual")
        if found["info"]:
            verdict.append(counted(found["info"], "note") + ("" if self._verbose else " (-v shows them)"))
        self._line(f"{', '.join(counts)}: {', '.join(verdict)}")

    def _line(self, text: str) -> None:
        self._display.out.write(terminal_line(text) + "\n")


class JsonLinesWriter:
    """Writes one JSON object a line, of kind `finding`, `digest`, `start` or `summary`."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def finding(self, finding: Finding) -> None:
        self._row(finding_value(finding))

    def start(self, verdict: StartVerdict) -> None:
        self._row(verdict_value(verdict))

    def compared(self, common: CommonOffset) -> None:
        self._row({"kind": "compared", **compared_value(common)})

    def digest(self, digest: Digest) -> None:
        self._row(digest_value(digest))

    def checks(self, verdict: Verdict, elsewhere: str) -> None:
        self._row({"kind": "checks", **checks_value(verdict, elsewhere)})

    def summary(self, report: Report) -> None:
        self._row({"kind": "summary", **summary_value(report)})

    def _row(self, value: dict[str, Any]) -> None:
        self._display.out.write(self._display.json(compact_json(value)) + "\n")


class JsonWriter:
    """Writes one JSON value, `{"findings": [...], "digests": [...], "summary": {...}}`; findings are written as they come.

    With `has_starts`, `"starts": [...]` stands in place of the digests.
    """

    def __init__(self, display: Display, *, has_starts: bool = False) -> None:
        self._display = display
        self._has_starts = has_starts
        self._before = '{"findings":['
        self._compared: dict[str, Any] | None = None
        self._checks: dict[str, Any] | None = None
        self._digests: list[dict[str, Any]] = []
        self._starts: list[dict[str, Any]] = []

    def finding(self, finding: Finding) -> None:
        self._write(f"{self._before}\n{compact_json(finding_value(finding))}")
        self._before = ","

    def start(self, verdict: StartVerdict) -> None:
        self._starts.append(verdict_value(verdict))

    def compared(self, common: CommonOffset) -> None:
        self._compared = compared_value(common)

    def digest(self, digest: Digest) -> None:
        self._digests.append(digest_value(digest))

    def checks(self, verdict: Verdict, elsewhere: str) -> None:
        self._checks = checks_value(verdict, elsewhere)

    def summary(self, report: Report) -> None:
        before = "" if self._before == "," else self._before
        end = "\n]" if self._before == "," else "]"
        name, rows = ("starts", self._starts) if self._has_starts else ("digests", self._digests)
        compared = "" if self._compared is None else f'"compared":{compact_json(self._compared)},\n'
        checks = "" if self._checks is None else f'"checks":{compact_json(self._checks)},\n'
        self._write(
            f'{before}{end},\n{compared}{checks}"{name}":{compact_json(rows)},\n"summary":{compact_json(summary_value(report))}}}\n'
        )

    def _write(self, text: str) -> None:
        self._display.out.write(self._display.json(text))


def finding_value(finding: Finding) -> dict[str, Any]:
    """A finding as JSON; position and offset are null where there is none."""
    return {
        "kind": "finding",
        "file": finding.file,
        "position": finding.position if finding.position >= 0 else None,
        "offset": finding.offset if finding.offset >= 0 else None,
        "severity": finding.severity,
        "what": finding.what,
        **({"check": finding.check, "next": list(finding.steps)} if finding.check else {}),
    }


def checks_value(verdict: Verdict, elsewhere: str) -> dict[str, Any]:
    """Return as JSON how many checks ran, which found something, and which did not run and why.

    `elsewhere` names the bad checks of the cluster itself.
    """
    not_run = [{"check": one.check.id, "because": one.because} for one in verdict.not_run]
    return {
        "ran": verdict.ran,
        "found": [finding.check.id for finding in verdict.findings],
        "not_run": not_run,
        "elsewhere": elsewhere or None,
    }


def compared_value(common: CommonOffset) -> dict[str, Any]:
    return {"offset": common.offset, "certain": common.is_certain}


def digest_value(digest: Digest) -> dict[str, Any]:
    return {
        "kind": "digest",
        "file": digest.file,
        "end_offset": digest.end_offset,
        "epoch": digest.epoch,
        "digest": digest.text,
    }


def summary_value(report: Report) -> dict[str, Any]:
    return {"fine": report.is_fine, **report.counts, "findings": report.by_severity}


def make_writer(form: str, display: Display, *, verbose: bool, has_starts: bool = False) -> ReportWriter:
    """The writer of an output form."""
    if form == "json":
        return JsonWriter(display, has_starts=has_starts)
    if form == "jsonl":
        return JsonLinesWriter(display)
    return TextWriter(display, verbose=verbose or has_starts)


_SHOWN_MAX: Final = FINDINGS_MAX


def report_verdict(verdict: Verdict, report: Report) -> None:
    """Report the findings of checks, causes first. A finding that follows from another one has no next steps of its own."""
    for root, followers in verdict.causes():
        for finding in (root, *followers):
            for found in _findings(finding.check, finding.first(_SHOWN_MAX), is_root=finding is root):
                report.add(found)


def _findings(check: Check, found: list[Found], *, is_root: bool) -> Iterator[Finding]:
    for one in found:
        place = one.evidence[0] if one.evidence else None
        file = (None if place is None else place.path) or one.name
        name = "" if one.name in file else f"{one.name}: "
        offset = next((evidence.offset for evidence in one.evidence if evidence.offset >= 0), -1)
        steps = (one.steps or ((check.step,) if check.step else ())) if is_root else ()
        severity = "error" if check.severity == BAD else "unusual"
        yield Finding(file, -1, offset, severity, f"{name}{one.cause or check.words}", check.id, steps)  # type: ignore[arg-type]


def usable_paths(paths: Iterable[str], report: Report) -> list[str]:
    """The paths that a server could start on; every other path is reported."""
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


def report_starts(facts: Facts, writer: ReportWriter, report: Report) -> bool:
    """Report for each known node whether a server would start; return True if all would, and lose nothing. Errors: OSError."""
    is_safe = True
    for number in dict.fromkeys(one.node for one in facts.directories):
        verdict = start_of(facts, number)
        _report(verdict, writer, report)
        is_safe = is_safe and verdict.is_safe
    return is_safe


def start_of(facts: Facts, number: int) -> StartVerdict:
    """The start of one node: the findings of the checks about its directories first, then its metadata log. Errors: OSError."""
    from metashell.inspect.verify.start.forecast import forecast

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


def _report(verdict: StartVerdict, writer: ReportWriter, report: Report) -> None:
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
