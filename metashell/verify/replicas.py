"""Metadata directories of one cluster, held against each other: what is committed is the same everywhere, byte for byte.

What lies before the end of a whole checkpoint is committed: up to the lowest such offset of two directories their batches are equal.
Behind it a voter may hold records that another one never had; but two batches of one epoch at one offset come from one leader, and are
equal wherever they lie. Checkpoints of one name may be written in different orders: they are the same if they make the same image.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from metashell.codec.batches import RecordBatch
from metashell.errors import MetashellError
from metashell.log.directory import MetadataDirectory
from metashell.log.names import BOOTSTRAP_SNAPSHOT
from metashell.log.segment import BatchFault, read_batches
from metashell.verify.finding import Report

if TYPE_CHECKING:
    from metashell.image import MetadataImage

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class MetadataPlace:
    """A metadata directory that was checked; `certain_to` is where its newest whole checkpoint ends, 0 without one."""

    path: str
    cluster_id: str | None
    certain_to: int
    checkpoints: tuple[str, ...]


def compare_replicas(places: list[MetadataPlace], report: Report) -> None:
    """Compare each directory with the first, and checkpoints of one name with each other."""
    for place in places[1:]:
        _compare_logs(places[0], place, report)
        report.end_file(place.path)
    first: dict[str, str] = {}
    for place in places:
        for name in place.checkpoints:
            path = os.path.join(place.path, name)
            other = first.setdefault(name, path)
            if other != path:
                _compare_checkpoints(other, path, report)


class _Place(NamedTuple):
    """Where a batch lies, and what distinguishes it from another: the bytes that its checksum covers."""

    file: str
    position: int
    base_offset: int
    last_offset: int
    epoch: int
    crc: int
    size: int

    @property
    def content(self) -> tuple[int, int, int]:
        return self.last_offset, self.crc, self.size


def _compare_logs(one: MetadataPlace, other: MetadataPlace, report: Report) -> None:
    """Walk two logs side by side; the first place where they differ, and each further one."""
    certain = min(one.certain_to, other.certain_to)
    left, right = _places(one.path), _places(other.path)
    a, b = next(left, None), next(right, None)
    is_aligned = False
    while a is not None and b is not None:
        if a.base_offset == b.base_offset:
            is_aligned = True
            if a.content != b.content or a.epoch != b.epoch:
                _report_difference(a, b, certain, report)
            a, b = next(left, None), next(right, None)
            continue
        low, high = (a, b) if a.base_offset < b.base_offset else (b, a)
        # The log of one may begin later; once both have begun, each has a batch wherever the other has.
        if is_aligned and low.base_offset < certain:
            what = f"offsets {low.base_offset} to {low.last_offset} are a batch here, but not so in {os.path.dirname(high.file)}"
            report.error(low.file, what, position=low.position, offset=low.base_offset)
        if low is a:
            a = next(left, None)
        else:
            b = next(right, None)


def _report_difference(a: _Place, b: _Place, certain: int, report: Report) -> None:
    what = f"the batch is not that of {a.file} at byte {a.position}"
    if b.base_offset < certain:
        what += f", though both have a checkpoint of what lies before offset {certain}"
    elif a.epoch == b.epoch:
        what += f", though both are of epoch {a.epoch}"
    else:
        what += f": epoch {b.epoch} here, {a.epoch} there; no checkpoint says which is committed"
        report.note(b.file, what, position=b.position, offset=b.base_offset)
        return
    report.error(b.file, what, position=b.position, offset=b.base_offset)


def _places(path: str) -> Iterator[_Place]:
    """The good batches of a directory's log, in order. What cannot be read was reported when the directory was checked by itself."""
    with MetadataDirectory(path) as directory:
        for entry in directory.list().segments:
            try:
                file = directory.open(entry.name)
            except OSError:
                continue
            with file:
                for item in read_batches(file):
                    if isinstance(item, BatchFault):
                        continue
                    yield _place(item)


def _place(batch: RecordBatch) -> _Place:
    header = batch.header
    return _Place(batch.file, batch.position, header.base_offset, header.last_offset, header.leader_epoch, header.crc, len(batch.data))


def _compare_checkpoints(one: str, other: str, report: Report) -> None:
    """Equal bytes need no image."""
    try:
        if _hash(one) == _hash(other):
            return
        same = _same_voters if os.path.basename(other) == BOOTSTRAP_SNAPSHOT else _same_image
        if same(one, other):
            return
    except (MetashellError, OSError) as error:
        report.error(other, f"cannot be compared with {one}: {error}")
        return
    report.error(other, f"the image is not that of {one}")


def _hash(path: str) -> bytes:
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.digest()


def _same_image(one: str, other: str) -> bool:
    from metashell.image.digest import image_digest

    return image_digest(_image(one)) == image_digest(_image(other))


def _same_voters(one: str, other: str) -> bool:
    """Each node's format made its own records, with salts of its own, and a node that joins names no voters."""
    voters = [image.voters for image in (_image(one), _image(other))]
    return None in voters or voters[0] == voters[1]


def _image(path: str) -> MetadataImage:
    from metashell.image import load_image
    from metashell.log.source import open_source

    with open_source(path) as source:
        return load_image(source)
