"""What an operator asks of logs that were read: which groups there are, one of them in full, its offsets, and what expires."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from metashell.codec.primitives import kafka_text
from metashell.groups.group import Group
from metashell.groups.offsets.expiry import expires_ms
from metashell.groups.record import Finding
from metashell.groups.state import Committed
from metashell.groups.topics import Topics
from metashell.groups.view import GroupDescription, GroupSummary, MemberDescription, OffsetRow
from metashell.offsets_log.loading import Loaded, LoadedLog

_LOOKED_EVERY: Final = 20_000
Ends = Mapping[tuple[str, int], int]


def summaries(loaded: Loaded) -> list[GroupSummary]:
    """The groups of all logs by id."""
    found = [summary for log in loaded.logs for summary in _of_log(log)]
    found.sort(key=lambda summary: summary.group_id)
    return found


def _of_log(log: LoadedLog) -> Iterator[GroupSummary]:
    fold, partition = log.fold, log.log.partition
    counts, held = _by_text(fold.offset_counts()), _by_text(fold.pending_counts())
    findings = Counter(finding.group_id for finding in fold.state.findings)
    groups = fold.state.groups
    for group_id, group in groups.items():
        yield replace(
            group.summary(),
            offsets=counts.get(group_id, 0),
            pending=held.get(group_id, 0),
            partition=partition,
            findings=findings.get(group_id, 0),
        )
    for raw in fold.groups():
        group_id = kafka_text(raw)
        if group_id not in groups and fold.is_simple(raw):
            yield _simple(group_id, counts.get(group_id, 0), held.get(group_id, 0), partition, findings.get(group_id, 0))


def _simple(group_id: str, offsets: int, pending: int, partition: int | None, findings: int) -> GroupSummary:
    """A group of which nothing but commits is known. There may be a million of them, so none is asked how it sees itself."""
    return GroupSummary(
        group_id=group_id,
        kind="classic",
        state="Empty",
        epoch=0,
        members=0,
        offsets=offsets,
        pending=pending,
        partition=partition,
        findings=findings,
    )


def _by_text(counts: Counter[bytes]) -> dict[str, int]:
    return {kafka_text(raw): count for raw, count in counts.items()}


# ---- one group


class FoundGroup(NamedTuple):
    """A group in one of the logs. `raw` are the bytes of its id."""

    log: LoadedLog
    group: Group
    raw: bytes


def find_group(loaded: Loaded, group_id: str) -> list[FoundGroup]:
    """Where a group is: in one log, or in several where the number of partitions was changed."""
    raw = group_id.encode()
    found = []
    for log in loaded.logs:
        fold = log.fold
        group = fold.state.groups.get(group_id)
        if group is None and fold.is_simple(raw):
            group = fold.state.make_simple(group_id)
        if group is not None:
            found.append(FoundGroup(log, group, raw))
    return found


def describe(found: FoundGroup, topics: Topics) -> GroupDescription:
    """The group with its members; findings are those of its log that name it."""
    fold = found.log.fold
    description = found.group.description(topics)
    texts = tuple(finding_text(finding) for finding in fold.state.findings if finding.group_id == found.group.group_id)
    summary = replace(
        description.summary,
        offsets=fold.offset_count(found.raw),
        pending=fold.pending_count(found.raw),
        partition=found.log.log.partition,
        findings=len(texts) + len(description.findings) + sum(len(member.findings) for member in description.members),
    )
    return replace(description, summary=summary, findings=(*description.findings, *texts))


def finding_text(finding: Finding) -> str:
    """What is wrong with a log, with its place."""
    return f"offset {finding.place.offset}: {finding.kind}: {finding.text}"


def offset_rows(found: FoundGroup, topics: Topics, ends: Ends) -> list[OffsetRow]:
    """The group's offsets by topic and partition, those that open transactions hold back after those that count."""
    fold, group_id = found.log.fold, found.group.group_id
    owners = _owners(found.group.description(topics))

    def row(key: tuple[str, int], committed: Committed, producer: int | None = None) -> OffsetRow:
        owner = owners.get(key)
        return OffsetRow(
            group_id=group_id,
            topic=key[0],
            partition=key[1],
            offset=committed.offset,
            leader_epoch=committed.leader_epoch,
            metadata=committed.metadata,
            commit_ms=committed.commit_ms,
            expire_ms=committed.expire_ms if committed.expire_ms >= 0 else None,
            topic_id=committed.topic_id,
            pending_producer=producer,
            end_offset=ends.get(key),
            member_id=None if owner is None else owner.member_id,
            client_id=None if owner is None else owner.client_id,
        )

    rows = [row(key, committed) for key, committed in fold.committed(found.raw)]
    rows += [row(key, committed, producer) for producer, key, committed in fold.pending(found.raw)]
    rows.sort(key=lambda row: (row.topic, row.partition, row.pending_producer is not None))
    return rows


def _owners(description: GroupDescription) -> dict[tuple[str, int], MemberDescription]:
    return {(topic, partition): member for member in description.members for topic, numbers in member.assigned for partition in numbers}


# ---- what expires


class Expiring(NamedTuple):
    """An offset that expires, and when, if its group stays as it is."""

    group_id: str
    kind: str
    state: str
    row: OffsetRow
    expires_ms: int


def expiring(loaded: Loaded, until_ms: int, retention_ms: int, looked: Callable[[int], None] | None = None) -> list[Expiring]:
    """The offsets that expire until a time, the first ones first; those that open transactions hold back do not.

    `looked` gets now and then how many groups of a log were looked at.
    """
    found = []
    for log in loaded.logs:
        fold = log.fold
        # Simple groups are alike: a million of them needs no million of objects.
        simple = fold.state.make_simple("")
        for number, raw in enumerate(list(fold.groups())):
            if looked is not None and not number % _LOOKED_EVERY:
                looked(number)
            group_id = kafka_text(raw)
            group = fold.state.groups.get(group_id)
            if group is None:
                if not fold.is_simple(raw):
                    continue
                group = simple
            held = {key for _, key, _ in fold.pending(raw)}
            for key, committed in fold.committed(raw):
                due = expires_ms(group, key[0], committed, retention_ms)
                if due is not None and due <= until_ms and key not in held:
                    row = OffsetRow(
                        group_id=group_id, topic=key[0], partition=key[1], offset=committed.offset, commit_ms=committed.commit_ms
                    )
                    found.append(Expiring(group_id, group.type, group.state_name(), row, due))
    found.sort(key=lambda one: (one.expires_ms, one.group_id, one.row.topic, one.row.partition))
    return found
