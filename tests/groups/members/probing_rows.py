"""Rows of tests/golden/groups/streams, and our values in their form."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

from metashell.codec.streams_assignment import NO_REBALANCE_MS, StreamsAssignment, TaskId
from metashell.groups.members.version_probing import ProbingError, SubscriptionInfo

FOLDER = Path(__file__).parents[2] / "golden" / "groups" / "streams"

Row = dict[str, Any]
Pair = tuple[str, int]


def rows(name: str) -> list[Row]:
    with gzip.open(FOLDER / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def outcome(make: Callable[[], Any]) -> Any:
    """What comes out, or what Kafka calls the error."""
    try:
        return make()
    except ProbingError as error:
        return {"error": error.java_class, "message": error.message}


def wanted(row: Row, key: str) -> Any:
    return {"error": row["error"].rpartition(".")[2], "message": row["message"]} if "error" in row else row[key]


def task_of(text: str) -> TaskId:
    topology, _, ids = text.rpartition("__")
    subtopology, _, partition = ids.partition("_")
    return TaskId(int(subtopology), int(partition), topology or None)


def task_text(task: TaskId) -> str:
    prefix = "" if task.named_topology is None else f"{task.named_topology}__"
    return f"{prefix}{task.subtopology}_{task.partition}"


def sorted_tasks(tasks: Iterable[TaskId]) -> list[TaskId]:
    return sorted(tasks, key=lambda task: (task.named_topology or "", task.subtopology, task.partition))


def subscription_of(given: Row) -> SubscriptionInfo:
    return SubscriptionInfo(
        given["version"],
        given["latestSupportedVersion"],
        UUID(given["processId"]).bytes,
        {task_of(text): offset_sum for text, offset_sum in given["taskOffsetSums"].items()},
        given["userEndPoint"],
        given["uniqueField"],
        given["errorCode"],
        given["clientTags"],
    )


def subscription_json(info: SubscriptionInfo) -> Row:
    return {
        "version": info.version,
        "latestSupportedVersion": info.latest_supported,
        "processId": str(UUID(bytes=info.process_id)),
        "prevTasks": [task_text(task) for task in sorted_tasks(info.previous_tasks)],
        "standbyTasks": [task_text(task) for task in sorted_tasks(info.standby_tasks)],
        "taskOffsetSums": {task_text(task): info.offset_sums[task] for task in sorted_tasks(info.offset_sums)},
        "userEndPoint": info.user_end_point,
        "errorCode": info.error_code,
        "clientTags": dict(info.client_tags),
    }


def assignment_of(given: Row) -> StreamsAssignment:
    next_ms = given["nextRebalanceMs"]
    return StreamsAssignment(
        given["version"],
        given["commonlySupportedVersion"],
        [task_of(text) for text in given["activeTasks"]],
        [(task_of(text), [pair(one) for one in names]) for text, names in given["standbyTasks"].items()],
        [],
        hosts_of(given["partitionsByHost"]),
        hosts_of(given["standbyPartitionsByHost"]),
        given["errCode"],
        NO_REBALANCE_MS if next_ms is None else next_ms,
    )


def hosts_of(given: Row) -> list[tuple[Pair, list[Pair]]]:
    """The rows sort hosts; they were put in from the last to the first."""
    found = []
    for name, names in reversed(given.items()):
        host, _, port = name.rpartition(":")
        found.append(((host, int(port)), [pair(one) for one in names]))
    return found


def pair(name: str) -> Pair:
    topic, _, partition = name.rpartition("-")
    return topic, int(partition)


def assignment_json(info: StreamsAssignment) -> Row:
    return {
        "version": info.version,
        "commonlySupportedVersion": info.commonly_supported_version,
        "errCode": info.error_code,
        "nextRebalanceMs": info.next_rebalance_ms,
        "activeTasks": [task_text(task) for task in info.active_tasks],
        "standbyTasks": {task_text(task): names_of(partitions) for task, partitions in info.standby_tasks},
        "partitionsByHost": {f"{host}:{port}": names_of(partitions) for (host, port), partitions in info.partitions_by_host},
        "standbyPartitionsByHost": {f"{host}:{port}": names_of(partitions) for (host, port), partitions in info.standby_partitions_by_host},
    }


def names_of(partitions: Iterable[Pair]) -> list[str]:
    return sorted({f"{topic}-{partition}" for topic, partition in partitions})
