"""Which partitions of a share group have share state: what record 15 says, and how it moves on.

The share coordinator keeps the state itself, elsewhere. A partition is not assigned before its state is there, and a group is not deleted
before its state is gone. Partitions walk from initializing to initialized; a topic whose state is being deleted stands by its id alone.
Source: groups.md 2.4 and 15.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from metashell.groups.topics import Topics


class NamedPartitions(NamedTuple):
    """Partitions of one topic, and the name it had when they were noted."""

    name: str
    partitions: frozenset[int]


ByTopic = Mapping[bytes, NamedPartitions]


class ShareState(NamedTuple):
    """Shape: by topic id; `deleting` by id and name."""

    initializing: ByTopic
    initialized: ByTopic
    deleting: Mapping[bytes, str]

    def lacking(self, names: Iterable[str], topics: Topics, is_waiting: bool) -> ByTopic:
        """Partitions of these topics without state. While somebody `is_waiting` for an answer, those that were asked for do not count."""
        found = {}
        for topic in (topics.named(name) for name in names):
            if topic is None:
                continue
            have = _partitions(self.initialized, topic.id) | (_partitions(self.initializing, topic.id) if is_waiting else frozenset())
            if lacking := frozenset(range(topic.partition_count)) - have:
                found[topic.id] = NamedPartitions(topic.name, lacking)
        return found

    def asked_for(self, added: ByTopic) -> ShareState:
        """State was asked for."""
        left = {id: name for id, name in self.deleting.items() if id not in added}
        return self._replace(initializing=_more(self.initializing, added), deleting=left)

    def made(self, done: ByTopic) -> ShareState:
        """State was made."""
        return self._replace(initializing=_less(self.initializing, done), initialized=_more(self.initialized, done))

    def not_made(self, failed: ByTopic) -> ShareState:
        """State could not be made: it is asked for again."""
        return self._replace(initializing=_less(self.initializing, failed))

    def without_topics(self, ids: Collection[bytes]) -> ShareState:
        """Topics are gone, and their state with them."""
        return ShareState(
            {id: topic for id, topic in self.initializing.items() if id not in ids},
            {id: topic for id, topic in self.initialized.items() if id not in ids},
            {id: name for id, name in self.deleting.items() if id not in ids},
        )

    def all_deleting(self) -> ShareState:
        """The group is to go, and all its state before it."""
        known = {id: topic.name for id, topic in (*self.initializing.items(), *self.initialized.items())}
        return ShareState({}, {}, {**self.deleting, **known})


NO_STATE = ShareState({}, {}, {})


def _partitions(topics: ByTopic, id: bytes) -> frozenset[int]:
    return topics[id].partitions if id in topics else frozenset()


def _more(known: ByTopic, added: ByTopic) -> ByTopic:
    joined = {id: NamedPartitions(topic.name, _partitions(known, id) | topic.partitions) for id, topic in added.items()}
    return {**known, **joined}


def _less(known: ByTopic, taken: ByTopic) -> ByTopic:
    left = {id: topic._replace(partitions=topic.partitions - _partitions(taken, id)) for id, topic in known.items()}
    return {id: topic for id, topic in left.items() if topic.partitions}
