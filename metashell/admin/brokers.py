"""Brokers: which there are, what they carry, and what lies on their disks. `admin.cluster` takes one off the books.

Source: KIP-1073 (fenced brokers), KIP-827 (log directories).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from metashell.admin.errors import AdminError
from metashell.codec import messages
from metashell.codec.error_codes import NONE
from metashell.errors import MetashellError

if TYPE_CHECKING:
    from metashell.admin.admin import Admin
    from metashell.admin.topics import Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A registered broker, by its first listener. One that is fenced serves nobody; one that is leaving hands its leaderships over."""

    id: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool = False
    is_leaving: bool = False

    @property
    def state(self) -> str:
        """One word for people and programs."""
        return "fenced" if self.is_fenced else "leaving" if self.is_leaving else "up"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirectory:
    """One of a broker's log directories. Sizes are bytes, -1 where the answer does not say; `error` where the directory failed.

    `lags` is how many records the replica of each partition in it is behind, by topic and number.
    """

    path: str
    error: AdminError | None = None
    replicas: int = 0
    size: int = 0
    total: int = -1
    usable: int = -1
    is_cordoned: bool = False
    lags: Mapping[tuple[str, int], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What brokers carry, by id: partitions that they lead, replicas on them, and replicas on them that are not in sync."""

    leaders: Counter[int]
    replicas: Counter[int]
    not_in_sync: Counter[int]


def load_of(topics: Iterable[Topic]) -> Load:
    """What each broker carries of these topics."""
    leaders: Counter[int] = Counter()
    replicas: Counter[int] = Counter()
    not_in_sync: Counter[int] = Counter()
    for topic in topics:
        for partition in topic.partitions:
            if partition.has_leader:
                leaders[partition.leader] += 1
            replicas.update(partition.replicas)
            not_in_sync.update(set(partition.replicas) - set(partition.isr))
    return Load(leaders=leaders, replicas=replicas, not_in_sync=not_in_sync)


def describe_log_dirs(
    admin: Admin, ids: Sequence[int], only: Mapping[str, Iterable[int]] | None = None
) -> dict[int, tuple[LogDirectory, ...] | MetashellError]:
    """The log directories of each of these brokers, which only it knows; an error in place of what could not be had.

    `only`: with no other partitions than these, by topic.
    """
    make = messages.DescribeLogDirsRequest
    topics = None if only is None else tuple(make.DescribableLogDirTopic(topic=name, partitions=tuple(ids)) for name, ids in only.items())
    request = make(topics=topics)
    found: dict[int, tuple[LogDirectory, ...] | MetashellError] = {}
    for id, answer in admin.ask_all(dict.fromkeys(ids, request)).items():
        if isinstance(answer, MetashellError):
            found[id] = answer
        elif answer.error_code != NONE:
            found[id] = AdminError(answer.error_code, None, f"broker {id}")
        else:
            found[id] = tuple(map(_directory, answer.results))
    return found


def _directory(result: Any) -> LogDirectory:
    sizes = [partition.partition_size for topic in result.topics for partition in topic.partitions]
    return LogDirectory(
        path=result.log_dir,
        error=None if result.error_code == NONE else AdminError(result.error_code, None, result.log_dir),
        replicas=len(sizes),
        size=sum(sizes),
        total=result.total_bytes,
        usable=result.usable_bytes,
        is_cordoned=result.is_cordoned,
        lags={(topic.name, one.partition_index): one.offset_lag for topic in result.topics for one in topic.partitions},
    )
