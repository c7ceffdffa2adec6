"""Unpacks a bundle, in every release of Python."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path


def unpacked(folder: Path, name: str = "case") -> Path:
    """The folder in `NAME.tar.gz`, unpacked beside it."""
    with tarfile.open(folder / f"{name}.tar.gz") as archive:
        for member in archive:
            place = folder / member.name
            assert place.is_relative_to(folder) and ".." not in place.parts
            if member.isdir():
                place.mkdir()
            else:
                file = archive.extractfile(member)
                assert file is not None, member.name
                place.write_bytes(file.read())
    return folder / name


_PLACE = re.compile(r"\b(position|size|crc|valueSize): \d+ ?|(?<=^Dumping ).*/(?=[^/]*$)", re.MULTILINE)
_SECRET = re.compile(r'"(salt|storedKey|serverKey)":"[^"]*"')


def without_places(dump: str) -> str:
    """What dump-log prints in Kafka's voice, without what a copy may change: where batches lie, their sizes and checksums, and secrets."""
    return _SECRET.sub(r'"\1":""', _PLACE.sub("", dump))
