"""What a broker's own log (server.log) says about a group: why a rebalance began, how a member left, which member ids were never used.

The log of groups has decisions, the server log has reasons. Lines are found by the group's id and the words that brokers of 2.4 to 4.4
write, whatever layout of log4j surrounds them. Times are shown as they are written, since they name no zone: lines are matched to records
by generation and member id, never by time. Anyone may write such a file, so its text is shown as a quotation, with its line number.
Source: kafka.coordinator.group.GroupCoordinator; org.apache.kafka.coordinator.group.GroupMetadataManager."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

LINE_MAX: Final = 4096
SESSION_ENDED: Final = "its session ended"


class LogLine(NamedTuple):
    """A line of a server log: its file and number, its time as written, and what it says."""

    file: str
    number: int
    time: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.file}, line {self.number}"


@dataclass(slots=True)
class ServerLog:
    """The lines about one group.

    Shape: `reasons` has by generation the last line that says why it began; `ends` by member id the lines on how it ended, which are
    several where a client keeps its id; `given` are member ids that were given to a client and not used since, with their lines;
    `preparing` is the line with which the rebalance began that the log shows no end of.
    """

    reasons: dict[int, LogLine] = field(default_factory=dict)
    ends: dict[str, list[LogLine]] = field(default_factory=dict)
    given: dict[str, LogLine] = field(default_factory=dict)
    preparing: LogLine | None = None
    joined: dict[str, LogLine] = field(default_factory=dict)
    """Members that joined since then."""

    @property
    def has_lines(self) -> bool:
        return bool(self.reasons or self.ends or self.given)


_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]?\d*")
_PREPARING: Final = re.compile(
    r"Preparing to rebalance group \S.* in state \w+ with old generation (\d+).*?\(reason: (.*?)\)\.?(?: \(kafka|\s*\(org|\s*$)"
)
_STABILIZED: Final = re.compile(r"Stabilized group \S.* generation (\d+)")
_FAILED: Final = re.compile(r"Member (\S+) in group \S.* has failed, removing")
_LEFT: Final = re.compile(
    r"Member (?:MemberMetadata\(memberId=)?([^\s,]+).* has left group.*?(?:client reason: (.*?))?(?: \((?:kafka|org)\.|$)"
)
_FENCED: Final = re.compile(r"Member (\S+) fenced from the group because (.*?)\.?(?: \(org\.|$)")
_GONE: Final = re.compile(r"Member (\S+) (?:left|leaves) the (?:consumer|streams|share) group")
_GIVEN: Final = re.compile(r"Created a new member id (\S+) ")
_USED: Final = re.compile(r"Pending dynamic member with id (\S+) joins group")
_REPLACED: Final = re.compile(r"Replacing previously mapped member (\S+) with this groupInstanceId")
_EMPTIED: Final = re.compile(r"Group \S.* with generation (\d+) is now empty")
_EXPIRED: Final = re.compile(r"Pending member (\S+) in group \S.* has been removed")


def read_server_log(name: str, lines: Iterable[str], group_id: str, found: ServerLog | None = None) -> ServerLog:
    """Return what the lines of the server log `name` say about a group, added to `found`."""
    found = ServerLog() if found is None else found
    named = re.compile(rf"\b[Gg]roup(?:Id)? {re.escape(group_id)}(?=[\s\],]|$)")
    for number, line in enumerate(lines, start=1):
        if group_id in line and named.search(line[:LINE_MAX]):
            _add(found, name, number, line[:LINE_MAX].rstrip())
    return found


def _add(found: ServerLog, file: str, number: int, line: str) -> None:
    match_time = _TIME.search(line)
    time = "" if match_time is None else match_time.group()

    def said(text: str) -> LogLine:
        return LogLine(file, number, time, text)

    def ended(id: str, text: str) -> None:
        found.ends.setdefault(id, []).append(said(text))

    if match := _PREPARING.search(line):
        found.reasons[int(match[1]) + 1] = found.preparing = said(match[2])
        found.joined.clear()
    elif _STABILIZED.search(line) or _EMPTIED.search(line):
        found.preparing = None
        found.joined.clear()
    elif match := _FAILED.search(line):
        ended(match[1], SESSION_ENDED)
        found.given.pop(match[1], None)
    elif match := _FENCED.search(line):
        ended(match[1], SESSION_ENDED if "session expired" in match[2] else f"fenced, because {match[2]}")
    elif match := _GONE.search(line):
        ended(match[1], "it left")
    elif match := _LEFT.search(line):
        reason = match[2] or ""
        ended(match[1], "it left" + (f": {reason}" if reason not in ("", "not provided") else ""))
    elif match := _REPLACED.search(line):
        ended(match[1], "another member took its group.instance.id")
    elif match := _GIVEN.search(line):
        found.given[match[1]] = said("given a member id")
    elif match := _USED.search(line):
        found.given.pop(match[1], None)
        found.joined[match[1]] = said("joined")
    elif match := _EXPIRED.search(line):
        found.given.pop(match[1], None)
