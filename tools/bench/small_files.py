"""Inputs of many small files: dumps of many clusters, and one log in many segments."""

from __future__ import annotations

from pathlib import Path
from struct import Struct

from metashell.codec.batches import LEAD_SIZE
from tools.bench.common import bench_directory, log_of

RECORDS = 100
"""How many records a file holds."""
_LOG = "__cluster_metadata-0"
_head = Struct(">qi").unpack_from


def dumps(count: int) -> Path:
    """A folder with that many dumps, each of a cluster of its own: a segment of 100 records, 30 of them of brokers, and meta.properties."""
    top = bench_directory() / f"dumps-{count}"
    if not (top / "complete").exists():
        data = log_of(RECORDS).read_bytes()
        for number in range(count):
            folder = top / f"dump-{number:05}"
            (folder / _LOG).mkdir(parents=True, exist_ok=True)
            (folder / _LOG / f"{0:020}.log").write_bytes(data)
            (folder / "meta.properties").write_text(f"version=1\ncluster.id=Fleet-of-dumps-{number:07}\nnode.id=1\n")
        (top / "complete").touch()
    return top


def segments(count: int) -> Path:
    """A metadata log in about that many segments, of about 100 records each."""
    top = bench_directory() / f"segments-{count}"
    if not (top / "complete").exists():
        folder = top / _LOG
        folder.mkdir(parents=True, exist_ok=True)
        (top / "meta.properties").write_text("version=1\ncluster.id=One-long-log-of-metadata\nnode.id=1\n")
        data = log_of(count * RECORDS).read_bytes()
        at = start = 0
        while at < len(data):
            at += LEAD_SIZE + _head(data, at)[1]
            if at - start >= len(data) // count or at == len(data):
                (folder / f"{_head(data, start)[0]:020}.log").write_bytes(data[start:at])
                start = at
        (top / "complete").touch()
    return top
