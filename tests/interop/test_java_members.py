"""Java's consumers in groups without a broker: their callbacks are those that they have with a broker, as golden traces show them."""

from __future__ import annotations

import gzip
import json
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metashell.quorum.embedded import EmbeddedQuorum
from tests.java import PROGRAMS, program_command
from tests.running import wait_until

pytestmark = pytest.mark.slow
SOURCE = PROGRAMS / "Members.java"
TRACES = Path(__file__).parents[1] / "golden" / "groups" / "consumer" / "member-trace.jsonl.gz"
LIMIT_S = 120.0
ASSIGNOR = "partition.assignment.strategy=org.apache.kafka.clients.consumer."
QUICK = "heartbeat.interval.ms=100"
Event = tuple[str, ...]
"""A member's name, what happened, and of a callback how many partitions it was told, how many it owned then, and its generation."""


class Members:
    """The Java program, and what it has said so far."""

    def __init__(self, bootstrap: str) -> None:
        command = program_command(SOURCE, bootstrap)
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self._said: list[Event] = []
        self._heard = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._heard:
                self._said.append(tuple(line.split()))
                self._heard.notify_all()

    def order(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()

    def events(self, names: set[str]) -> list[Event]:
        with self._heard:
            return [event for event in self._said if event[0] in names]

    def wait(self, names: set[str], count: int) -> None:
        """Until these members have said so much."""
        ends_at = time.monotonic() + LIMIT_S
        with self._heard:
            while sum(event[0] in names for event in self._said) < count:
                assert self._heard.wait(ends_at - time.monotonic()), f"{count} events: {self._said}"

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(LIMIT_S)
        self._reader.join()
        self._process.stdout.close()


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(1, groups=True) as running:
        yield running


@pytest.fixture(scope="module")
def members(quorum: EmbeddedQuorum) -> Iterator[Members]:
    made = Members(quorum.bootstrap_servers)
    try:
        yield made
    finally:
        made.close()


def golden(story: str) -> list[tuple[str, list[Event]]]:
    """Each order of a story, and what Kafka's consumers said until the next one."""
    found: list[tuple[str, list[Event]]] = []
    with gzip.open(TRACES, "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            if row["story"] == story and row["kind"] == "order":
                found.append((row["text"], []))
            elif row["story"] == story and row["kind"] == "callback" and (event := event_of(row)) is not None:
                found[-1][1].append(event)
    return found


def event_of(row: dict[str, Any]) -> Event | None:
    name, event = row["member"], row["event"]
    if event in ("assigned", "revoked", "lost"):
        return name, event, str(len(row["partitions"])), str(len(row["assignmentDuring"])), str(row["generation"])
    return (name, event) if event in ("closed", "failed") else None


@pytest.mark.parametrize("story", ["cooperative-sticky", "range"])
def test_callbacks_are_those_that_a_broker_brings(quorum: EmbeddedQuorum, members: Members, story: str) -> None:
    quorum.create_topic(f"{story}-t", 6)
    quorum.create_topic(f"{story}-u", 2)
    expected: list[Event] = []
    names: set[str] = set()
    for text, events in golden(story):
        verb, name, *rest = text.split()
        name = f"{story}-{name}"
        names.add(name)
        if verb == "start":
            _, topic, *settings = rest
            rest = [topic, f"group.id={story}", *settings, QUICK]
        members.order(" ".join((verb, name, *rest)))
        expected += [(f"{story}-{event[0]}", *event[1:]) for event in events]
        members.wait(names, len(expected))
    assert sorted_by_member(members.events(names)) == sorted_by_member(expected)


def sorted_by_member(events: list[Event]) -> list[Event]:
    """Each member's events in their order: those of two members have none."""
    return sorted(events, key=lambda event: event[0])


def test_members_of_the_consumer_protocol_give_up_only_what_goes_to_others(quorum: EmbeddedQuorum, members: Members) -> None:
    quorum.create_topic("k", 6)
    names: set[str] = set()

    def settle(*owned: int) -> None:
        wait_until(lambda: sorted(owned_by(members.events(names)).values()) == sorted(owned), lambda: members.events(names))

    for name, *owned in (("k1", 6), ("k2", 3, 3), ("k3", 2, 2, 2)):
        names.add(name)
        members.order(f"start {name} k group.id=k group.protocol=consumer")
        settle(*owned)
    revoked = [event for event in members.events(names) if event[1] == "revoked"]
    assert sorted(sum(int(event[2]) for event in revoked if event[0] == name) for name in ("k1", "k2")) == [1, 4]
    members.order("commit k1 k 0 33")
    members.order("close k2")
    settle(0, 3, 3)
    assert ("k1", "committed", "33") in members.events(names)
    for name in ("k1", "k3"):
        members.order(f"close {name}")
    settle(0, 0, 0)
    assert not [event for event in members.events(names) if event[1] in ("lost", "failed")]


def owned_by(events: list[Event]) -> dict[str, int]:
    """How many partitions each member has."""
    found: dict[str, int] = {}
    for name, event, *rest in events:
        change = {"assigned": 1, "revoked": -1, "lost": -1}.get(event, 0)
        found[name] = found.get(name, 0) + change * int(rest[0] if change else 0)
    return found
