"""Limits on the copies that moves make: set before, removed after, without touching those of others.

A rate is a setting of a broker; which replicas it holds for is a setting of a topic, a list of PARTITION:BROKER. Only exact replicas are
named: with `*` a replica that is behind for another reason would be held back too.
Source: KIP-73, org.apache.kafka.tools.reassign.ReassignPartitionsCommand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.admin.configs import Change, Operation, Resource, alter_configs
from metashell.codec.config_types import BROKER_RESOURCE, TOPIC_RESOURCE

if TYPE_CHECKING:
    from metashell.admin.admin import Admin
    from metashell.errors import MetashellError

RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LEADERS: Final = "leader.replication.throttled.replicas"
FOLLOWERS: Final = "follower.replication.throttled.replicas"
_EVERY_REPLICA: Final = "*"

Values = Callable[[Sequence[Resource]], Mapping[Resource, Mapping[str, str]]]
"""What is set for some resources, as far as it can be had."""


class Copy(NamedTuple):
    """The replicas of a partition before it moves, and those that it gets."""

    topic: str
    partition: int
    sources: tuple[int, ...]
    targets: tuple[int, ...]


class Found(NamedTuple):
    """What came of it: what could not be changed, and in words what was left alone."""

    errors: dict[Resource, MetashellError]
    notes: list[str]


class Throttle:
    """The throttle of the moves of one plan. `rate` is in bytes a second for each broker, None where it is not known."""

    def __init__(self, admin: Admin, values: Values, rate: int | None) -> None:
        self._admin = admin
        self._values = values
        self._rate = rate
        # What was set a moment ago may not be seen yet where the metadata log is read.
        self._set: dict[Resource, dict[str, str]] = {}

    def set(self, copies: Iterable[Copy]) -> Found:
        """Hold these copies to the rate. A broker that has another rate already keeps it."""
        assert self._rate is not None
        copies = [copy for copy in copies if copy.targets]
        rate, notes = str(self._rate), []
        changes: dict[Resource, list[Change]] = {}
        brokers = sorted({broker for copy in copies for broker in (*copy.sources, *copy.targets)})
        for resource, present in self._read([Resource(BROKER_RESOURCE, str(broker)) for broker in brokers]).items():
            others = sorted({present[name] for name in RATES if name in present} - {rate})
            if others:
                notes.append(f"{resource} keeps the throttle that it has: {', '.join(others)} bytes/s")
            changes[resource] = [Change(name, Operation.SET, rate) for name in RATES if name not in present]
        lists = _lists(copies)
        for resource, present in self._read(list(lists)).items():
            for name, entries in lists[resource].items():
                now = _split(present.get(name, ""))
                new = [entry for entry in entries if entry not in now]
                if new and _EVERY_REPLICA not in now:
                    changes.setdefault(resource, []).append(Change(name, Operation.APPEND, ",".join(new)))
        for resource, made in changes.items():
            known = self._set.setdefault(resource, {})
            known |= {one.name: ",".join([*_split(known.get(one.name, "")), one.value or ""]) for one in made if one.name not in RATES}
            known |= {one.name: one.value or "" for one in made if one.name in RATES}
        return Found(self._change(changes), notes)

    def clear(self, places: Iterable[tuple[str, int]], busy: Iterable[int]) -> Found:
        """Remove the throttled replicas of these partitions, and the rates of their brokers, except of those that other moves keep `busy`.

        With a rate, other rates stay.
        """
        partitions: dict[Resource, set[str]] = {}
        for topic, partition in places:
            partitions.setdefault(Resource(TOPIC_RESOURCE, topic), set()).add(str(partition))
        changes: dict[Resource, list[Change]] = {}
        brokers: set[int] = set()
        for resource, present in self._read(list(partitions)).items():
            for name in (LEADERS, FOLLOWERS):
                now = _split(present.get(name, ""))
                ours = [entry for entry in now if entry.partition(":")[0] in partitions[resource]]
                brokers |= {int(id) for entry in ours if (id := entry.partition(":")[2]).isdigit()}
                if ours:
                    # An empty list would stay behind.
                    change = Change(name, Operation.DELETE) if ours == now else Change(name, Operation.SUBTRACT, ",".join(ours))
                    changes.setdefault(resource, []).append(change)
        needed, notes = set(busy), []
        for resource, present in self._read([Resource(BROKER_RESOURCE, str(broker)) for broker in sorted(brokers)]).items():
            names = [name for name in RATES if name in present and self._rate in (None, int(present[name]))]
            if names and int(resource.name) in needed:
                notes.append(f"{resource} keeps its throttle: other moves need it")
            elif names:
                changes[resource] = [Change(name, Operation.DELETE) for name in names]
        self._set.clear()
        return Found(self._change(changes), notes)

    def _read(self, resources: Sequence[Resource]) -> dict[Resource, dict[str, str]]:
        found = self._values(resources) if resources else {}
        return {resource: {**self._set.get(resource, {}), **found.get(resource, {})} for resource in resources}

    def _change(self, changes: Mapping[Resource, Sequence[Change]]) -> dict[Resource, MetashellError]:
        wanted = {resource: made for resource, made in changes.items() if made}
        answers = alter_configs(self._admin, wanted) if wanted else {}
        return {resource: error for resource, error in answers.items() if error is not None}


def _lists(copies: Iterable[Copy]) -> dict[Resource, dict[str, list[str]]]:
    found: dict[Resource, dict[str, list[str]]] = {}
    for copy in copies:
        lists = found.setdefault(Resource(TOPIC_RESOURCE, copy.topic), {LEADERS: [], FOLLOWERS: []})
        lists[LEADERS] += (f"{copy.partition}:{broker}" for broker in copy.sources)
        lists[FOLLOWERS] += (f"{copy.partition}:{broker}" for broker in copy.targets)
    return found


def _split(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()]
