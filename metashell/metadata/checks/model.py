"""The types of a check, of its findings and of the verdict, the registry of checks, and evidence from the log.

Each file of `metadata.checks.rules` registers its checks with the decorator `check`. `evidence_of`, `settings_since` and `last_of` find the
record that made something what it is, among the rare records of the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.common.forms import counted

if TYPE_CHECKING:
    from metashell.metadata.checks.facts import Facts, LogEvent


BAD: Final = "bad"
UNUSUAL: Final = "unusual"
_FIRST: Final = frozenset(
    {
        "identity",
        "checkpoints",
        "configuration",
        "quorum_state",
        "leader_elections",
        "strays",
        "migration",
        "probes",
        "voters",
        "quorum",
        "throttles",
    }
)
"""The subjects that everything else depends on."""


class Evidence(NamedTuple):
    """The place at which a fact was read: a path or an address, an offset of the log (-1 for none), a time in Unix ms (-1 for none)."""

    path: str
    offset: int = -1
    timestamp_ms: int = -1


class Found(NamedTuple):
    """One thing that a check found: its name (`orders/0`, `controller 3`), the cause in a few words with the values, and what to do.

    `steps` are exact commands or actions for this one thing, `key` its subject for paths and joins: ("partition", topic id, id),
    ("broker", id), ("controller", id), ("voter", id), ("directory", path), ("topic", id), ("feature", name), or () for the cluster.
    """

    name: str
    cause: str = ""
    evidence: tuple[Evidence, ...] = ()
    steps: tuple[str, ...] = ()
    key: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One rule. `find` is a pure function of the facts; it is called only if all of `needs` are there.

    Shape: `words` say what is counted; `follows` are the ids of checks whose findings explain this one; `endangers` and `step` are
    sentences (`step` says what to do if a Found has no steps of its own); `source` is Kafka's class or KIP; `example` shows a finding. With
    `of_a_part` the check also runs on an image that lacks the beginning of the log.
    """

    id: str
    severity: str
    words: str
    needs: tuple[str, ...]
    find: Callable[[Facts], Iterable[Found] | Many]
    subject: str
    follows: tuple[str, ...] = ()
    endangers: str = ""
    step: str = ""
    source: str = ""
    example: str = ""
    of_a_part: bool = False


class Many:
    """Things that are counted at once and named only when somebody iterates over them: partitions, of which there are millions."""

    def __init__(self, count: int, names: Callable[[], Iterator[Found]]) -> None:
        self.count = count
        self._names = names

    def __iter__(self) -> Iterator[Found]:
        return self._names()


class Finding:
    """The result of one check: how many things it found, and the things themselves, in order."""

    __slots__ = ("_found", "check", "count")

    def __init__(self, check: Check, found: Sequence[Found] | Many) -> None:
        self.check = check
        self.count = found.count if isinstance(found, Many) else len(found)
        self._found = found

    def first(self, limit: int) -> list[Found]:
        return list(islice(self._found, limit))

    def __iter__(self) -> Iterator[Found]:
        return iter(self._found)


class NotRun(NamedTuple):
    """A check that could not run, and the fact that it lacked."""

    check: Check
    because: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of all checks: `findings` in the order of the registry, worst first; `ran` counts the checks that ran."""

    findings: tuple[Finding, ...]
    ran: int
    not_run: tuple[NotRun, ...]

    @property
    def bad(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.check.severity == BAD)

    def summary(self, what: str, *, holes: Sequence[str] = ()) -> str:
        """Return one line with the checks of `what` that ran, found something or could not run: a missing fact must not look sound."""
        found = f"{len(self.findings)} found something" if self.findings else "found nothing"
        lacking = Counter(one.because for one in self.not_run)
        missing = ", ".join(f"{count} ({because})" for because, count in lacking.items())
        seen = f"; not seen: {', '.join(holes)}" if holes else ""
        return f"{counted(self.ran, 'check')} of {what}: {found}{f'; not run: {missing}' if missing else ''}{seen}"

    def causes(self) -> list[tuple[Finding, list[Finding]]]:
        """Each finding that has no cause among the others, with those that follow from it.

        Findings that keep a node or the quorum from working come first, then those that others follow from.
        """
        present = {finding.check.id: finding for finding in self.findings}
        followers: dict[str, list[Finding]] = {id: [] for id in present}
        roots = []
        for finding in self.findings:
            cause = next((id for id in finding.check.follows if id in present), None)
            if cause is None:
                roots.append(finding)
            else:
                followers[cause].append(finding)
        return sorted(
            ((root, _below(root, followers)) for root in roots),
            key=lambda found: (found[0].check.severity != BAD, found[0].check.subject not in _FIRST, not found[1]),
        )


def _below(root: Finding, followers: dict[str, list[Finding]]) -> list[Finding]:
    """All findings that follow from this one, directly or not. `test_model.py` holds that checks form no circle."""
    found = []
    for follower in followers[root.check.id]:
        found += [follower, *_below(follower, followers)]
    return found


CHECKS: Final[dict[str, Check]] = {}
SUBJECTS: Final = (
    "acls",
    "brokers",
    "checkpoints",
    "configuration",
    "disks",
    "probes",
    "registrations",
    "features",
    "identity",
    "incarnations",
    "leader_elections",
    "lint",
    "metadata",
    "migration",
    "partitions",
    "quorum",
    "quorum_state",
    "strays",
    "throttles",
    "transactions",
    "voters",
)
"""The subjects of checks, in the order in which verdicts name them."""


def check(name: str, severity: str, words: str, *needs: str, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the function below as a check; `name` is its subject and id (`voters.moved_voter`). See `Check` for what `more` may be."""
    subject, id = name.split(".")

    def register(find: Callable[[Facts], Iterable[Found] | Many]) -> Callable[[Facts], Iterable[Found] | Many]:
        assert subject in SUBJECTS and id not in CHECKS, name
        CHECKS[id] = Check(id=id, severity=severity, words=words, needs=needs, find=find, subject=subject, **more)
        return find

    return register


# ---- evidence from the log


Setting = tuple[int, str, str]
"""Resource type, resource name and key of a setting."""


def evidence_of(event: LogEvent) -> tuple[Evidence, ...]:
    return (Evidence("", event.offset, event.timestamp_ms),)


def settings_since(events: Iterable[LogEvent]) -> dict[Setting, LogEvent]:
    """The record that gave each setting its present value; a later record with the same value does not count."""
    found: dict[Setting, LogEvent] = {}
    for event in events:
        if event.name == "CONFIG_RECORD":
            record: Any = event.record
            key = record.resource_type, record.resource_name, record.name
            if key not in found or found[key].record.value != record.value:
                found[key] = event
    return found


def last_of(events: Iterable[LogEvent], name: str, **fields: object) -> LogEvent | None:
    """The last record of a type with these fields."""
    found = None
    for event in events:
        if event.name == name and all(getattr(event.record, field) == value for field, value in fields.items()):
            found = event
    return found
