"""metashell groups reset-offsets, delete and delete-offsets: changes to groups of a live cluster that have no members.

The options and the CSV are those of Kafka's kafka-consumer-groups, kafka-share-groups and kafka-streams-groups.
Source: org.apache.kafka.tools.consumer.group.ConsumerGroupCommand; CsvUtils, GroupOffsetsResetter."""

from __future__ import annotations

import csv
import io
import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from metashell.cli.admin.group_changes import (
    EARLIEST,
    LATEST,
    Key,
    commit_offsets,
    delete_groups,
    delete_offsets,
    delete_share_offsets,
    offsets_at,
    share_offsets,
)
from metashell.cli.admin.groups import (
    CLASSIC,
    CONSUMER,
    INTERNAL_TOPICS,
    SHARE,
    STREAMS,
    committed_offsets,
    describe_group,
    list_groups,
)
from metashell.cli.admin.protocol import AdminError
from metashell.cli.admin.topics import delete_topics, list_topics
from metashell.cli.cluster.noun_tool import Work, run_command
from metashell.cli.groups.description import find_brokers
from metashell.codec.error_codes import GROUP_ID_NOT_FOUND, LEADER_NOT_AVAILABLE, NON_EMPTY_GROUP, UNKNOWN_TOPIC_OR_PARTITION
from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.common.forms import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from metashell.common.options import CommandSpec
    from metashell.groups.view import GroupDescription

RESET_COLUMNS = ("group", "topic", "partition", "current", "offset", "result")
DELETE_COLUMNS = ("topic", "partition", "result")
_QUOTED_FROM: Final = 25
"""Jackson, which writes Kafka's CSV, quotes every text that is longer than 24 characters."""
_SAFE_FROM: Final = "-"
"""Jackson quotes a text with a character before this one."""
_OF_TYPE: Final = {CONSUMER: (CLASSIC, CONSUMER), SHARE: (SHARE,), STREAMS: (STREAMS,)}


def reset_offsets(command: CommandSpec, words: Sequence[str]) -> int:
    return run_command(command, words, _reset)


def delete(command: CommandSpec, words: Sequence[str]) -> int:
    return run_command(command, words, _delete)


def delete_group_offsets(command: CommandSpec, words: Sequence[str]) -> int:
    return run_command(command, words, _delete_offsets)


# ---- reset-offsets


@dataclass(frozen=True, slots=True)
class _Group:
    """A group without members. `kind` is consumer for one that does not exist yet: a commit makes it. `topics` are to be deleted too."""

    id: str
    kind: str
    topics: tuple[str, ...] = ()


def _reset(work: Work) -> None:
    values = work.values
    scenario = _scenario(work)
    if values.execute and values.dry_run:
        raise UsageError("--execute does it, --dry-run does not: give one of the two", "--dry-run")
    if values.export and work.form != "text":
        raise UsageError("--export prints CSV: leave out -o", "--export")
    ids = _group_ids(work)
    plans = _plans_of_file(values.from_file, ids) if values.from_file is not None else {}
    rows: list[dict[str, object]] = []
    topics: list[dict[str, object]] = []
    for group in _groups_to_change(work, ids if not plans or values.all_groups else [id for id in ids if id in plans]):
        try:
            found, is_whole = _reset_group(work, group, scenario, plans.get(group.id, {}))
            rows += found
            topics += _delete_internal(work, group, is_dry=not values.execute) if is_whole else ()
        except AdminError as error:
            work.failed(error, type="group", group=group.id)
    if values.export:
        for line in _csv_lines(rows, has_group=values.all_groups or len(ids) > 1):
            work.display.line(line)
    else:
        work.rows([*rows, *topics], RESET_COLUMNS, none="no offset to reset")
    if (rows or topics) and not values.execute:
        work.note("a dry run: nothing was changed; --execute does it")


def _scenario(work: Work) -> str:
    """Return the one option that says where to. Errors: UsageError without exactly one, and without a scope."""
    values = work.values
    named = [name for name in _SCENARIOS if getattr(values, name) not in (None, False)]
    if len(named) != 1:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in _SCENARIOS)
        raise UsageError(f"name where to, by one of {options}", "reset-offsets")
    if named[0] == "from_file":
        if values.topic or values.all_topics:
            raise UsageError("--from-file says the partitions too: leave out --topic and --all-topics", "--from-file")
    elif bool(values.topic) == values.all_topics:
        raise UsageError("name the partitions by --topic TOPIC[:PARTITION,...], or take all that were committed by --all-topics", "--topic")
    return named[0]


_SCENARIOS: Final = ("to_offset", "shift_by", "to_datetime", "by_duration", "to_earliest", "to_latest", "to_current", "from_file")


def _group_ids(work: Work) -> list[str]:
    """Return the groups that are named, or all of a kind. Errors: UsageError without either, or with both."""
    values = work.values
    named = list(dict.fromkeys((*values.groups, *values.group)))
    if bool(named) == values.all_groups:
        raise UsageError("name groups, or take all by --all-groups", "GROUP")
    find_brokers(work)
    if not values.all_groups:
        return named
    groups, failed = list_groups(work.admin)
    work.miss(*(f"the groups that broker {node} coordinates: {error}" for node, error in failed))
    if failed:
        raise MetashellError("nothing was changed, since not all groups can be seen: name them")
    return [
        group.group_id
        for group in groups
        if group.kind in _OF_TYPE[values.group_type] and (group.kind != CLASSIC or group.protocol_type in ("", "consumer"))
    ]


def _groups_to_change(work: Work, ids: Iterable[str]) -> Iterator[_Group]:
    """Yield the groups that have no members; the others are reported."""
    values = work.values
    for id in ids:
        try:
            description = describe_group(work.admin, id)
            found, topics = description.summary, _internal_topics(work, description)
        except AdminError as error:
            if error.code != GROUP_ID_NOT_FOUND:
                work.failed(error, type="group", group=id)
                continue
            if not values.delete_internal_topic and not values.delete_all_internal_topics:
                yield _Group(id, CONSUMER)
            else:
                work.failed(error, type="group", group=id)
            continue
        if found.state not in ("Empty", "Dead"):
            words = f"The group is not empty: it is {found.state} and has {counted(found.members or 0, 'member')}. Stop them first."
            work.failed(AdminError(NON_EMPTY_GROUP, words, id), type="group", group=id)
            continue
        yield _Group(id, found.kind, topics)


def _internal_topics(work: Work, description: GroupDescription) -> tuple[str, ...]:
    """Return the internal topics of a group that are to be deleted with it. Errors: UsageError for one that is not the group's.

    The topology comes from a member. A name in it that does not begin with the group's, as those of Kafka Streams do, is refused.
    """
    values, id = work.values, description.summary.group_id
    wanted = list(dict.fromkeys(getattr(values, "delete_internal_topic", ())))
    if not wanted and not values.delete_all_internal_topics:
        return ()
    if description.summary.kind != STREAMS:
        raise UsageError(f"{id} is a {description.summary.kind} group: only streams groups have internal topics", "--delete-internal-topic")
    known = description.details.get(INTERNAL_TOPICS)
    own = [str(name) for name in known] if isinstance(known, list) else []
    chosen = own if values.delete_all_internal_topics else wanted
    for name in chosen:
        if name not in own:
            shown = ", ".join(own) or "none"
            raise UsageError(f"{name}: is no internal topic of {id} (its topology has: {shown}); nothing was changed", name)
        if not name.startswith(f"{id}-"):
            text = f"{name}: a member of {id} called it an internal topic, but its name does not begin with {id}-; nothing was changed"
            raise UsageError(text, name)
    return tuple(chosen)


def _delete_internal(work: Work, group: _Group, *, is_dry: bool) -> list[dict[str, object]]:
    """Return a row for each internal topic of the group that is deleted, or would be. One that is not there needs no deletion."""
    if not group.topics:
        return []
    topics, errors = list_topics(work.admin, list(group.topics))
    for error in errors:
        if error.code != UNKNOWN_TOPIC_OR_PARTITION:
            work.failed(error, type="topic", group=group.id, topic=error.thing)
    ids = {topic.name: topic.id for topic in topics}
    failures = {} if is_dry or not ids else {one.name: one.error for one in delete_topics(work.admin, ids) if one.error is not None}
    rows: list[dict[str, object]] = []
    for name in sorted(ids):
        fields: dict[str, object] = {"type": "internal_topic", "group": group.id, "topic": name}
        if (failure := failures.get(name)) is not None:
            work.failed(failure, **fields)
        else:
            result = "would be deleted" if is_dry else "deleted"
            rows.append({**fields, "partition": None, "current": None, "offset": None, "result": result})
    return rows


def _reset_group(work: Work, group: _Group, scenario: str, plan: Mapping[Key, int]) -> tuple[list[dict[str, object]], bool]:
    """Return the rows of a group, and whether all went well; with --execute its offsets are set before. Errors: AdminError."""
    values = work.values
    listed = _listed_offsets(work, group)
    current = {key: offset for key, offset in listed.items() if offset >= 0}
    wanted = list(plan) if scenario == "from_file" else list(listed) if values.all_topics else _partitions_of(work, values.topic)
    leaders = _leaders(work, group, wanted)
    if group.kind == SHARE and scenario in ("shift_by", "by_duration"):
        name = scenario.replace("_", "-")
        raise UsageError(f"{group.id} is a share group, which Kafka does not reset by --{name}", f"--{name}")
    targets = _targets(work, group, scenario, plan, leaders, current)
    rows: list[dict[str, object]] = []
    results = commit_offsets(work.admin, group.id, group.kind, targets) if values.execute and targets else {}
    for (topic, partition), offset in sorted(targets.items()):
        fields = {"type": "offset", "group": group.id, "topic": topic, "partition": partition}
        if (refusal := results.get((topic, partition))) is not None:
            work.failed(refusal, **fields)
            continue
        result = "set" if values.execute else "would be set"
        rows.append({**fields, "current": current.get((topic, partition)), "offset": offset, "result": result})
    return rows, len(rows) == len(wanted)


def _listed_offsets(work: Work, group: _Group) -> dict[Key, int]:
    """Return the offsets of a group; of a share group also the partitions that have none yet, with -1."""
    if group.kind == SHARE:
        return share_offsets(work.admin, group.id)
    try:
        return {(row.topic, row.partition): row.offset for row in committed_offsets(work.admin, group.id) if row.offset >= 0}
    except AdminError as error:
        if error.code == GROUP_ID_NOT_FOUND:
            return {}
        raise


def _partitions_of(work: Work, scopes: Sequence[str]) -> list[Key]:
    """Return the partitions of scopes such as `orders` and `orders:0,1`. Errors: UsageError; topics that cannot be shown are reported."""
    named: dict[str, set[int] | None] = {}
    for scope in scopes:
        topic, colon, numbers = scope.partition(":")
        if not topic or (colon and not re.fullmatch(r"\d+(,\d+)*", numbers)):
            raise UsageError(f"option --topic: {scope!r} is not TOPIC or TOPIC:PARTITION,...", scope)
        known = named.setdefault(topic, set() if colon else None)
        named[topic] = None if known is None or not colon else known | set(map(int, numbers.split(",")))
    topics, errors = list_topics(work.admin, list(named))
    for error in errors:
        work.failed(error, type="topic", topic=error.thing)
    found: list[Key] = []
    for shown in topics:
        wanted = named[shown.name]
        found += [(shown.name, id) for id in (sorted(wanted) if wanted is not None else [one.id for one in shown.partitions])]
    return found


def _leaders(work: Work, group: _Group, partitions: Sequence[Key]) -> dict[Key, int]:
    """Return the leader of each partition; those that do not exist or have none are reported."""
    topics, _ = list_topics(work.admin, sorted({topic for topic, _ in partitions})) if partitions else ([], [])
    known = {(topic.name, one.id): one for topic in topics for one in topic.partitions}
    found: dict[Key, int] = {}
    for key in partitions:
        one = known.get(key)
        if one is not None and one.has_leader:
            found[key] = one.leader
        else:
            code = UNKNOWN_TOPIC_OR_PARTITION if one is None else LEADER_NOT_AVAILABLE
            error = AdminError(code, None, f"{key[0]}-{key[1]}")
            work.failed(error, type="offset", group=group.id, topic=key[0], partition=key[1])
    return found


def _targets(
    work: Work, group: _Group, scenario: str, plan: Mapping[Key, int], leaders: Mapping[Key, int], current: Mapping[Key, int]
) -> dict[Key, int]:
    """Return the new offset of each partition whose leader answers."""
    values = work.values

    def ask(timestamp: int, keys: Iterable[Key]) -> dict[Key, int]:
        answered = offsets_at(work.admin, {key: leaders[key] for key in keys}, timestamp)
        for (topic, partition), offset in answered.items():
            if isinstance(offset, MetashellError):
                work.failed(offset, type="offset", group=group.id, topic=topic, partition=partition)
        return {key: offset for key, offset in answered.items() if not isinstance(offset, MetashellError)}

    def within(offsets: Mapping[Key, int]) -> dict[Key, int]:
        starts = ask(EARLIEST, offsets)
        ends = ask(LATEST, starts)
        made = {key: min(max(offsets[key], starts[key]), end) for key, end in ends.items()}
        for key, offset in sorted(made.items()):
            if offset != offsets[key]:
                lower = offset > offsets[key]
                work.note(
                    f"{key[0]}-{key[1]}: {offsets[key]} is {'before the first' if lower else 'after the end'} offset; it is set to {offset}"
                )
        return made

    match scenario:
        case "to_offset":
            return within(dict.fromkeys(leaders, values.to_offset))
        case "to_earliest":
            return ask(EARLIEST, leaders)
        case "to_latest":
            return ask(LATEST, leaders)
        case "shift_by":
            for topic, partition in leaders.keys() - current.keys():
                work.failed(
                    MetashellError(f"{topic}-{partition}: cannot be shifted: {group.id} has committed nothing there"),
                    type="offset",
                    group=group.id,
                    topic=topic,
                    partition=partition,
                )
            return within({key: current[key] + values.shift_by for key in leaders if key in current})
        case "to_datetime" | "by_duration":
            moment = values.to_datetime if scenario == "to_datetime" else round(time.time() * 1000) - iso_duration_ms(values.by_duration)
            found = ask(moment, leaders)
            return {
                **{key: offset for key, offset in found.items() if offset >= 0},
                **ask(LATEST, [key for key in found if found[key] < 0]),
            }
        case "to_current":
            return {**within({key: current[key] for key in leaders if key in current}), **ask(LATEST, leaders.keys() - current.keys())}
        case _:
            return within({key: plan[key] for key in leaders})


_DURATION: Final = re.compile(
    r"([+-]?)P(?:([+-]?\d+)D)?(?:T(?=[+-]?\d)(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+)(?:[.,](\d{0,9}))?S)?)?", re.IGNORECASE
)


def iso_duration_ms(text: str) -> int:
    """Return the milliseconds of an ISO 8601 duration as Java reads it: PnDTnHnMnS. Errors: UsageError."""
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()[1:]):
        raise UsageError(f"option --by-duration: {text!r} is not a duration such as P7D or PT1H30M", "--by-duration")
    sign, days, hours, minutes, seconds, fraction = found.groups()
    whole = ((int(days or 0) * 24 + int(hours or 0)) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)
    part = int((fraction or "").ljust(3, "0")[:3])
    ms = whole * 1000 + (-part if (seconds or "").startswith("-") else part)
    return -ms if sign == "-" else ms


# ---- CSV, as Kafka's tools write and read it


def _csv_lines(rows: Iterable[Mapping[str, object]], *, has_group: bool) -> Iterator[str]:
    for row in rows:
        names = ("group", "topic", "partition", "offset") if has_group else ("topic", "partition", "offset")
        yield ",".join(_csv_text(str(row[name])) if name in ("group", "topic") else str(row[name]) for name in names)


def _csv_text(text: str) -> str:
    if len(text) < _QUOTED_FROM and text and all(char >= _SAFE_FROM and char != "\\" for char in text):
        return text
    return '"' + text.replace('"', '""') + '"'


def _plans_of_file(path: str, ids: Sequence[str]) -> dict[str, dict[Key, int]]:
    """Return the offsets of a CSV file by group: lines of group, topic, partition and offset, or without the group where one is named.

    Errors: UsageError that names the line; PathError.
    """
    try:
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise PathError.of(path, error) if isinstance(error, OSError) else UsageError(f"{path}: is not UTF-8", path) from error
    plans: dict[str, dict[Key, int]] = {}
    for number, cells in enumerate(csv.reader(io.StringIO(text), skipinitialspace=True), 1):
        if not cells:
            continue
        if len(cells) not in (3, 4) or not all(re.fullmatch(r"-?\d{1,19}", cell.strip()) for cell in cells[-2:]):
            shown = os.path.basename(path)
            raise UsageError(f"{path}: line {number}: not TOPIC,PARTITION,OFFSET or GROUP,TOPIC,PARTITION,OFFSET", shown)
        if len(cells) == 3 and len(ids) != 1:
            raise UsageError(f"{path}: line {number}: names no group, and {len(ids)} are to be reset", path)
        group = ids[0] if len(cells) == 3 else cells[0]
        plans.setdefault(group, {})[cells[-3], int(cells[-2])] = int(cells[-1])
    if not plans:
        raise UsageError(f"{path}: has no offsets", path)
    return plans


# ---- delete, delete-offsets


def _delete(work: Work) -> None:
    ids = _group_ids(work)
    groups: list[str] = []
    with_topics: dict[str, _Group] = {}
    for id in ids:
        try:
            description = describe_group(work.admin, id)
            found = description.summary
        except AdminError as error:
            work.failed(error, type="group", group=id)
            continue
        if found.state not in ("Empty", "Dead"):
            words = f"The group is not empty: it is {found.state} and has {counted(found.members or 0, 'member')}. Stop them first."
            work.failed(AdminError(NON_EMPTY_GROUP, words, id), type="group", group=id)
            continue
        groups.append(id)
        with_topics[id] = _Group(id, found.kind, _internal_topics(work, description))
    if not groups:
        return
    topics = [topic for group in with_topics.values() for topic in group.topics]
    also = f", and the topics {', '.join(topics)} with what they hold" if topics else ""
    work.confirm(f"all offsets of {', '.join(groups)} are lost{also}", question=f"Delete {counted(len(groups), 'group')}?")
    results = dict.fromkeys(groups) if work.is_dry else delete_groups(work.admin, groups)
    result = "would be deleted" if work.is_dry else "deleted"
    for id in groups:
        if (refusal := results[id]) is not None:
            work.failed(refusal, type="group", group=id)
        else:
            work.tell(f"{id}: {result}", type="group", group=id, result=result)
            for row in _delete_internal(work, with_topics[id], is_dry=work.is_dry):
                work.tell(f"{row['topic']}: {result}", type="internal_topic", group=id, topic=row["topic"], result=result)


def _delete_offsets(work: Work) -> None:
    values = work.values
    find_brokers(work)
    try:
        kind = describe_group(work.admin, values.group).summary.kind
    except AdminError as error:
        work.failed(error, type="group", group=values.group)
        return
    if kind == SHARE and any(":" in scope for scope in values.topic):
        raise UsageError(f"{values.group} is a share group, of which offsets are deleted by topic", "--topic")
    partitions = _partitions_of(work, values.topic)
    if not partitions:
        return
    shown = ", ".join(values.topic)
    work.confirm(f"the offsets of {values.group} for {shown} are lost", question=f"Delete offsets of {values.group}?")
    result = "would be deleted" if work.is_dry else "deleted"
    done: Mapping[Key, AdminError | None] = dict.fromkeys(partitions)
    if not work.is_dry and kind == SHARE:
        by_topic = delete_share_offsets(work.admin, values.group, sorted({topic for topic, _ in partitions}))
        done = {(topic, -1): error for topic, error in by_topic.items()}
    elif not work.is_dry:
        done = delete_offsets(work.admin, values.group, partitions)
    rows: list[dict[str, object]] = []
    for (topic, partition), refusal in sorted(done.items(), key=lambda item: item[0]):
        fields = {"type": "offset", "group": values.group, "topic": topic, "partition": None if partition < 0 else partition}
        if refusal is not None:
            work.failed(refusal, **fields)
        else:
            rows.append({**fields, "result": result})
    work.rows(rows, DELETE_COLUMNS)
