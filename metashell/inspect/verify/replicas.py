"""Compares the metadata directories of one cluster: committed batches are the same everywhere, byte for byte.

Everything before the end of a whole checkpoint is committed, so two directories are equal up to the lower of their newest checkpoints.
After that offset a voter may hold records that another one never had. But two batches of one epoch at one offset come from one leader,
and are equal wherever they lie.

Worked case: node 1 has a checkpoint of 500 and node 2 one of 400. If they differ at offset 390, a committed record is wrong in one of
them: an error. If they differ at 450, both in epoch 7, one is damaged: an error too. If node 1 has epoch 7 there and node 2 has epoch 6,
node 2 may hold what an old leader never committed, and will cut it off: a note.

Nodes may write a checkpoint's records in different orders. Two checkpoints of one name are equal if their images have one digest
(`metadata.image.writer`)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from metashell.codec.batches import RecordBatch
from metashell.common.errors import MetashellError
from metashell.disk.directory import MetadataDirectory
from metashell.disk.files import STREAM_NAMES
from metashell.disk.inputs import find_metadata
from metashell.disk.names import BOOTSTRAP_SNAPSHOT, META_PROPERTIES, METADATA_DIRECTORY
from metashell.disk.properties import read_meta_properties
from metashell.disk.segment import BatchFault, read_batches
from metashell.disk.source import CommonOffset, DirectorySource, OffsetsWithImage, common_offset, open_source
from metashell.inspect.verify import Finding, Report, VerifyOptions
from metashell.inspect.verify.partition import kind_of_path
from metashell.metadata.image import MetadataImage, load_image
from metashell.metadata.image.image import damage_of, lacks_some, newer_line, newer_parts
from metashell.metadata.image.writer import DIGEST_NAME, image_digest

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class MetadataPlace:
    """A metadata directory that was checked; everything before `certain_to`, the end of its newest whole checkpoint, is committed."""

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
    """The place of a batch, and the bytes by which it is compared: those that its checksum covers."""

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
    """Walk two logs side by side and report each place where they differ."""
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
        # One log may begin later. Once both have begun, each has a batch wherever the other has one.
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
    """The good batches of a directory's log, in order. Bad ones were reported when the directory was checked by itself."""
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
    """Compare checkpoints of one name: by their bytes, and by their images only where the bytes differ."""
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
    return image_digest(_checkpoint_image(one)) == image_digest(_checkpoint_image(other))


def _same_voters(one: str, other: str) -> bool:
    """Return whether two checkpoints 0-0 agree on voters. `format` salts each node's anew; a joining node's has no voters."""
    voters = [image.voters for image in (_checkpoint_image(one), _checkpoint_image(other))]
    return None in voters or voters[0] == voters[1]


def _checkpoint_image(path: str) -> MetadataImage:
    with open_source(path) as source:
        return load_image(source)


class Digest(NamedTuple):
    """The digest of a path's image of everything before `end_offset`: a checkpoint is named by that offset too."""

    file: str
    end_offset: int
    epoch: int
    digest: str

    @property
    def text(self) -> str:
        return f"{DIGEST_NAME}:{self.digest}"


def digest_of(path: str, report: Report, options: VerifyOptions) -> Digest:
    """Return the digest of the image at `path`, and report the records that could not be applied.

    Errors: MetashellError where the path has no image at the wanted offset.
    """
    wanted = options.digest_offset
    _refuse_coordinator(path)
    image = _image_at(path, options)
    if line := newer_line(newer_parts(image)):
        # Two images that both lack records may have one digest, which would prove nothing: so this is an error.
        report.add(Finding(path, -1, -1, "error" if lacks_some(image) else "warning", line))
    for fault in damage_of(image):
        what = f"{fault.record_type}: {fault.reason}" if fault.record_type else fault.reason
        report.add(Finding(fault.file, fault.position, fault.offset, "error", f"not in the image: {what}"))
    end = image.provenance.end_offset
    if wanted is not None and end != wanted:
        raise MetashellError(f"{path}: no image at offset {wanted}: what is here ends at {max(end, 0)}")
    return Digest(path, max(end, 0), image.provenance.epoch, image_digest(image))


def without_metadata(paths: Sequence[str]) -> list[str]:
    """The log directories that hold no metadata because another path is the directory of the same node that does: `log.dirs` names both.

    The metadata log of a node lies in only one of its directories. Source: metadata.log.dir of KafkaConfig.
    """
    nodes = {path: node for path in paths if path not in STREAM_NAMES and (node := _node_of(path)) is not None}
    having = {path for path in nodes if os.path.isdir(os.path.join(path, METADATA_DIRECTORY))}
    return [path for path, node in nodes.items() if path not in having and any(nodes[other] == node for other in having)]


def _node_of(path: str) -> tuple[str | None, int | None] | None:
    """The cluster and the node of a log directory; None where no meta.properties says it."""
    try:
        found = read_meta_properties(os.path.join(path, META_PROPERTIES))
    except (MetashellError, OSError):
        return None
    return None if found.node_id is None else (found.cluster_id, found.node_id)


def common_offset_of(paths: Sequence[str]) -> CommonOffset | None:
    """The offset at which the digests of all readable paths are compared; None if no path can be read."""
    reaches = []
    for path in paths:
        with suppress(MetashellError, OSError):  # who makes its digest says why
            reaches.append(_offsets_with_image(path))
    return common_offset(reaches) if len(reaches) > 1 else None


def _offsets_with_image(path: str) -> OffsetsWithImage:
    if path in STREAM_NAMES:
        raise MetashellError(f"{path}: standard input is read once")
    _refuse_coordinator(path)
    with open_source(path) as source:
        start = end = source.snapshot_id.offset if source.snapshot_id is not None else 0
        first = start if source.kind == "checkpoint" else -1
        for batch in source.log_batches(start):
            first = batch.header.base_offset if first < 0 else first
            end = batch.header.last_offset + 1
        if isinstance(source, DirectorySource):
            with MetadataDirectory(source.path) as directory:
                first = min(directory.list().starts(), default=first)
        return OffsetsWithImage(max(first, 0), end, source.certain_to)


def _refuse_coordinator(path: str) -> None:
    """Refuse a coordinator's log, which has no image: each of its records would be reported as a fault."""
    if path in STREAM_NAMES:
        return
    kind = kind_of_path(path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path)))
    if kind not in (None, "metadata", "data"):
        raise MetashellError(f"{path}: not a metadata log, so there is no image to hash")


def _image_at(path: str, options: VerifyOptions) -> MetadataImage:
    """The image of a path at the wanted offset.

    In a directory the log is replayed from an earlier checkpoint, if there is one: with the checkpoint that ends at this very offset,
    the digest would say nothing about the log.
    """
    wanted = options.digest_offset
    found = find_metadata(path) if wanted is not None and path not in STREAM_NAMES and os.path.isdir(path) else None
    if wanted is not None and found is not None and os.path.isdir(found):
        for up_to in (wanted - 1, wanted) if wanted else (0,):
            with DirectorySource(found, up_to=up_to) as directory:
                image = load_image(directory, end_offset=wanted, max_decompressed=options.max_decompressed)
            if image.provenance.end_offset == wanted and not image.faults:
                break
        return image
    with open_source(path) as source:
        return load_image(source, end_offset=wanted, max_decompressed=options.max_decompressed)


def compare_digests(digests: list[Digest], report: Report) -> None:
    """Report digests that differ. Digests of different offsets are reported too: they cannot show that the inputs agree."""
    first: dict[int, Digest] = {}
    for digest in digests:
        other = first.setdefault(digest.end_offset, digest)
        if other.digest != digest.digest:
            what = f"the image at offset {digest.end_offset} is not that of {other.file}"
            report.error(digest.file, what, offset=digest.end_offset)
    offsets = list(first)
    for end_offset in offsets[1:]:
        digest, other = first[end_offset], first[offsets[0]]
        if digest.digest != other.digest:
            what = (
                f"the image at offset {end_offset} is not that of {other.file} at offset {other.end_offset}:"
                f" --digest {min(offsets)} compares them where all have one"
            )
            report.error(digest.file, what, offset=end_offset)
