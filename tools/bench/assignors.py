"""Assignors beside Kafka's own classes in one JVM: 1 000 members, 10 000 partitions of 100 topics.

Goals: cooperative-sticky below 2 s, uniform below 0.5 s. `start` is a group without a past, `join` the same with one member more, `uneven`
a join in a group in which each member is subscribed to 70 of the topics. Each figure is the shortest of several runs, of the assignor
alone: inputs are read and outputs written outside of it.
"""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

from metashell.codec.consumer_protocol import Subscription, subscription_bytes
from metashell.common.values import uuid_text
from metashell.groups.assignors.rows import SERVER_NAMES, SERVER_PREFIX, Field, answer_row, read_client_input, read_server_input
from metashell.groups.assignors.server import CLIENT_ASSIGNORS, run_client_assignor_in_full, run_server_assignor
from metashell.groups.assignors.sticky import cooperative_user_data, sticky_user_data
from tools.bench.common import KAFKA_VERSION, REPOSITORY, kafka_script

MEMBERS, TOPICS, PARTITIONS, WANTED = 1_000, 100, 100, 70
RUNS, KAFKA_RUNS, LONG_S = 5, 20, 1.0
GOALS_S = {"cooperative-sticky": 2.0, "server-uniform": 0.5}
PROGRAM = REPOSITORY / "tools" / "interop" / "java" / "Assignors.java"
Row = dict[str, Any]


def main() -> int:
    """Print ours, and Kafka's where there is one; 1 where a goal is missed."""
    rows = [row for name in (*CLIENT_ASSIGNORS, *SERVER_NAMES) for row in _rows(name)]
    theirs = _kafka(rows)
    status = 0
    for number, row in enumerate(rows):
        took = _shortest(_prepared(row))
        goal = GOALS_S.get(row["assignor"], 0.0) if row["id"] != "uneven" else 0.0
        status |= bool(goal and took > goal)
        line = f"{row['assignor']:<20}{row['id']:<8}: {took * 1000:.1f} ms" + (f", goal {goal * 1000:.0f} ms" if goal else "")
        print(line + (f" | Kafka {theirs[number] * 1000:.1f} ms | {theirs[number] / took:.2f} x" if theirs else ""))
    return status


def _shortest(work: Callable[[], object]) -> float:
    """The shortest of as many runs as Kafka's class gets, or of fewer where they take long."""
    begin = time.perf_counter()
    found = [_timed(work)]
    while len(found) < KAFKA_RUNS and (len(found) < RUNS or time.perf_counter() - begin < LONG_S):
        found.append(_timed(work))
    return min(found)


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _prepared(row: Row) -> Callable[[], object]:
    name, given = row["assignor"], Field(row["input"])
    if name in CLIENT_ASSIGNORS:
        members, topics = read_client_input(given)
        return lambda: run_client_assignor_in_full(name, members, topics)
    group, known = read_server_input(given)
    return lambda: run_server_assignor(name.removeprefix(SERVER_PREFIX), group, known)


def _kafka(rows: list[Row]) -> list[float]:
    """Kafka's shortest times in seconds, all of one JVM; none where there is no Kafka."""
    script = kafka_script()
    if script is None:
        return []
    jars = subprocess.run([str(script), KAFKA_VERSION, "libs"], capture_output=True, text=True, check=True).stdout.strip()
    command = ["java", "-Xmx2g", "-cp", f"{jars}/*", str(PROGRAM), str(KAFKA_RUNS)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    found = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout.split()
    return [int(nanoseconds) / 1e9 for nanoseconds in found]


def _rows(name: str) -> Iterator[Row]:
    make = _client_row if name in CLIENT_ASSIGNORS else _server_row
    start = make(name, "start", MEMBERS, TOPICS, {})
    yield start
    yield make(name, "join", MEMBERS + 1, TOPICS, answer_row(None, start)["output"]["assignment"])
    uneven = make(name, "uneven", MEMBERS, WANTED, {})
    yield make(name, "uneven", MEMBERS + 1, WANTED, answer_row(None, uneven)["output"]["assignment"])


def _wanted(number: int, count: int) -> list[int]:
    return sorted(random.Random(number).sample(range(TOPICS), count))


def _client_row(name: str, id: str, members: int, count: int, assigned: dict[str, Any]) -> Row:
    made = []
    for number in range(members):
        member_id = f"consumer-{number * 7919 % 100_003}"
        owned = [(topic, partition) for topic, partitions in assigned.get(member_id, ()) for partition in partitions]
        generation = 1 if member_id in assigned else -1
        user_data = sticky_user_data(owned, generation) if name == "sticky" else cooperative_user_data(generation)
        said = Subscription(tuple(f"t{topic}" for topic in _wanted(number, count)), user_data, tuple(owned), generation)
        made.append({"id": member_id, "subscription": subscription_bytes(said).hex()})
    return {"id": id, "assignor": name, "input": {"topics": {f"t{topic}": [[0]] * PARTITIONS for topic in range(TOPICS)}, "members": made}}


def _server_row(name: str, id: str, members: int, count: int, assigned: dict[str, Any]) -> Row:
    ids = [uuid_text(random.Random(topic).randbytes(16)) for topic in range(TOPICS)]
    made = []
    for number in range(members):
        member_id = f"member-{number * 7919 % 100_003}"
        previous = assigned.get(member_id) or {}
        made.append({"id": member_id, "topicIds": [ids[topic] for topic in _wanted(number, count)], "previous": previous})
    kind = "HOMOGENEOUS" if count == TOPICS else "HETEROGENEOUS"
    topics = {topic: {"partitions": PARTITIONS} for topic in ids}
    return {"id": id, "assignor": name, "input": {"topics": topics, "subscriptionType": kind, "members": made}}
