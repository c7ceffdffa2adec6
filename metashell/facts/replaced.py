"""Brokers that came back with other log directories, and what nobody else had then: read from the metadata as it was at that moment."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from metashell.checks.facts import Facts, ReplacedDisk
from metashell.checks.rules.incarnations import Registration, registrations
from metashell.errors import MetashellError
from metashell.image import load_image
from metashell.log.directory_source import DirectorySource

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metashell.checks.facts import LogEvent

_MOMENTS_MAX: Final = 4
"""For each the metadata has to be read once more; the newest ones count."""


def replaced_disks(path: str, events: tuple[LogEvent, ...]) -> tuple[ReplacedDisk, ...]:
    """The newest such return of each broker, in the order of the log; those from which the log no longer reaches back are left out."""
    last = [found[-1] for id, all in registrations(Facts(events=events)).items() if (found := list(_replaced(id, all)))]
    disks = []
    for broker, now, gone in sorted(last, key=lambda found: found[1].offset)[-_MOMENTS_MAX:]:
        try:
            disks.append(ReplacedDisk(broker, now.offset, now.timestamp_ms, gone, tuple(_alone(path, now.offset, broker, gone))))
        except (MetashellError, OSError):
            continue
    return tuple(disks)


def _replaced(id: int, all: Sequence[Registration]) -> Iterator[tuple[int, Registration, frozenset[bytes]]]:
    for before, now in pairwise(all):
        gone = before.directories - now.directories
        # One that failed goes without a new one in its place, and its replicas wait for it.
        if gone and now.directories - before.directories:
            yield id, now, gone


def _alone(path: str, offset: int, broker: int, gone: frozenset[bytes]) -> Iterator[tuple[bytes, int]]:
    with DirectorySource(path, up_to=offset) as source:
        image = load_image(source, end_offset=offset)
    for topic in image.topics:
        for id, partition in topic.partitions.items():
            # Whoever was last is eligible where that is on (KIP-966), and no longer once its broker is known to have stopped badly.
            last = partition.isr or partition.elr or partition.last_known_elr
            if tuple(last) == (broker,):
                directories = dict(zip(partition.replicas, partition.directories, strict=False))
                if directories.get(broker) in gone:
                    yield topic.id, id
