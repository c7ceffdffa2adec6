"""Reads and writes plan files, compares a plan with the cluster, and reads sizes of partitions from kafka-log-dirs.

A plan is the JSON of kafka-reassign-partitions. Ours adds to each partition `current_replicas`, the replicas that the plan assumed, and
the topic's id as `topic_id`, so that `apply` sees whether the cluster has changed since. Kafka's tool ignores unknown keys. An error in
JSON is shown with line and caret, a wrong value by its path."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from metashell.common.errors import UsageError
from metashell.common.forms import compact_json, counted
from metashell.rehearse.placement.cluster import PartitionState

_VERSION: Final = 1
_INT32_MAX: Final = (1 << 31) - 1
ANY_DIRECTORY: Final = "any"


class Assignment(NamedTuple):
    """The planned replicas of a partition, the preferred leader first; `before` are those that the plan assumed, None if not given."""

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
    """The content of a plan file, in its order, each partition once. `directories` counts the replicas with a named log directory."""

    assignments: tuple[Assignment, ...]
    directories: int = 0


def read_plan(text: str, source: str) -> Plan:
    """Parse a plan; messages call it `source`.

    Errors: JsonTextError with line and caret for text that is no JSON; UsageError with the path of a wrong value.
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
    """Count the replicas with a named directory: Kafka's own tool writes their present directories into its rollback files."""
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

    lines = [compact_json(plan_entry(one)) for one in assignments]
    return '{"version":1,"partitions":[\n' + ",\n".join(lines) + "\n]}\n"


def plan_entry(one: Assignment) -> dict[str, object]:
    """A partition as an entry of a plan file."""
    entry: dict[str, object] = {"topic": one.topic, "partition": one.partition, "replicas": list(one.replicas)}
    entry["log_dirs"] = [ANY_DIRECTORY] * len(one.replicas)
    if one.before is not None:
        entry["current_replicas"] = list(one.before)
    if one.topic_id:
        entry["topic_id"] = one.topic_id
    return entry


class Stage(StrEnum):
    """The progress of a partition. `changed`: it is neither where the plan assumed it to be nor where it should go."""

    DONE = "done"
    MOVING = "moving"
    WAITING = "waiting"
    CHANGED = "changed"


class MoveProgress(NamedTuple):
    """A partition of a plan. `now` is None if it does not exist; `why` is the deviation from the plan."""

    wanted: Assignment
    stage: Stage
    now: PartitionState | None
    why: str = ""

    @property
    def adding(self) -> tuple[int, ...]:
        """The replicas that are still to be copied."""
        if self.now is None:
            return ()
        if self.stage is Stage.MOVING:
            return tuple(replica for replica in self.now.adding if replica not in self.now.isr)
        return tuple(replica for replica in self.wanted.replicas if replica not in self.now.replicas)


def compare_plan(assignments: Iterable[Assignment], partitions: Iterable[PartitionState]) -> list[MoveProgress]:
    """The progress of each partition of a plan, in the plan's order."""
    there = {(found.topic, found.partition): found for found in partitions}
    topics = {topic for topic, _ in there}
    return [_standing(wanted, there, topics) for wanted in assignments]


def _standing(wanted: Assignment, there: Mapping[tuple[str, int], PartitionState], topics: set[str]) -> MoveProgress:
    now = there.get((wanted.topic, wanted.partition))
    if now is None:
        what = "the topic has no such partition" if wanted.topic in topics else "there is no such topic"
        return MoveProgress(wanted, Stage.CHANGED, None, what)
    if wanted.topic_id and now.topic_id and wanted.topic_id != now.topic_id:
        return MoveProgress(wanted, Stage.CHANGED, now, "the topic was deleted, and made anew")
    if now.is_moving:
        if now.goal == wanted.replicas:
            return MoveProgress(wanted, Stage.MOVING, now)
        return MoveProgress(wanted, Stage.CHANGED, now, f"it is being moved to {_replica_list(now.goal)}")
    if now.replicas == wanted.replicas:
        return MoveProgress(wanted, Stage.DONE, now)
    # A cancelled move can leave the replicas in another order.
    if wanted.before is not None and set(now.replicas) != set(wanted.before):
        return MoveProgress(
            wanted, Stage.CHANGED, now, f"it is on {_replica_list(now.replicas)}, the plan took it to be on {_replica_list(wanted.before)}"
        )
    return MoveProgress(wanted, Stage.WAITING, now)


def _replica_list(replicas: Iterable[int]) -> str:
    return ",".join(map(str, replicas))


def count_stages(standings: Iterable[MoveProgress]) -> dict[Stage, int]:
    """The number of partitions in each stage."""
    found = dict.fromkeys(Stage, 0)
    for standing in standings:
        found[standing.stage] += 1
    return found


_PREFACE: Final = ("Querying brokers", "Received log directory")
"""The beginnings of the lines that the tool prints before its JSON."""


def read_sizes(text: str, source: str) -> dict[tuple[str, int], int]:
    """The bytes of each partition, by topic and number: those of its largest replica, which the others still have to reach.

    Replicas that are moving between directories (`isFuture`) are skipped. Errors: as `read_plan`.
    """
    # The lines become empty and are not removed, so that line numbers in messages are those of the file.
    lines = ["" if line.startswith(_PREFACE) else line for line in text.split("\n")]
    value = parse_json("\n".join(lines), source)
    sizes: dict[tuple[str, int], int] = {}
    for at, broker in enumerate(member(value, "brokers", list, "", source=source)):
        for beside, directory in enumerate(member(broker, "logDirs", list, f"brokers[{at}]", source=source)):
            place = f"brokers[{at}].logDirs[{beside}]"
            for number, entry in enumerate(member(directory, "partitions", list, place, source=source)):
                where = f"{place}.partitions[{number}]"
                key = _partition(member(entry, "partition", str, where, source=source), where, source)
                size = member(entry, "size", int, where, source=source)
                if size < 0:
                    raise UsageError(f"{source}: {where}.size is {size}", source)
                if entry.get("isFuture") is not True:
                    sizes[key] = max(sizes.get(key, 0), size)
    return sizes


def known_sizes(sizes: Mapping[tuple[str, int], int], topics: Container[str], source: str) -> tuple[dict[tuple[str, int], int], str]:
    """The sizes of topics in the cluster, and a remark about other topics, empty if there are none.

    Errors: UsageError if no topic is in the cluster: the file is probably another cluster's.
    """
    named = {topic for topic, _ in sizes}
    unknown = sorted(topic for topic in named if topic not in topics)
    if not unknown:
        return dict(sizes), ""
    others = f" and {counted(len(unknown) - 1, 'other topic')}" if len(unknown) > 1 else ""
    if len(unknown) == len(named):
        raise UsageError(f"{source}: sizes of unknown topics: {unknown[0]}{others}: of another cluster?", source)
    known = {key: size for key, size in sizes.items() if key[0] in topics}
    return known, f"{source}: sizes of unknown topics are ignored: {unknown[0]}{others}"


def _partition(text: str, where: str, source: str) -> tuple[str, int]:
    topic, dash, number = text.rpartition("-")
    if not dash or not topic or not (number.isascii() and number.isdigit() and len(number) < 11):
        raise UsageError(f"{source}: {where}.partition is {text!r}, not TOPIC-NUMBER", source)
    return topic, int(number)


_SHOWN_MAX: Final = 100


class JsonTextError(UsageError):
    """A text is no JSON. The message begins with file, line and column; `excerpt` is the line with a caret below it.

    `first_line` is the number of the text's first line in its file.
    """

    def __init__(self, source: str, text: str, index: int, message: str, first_line: int = 1) -> None:
        # If only blanks are left, the last line with text shows what is missing.
        index = min(index, len(text.rstrip()))
        begin = text.rfind("\n", 0, index) + 1
        column = index - begin
        super().__init__(f"{source}:{text.count(chr(10), 0, begin) + first_line}:{column + 1}: {message}", source)
        shift = max(0, column - _SHOWN_MAX // 2)
        shown = text[begin:].split("\n", 1)[0].rstrip("\r")[shift : shift + _SHOWN_MAX]
        self.excerpt = (shown.replace("\t", " "), " " * (column - shift) + "^")


class _DuplicateKeyError(Exception):
    """An object has a key twice."""


def parse_json(text: str, source: str, first_line: int = 1) -> Any:
    """Parse a JSON text that begins at a line of its source.

    Errors: JsonTextError; UsageError for no text, and for a key that an object has twice.
    """
    if not text.strip():
        raise UsageError(f"{source}: empty", source)
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise JsonTextError(source, text, error.pos, _lowered(error.msg), first_line) from None
    except _DuplicateKeyError as error:
        key = str(error)
        raise UsageError(f"{source}: an object has the key {json.dumps(key, ensure_ascii=False)} twice", source) from None
    except RecursionError:
        raise UsageError(f"{source}: nested too deeply", source) from None
    except ValueError as error:
        # Python refuses to convert an integer of so many digits.
        raise UsageError(f"{source}: {error}", source) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise _DuplicateKeyError(key)
            seen.add(key)
    return found


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def member(value: Any, key: str, kind: type, place: str, *, source: str) -> Any:
    """A field of an object. Errors: UsageError with its path if it is missing or of another type."""
    if not isinstance(value, dict):
        raise UsageError(f"{source}: {place or 'the text'} is not an object", source)
    path = f"{place}.{key}" if place else key
    if key not in value:
        raise UsageError(f"{source}: {path} is missing", source)
    found = value[key]
    if not isinstance(found, kind) or isinstance(found, bool):
        words = {int: "a number", str: "a text", list: "an array"}[kind]
        raise UsageError(f"{source}: {path} is {_shown(found)}, not {words}", source)
    return found


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:39]}…"
