"""What brokers tell of their log directories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from metashell.amounts import size_text
from metashell.checks.facts import DISKS
from metashell.checks.model import BAD, UNUSUAL, Found
from metashell.checks.registry import check

if TYPE_CHECKING:
    from metashell.checks.facts import BrokerDirectory, Facts

_FULL: Final = 0.02
_NEARLY_FULL: Final = 0.10


def _directories(facts: Facts) -> Iterator[tuple[int, BrokerDirectory]]:
    for broker in sorted(facts.brokers, key=lambda one: one.id):
        for directory in broker.directories or ():
            yield broker.id, directory


def _found(id: int, directory: BrokerDirectory, cause: str) -> Found:
    return Found(f"broker {id}: {directory.path}", cause, key=("broker", id))


@check(
    "disks.failed_directory",
    BAD,
    "log directories that their brokers cannot use",
    DISKS,
    endangers="the replicas in it are not served, and lag ever more",
    step="mend or replace the disk, then restart the broker: it does not try again by itself",
    source="KIP-112, DescribeLogDirs",
    example="broker 3: /var/lib/kafka-2 (KAFKA_STORAGE_ERROR)",
)
def failed_directory(facts: Facts) -> Iterator[Found]:
    return (_found(id, one, one.error) for id, one in _directories(facts) if one.error)


def _free(directory: BrokerDirectory) -> float | None:
    total, usable = directory.total_bytes, directory.usable_bytes
    return None if directory.error or usable is None or not total or total < 0 else usable / total


def _fullness(one: BrokerDirectory) -> str:
    return f"{size_text(one.usable_bytes or 0)} of {size_text(one.total_bytes or 0)} are free, logs take {size_text(one.size_bytes)}"


@check(
    "disks.full_disk",
    BAD,
    "log directories on disks that are full",
    DISKS,
    endangers="a broker whose disk is full takes the directory offline, and stops where it is its last one",
    step="make room: shorten retention.ms or retention.bytes of large topics, or move replicas (metashell reassign plan)",
    source="KIP-827",
)
def full_disk(facts: Facts) -> Iterator[Found]:
    return (_found(id, one, _fullness(one)) for id, one in _directories(facts) if (free := _free(one)) is not None and free < _FULL)


@check(
    "disks.nearly_full_disk",
    UNUSUAL,
    "log directories on disks of which less than a tenth is free",
    DISKS,
    step="look how fast it fills; shorten retention.ms or retention.bytes of large topics, or move replicas (metashell reassign plan)",
    source="KIP-827",
)
def nearly_full_disk(facts: Facts) -> Iterator[Found]:
    for id, one in _directories(facts):
        free = _free(one)
        if free is not None and _FULL <= free < _NEARLY_FULL:
            yield _found(id, one, _fullness(one))
