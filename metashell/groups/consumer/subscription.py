"""The topics to which a group is subscribed, by name and by regular expression; a change raises the group's epoch.

A pattern comes from a client, so it never reaches Python's `re`, where some patterns take exponential time: `(a*)*b` against thirty `a`s
would stop the coordinator. `Regex` is an automaton. Its size is bounded before it is built, so each character of a topic name takes
bounded time.
Source: org.apache.kafka.coordinator.group.GroupMetadataManager.hasMemberSubscriptionChanged, maybeUpdateRegularExpressions,
updateSubscriptionMetadata and handleRegularExpressionsResult; KIP-848; the syntax page of RE2."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
"""The time after which a metadata hash is computed again even if no topic changes."""


class RegexChange(Enum):
    """A request's effect on the member's regular expression."""

    NONE = auto()
    UPDATED = auto()
    RESOLVED = auto()
    """Updated, and its topics are known."""


def names_changed(group_id: str, member: ConsumerGroupMember, updated: ConsumerGroupMember, records: list[Record]) -> bool:
    """Return whether the member names other topics now. Adds its record if anything in it has changed."""
    if member.same_as(updated):
        return False
    records.append(member_record(group_id, updated))
    return set(member.names) != set(updated.names)


def update_regex(
    context: Context, group: ConsumerGroup, member: ConsumerGroupMember, updated: ConsumerGroupMember, now_ms: int, records: list[Record]
) -> RegexChange:
    """Update the member's regular expression, and schedule the resolution of all of the group's if it is due.

    Errors: GroupError 128 for an invalid expression that no other member has.
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
    """Compute the group's metadata hash, and raise its epoch if the hash or the member's subscription (`is_bumped`) has changed."""
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
    """Return whether topics may have changed since the metadata hash was computed."""
    return now_ms >= group.refresh_ms or group.epoch < group.refresh_epoch


def subscribers_without(group: ConsumerGroup, gone: Sequence[ConsumerGroupMember], regexes_gone: Iterable[str]) -> dict[str, Subscribers]:
    """Return the group's subscribers without these members and expressions."""
    subscribers = dict(group.subscribers)
    for member in gone:
        for name in member.names:
            count_name(subscribers, name, -1)
    for regex in regexes_gone:
        for name in _topics_of(group, regex):
            count_regex(subscribers, name, -1)
    return subscribers


def last_users(group: ConsumerGroup, gone: Sequence[ConsumerGroupMember]) -> list[str]:
    """Return the regular expressions that only these members have."""
    counts: dict[str, int] = {}
    for member in gone:
        if member.regex:
            add_count(counts, member.regex, 1)
    return [regex for regex, count in counts.items() if group.regexes.get(regex, 0) == count]


def _check(text: str) -> None:
    try:
        Regex(text)
    except RegexSyntaxError as error:
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
        # Kafka does this in another thread. Here a timer that is due at once makes it a decision of its own. As in Kafka, the rights are
        # those of the member whose heartbeat began it.
        can_describe = context.can_describe
        context.timers.schedule(key, now_ms, lambda then_ms: _resolve(context, group.group_id, tuple(regexes), can_describe, then_ms))


def _resolve(
    context: Context, group_id: str, regexes: tuple[str, ...], can_describe: Callable[[str], bool] | None, now_ms: int
) -> Decision:
    """Match the expressions against all topics that may be seen; raise the group's epoch if one matches other topics than before."""
    group = context.state.groups.get(group_id)
    if not isinstance(group, ConsumerGroup):
        return Decision()
    topics, records, is_bumped = context.state.topics, list[Record](), False
    subscribers = dict(group.subscribers)
    for text in regexes:
        if text not in group.regexes:
            continue
        regex = Regex(text)
        matched = frozenset(name for name in topics.names() if regex.matches(name) and (can_describe is None or can_describe(name)))
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


# ---- matching a pattern

LONGEST: Final = 2_000
"""The longest pattern, in characters. RE2/J has neither this bound nor the next: Kafka resolves patterns in a thread of their own."""
LARGEST: Final = 2_000
"""The most steps of a pattern's automaton. Each character of a topic's name costs at most this many."""
_MEMO: Final = 200_000
"""The most states in all memoized sets."""


class Regex:
    """A compiled pattern: an NFA whose sets of states are memoized, as in RE2. Errors: RegexSyntaxError in RE2/J's words.

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
        """Return whether the whole text matches."""
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
        """Return the states that are reached without taking a character: steps that take one, and the end."""
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
        """Add a node that continues with `follow`, and return its first step. Repetitions around it make `copies` of it."""
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
            # Nested counts multiply, even around an empty expression, which adds no steps.
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
    """Return the class of a character as far as a look-around can see it."""
    if char in ("", "\n"):
        return char
    return "w" if char.isascii() and (char.isalnum() or char == "_") else "-"
