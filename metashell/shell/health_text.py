"""A verdict of the checks as text and rows: causes first, then their consequences, each with its evidence and the next step.

Also the leader and the voters, from the records, the node's quorum-state or a live leader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from metashell.common.forms import counted, text_width
from metashell.common.values import moment_text, uuid_text
from metashell.metadata.checks.model import Found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from metashell.common.forms import Display
    from metashell.metadata.checks import Evidence, Facts, Finding, Verdict
    from metashell.metadata.image import MetadataImage
    from metashell.metadata.image.provenance import Leader


_SEVERITY_WIDTH: Final = len("unusual")
_ROOM_MIN: Final = 20
_WIDTH: Final = 120
COLUMNS: Final = ("severity", "kind", "count", "name", "since")


@dataclass(frozen=True, slots=True)
class Shown:
    """A finding with its first subjects; `paths` are their places in the tree and `since` the known times, by name.

    `cause` is the id of the check whose finding explains this one, empty if there is none.
    """

    finding: Finding
    found: Sequence[Found]
    paths: Mapping[str, str]
    since: Mapping[str, str]
    cause: str = ""

    def words(self) -> Iterator[tuple[str, str]]:
        """Yield the subjects that the text names, each with its evidence."""
        for one in self.found:
            known = f"since {self.since[one.name]}" if one.name in self.since else ""
            # If the subject is itself the place, its name is already there.
            places = ", ".join(
                filter(None, (evidence_text(each._replace(path="") if each.path == one.name else each) for each in one.evidence))
            )
            parts = [part for part in (one.cause, known, places) if part]
            yield self.paths.get(one.name, one.name), f"({'; '.join(parts)})" if parts else ""

    @property
    def steps(self) -> list[str]:
        """Return the next steps, each once: those of the subjects, else the check's."""
        own = dict.fromkeys(step for one in self.found for step in one.steps)
        return list(own) or ([self.finding.check.step] if self.finding.check.step else [])


def evidence_text(evidence: Evidence) -> str:
    """Return the text of an evidence: `DIR offset 120, 2026-11-27T00:27:20Z`."""
    offset = f" offset {evidence.offset}" if evidence.offset >= 0 else ""
    time = f", {moment_text(evidence.timestamp_ms)}" if evidence.timestamp_ms >= 0 else ""
    return f"{evidence.path}{offset}{time}".strip(" ,")


def in_order(verdict: Verdict) -> Iterator[tuple[Finding, str]]:
    """Yield the findings in order: each cause, then its consequences with the cause's id."""
    for root, followers in verdict.causes():
        yield root, ""
        for follower in followers:
            yield follower, root.check.id


def shown_of(verdict: Verdict, limit: int = 5) -> list[Shown]:
    """Return the findings with their first subjects, for callers without a tree or a history."""
    return [Shown(finding, finding.first(limit), {}, {}, cause) for finding, cause in in_order(verdict)]


def verdict_lines(display: Display, shown: Sequence[Shown]) -> Iterator[str]:
    """Yield the findings as text: a line for each with its count, then its subjects, its risk, and the next step."""
    kind_width = max((len(each.finding.check.id) for each in shown), default=0)
    count_width = max((len(str(each.finding.count)) for each in shown), default=0)
    indent = _SEVERITY_WIDTH + kind_width + count_width + 6
    width = display.width
    is_narrow = width is not None and width - indent < _ROOM_MIN
    room = None if width is None else width - (_SEVERITY_WIDTH + 2 if is_narrow else indent)
    for each in shown:
        check, count = each.finding.check, each.finding.count
        severity = f"{check.severity:<{_SEVERITY_WIDTH}}"
        follows = f" (follows from {each.cause})" if each.cause else ""
        words = filled(f"{check.words}{follows}".split(), room, " ")
        # On a narrow screen the name of a check gets its own line, and nothing is aligned below it.
        head = f"  {check.id}  {count}" if is_narrow else f"  {check.id:<{kind_width}}  {count:>{count_width}}  {words.pop(0)}"
        # The names of severities are also those of colours.
        painted = display.paint(check.severity, severity)
        yield display.joined((painted, head))
        yield from (f"{'':{_SEVERITY_WIDTH + 2 if is_narrow else indent}}{line}" for line in words)
        yield from _name_lines(each, width)
        if not each.cause:
            yield from _hanging("endangers: ", each.finding.check.endangers, width)
        for step in each.steps if not each.cause else ():
            yield from _hanging("next: ", step, width)


def summary_line(verdict: Verdict, *, holes: Sequence[str] = (), what: str) -> str:
    """Return how many checks ran and what they found, and which could not run, so that a missing check does not look like success."""
    return verdict.summary(what, holes=holes)


def short_verdict(verdict: Verdict, *, holes: Sequence[str] = ()) -> str:
    """Return the findings as one line: `bad: fenced 1, leaderless 2; unusual: reassigning 1`.

    Without findings, return how many checks passed.
    """
    by_severity: dict[str, list[str]] = {}
    for finding, _ in in_order(verdict):
        by_severity.setdefault(finding.check.severity, []).append(f"{finding.check.id} {finding.count}")
    lacking = f", {len(verdict.not_run)} not run" if verdict.not_run else ""
    nothing = f"nothing found ({counted(verdict.ran, 'check')} ran{lacking})"
    words = "; ".join(f"{severity}: {', '.join(kinds)}" for severity, kinds in sorted(by_severity.items())) or nothing
    return f"{words}; not seen: {', '.join(holes)}" if holes else words


def cluster_size(facts: Facts) -> str:
    """Return the size of the cluster as text: `36 partitions and 3 brokers`."""
    if facts.health is None:
        if facts.quorum is not None and not facts.directories:
            return "the quorum alone"
        return counted(len(facts.directories), "directory", "directories")
    partitions, brokers = facts.health.counts()["partitions"], len(facts.image.cluster.brokers)
    least = "at least " if any(hole.startswith("topics:") for hole in facts.holes) else ""
    return f"{least}{counted(partitions, 'partition')} and {counted(brokers, 'broker')}"


def finding_row(shown: Shown) -> dict[str, Any]:
    """Return a finding as a JSON object."""
    check = shown.finding.check
    paths = [shown.paths[one.name] for one in shown.found if one.name in shown.paths]
    return {
        "path": "/",
        "type": "health",
        "severity": check.severity,
        "kind": check.id,
        "count": shown.finding.count,
        "description": check.words,
        "names": [one.name for one in shown.found],
        **({"paths": paths} if paths else {}),
        **({"since": dict(shown.since)} if shown.since else {}),
        "found": [_found_object(one) for one in shown.found],
        "follows_from": shown.cause or None,
        "endangers": check.endangers or None,
        "next": shown.steps,
    }


def _found_object(found: Found) -> dict[str, Any]:
    evidence = [
        {
            "path": one.path,
            "offset": None if one.offset < 0 else one.offset,
            "timestamp": None if one.timestamp_ms < 0 else one.timestamp_ms,
        }
        for one in found.evidence
    ]
    return {"name": found.name, "cause": found.cause or None, "evidence": evidence, "next": list(found.steps)}


def verdict_row(verdict: Verdict, holes: Sequence[str] = ()) -> dict[str, Any]:
    """Return the whole verdict as a JSON object, which comes last."""
    return {
        "path": "/",
        "type": "verdict",
        "ran": verdict.ran,
        "found": [finding.check.id for finding in verdict.findings],
        "not_run": [{"kind": one.check.id, "because": one.because} for one in verdict.not_run],
        "complete": not holes,
        "missing": list(holes),
    }


def rows_of_names(shown: Shown) -> Iterator[dict[str, Any]]:
    """Yield a row per name for tables. The count includes subjects that are not named."""
    check = shown.finding.check
    for one in shown.found or (Found(""),):
        yield {
            "path": "/",
            "type": "health",
            "severity": check.severity,
            "kind": check.id,
            "count": shown.finding.count,
            "name": shown.paths.get(one.name, one.name) or None,
            "since": shown.since.get(one.name),
            "cause": one.cause or None,
            "description": check.words,
        }


def _name_lines(shown: Shown, width: int | None) -> Iterator[str]:
    """Yield lines of names, as many names per line as fit. Details of a name may follow below it."""
    indent = _SEVERITY_WIDTH + 2
    room = (width or _WIDTH) - indent
    words = []
    for name, known in shown.words():
        text = f"{name} {known}" if known else name
        if width is None or text_width(text) <= room:
            words.append(text)
        else:
            words += [name, *(f"  {line}" for line in filled(known.split(), room - 2, " "))]
    more = shown.finding.count - len(shown.found)
    lines = filled([*words, *([f"and {more} more"] if more and words else [])], room, "  ")
    return (f"{'':{indent}}{line}" for line in lines)


def _hanging(label: str, text: str, width: int | None) -> Iterator[str]:
    """Yield text below a finding; further lines are indented to its first word."""
    if not text:
        return
    indent = _SEVERITY_WIDTH + 2
    lines = filled(text.split(), None if width is None else width - indent - len(label), " ")
    for number, line in enumerate(lines):
        yield f"{'':{indent}}{label if not number else ' ' * len(label)}{line}"


def filled(words: Iterable[str], room: int | None, between: str) -> list[str]:
    """Return lines of words, as many per line as fit; a longer word gets its own line."""
    lines: list[str] = []
    for word in words:
        if lines and (room is None or text_width(lines[-1]) + len(between) + text_width(word) <= room):
            lines[-1] += between + word
        else:
            lines.append(word)
    return lines


LOG: Final = "log"
NOTE: Final = "quorum-state"


def leader_of(image: MetadataImage, noted: Callable[[], Leader | None]) -> tuple[Leader | None, str | None]:
    """Return the newest election and its source: the log, or the node's quorum-state (from `noted`) if that has a newer epoch.

    An id of -1 is an epoch in which the node knows no leader.
    """
    election = noted()
    if image.leader is not None and (election is None or election.epoch <= image.leader.epoch):
        return image.leader, LOG
    return (election, NOTE) if election is not None and (election.id >= 0 or election.epoch > 0) else (None, None)


def voters_of(image: MetadataImage, noted: Callable[[], Leader | None]) -> tuple[list[dict[str, Any]], str | None]:
    """Return the voters, each with its `id` and `directory_id`, and their source; none if no source has them."""
    if image.voters is not None:
        return [{"id": voter.id, "directory_id": uuid_text(voter.directory_id)} for voter in image.voters.voters], LOG
    # Static voters have no record of their own; each election lists their ids.
    election = image.leader or noted()
    if election is None or not election.voter_ids:
        return [], None
    return [{"id": id, "directory_id": None} for id in election.voter_ids], NOTE if image.leader is None else LOG
