"""Moves of replicas between brokers: starting, listing and cancelling them, and the throttle on their copies.

The protocol has no compare-and-set: a new move of a partition replaces the one under way. So list the moves right before starting some.

The rate of a throttle is a setting of a broker. The throttled replicas are a setting of a topic, a list of PARTITION:BROKER. The list names
exact replicas: `*` would also slow down a replica that is behind for another reason. Throttles of other tools are left unchanged.

Source: KIP-455, KIP-73, org.apache.kafka.tools.reassign.ReassignPartitionsCommand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.cli.admin.configs import Change, Operation, Resource, alter_configs
from metashell.cli.admin.protocol import AdminError, check_answer
from metashell.codec import messages
from metashell.codec.codes import BROKER_RESOURCE, THROTTLE_RATES, THROTTLED_REPLICAS, TOPIC_RESOURCE
from metashell.codec.error_codes import NONE
from metashell.common.errors import MetashellError

if TYPE_CHECKING:
    from metashell.cli.admin.client import Admin


CHUNK: Final = 1000
"""The partitions in one request: a controller refuses a request that would write more than 10 000 records."""
Place = tuple[str, int]
"""A topic and the number of a partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moving:
    """A move under way; `replicas` includes the replicas being added and removed."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


def alter_reassignments(admin: Admin, targets: Mapping[Place, tuple[int, ...] | None]) -> dict[Place, AdminError | None]:
    """Start moving partitions to these replicas, or cancel their moves (None). Return for each partition None if accepted, or the error.

    Errors: AdminError if the whole request is refused; UncertainError if the answer was lost.
    """
    make = messages.AlterPartitionReassignmentsRequest
    by_topic: dict[str, list[messages.AlterPartitionReassignmentsRequest.ReassignablePartition]] = {}
    for (topic, partition), replicas in targets.items():
        by_topic.setdefault(topic, []).append(make.ReassignablePartition(partition_index=partition, replicas=replicas))
    topics = tuple(make.ReassignableTopic(name=name, partitions=tuple(partitions)) for name, partitions in by_topic.items())
    answer = admin.ask_active(make(timeout_ms=admin.timeout_ms, topics=topics))
    check_answer(answer.error_code, answer.error_message)
    found: dict[Place, AdminError | None] = {}
    for topic in answer.responses:
        for one in topic.partitions:
            thing = f"{topic.name}:{one.partition_index}"
            error = None if one.error_code == NONE else AdminError(one.error_code, one.error_message, thing)
            found[topic.name, one.partition_index] = error
    return found


def list_reassignments(admin: Admin, places: Iterable[Place] | None = None) -> dict[Place, Moving]:
    """Return the moves under way, of these partitions or of all. Errors: AdminError."""
    make = messages.ListPartitionReassignmentsRequest
    topics = None
    if places is not None:
        by_topic: dict[str, list[int]] = {}
        for topic, partition in places:
            by_topic.setdefault(topic, []).append(partition)
        topics = tuple(make.ListPartitionReassignmentsTopics(name=name, partition_indexes=tuple(ids)) for name, ids in by_topic.items())
    answer = admin.ask_active(make(timeout_ms=admin.timeout_ms, topics=topics))
    check_answer(answer.error_code, answer.error_message)
    return {
        (topic.name, one.partition_index): Moving(
            topic=topic.name,
            partition=one.partition_index,
            replicas=tuple(one.replicas),
            adding=tuple(one.adding_replicas),
            removing=tuple(one.removing_replicas),
        )
        for topic in answer.topics
        for one in topic.partitions
    }


RATES: Final = THROTTLE_RATES
LEADERS, FOLLOWERS = THROTTLED_REPLICAS
_EVERY_REPLICA: Final = "*"

Values = Callable[[Sequence[Resource]], Mapping[Resource, Mapping[str, str] | MetashellError]]
"""A function that returns the settings of resources, or their errors; the settings of a resource that it leaves out count as unreadable."""


class Copy(NamedTuple):
    """The replicas that a partition is copied from, and those that are added."""

    topic: str
    partition: int
    sources: tuple[int, ...]
    targets: tuple[int, ...]


class Found(NamedTuple):
    """The result of a change of throttles: errors of reading or writing, notes on what was left unchanged, and brokers that keep a rate."""

    errors: dict[Resource, MetashellError]
    notes: list[str]
    kept: tuple[int, ...] = ()


def clear_all(admin: Admin, present: Mapping[Resource, Mapping[str, str]]) -> dict[Resource, MetashellError | None]:
    """Remove every replication throttle, also those of other tools. Return for each changed resource the error, or None.

    `present` has the settings of all brokers and topics.
    """
    keys = (*RATES, *THROTTLED_REPLICAS)
    changes = {one: [Change(key, Operation.DELETE) for key in keys if key in found] for one, found in present.items()}
    wanted = {resource: made for resource, made in changes.items() if made}
    return dict(alter_configs(admin, wanted)) if wanted else {}


class Throttle:
    """The throttle of one plan's moves. `rate` is in bytes per second and broker, None if it is not known."""

    def __init__(self, admin: Admin, values: Values, rate: int | None) -> None:
        self._admin = admin
        self._values = values
        self._rate = rate
        # Our own recent changes: the metadata log that settings are read from may not show them yet.
        self._set: dict[Resource, dict[str, str]] = {}
        self._brokers: set[int] = set()
        self._down: set[int] = set()

    @property
    def is_set(self) -> bool:
        """Whether a setting was sent that `clear` has to remove."""
        return bool(self._set)

    def set(self, copies: Iterable[Copy], down: Collection[int] = ()) -> Found:
        """Throttle these copies. A broker that has another rate keeps it; sources in `down` send nothing and get no throttle.

        If any setting cannot be read, nothing is changed.
        """
        assert self._rate is not None
        copies = [copy for copy in copies if copy.targets]
        targets = {broker for copy in copies for broker in copy.targets}
        self._down = {broker for copy in copies for broker in copy.sources if broker in down and broker not in targets}
        copies = [copy._replace(sources=tuple(broker for broker in copy.sources if broker not in self._down)) for copy in copies]
        self._brokers = targets | {broker for copy in copies for broker in copy.sources}
        rate, notes = str(self._rate), []
        if self._down:
            notes.append(f"down, so without a throttle: {_named(self._down)}")
        changes: dict[Resource, list[Change]] = {}
        lists = _lists(copies)
        brokers, errors = self._read(_resources(self._brokers))
        topics, more = self._read(list(lists))
        if errors or more:
            return Found({**errors, **more}, notes)
        for resource, present in brokers.items():
            others = sorted({present[name] for name in RATES if name in present} - {rate})
            if others:
                notes.append(f"{resource} keeps the throttle that it has: {', '.join(others)} bytes/s")
            changes[resource] = [Change(name, Operation.SET, rate) for name in RATES if name not in present]
        for resource, present in topics.items():
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

    def clear(self, places: Iterable[tuple[str, int]], brokers: Iterable[int], busy: Iterable[int]) -> Found:
        """Remove the throttled replicas of these partitions, and the rate from their brokers, except `busy` ones, which other moves need.

        Only a rate equal to ours is removed, and none if ours is not known: any other rate was set by someone else. The brokers are those
        given, those of `set` and those in the lists. Rates are removed first: a broker that fails stays in the lists, so a retry finds it.
        """
        partitions: dict[Resource, set[str]] = {}
        for topic, partition in places:
            partitions.setdefault(Resource(TOPIC_RESOURCE, topic), set()).add(str(partition))
        topics, errors = self._read(list(partitions))
        ours: dict[Resource, dict[str, list[str]]] = {}
        named: set[int] = set()
        for resource, present in topics.items():
            for name in (LEADERS, FOLLOWERS):
                entries = [one for one in _split(present.get(name, "")) if one.partition(":")[0] in partitions[resource]]
                ours.setdefault(resource, {})[name] = entries
                named |= {int(id) for entry in entries if (id := entry.partition(":")[2]).isdigit()}
        kept, failed = self._clear_rates(((set(brokers) | self._brokers) - self._down) | named, set(busy))
        errors |= failed
        changes: dict[Resource, list[Change]] = {}
        stay = {one.name for one in failed}
        for resource, lists in ours.items():
            for name, entries in lists.items():
                gone = [entry for entry in entries if entry.partition(":")[2] not in stay]
                if gone:
                    # Subtracting every entry would leave an empty list as a setting.
                    is_all = gone == _split(topics[resource].get(name, ""))
                    change = Change(name, Operation.DELETE) if is_all else Change(name, Operation.SUBTRACT, ",".join(gone))
                    changes.setdefault(resource, []).append(change)
        errors |= self._change(changes)
        if not errors:
            self._set.clear()
        return Found(errors, [f"{why}: {_named(ids)}" for why, ids in kept.items()], tuple(sorted(set().union(*kept.values()))))

    def _clear_rates(self, brokers: Iterable[int], busy: Collection[int]) -> tuple[dict[str, list[int]], dict[Resource, MetashellError]]:
        """Remove the rate from brokers. Return the brokers that keep one, by the reason, and the error of each broker that failed."""
        settings, errors = self._read(_resources(brokers))
        changes: dict[Resource, list[Change]] = {}
        kept: dict[str, list[int]] = {}
        for resource, present in settings.items():
            id = int(resource.name)
            rates = {name: present[name] for name in RATES if name in present}
            names = [name for name, rate in rates.items() if rate == str(self._rate)]
            others = sorted(set(rates.values()) - {str(self._rate)})
            if others:
                kept.setdefault(f"a rate of {', '.join(others)} bytes/s stays", []).append(id)
            if names and id in busy:
                kept.setdefault("the rate stays, for other moves need it", []).append(id)
            elif names:
                changes[resource] = [Change(name, Operation.DELETE) for name in names]
        return kept, errors | self._change(changes)

    def _read(self, resources: Sequence[Resource]) -> tuple[dict[Resource, dict[str, str]], dict[Resource, MetashellError]]:
        """Return the settings of resources, and the error of each that cannot be read."""
        answers = self._values(resources) if resources else {}
        found: dict[Resource, dict[str, str]] = {}
        errors: dict[Resource, MetashellError] = {}
        for resource in resources:
            answer = answers.get(resource, MetashellError(f"{resource}: its settings cannot be read"))
            if isinstance(answer, MetashellError):
                errors[resource] = answer
            else:
                found[resource] = {**self._set.get(resource, {}), **answer}
        return found, errors

    def _change(self, changes: Mapping[Resource, Sequence[Change]]) -> dict[Resource, MetashellError]:
        wanted = {resource: made for resource, made in changes.items() if made}
        answers = alter_configs(self._admin, wanted) if wanted else {}
        return {resource: error for resource, error in answers.items() if error is not None}


def _resources(brokers: Iterable[int]) -> list[Resource]:
    return [Resource(BROKER_RESOURCE, str(broker)) for broker in sorted(brokers)]


def _named(brokers: Iterable[int]) -> str:
    return ", ".join(map(str, _resources(brokers)))


def _lists(copies: Iterable[Copy]) -> dict[Resource, dict[str, list[str]]]:
    found: dict[Resource, dict[str, list[str]]] = {}
    for copy in copies:
        lists = found.setdefault(Resource(TOPIC_RESOURCE, copy.topic), {LEADERS: [], FOLLOWERS: []})
        lists[LEADERS] += (f"{copy.partition}:{broker}" for broker in copy.sources)
        lists[FOLLOWERS] += (f"{copy.partition}:{broker}" for broker in copy.targets)
    return found


def _split(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()]
