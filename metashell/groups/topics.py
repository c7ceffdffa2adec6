"""What the coordinator knows of topics: names, ids, partitions and the racks of their replicas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol


class Topic(NamedTuple):
    """Shape: `racks` has for each partition, sorted, the rack of every replica whose broker has one; its length is the partition count."""

    id: bytes
    name: str
    racks: tuple[tuple[str, ...], ...]

    @property
    def partition_count(self) -> int:
        return len(self.racks)


class Topics(Protocol):
    """A view of the metadata image. It is a value: another state of the metadata is another object."""

    @property
    def version(self) -> int:
        """The metadata offset of this view."""
        ...

    def named(self, name: str) -> Topic | None: ...

    def with_id(self, id: bytes) -> Topic | None: ...

    def names(self) -> Iterator[str]: ...


class KnownTopics:
    """Topics from a list, for tests, simulations and logs without metadata."""

    def __init__(self, topics: Iterable[Topic] = (), version: int = 0) -> None:
        self._by_name = {topic.name: topic for topic in topics}
        self._by_id = {topic.id: topic for topic in self._by_name.values()}
        self._version = version

    @property
    def version(self) -> int:
        return self._version

    def named(self, name: str) -> Topic | None:
        return self._by_name.get(name)

    def with_id(self, id: bytes) -> Topic | None:
        return self._by_id.get(id)

    def names(self) -> Iterator[str]:
        return iter(self._by_name)
