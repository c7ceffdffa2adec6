"""Digests of the images that paths describe, and whether those of the same offset agree."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from metashell.errors import MetashellError
from metashell.image import MetadataImage, load_image
from metashell.image.digest import DIGEST_NAME, image_digest
from metashell.image.newer import damage_of, lacks_some, newer_line, newer_parts
from metashell.log.directory import MetadataDirectory
from metashell.log.directory_source import DirectorySource
from metashell.log.files import STREAM_NAMES
from metashell.log.inputs import find_metadata
from metashell.log.meta_properties import read_meta_properties
from metashell.log.names import META_PROPERTIES, METADATA_DIRECTORY
from metashell.log.reach import Common, Reach, common_offset
from metashell.log.source import open_source
from metashell.verify.finding import Finding, Report
from metashell.verify.options import VerifyOptions
from metashell.verify.partition import kind_of_path


class Digest(NamedTuple):
    """The digest of a path's image: all that lies before `end_offset`, which is how a checkpoint is named too."""

    file: str
    end_offset: int
    epoch: int
    digest: str

    @property
    def text(self) -> str:
        return f"{DIGEST_NAME}:{self.digest}"


def digest_of(path: str, report: Report, options: VerifyOptions) -> Digest:
    """The digest of the image at `path`; what could not be applied are findings.

    Errors: MetashellError where the path has no image at the wanted offset.
    """
    wanted = options.digest_offset
    _refuse_coordinator(path)
    image = _image(path, options)
    if line := newer_line(newer_parts(image)):
        # Equal digests of images that lack records prove nothing.
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

    Source: metadata.log.dir of KafkaConfig. The metadata log of a node lies in one of its directories.
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


def common_offset_of(paths: Sequence[str]) -> Common | None:
    """The offset at which the digests of all paths that can be read are compared; None where there is none."""
    reaches = []
    for path in paths:
        with suppress(MetashellError, OSError):  # who makes its digest says why
            reaches.append(_reach(path))
    return common_offset(reaches) if len(reaches) > 1 else None


def _reach(path: str) -> Reach:
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
        return Reach(max(first, 0), end, source.certain_to)


def _refuse_coordinator(path: str) -> None:
    """The log of a coordinator has no image, and each of its records would be reported as a fault of one."""
    if path in STREAM_NAMES:
        return
    kind = kind_of_path(path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path)))
    if kind not in (None, "metadata", "data"):
        raise MetashellError(f"{path}: not a metadata log, so there is no image to hash")


def _image(path: str, options: VerifyOptions) -> MetadataImage:
    """The image that a path has at the wanted offset.

    In a directory the log is replayed up to there from an earlier checkpoint, where that is possible: a checkpoint that ends just there
    would only be compared with itself.
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


def compare(digests: list[Digest], report: Report) -> None:
    """Tell of digests that differ, at the same offset or not: those of different offsets cannot show that inputs agree."""
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
