"""A topology held against the topics that exist: how many tasks each part has, and what is missing.

Source: groups.md 2.5 and 15; golden scenarios streams-validation and watched-streams-internal, -refused, -topics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from metashell.codec.error_codes import STREAMS_INVALID_TOPOLOGY, UNKNOWN_SERVER_ERROR
from metashell.groups.decision import GroupError
from metashell.groups.topics import Topics

STALE_TOPOLOGY: Final = 0
MISSING_SOURCE_TOPICS: Final = 1
INCORRECTLY_PARTITIONED_TOPICS: Final = 2
MISSING_INTERNAL_TOPICS: Final = 3
SHUTDOWN_APPLICATION: Final = 4
ASSIGNMENT_DELAYED: Final = 5

NewTopic = tuple[int, int, tuple[tuple[str, str], ...]]
"""Partitions, replication factor and configs."""


class Status(NamedTuple):
    """Why a group does not run, as a heartbeat's answer says it."""

    code: int
    detail: str


class Configured(NamedTuple):
    """Shape: `task_counts` by subtopology, empty while there is a `fault`; `stateful` are those with changelogs, which can have standbys.
    `missing` are internal topics to create. `partition_counts` has every topic of the topology whose number is known.
    """

    task_counts: dict[str, int]
    stateful: frozenset[str]
    partition_counts: dict[str, int]
    missing: dict[str, NewTopic]
    fault: Status | None


def configure(topology: Any, topics: Topics) -> Configured:
    """The topology with these topics. Errors: GroupError for one that no topics could serve."""
    parts = topology.subtopologies
    _check(parts)
    sources = sorted({name for part in parts for name in part.source_topics})
    counts = {name: topic.partition_count for name in sources if (topic := topics.named(name)) is not None}
    if missing := [name for name in sources if name not in counts]:
        return _faulty(counts, Status(MISSING_SOURCE_TOPICS, f"Source topics {', '.join(missing)} are missing."))
    if uneven := list(_uneven(parts, counts)):
        detail = f"Following topics do not have the same number of partitions: [{', '.join(uneven)}]"
        return _faulty(counts, Status(INCORRECTLY_PARTITIONED_TOPICS, detail))
    _count_repartition_topics(parts, counts)
    tasks = {part.subtopology_id: max((counts[name] for name in _inputs(part)), default=0) for part in parts}
    for part in parts:
        counts.update({topic.name: tasks[part.subtopology_id] for topic in part.state_changelog_topics})
    internal = {topic.name: topic for part in parts for topic in part.repartition_source_topics}
    internal |= {topic.name: topic for part in parts for topic in part.state_changelog_topics}
    if wrong := [name for name in internal if (known := topics.named(name)) is not None and known.partition_count != counts[name]]:
        found = ", ".join(f"{name} has {_count(topics, name)} partitions instead of {counts[name]}" for name in wrong)
        return _faulty(counts, Status(INCORRECTLY_PARTITIONED_TOPICS, f"Internal topics with another number of partitions: {found}"))
    lacking = {name: _new_topic(topic, counts[name]) for name, topic in internal.items() if topics.named(name) is None}
    if lacking:
        fault = Status(MISSING_INTERNAL_TOPICS, f"Internal topics are missing: {', '.join(lacking)}")
        return _faulty(counts, fault)._replace(missing=lacking)
    stateful = frozenset(part.subtopology_id for part in parts if part.state_changelog_topics)
    return Configured(tasks, stateful, counts, {}, None)


def required_topics(topology: Any) -> set[str]:
    """Every topic that the group's metadata hash covers."""
    parts = topology.subtopologies
    changelogs = {topic.name for part in parts for topic in part.state_changelog_topics}
    return changelogs.union(*(_inputs(part) for part in parts))


def input_topics(topology: Any, subtopology: str) -> list[str]:
    """What a subtopology's tasks read."""
    return next((_inputs(part) for part in topology.subtopologies if part.subtopology_id == subtopology), [])


def _inputs(part: Any) -> list[str]:
    return [*part.source_topics, *(topic.name for topic in part.repartition_source_topics)]


def _check(parts: Iterable[Any]) -> None:
    seen: set[str] = set()
    for part in parts:
        if part.subtopology_id in seen:
            raise GroupError(UNKNOWN_SERVER_ERROR)
        seen.add(part.subtopology_id)
        for group in part.copartition_groups:
            own = ((group.source_topics, part.source_topics), (group.repartition_source_topics, part.repartition_source_topics))
            if any(not 0 <= index < len(names) for indexes, names in own for index in indexes):
                raise GroupError(UNKNOWN_SERVER_ERROR)
        for topic in part.state_changelog_topics:
            if topic.partitions:
                text = f"Changelog topic {topic.name} must have an undefined partition count, but it is set to {topic.partitions}."
                raise GroupError(STREAMS_INVALID_TOPOLOGY, text)


def _uneven(parts: Iterable[Any], counts: dict[str, int]) -> Iterator[str]:
    """Source topics that have to have the same number of partitions and have not."""
    for part in parts:
        for group in part.copartition_groups:
            found = {part.source_topics[index]: counts[part.source_topics[index]] for index in group.source_topics}
            if len(set(found.values())) > 1:
                yield "{" + ", ".join(f"{name}={count}" for name, count in found.items()) + "}"


def _count_repartition_topics(parts: Iterable[Any], counts: dict[str, int]) -> None:
    """Give each repartition topic its number: its own, that of the topics it goes together with, or the most of those that write to it."""
    parts = list(parts)
    waiting = {topic.name for part in parts for topic in part.repartition_source_topics if not topic.partitions}
    counts.update({topic.name: topic.partitions for part in parts for topic in part.repartition_source_topics if topic.partitions})
    progress = True
    while waiting and progress:
        progress = False
        for name in sorted(waiting):
            writers = [part for part in parts if name in part.repartition_sink_topics]
            if writers and all(input in counts for part in writers for input in _inputs(part)):
                counts[name] = max((counts[input] for part in writers for input in _inputs(part)), default=0)
                waiting.discard(name)
                progress = True
    if waiting:
        text = "because a repartition source topic is never used as a sink topic."
        raise GroupError(STREAMS_INVALID_TOPOLOGY, f"Failed to compute number of partitions for all repartition topics, {text}")
    for part in parts:
        for group in part.copartition_groups:
            own = [part.repartition_source_topics[index].name for index in group.repartition_source_topics]
            others = [counts[part.source_topics[index]] for index in group.source_topics]
            count = max(others or [counts[name] for name in own], default=0)
            counts.update(dict.fromkeys(own, count))


def _new_topic(topic: Any, partitions: int) -> NewTopic:
    configs = tuple((config.key, config.value) for config in topic.topic_configs)
    return partitions, topic.replication_factor or -1, configs


def _count(topics: Topics, name: str) -> int:
    topic = topics.named(name)
    return 0 if topic is None else topic.partition_count


def _faulty(counts: dict[str, int], fault: Status) -> Configured:
    return Configured({}, frozenset(), counts, {}, fault)
