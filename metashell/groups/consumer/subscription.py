"""What a group is subscribed to, and when a change of that moves its epoch.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.hasMemberSubscriptionChanged, maybeUpdateRegularExpressions,
updateSubscriptionMetadata and handleRegularExpressionsResult; groups.md 10.3 and 10.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import Final

from metashell.codec.error_codes import INVALID_REGULAR_EXPRESSION
from metashell.groups.consumer.change import Change
from metashell.groups.consumer.group import ConsumerGroup, Subscribers, add_count, count_name, count_regex, is_homogeneous
from metashell.groups.consumer.member import Member
from metashell.groups.consumer.records import group_record, member_record, partition_metadata_tombstone, regex_record, regex_tombstone
from metashell.groups.consumer.regex import Regex, RegexError
from metashell.groups.context import Context
from metashell.groups.decision import Decision, GroupError
from metashell.groups.metadata_hash import group_hash
from metashell.groups.record import Record
from metashell.groups.topics import Topics

NEVER_MS: Final = 2**31 - 1
"""How long a metadata hash holds where no topic changes."""


class RegexChange(Enum):
    """What a request did to the member's regular expression."""

    NONE = auto()
    UPDATED = auto()
    RESOLVED = auto()
    """Updated, and it is known what it matches."""


def names_changed(group_id: str, member: Member, updated: Member, records: list[Record]) -> bool:
    """Whether the member names other topics now; its record is added where anything of it has changed."""
    if member.same_as(updated):
        return False
    records.append(member_record(group_id, updated))
    return set(member.names) != set(updated.names)


def update_regex(
    context: Context, group: ConsumerGroup, member: Member, updated: Member, now_ms: int, records: list[Record]
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


def subscribers_without(group: ConsumerGroup, gone: Sequence[Member], regexes_gone: Iterable[str]) -> dict[str, Subscribers]:
    """Who is subscribed to what when these members and expressions are not any more."""
    subscribers = dict(group.subscribers)
    for member in gone:
        for name in member.names:
            count_name(subscribers, name, -1)
    for regex in regexes_gone:
        for name in _topics_of(group, regex):
            count_regex(subscribers, name, -1)
    return subscribers


def last_users(group: ConsumerGroup, gone: Sequence[Member]) -> list[str]:
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


def _regexes_with(group: ConsumerGroup, member: Member, updated: Member) -> dict[str, int]:
    regexes = dict(group.regexes)
    if member.regex != updated.regex:
        if member.regex:
            add_count(regexes, member.regex, -1)
        if updated.regex:
            add_count(regexes, updated.regex, 1)
    return regexes


def _subscribers_with(group: ConsumerGroup, member: Member, updated: Member) -> dict[str, Subscribers]:
    subscribers = dict(group.subscribers)
    for name in member.names:
        count_name(subscribers, name, -1)
    for name in updated.names:
        count_name(subscribers, name, 1)
    if member.regex and member.regex != updated.regex and group.regexes.get(member.regex, 0) == 1:
        for name in _topics_of(group, member.regex):
            count_regex(subscribers, name, -1)
    return subscribers
