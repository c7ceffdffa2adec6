"""The forms in which findings, digests and the summary are printed: lines for people, JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from metashell.escape import terminal_line
from metashell.forms import Display, compact_json, counted
from metashell.log.reach import Common
from metashell.verify.digests import Digest
from metashell.verify.finding import Finding, Report
from metashell.verify.start.verdict import StartVerdict, verdict_value

if TYPE_CHECKING:
    from metashell.checks.model import Verdict

_OF_DISKS = "what the files say of each other"
_NOUNS = ("directory", "file", "batch", "record", "index entry")
"""Of the counts of a report, in its order."""
_PLURALS = {"directory": "directories", "batch": "batches", "index entry": "index entries"}


class Writer(Protocol):
    """Takes what a run says, in the order in which it is found."""

    def finding(self, finding: Finding) -> None: ...
    def compared(self, common: Common) -> None: ...
    def digest(self, digest: Digest) -> None: ...
    def start(self, verdict: StartVerdict) -> None: ...
    def checks(self, verdict: Verdict, elsewhere: str) -> None: ...
    def summary(self, report: Report) -> None: ...


class TextWriter:
    """One finding a line, and the counts at the end; notes only with `verbose`."""

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

    def compared(self, common: Common) -> None:
        what = "the highest certain offset that all have" if common.is_certain else "the highest that all have; none is certain"
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
    """One object a line, of kind `finding`, `digest`, `start` or `summary`."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def finding(self, finding: Finding) -> None:
        self._row(finding_value(finding))

    def start(self, verdict: StartVerdict) -> None:
        self._row(verdict_value(verdict))

    def compared(self, common: Common) -> None:
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
    """One value, `{"findings": [...], "digests": [...], "summary": {...}}`, whose findings are written as they come.

    With `has_starts` it has `"starts": [...]` in place of digests.
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

    def compared(self, common: Common) -> None:
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
    """A finding's JSON; position and offset are null where there is none."""
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
    """How many checks ran, and which did not and why; `elsewhere` is what others call bad in the same metadata."""
    not_run = [{"check": one.check.id, "because": one.because} for one in verdict.not_run]
    return {
        "ran": verdict.ran,
        "found": [finding.check.id for finding in verdict.findings],
        "not_run": not_run,
        "elsewhere": elsewhere or None,
    }


def compared_value(common: Common) -> dict[str, Any]:
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


def make_writer(form: str, display: Display, *, verbose: bool, has_starts: bool = False) -> Writer:
    """The writer of an output form."""
    if form == "json":
        return JsonWriter(display, has_starts=has_starts)
    if form == "jsonl":
        return JsonLinesWriter(display)
    return TextWriter(display, verbose=verbose or has_starts)
