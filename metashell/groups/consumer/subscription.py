"""The topics to which a group is subscribed, by name and by regular expression; a change raises the group's epoch.

A pattern comes from a client, so it never reaches Python's `re`, where some patterns take exponential time. Its size is bounded before it
is parsed, and each character of a topic name takes bounded time.
Source: org.apache.kafka.coordinator.group.GroupMetadataManager.hasMemberSubscriptionChanged, maybeUpdateRegularExpressions,
updateSubscriptionMetadata and handleRegularExpressionsResult; KIP-848; the syntax page of RE2."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import Final

from metashell.codec.error_codes import INVALID_REGULAR_EXPRESSION
from metashell.groups.consumer import (
    ConsumerGroupMember,
    group_record,
    member_record,
    partition_metadata_tombstone,
    regex_record,
    regex_tombstone,
)
from metashell.groups.consumer.group import Change, ConsumerGroup, Subscribers, add_count, count_name, count_regex, is_homogeneous
from metashell.groups.consumer.regex import ASSERT, CHAR, EMPTY, TOO_LARGE, RegexNode, RegexSyntaxError, parse
from metashell.groups.decision import Decision, GroupError, Record
from metashell.groups.state import Context
from metashell.groups.topics import Topics, group_hash

NEVER_MS: Final = 2**31 - 1
"""How long a metadata hash holds where no topic changes."""


class RegexChange(Enum):
    """What a request did to the member's regular expression."""

    NONE = auto()
    UPDATED = auto()
    RESOLVED = auto()
    """Updated, and it is known what it matches."""


def names_changed(group_id: str, member: ConsumerGroupMember, updated: ConsumerGroupMember, records: list[Record]) -> bool:
    """Whether the member names other topics now; its record is added where anything of it has changed."""
    if member.same_as(updated):
        return False
    records.append(member_record(group_id, updated))
    return set(member.names) != set(updated.names)


def update_regex(
    context: Context, group: ConsumerGroup, member: ConsumerGroupMember, updated: ConsumerGroupMember, now_ms: int, records: list[Record]
) -> RegexChange:
    """What has become of the member's regular expression; has all of the group's resolved where that is due.

    Errors: GroupError 128 for an expression that nobody had and that is none.
    """
    old, new = member.regex, updated.regex
    change, is_new = RegexChange.NONE, False
    if old != new:
        if old and group.regexes.get(old, 0) == 1:
            records.append(regex_tombstone(group.group_id, old))
        if new and new not in group.regexes:
            _check(new)
            change, is_new = RegexChange.UPDATED, True
        elif new:
            change = RegexChange.RESOLVED if new in group.resolved else RegexChange.UPDATED
        elif old:
            change = RegexChange.RESOLVED
    if is_new or group.regexes:
        _resolve_when_due(context, group, old, new, is_new, now_ms)
    return change


def update_epoch(change: Change, is_bumped: bool, topics: Topics, now_ms: int, records: list[Record]) -> Change:
    """The group's epoch and subscription after the member's change, or where only the metadata may have changed."""
    group, updated = change.group, change.updated
    regexes = _regexes_with(group, change.member, updated)
    subscribers = _subscribers_with(group, change.member, updated)
    metadata_hash = group_hash(subscribers, topics)
    count = len(group.members)
    if updated.member_id not in group.members and updated.instance_id not in group.statics:
        count += 1
    epoch = group.epoch
    if is_bumped or metadata_hash != group.metadata_hash:
        epoch += 1
        records.append(group_record(group.group_id, epoch, metadata_hash))
    _refreshed(group, epoch, now_ms)
    if group.has_partition_metadata:
        records.append(partition_metadata_tombstone(group.group_id))
    return change._replace(epoch=epoch, is_homogeneous=is_homogeneous(regexes, subscribers, count))


def is_refresh_due(group: ConsumerGroup, now_ms: int) -> bool:
    """Whether topics may have changed since the metadata hash was computed."""
    return now_ms >= group.refresh_ms or group.epoch < group.refresh_epoch


def subscribers_without(group: ConsumerGroup, gone: Sequence[ConsumerGroupMember], regexes_gone: Iterable[str]) -> dict[str, Subscribers]:
    """Who is subscribed to what when these members and expressions are not any more."""
    subscribers = dict(group.subscribers)
    for member in gone:
        for name in member.names:
            count_name(subscribers, name, -1)
    for regex in regexes_gone:
        for name in _topics_of(group, regex):
            count_regex(subscribers, name, -1)
    return subscribers


def last_users(group: ConsumerGroup, gone: Sequence[ConsumerGroupMember]) -> list[str]:
    """The regular expressions that only these members have."""
    counts: dict[str, int] = {}
    for member in gone:
        if member.regex:
            add_count(counts, member.regex, 1)
    return [regex for regex, count in counts.items() if group.regexes.get(regex, 0) == count]


def _check(text: str) -> None:
    try:
        Regex(text)
    except RegexError as error:
        message = f"SubscribedTopicRegex `{text}` is not a valid regular expression: {error}."
        raise GroupError(INVALID_REGULAR_EXPRESSION, message) from error


def _resolve_when_due(context: Context, group: ConsumerGroup, old: str | None, new: str | None, is_new: bool, now_ms: int) -> None:
    key, settings = ("regex", group.group_id), context.settings
    resolved_ms = next((one.timestamp_ms for one in group.resolved.values()), -(2**63))
    if key in context.timers or now_ms <= resolved_ms + settings.regex_refresh_interval_ms:
        return
    regexes = dict(group.regexes)
    if old:
        add_count(regexes, old, -1)
    if new:
        add_count(regexes, new, 1)
    version = next((one.version for one in group.resolved.values()), 0)
    is_due = (
        is_new
        or len(regexes) != len(group.resolved)
        or version < context.new_topics_version
        or now_ms > resolved_ms + settings.regex_refresh_max_ms
    )
    if is_due and regexes:
        # Kafka gives this to another thread; here it is a timer that is due at once, and so a decision of its own.
        context.timers.schedule(key, now_ms, lambda then_ms: _resolve(context, group.group_id, tuple(regexes), then_ms))


def _resolve(context: Context, group_id: str, regexes: tuple[str, ...], now_ms: int) -> Decision:
    """Find what the expressions match, and move the group epoch where that is something else than before."""
    group = context.state.groups.get(group_id)
    if not isinstance(group, ConsumerGroup):
        return Decision()
    topics, records, is_bumped = context.state.topics, list[Record](), False
    subscribers = dict(group.subscribers)
    for text in regexes:
        if text not in group.regexes:
            continue
        regex = Regex(text)
        matched = frozenset(name for name in topics.names() if regex.matches(name))
        known = _topics_of(group, text)
        if matched != known:
            is_bumped = True
            for name in known:
                count_regex(subscribers, name, -1)
            for name in matched:
                count_regex(subscribers, name, 1)
        records.append(regex_record(group_id, text, matched, topics.version, now_ms))
    metadata_hash = group_hash(subscribers, topics)
    if is_bumped or metadata_hash != group.metadata_hash:
        records.append(group_record(group_id, group.epoch + 1, metadata_hash))
        _refreshed(group, group.epoch + 1, now_ms)
    return Decision(records)


def _refreshed(group: ConsumerGroup, epoch: int, now_ms: int) -> None:
    group.refresh_ms, group.refresh_epoch = now_ms + NEVER_MS, epoch


def _topics_of(group: ConsumerGroup, regex: str) -> frozenset[str]:
    known = group.resolved.get(regex)
    return frozenset() if known is None else known.topics


def _regexes_with(group: ConsumerGroup, member: ConsumerGroupMember, updated: ConsumerGroupMember) -> dict[str, int]:
    regexes = dict(group.regexes)
    if member.regex != updated.regex:
        if member.regex:
            add_count(regexes, member.regex, -1)
        if updated.regex:
            add_count(regexes, updated.regex, 1)
    return regexes


def _subscribers_with(group: ConsumerGroup, member: ConsumerGroupMember, updated: ConsumerGroupMember) -> dict[str, Subscribers]:
    subscribers = dict(group.subscribers)
    for name in member.names:
        count_name(subscribers, name, -1)
    for name in updated.names:
        count_name(subscribers, name, 1)
    if member.regex and member.regex != updated.regex and group.regexes.get(member.regex, 0) == 1:
        for name in _topics_of(group, member.regex):
            count_regex(subscribers, name, -1)
    return subscribers


RegexError = RegexSyntaxError
LONGEST: Final = 2_000
"""Characters of a pattern. RE2/J has no such bound, nor the next one: there, each group has its own thread's time to lose."""
LARGEST: Final = 2_000
"""Steps that a pattern may come to: each character of a topic's name costs as many at most."""
_MEMO: Final = 200_000
"""States in all sets that are remembered."""


class Regex:
    """A pattern that was read once. Errors: RegexError with RE2/J's words for what is no pattern.

    Shape: a step is a node that takes a character or looks around, with the steps that follow it; a split has no node.
    """

    def __init__(self, pattern: str) -> None:
        if len(pattern) > LONGEST:
            raise RegexSyntaxError(TOO_LARGE)
        self._nodes: list[RegexNode | None] = []
        self._next: list[tuple[int, ...]] = []
        self._end = self._add(None, ())
        self._begin = self._compile(parse(pattern), self._end, 1)
        self._memo: dict[tuple[frozenset[int], str, str], frozenset[int]] = {}
        self._remembered = 0

    def matches(self, text: str) -> bool:
        """Whether the whole text matches."""
        states = self._closure((self._begin,), "", text[:1])
        for at, char in enumerate(text, 1):
            if not states:
                return False
            states = self._step(states, char, text[at : at + 1])
        return self._end in states

    def _step(self, states: frozenset[int], char: str, after: str) -> frozenset[int]:
        key = (states, char, _kind(after))
        found = self._memo.get(key)
        if found is None:
            taken = [
                follow for state in states if (node := self._nodes[state]) is not None and node.takes(char) for follow in self._next[state]
            ]
            if self._remembered >= _MEMO:
                self._memo.clear()
                self._remembered = 0
            found = self._memo[key] = self._closure(taken, char, after)
            self._remembered += len(states) + len(found) + 1
        return found

    def _closure(self, states: Iterable[int], before: str, after: str) -> frozenset[int]:
        """Where one gets without taking a character: steps that take one, and the end."""
        found: set[int] = set()
        seen: set[int] = set()
        waiting = list(states)
        while waiting:
            state = waiting.pop()
            if state in seen:
                continue
            seen.add(state)
            node = self._nodes[state]
            if state == self._end or (node is not None and node.kind == CHAR):
                found.add(state)
            elif node is None or node.holds(before, after):
                waiting += self._next[state]
        return frozenset(found)

    def _add(self, node: RegexNode | None, follow: tuple[int, ...]) -> int:
        if len(self._nodes) >= LARGEST:
            raise RegexSyntaxError(TOO_LARGE)
        self._nodes.append(node)
        self._next.append(follow)
        return len(self._nodes) - 1

    def _compile(self, node: RegexNode, follow: int, copies: int) -> int:
        """The first step of a node after which comes `follow`; counted repetitions around it make so many copies of it."""
        if node.kind in (CHAR, ASSERT):
            return self._add(node, (follow,))
        if node.kind == EMPTY:
            return follow
        if node.kind == "sequence":
            for part in reversed(node.parts):
                follow = self._compile(part, follow, copies)
            return follow
        if node.kind == "choice":
            return self._add(None, tuple(self._compile(part, follow, copies) for part in node.parts))
        return self._repeat(node, follow, copies)

    def _repeat(self, node: RegexNode, follow: int, copies: int) -> int:
        part, least, most = node.parts[0], node.least, node.most
        copies *= max(1, least if most is None else most)
        if copies > LARGEST:
            # Counts inside of counts multiply, also where they repeat nothing.
            raise RegexSyntaxError(TOO_LARGE)
        if most is None:
            loop = self._add(None, ())
            self._next[loop] = (self._compile(part, loop, copies), follow)
            follow = loop
        else:
            for _ in range(most - least):
                follow = self._add(None, (self._compile(part, follow, copies), follow))
        for _ in range(least):
            follow = self._compile(part, follow, copies)
        return follow


def _kind(char: str) -> str:
    """All that a look around can tell of the next character."""
    if char in ("", "\n"):
        return char
    return "w" if char.isascii() and (char.isalnum() or char == "_") else "-"
