"""Digests of the images that paths describe, and whether those of the same offset agree."""

from __future__ import annotations

import os
from typing import NamedTuple

from metashell.errors import MetashellError
from metashell.image import load_image
from metashell.image.digest import DIGEST_NAME, image_digest
from metashell.log.directory import find_metadata
from metashell.log.directory_source import DirectorySource
from metashell.log.source import FileSource, open_source
from metashell.verify.finding import Finding, Report
from metashell.verify.options import VerifyOptions


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
    with _source(path, wanted) as source:
        image = load_image(source, end_offset=wanted, max_decompressed=options.max_decompressed)
        for fault in image.faults:
            what = f"{fault.record_type}: {fault.reason}" if fault.record_type else fault.reason
            report.add(Finding(fault.file, fault.position, fault.offset, "error", f"not in the image: {what}"))
        end = image.provenance.end_offset
        if wanted is not None and end != wanted:
            raise MetashellError(f"{path}: no image at offset {wanted}: what is here ends at {max(end, 0)}")
        return Digest(path, max(end, 0), image.provenance.epoch, image_digest(image))


def _source(path: str, end_offset: int | None) -> FileSource | DirectorySource:
    if end_offset is None or not os.path.isdir(path):
        return open_source(path)
    found = find_metadata(path)
    return DirectorySource(found, up_to=end_offset) if os.path.isdir(found) else FileSource(found)


def compare(digests: list[Digest], report: Report) -> None:
    """Tell of digests that differ though they are of the same offset."""
    first: dict[int, Digest] = {}
    for digest in digests:
        other = first.setdefault(digest.end_offset, digest)
        if other.digest != digest.digest:
            what = f"the image at offset {digest.end_offset} is not that of {other.file}"
            report.error(digest.file, what, offset=digest.end_offset)
