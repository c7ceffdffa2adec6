"""The forms in which findings, digests and the summary are printed: lines for people, JSON for programs."""

from __future__ import annotations

import json
from typing import Any, Protocol

from metashell.escape import terminal_line, writable
from metashell.verify.digests import Digest
from metashell.verify.finding import Finding, Report
from metashell.verify.start.verdict import StartVerdict, verdict_value


class TextSink(Protocol):
    """Where text goes."""

    def write(self, text: str, /) -> object: ...


class Writer(Protocol):
    """Takes what a run says, in the order in which it is found."""

    def finding(self, finding: Finding) -> None: ...
    def digest(self, digest: Digest) -> None: ...
    def start(self, verdict: StartVerdict) -> None: ...
    def summary(self, report: Report) -> None: ...


class TextWriter:
    """One finding a line, and the counts at the end; what is no finding only with `verbose`."""

    def __init__(self, out: TextSink, *, verbose: bool) -> None:
        self._out = out
        self._verbose = verbose

    def finding(self, finding: Finding) -> None:
        if self._verbose or finding.severity != "info":
            self._line(str(finding))

    def start(self, verdict: StartVerdict) -> None:
        self._line(f"{verdict.path}: {verdict}")

    def digest(self, digest: Digest) -> None:
        self._line(f"{digest.file}: {digest.text} at offset {digest.end_offset}")

    def summary(self, report: Report) -> None:
        counts = [f"{count} {name.replace('_', ' ')}" for name, count in report.counts.items()]
        found = report.by_severity
        told = [f"{found['error']} errors", f"{found['warning']} warnings"] if not report.is_fine else ["fine"]
        if found["info"]:
            told.append(f"{found['info']} notes" + ("" if self._verbose else " (-v shows them)"))
        self._line(f"{', '.join(counts)}: {', '.join(told)}")

    def _line(self, text: str) -> None:
        self._out.write(terminal_line(text) + "\n")


class JsonLinesWriter:
    """One object a line, of kind `finding`, `digest`, `start` or `summary`."""

    def __init__(self, out: TextSink) -> None:
        self._out = out

    def finding(self, finding: Finding) -> None:
        self._row(finding_value(finding))

    def start(self, verdict: StartVerdict) -> None:
        self._row(verdict_value(verdict))

    def digest(self, digest: Digest) -> None:
        self._row(digest_value(digest))

    def summary(self, report: Report) -> None:
        self._row({"kind": "summary", **summary_value(report)})

    def _row(self, value: dict[str, Any]) -> None:
        self._out.write(_json(value) + "\n")


class JsonWriter:
    """One value, `{"findings": [...], "digests": [...], "summary": {...}}`, whose findings are written as they come.

    With `tells_starts` it has `"starts": [...]` in place of digests.
    """

    def __init__(self, out: TextSink, *, tells_starts: bool = False) -> None:
        self._out = out
        self._tells_starts = tells_starts
        self._before = '{"findings":['
        self._digests: list[dict[str, Any]] = []
        self._starts: list[dict[str, Any]] = []

    def finding(self, finding: Finding) -> None:
        self._out.write(f"{self._before}\n{_json(finding_value(finding))}")
        self._before = ","

    def start(self, verdict: StartVerdict) -> None:
        self._starts.append(verdict_value(verdict))

    def digest(self, digest: Digest) -> None:
        self._digests.append(digest_value(digest))

    def summary(self, report: Report) -> None:
        before = "" if self._before == "," else self._before
        end = "\n]" if self._before == "," else "]"
        name, rows = ("starts", self._starts) if self._tells_starts else ("digests", self._digests)
        self._out.write(f'{before}{end},\n"{name}":{_json(rows)},\n"summary":{_json(summary_value(report))}}}\n')


def finding_value(finding: Finding) -> dict[str, Any]:
    """A finding's JSON; position and offset are null where there is none."""
    return {
        "kind": "finding",
        "file": writable(finding.file),
        "position": finding.position if finding.position >= 0 else None,
        "offset": finding.offset if finding.offset >= 0 else None,
        "severity": finding.severity,
        "what": finding.what,
    }


def digest_value(digest: Digest) -> dict[str, Any]:
    return {
        "kind": "digest",
        "file": writable(digest.file),
        "end_offset": digest.end_offset,
        "epoch": digest.epoch,
        "digest": digest.text,
    }


def summary_value(report: Report) -> dict[str, Any]:
    return {"fine": report.is_fine, **report.counts, "findings": report.by_severity}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def make_writer(form: str, out: TextSink, *, verbose: bool, tells_starts: bool = False) -> Writer:
    """The writer of an output form."""
    if form == "json":
        return JsonWriter(out, tells_starts=tells_starts)
    if form == "jsonl":
        return JsonLinesWriter(out)
    return TextWriter(out, verbose=verbose or tells_starts)
