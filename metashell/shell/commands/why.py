"""The command `why`: shows what led to the state of a partition, topic, broker, controller or voter."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.codec.codes import TOPIC_RESOURCE
from metashell.common.errors import MetashellError, UsageError
from metashell.common.forms import counted
from metashell.common.options import Argument, Option
from metashell.common.terminal import DIM
from metashell.common.values import moment_text, time_text
from metashell.metadata.history import Timeline
from metashell.metadata.history.causes import (
    FENCED,
    REGISTERED,
    SHUTDOWN,
    UNFENCED,
    UNREGISTERED,
    BrokerEvent,
    Event,
    WithBrokers,
    broker_events,
    events_of,
    ids_text,
    leader_text,
)
from metashell.metadata.history.touched import Target, target_of
from metashell.metadata.nodes.names import name_escape, parse_int
from metashell.metadata.nodes.places import paths_of, subject_of
from metashell.shell.commands import NODE_PATH, make_command
from metashell.shell.health_text import NOTE, leader_of, voters_of
from metashell.shell.output import write_answer
from metashell.shell.past import history_of, newest_image, usual_path
from metashell.shell.paths import absolute_components

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import SimpleNamespace

    from metashell.metadata.history import Touch
    from metashell.metadata.image import MetadataImage, PartitionRegistration
    from metashell.metadata.image.differences import Place
    from metashell.shell.context import Context


WHY_HELP: Final = """why - what led to the state of a partition, topic, broker, controller or voter

SYNOPSIS
    why [-n N] PATH
    why [-n N] TOPIC[/PARTITION] | broker ID | controller ID | voter ID | voters

DESCRIPTION
    Prints the changes that led to the present state, the newest last: time, offset, what changed, and the cause with the record that caused
    it. Then it prints the state, and for a partition the state of each replica and since when.

    The cause of a partition's change is a broker that was fenced, began a controlled shutdown, was unregistered, lost a log directory or
    came back, if the controller decided it for that reason; otherwise the leader of the partition (which decides the ISR) or a request
    (an election, a reassignment). Kafka records no principal. Directories of replicas are not shown; `log` has all records.

    Only the last 20 changes are printed; -n N prints the last N. Records before the oldest checkpoint may be gone: then the
    first line gives the offset where the log begins.

    With -o jsonl each change is one object: path, type, kind (`change`), offset, epoch, timestamp, what, cause, cause_offset; the last has
    kind `state` and what it is now.

EXAMPLES
    >> why -n 2 broker 6
    4 earlier changes not shown; -n 6 prints all
    2026-11-21T00:24:17.898Z  402  registered anew, epoch 16 -> 402
                                   cause: its process started again after a controlled shutdown
    2026-11-21T00:24:19.873Z  404  unfenced
                                   cause: it has caught up with the metadata
    now: active since 2026-11-21T00:24:19.873Z (offset 404: unfenced)
"""


_LAST: Final = 20
_TOLD: Final = (FENCED, SHUTDOWN, UNREGISTERED, REGISTERED, UNFENCED)
"""Events that set the state of a broker."""
_PARTITION_KEYS: Final = ("min.insync.replicas", "unclean.leader.election.enable")
"""Settings of a topic that affect its partitions."""
_NODES: Final = {"broker": "brokers", "controller": "controllers", "voter": "controllers"}


def run_why(ctx: Context, args: SimpleNamespace) -> None:
    """Print the changes and the state they led to."""
    subject = _Subject(ctx, args.path)
    story = _Explanation(ctx, subject)
    events = story.last(_LAST if args.number is None else args.number)
    if not story.is_known:
        raise MetashellError(f"{' '.join(args.path)}: it does not exist, and the log has no records of it")
    write_answer(ctx, (*map(story.event_object, events), *story.state_objects()), story.lines(events))
    for fault in story.faults:
        ctx.complain(f"{ctx.command}: {fault}", 1)


class _CausedChange(NamedTuple):
    """A change and its path."""

    event: Event
    path: str


class _Subject:
    """The subject of the question: its path, the places of its changes, and the target to look for in the log."""

    def __init__(self, ctx: Context, words: Sequence[str]) -> None:
        self.voter: int | None = None
        self.path = self._path(ctx, list(words))
        self.topic = self.number = None
        kind = self.path[1:3]
        if kind[:1] == ["topics"] and len(self.path) > 3:
            self.topic = self.path[3]
            self.number = parse_int(self.path[4]) if len(self.path) > 4 else None
            config = f"TOPIC:{name_escape(self.path[3])}"
            parts = [target_of(self.path[:5]), target_of(["image", "configs", config])]
        elif kind == ["cluster", "brokers"] and len(self.path) > 3:
            parts = [Target(frozenset())]
        elif kind == ["cluster", "controllers"] and len(self.path) > 3:
            self.voter = parse_int(self.path[3])
            parts = [target_of(self.path), Target(frozenset(), [], has_controls=True, has_leaders=True)]
        elif self.path[1:] == ["voters"]:
            parts = [Target(frozenset(), [], has_controls=True, has_leaders=True)]
        else:
            raise UsageError(f"{' '.join(words)!r} is not a partition, topic, broker, controller or voter; `log` shows all else", words[0])
        self.target = WithBrokers(parts)

    def _path(self, ctx: Context, words: list[str]) -> list[str]:
        if len(words) == 2 and words[0] in _NODES:
            return ["image", "cluster", _NODES[words[0]], words[1]]
        if words == ["voters"]:
            return ["image", "voters"]
        if len(words) != 1:
            raise UsageError(f"unexpected argument {words[1]!r}", words[1])
        found = usual_path(absolute_components(words[0], ctx.cwd))
        if found[:1] == ["image"]:
            return self._by_name(ctx, found)
        name, _, rest = words[0].replace(":", "/").partition("/")
        return ["image", "topics", "byName", name, *([rest] if rest else [])]

    @staticmethod
    def _by_name(ctx: Context, path: list[str]) -> list[str]:
        subject = subject_of(path, newest_image(ctx)) if path[1:3] == ["topics", "byId"] else None
        return ["image", "topics", "byName", name_escape(subject[1]), *path[4:5]] if subject is not None else path

    def wants(self, place: Place, image: MetadataImage, before: MetadataImage) -> bool:
        """Return whether a changed place belongs to the subject."""
        match place:
            case ("topic", _) | ("partition", _, _) if self.topic is not None:
                (path, *_) = paths_of(place, image, before)
                return bool(path[3] == self.topic and (self.number is None or path[4:] in ((), (str(self.number),))))
            case ("config", kind, name, key):
                is_told = self.number is None or key in _PARTITION_KEYS
                return bool(kind == TOPIC_RESOURCE and self.topic is not None and name_escape(name) == self.topic and is_told)
            case ("broker", id):
                return self.path[2:] == ["brokers", str(id)]
            case ("controller", id):
                return bool(self.voter == id)
            case ("voters", *ids) | ("leader", *ids):
                return self.path[1:] == ["voters"] or (self.voter is not None and (not ids or self.voter in ids))
        return False


class _Explanation:
    """The changes of a subject as they are read, and its state at the end."""

    def __init__(self, ctx: Context, subject: _Subject) -> None:
        self._ctx = ctx
        self._subject = subject
        self._brokers: dict[int, BrokerEvent] = {}
        self._story = Timeline(history_of(ctx), subject.target, until=ctx.at)
        self.count = 0
        self._was_there = False
        self.faults: list[str] = []

    def last(self, count: int) -> list[_CausedChange]:
        """Read the whole log and return the last changes."""
        kept = deque(self._events(), count)
        self.faults = self._story.faults
        return list(kept)

    @property
    def is_known(self) -> bool:
        """Return whether the subject exists or existed."""
        return self._was_there or bool(self._state())

    def _events(self) -> Iterator[_CausedChange]:
        for event, touch in events_of(self._touches()):
            images = touch.after, touch.before
            if self._subject.wants(event.place, *images):
                self.count += 1
                # The creation of its topic does not show that a partition existed.
                self._was_there |= self._subject.number is None or event.place[0] == "partition"
                place = event.place[:1] if event.place[0] in ("voters", "leader") else event.place
                yield _CausedChange(event, "/" + "/".join(paths_of(place, *images)[0]))

    def _touches(self) -> Iterator[Touch]:
        """Yield the touches, and remember the last event of each broker."""
        end = self._ctx.image.provenance.end_offset if self._ctx.feed is not None else None
        for touch in self._story:
            if end is not None and touch.origin.offset >= end:
                return
            for event in broker_events(touch):
                if event.kind in _TOLD:
                    self._brokers[event.broker_id] = event
            yield touch

    # ---- as text

    def lines(self, told: Sequence[_CausedChange]) -> Iterator[str]:
        """Yield each change as a line with a line for its cause, then the state."""
        ctx = self._ctx
        if self._story.start:
            yield f"before offset {self._story.start} only the state is known"
        if self.count > len(told):
            earlier = counted(self.count - len(told), "earlier change")
            yield f"{earlier} not shown; -n {self.count} prints all"
        width = max((len(str(event.origin.offset)) for event, _ in told), default=0)
        for event, _ in told:
            time = time_text(event.origin.timestamp_ms) if event.origin.timestamp_ms >= 0 else moment_text(-1)
            start = f"{time}  {event.origin.offset:<{width}}"
            yield ctx.display.joined((ctx.display.paint(DIM, start), f"{self._name(event)}{event.what}"), "  ")
            yield f"{'':{len(start)}}  cause: {event.cause}"
        yield from (f"now: {line}" if not number else f"     {line}" for number, line in enumerate(self._state()))

    def _name(self, event: Event) -> str:
        """Return the partition's number if the answer is about a whole topic."""
        return f"{event.place[2]}: " if event.place[0] == "partition" and self._subject.number is None else ""

    def _state(self) -> list[str]:
        """Return the present state: a line for the subject, and for a partition one per replica."""
        image, subject = newest_image(self._ctx) if self._ctx.at is None else self._ctx.image, self._subject
        if subject.topic is not None:
            return self._topic_state(image)
        if subject.path[2:3] == ["brokers"]:
            broker_id = parse_int(subject.path[3])
            return [self._broker_text(image, broker_id)] if broker_id is not None and broker_id in image.cluster.brokers else []
        leader, source = leader_of(image, self._ctx.noted_election)
        ids = [voter["id"] for voter in voters_of(image, self._ctx.noted_election)[0]]
        leads = "nobody knows who leads" if leader is None else f"leader {leader_text(leader.id)}, epoch {leader.epoch}"
        leads += f" (from {source})" if source == NOTE else ""
        if subject.voter is None:
            return [f"voters {ids_text(ids)}, {leads}"]
        if subject.voter not in ids and subject.voter not in image.cluster.controllers and not self._was_there:
            return []
        registered = "registered" if subject.voter in image.cluster.controllers else "not registered"
        return [f"{'a voter' if subject.voter in ids else 'no voter'}, {registered}; {leads}"]

    def _topic_state(self, image: MetadataImage) -> list[str]:
        topic = next((one for one in image.topics.by_id.values() if name_escape(one.name) == self._subject.topic), None)
        if topic is None:
            return ["not there"] if self._was_there else []
        numbers = sorted(topic.partition_ids()) if self._subject.number is None else [self._subject.number]
        found = []
        for number in numbers:
            partition = topic.partitions.get(number)
            if partition is not None:
                found += self._partition_state(image, number, partition)
        return found

    def _partition_state(self, image: MetadataImage, number: int, partition: PartitionRegistration) -> list[str]:
        elr = f", ELR {ids_text(partition.elr)}" if partition.elr else ""
        moves = f", adding {ids_text(partition.adding_replicas)}" if partition.adding_replicas else ""
        moves += f", removing {ids_text(partition.removing_replicas)}" if partition.removing_replicas else ""
        name = "" if self._subject.number is not None else f"{number}: "
        text = f"{name}leader {leader_text(partition.leader)}, ISR {ids_text(partition.isr)}{elr}"
        text = f"{text}, replicas {ids_text(partition.replicas)}{moves}"
        is_whole = partition.leader >= 0 and set(partition.isr) >= set(partition.replicas)
        if is_whole:
            return [text]
        states = [f"  replica {id}{_membership(partition, id)}: {self._broker_text(image, id)}" for id in partition.replicas]
        return [text, *states, *([_way_out(image, partition)] if partition.leader < 0 else [])]

    def _broker_text(self, image: MetadataImage, id: int) -> str:
        broker = image.cluster.brokers.get(id)
        event = self._brokers.get(id)
        state = "not registered" if broker is None else "active"
        if broker is not None and (broker.fenced or broker.in_controlled_shutdown):
            state = "fenced" if broker.fenced else "in controlled shutdown"
        if event is None:
            return state
        return f"{state} since {moment_text(event.origin.timestamp_ms)} (offset {event.origin.offset}: {event.what})"

    # ---- as objects

    def event_object(self, told: _CausedChange) -> dict[str, Any]:
        """Return a change as a JSON object."""
        event = told.event
        return {
            "path": told.path,
            "type": event.place[0],
            "kind": "change",
            "offset": event.origin.offset,
            "epoch": event.origin.epoch,
            "timestamp": event.origin.timestamp_ms,
            "what": event.what,
            "cause": event.cause,
            "cause_offset": None if event.cause_origin is None else event.cause_origin.offset,
            **self._ctx.certainty(),
        }

    def state_objects(self) -> Iterator[dict[str, Any]]:
        """Yield the state as JSON objects."""
        path = self._subject.path
        kind = {"topics": "topic" if self._subject.number is None else "partition", "cluster": path[2][:-1] if len(path) > 2 else ""}
        yield {
            "path": "/" + "/".join(path),
            "type": kind.get(path[1], path[1]),
            "kind": "state",
            "what": self._state(),
            "known_from": self._story.start,
            **self._ctx.certainty(),
        }


def _membership(partition: PartitionRegistration, id: int) -> str:
    words = [
        word for word, ids in (("ISR", partition.isr), ("ELR", partition.elr), ("last known ELR", partition.last_known_elr)) if id in ids
    ]
    return f" ({', '.join(words)})" if words else ""


def _way_out(image: MetadataImage, partition: PartitionRegistration) -> str:
    """Return which replicas can lead without loss, and which others exist."""
    safe = sorted({*partition.isr, *partition.elr})
    alive = [id for id in partition.replicas if id in image.cluster.brokers and not image.cluster.brokers[id].fenced]
    if safe:
        return f"  it has a leader again when {' or '.join(map(str, safe))} is back: {'they have' if len(safe) > 1 else 'it has'} all of it"
    if alive:
        return f"  only an unclean election lets {ids_text(alive)} lead, and records are lost"
    return "  no replica is known to have all that was acknowledged"


WHY_COMMAND = make_command(
    run_why,
    WHY_HELP,
    options=(Option(names=("-n", "--number"), metavar="N", type="int", help=f"the last N changes, by default {_LAST}"),),
    arguments=(Argument(name="path", nargs="+", kind=NODE_PATH, help="a path, TOPIC/PARTITION, or `broker 3`, `voter 2`, `voters`"),),
)
