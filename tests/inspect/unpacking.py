"""Unpacks a bundle, in every release of Python."""

from __future__ import annotations

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
