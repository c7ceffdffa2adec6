"""The recording of tests/golden/groups/series: the logs of a broker, unpacked, and its server.log."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from metashell.codec.batches import RecordBatch
from metashell.codec.framing import checked_batches
from tests.golden_cases import golden_root

RECORDED = golden_root().parent / "groups" / "series"
LOGS = ("__consumer_offsets-0", "__cluster_metadata-0", "__transaction_state-0", "held-0")


def recorded_batches() -> Iterator[RecordBatch]:
    """The batches of the log of groups."""
    return iter(checked_batches(gzip.decompress((RECORDED / f"{LOGS[0]}.log.gz").read_bytes()), "log"))


@cache
def server_log_lines() -> tuple[str, ...]:
    return tuple(gzip.decompress((RECORDED / "server.log.gz").read_bytes()).decode().splitlines())


def unpack(folder: Path) -> Path:
    """The log directory of the recording, made in a folder."""
    for name in LOGS:
        (folder / name).mkdir(parents=True)
        (folder / name / "00000000000000000000.log").write_bytes(gzip.decompress((RECORDED / f"{name}.log.gz").read_bytes()))
    (folder / "server.log").write_text("\n".join(server_log_lines()) + "\n")
    return folder
