"""The recording of tests/golden/groups/series: the log directory of a broker, and lines of its server.log."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from metashell.codec.batches import RecordBatch
from metashell.codec.framing import checked_batches
from tests.golden_cases import golden_root

_SERIES = golden_root().parent / "groups" / "series"
RECORDED = _SERIES / "logs"


def recorded_batches() -> Iterator[RecordBatch]:
    """The batches of the log of groups."""
    return checked_batches((RECORDED / "__consumer_offsets-0" / "00000000000000000000.log").read_bytes(), "log")


@cache
def server_log_lines() -> tuple[str, ...]:
    return tuple(gzip.decompress((_SERIES / "server.log.gz").read_bytes()).decode().splitlines())


def write_server_log(folder: Path) -> Path:
    """The file, unpacked into a folder."""
    path = folder / "server.log"
    path.write_text("".join(f"{line}\n" for line in server_log_lines()))
    return path
