"""A small directory with something of each kind to change, and how it looks before and after."""

from __future__ import annotations

from pathlib import Path

from metashell.disk.mend import FileChange

LOG = f"__cluster_metadata-0/{0:020d}.log"
CHECKPOINT = f"__cluster_metadata-0/{5:020d}-{1:010d}.checkpoint"
START: dict[str, bytes] = {
    "meta.properties": b"old",
    LOG: b"0123456789",
    f"{LOG}.deleted": b"leftover",
    f"{CHECKPOINT}.deleted": b"a checkpoint",
    "__cluster_metadata-0/other": b"not touched",
}


def changes_of(folder: Path) -> list[FileChange]:
    return [
        FileChange("copy", CHECKPOINT, source=str(folder / f"{CHECKPOINT}.deleted")),
        FileChange("cut", LOG, size=6),
        FileChange("write", "__cluster_metadata-0/quorum-state", data=b"state"),
        FileChange("move", f"{LOG}.deleted"),
        FileChange("write", "meta.properties", data=b"new"),
    ]


REPAIRED: dict[str, bytes] = {
    "meta.properties": b"new",
    "meta.properties.damaged-1": b"old",
    LOG: b"012345",
    f"{LOG}.damaged-1": b"0123456789",
    f"{LOG}.deleted.damaged-1": b"leftover",
    CHECKPOINT: b"a checkpoint",
    f"{CHECKPOINT}.deleted": b"a checkpoint",
    "__cluster_metadata-0/other": b"not touched",
    "__cluster_metadata-0/quorum-state": b"state",
}


def make(folder: Path) -> Path:
    for name, data in START.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def tree_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
