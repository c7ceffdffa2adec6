"""Plans as files: the JSON that kafka-reassign-partitions writes and takes, with what ours adds.

Ours has with each partition also `current_replicas`, what the plan took it to be, and the topic's id as `topic_id`; so `apply` sees
whether the cluster is still as the plan assumed. Kafka's tool passes over keys that it does not know.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from metashell.errors import UsageError
from metashell.placement.json_text import member, parse_json

_VERSION: Final = 1
_INT32_MAX: Final = (1 << 31) - 1
ANY_DIRECTORY: Final = "any"


class Assignment(NamedTuple):
    """Where a partition's replicas shall be, the preferred leader first; `before` is where the plan took them to be, None if not said."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    before: tuple[int, ...] | None = None
    topic_id: str = ""

    @property
    def place(self) -> str:
        """`orders:0`."""
        return f"{self.topic}:{self.partition}"


class Plan(NamedTuple):
    """The content of a plan file, in its order; each partition once. `directories` counts the replicas for which it names a directory."""

    assignments: tuple[Assignment, ...]
    directories: int = 0


def read_plan(text: str, source: str) -> Plan:
    """The plan that a text holds; `source` is what messages call it.

    Errors: JsonTextError with line and caret for what is no JSON; UsageError that names the entry for what is wrong in it.
    """
    value = parse_json(text, source)
    version = member(value, "version", int, "", source=source)
    if version != _VERSION:
        raise UsageError(f"{source}: version is {version}, not {_VERSION}", source)
    found: dict[tuple[str, int], Assignment] = {}
    directories = 0
    for number, entry in enumerate(member(value, "partitions", list, "", source=source)):
        assignment = _assignment(entry, f"partitions[{number}]", source)
        key = assignment.topic, assignment.partition
        if key in found:
            raise UsageError(f"{source}: partitions[{number}]: {assignment.place} appears twice", source)
        found[key] = assignment
        directories += _count_directories(entry, len(assignment.replicas), f"partitions[{number}] ({assignment.place})", source)
    if not found:
        raise UsageError(f"{source}: partitions is empty", source)
    return Plan(tuple(found.values()), directories)


def _assignment(entry: Any, place: str, source: str) -> Assignment:
    topic = member(entry, "topic", str, place, source=source)
    if not topic:
        raise UsageError(f"{source}: {place}.topic is empty", source)
    partition = member(entry, "partition", int, place, source=source)
    if not 0 <= partition <= _INT32_MAX:
        raise UsageError(f"{source}: {place}.partition is {partition}", source)
    place = f"{place} ({topic}:{partition})"
    replicas = _replicas(entry, "replicas", place, source)
    if not replicas:
        raise UsageError(f"{source}: {place}.replicas is empty", source)
    before = _replicas(entry, "current_replicas", place, source) if "current_replicas" in entry else None
    topic_id = member(entry, "topic_id", str, place, source=source) if "topic_id" in entry else ""
    return Assignment(topic, partition, replicas, before, topic_id)


def _replicas(entry: Any, key: str, place: str, source: str) -> tuple[int, ...]:
    found = member(entry, key, list, place, source=source)
    for number, broker in enumerate(found):
        if not isinstance(broker, int) or isinstance(broker, bool) or not 0 <= broker <= _INT32_MAX:
            raise UsageError(f"{source}: {place}.{key}[{number}] is {broker!r}, not the id of a broker", source)
        if broker in found[:number]:
            raise UsageError(f"{source}: {place}.{key}: broker {broker} appears twice", source)
    return tuple(found)


def _count_directories(entry: dict[str, Any], count: int, place: str, source: str) -> int:
    """For how many replicas a directory is named: Kafka's own tool writes those that they are in into files for the way back."""
    if "log_dirs" not in entry:
        return 0
    directories: list[Any] = member(entry, "log_dirs", list, place, source=source)
    if len(directories) != count:
        raise UsageError(f"{source}: {place}: {len(directories)} log_dirs for {count} replicas", source)
    for number, directory in enumerate(directories):
        if not isinstance(directory, str):
            raise UsageError(f"{source}: {place}.log_dirs[{number}] is {directory!r}, not a text", source)
    return count - directories.count(ANY_DIRECTORY)


def write_plan(assignments: Iterable[Assignment]) -> str:
    """The text of a plan, a line for each partition."""
    from metashell.forms import compact_json

    lines = [compact_json(plan_entry(one)) for one in assignments]
    return '{"version":1,"partitions":[\n' + ",\n".join(lines) + "\n]}\n"


def plan_entry(one: Assignment) -> dict[str, object]:
    """A partition as a plan's file has it."""
    entry: dict[str, object] = {"topic": one.topic, "partition": one.partition, "replicas": list(one.replicas)}
    entry["log_dirs"] = [ANY_DIRECTORY] * len(one.replicas)
    if one.before is not None:
        entry["current_replicas"] = list(one.before)
    if one.topic_id:
        entry["topic_id"] = one.topic_id
    return entry
