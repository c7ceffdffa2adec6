"""Looking back: `log PATH` and `--at` over a log of a million records, and `diff` of two snapshots that differ in 10 partitions.

Goals: the log of a partition below 1 s, an image in the middle below 2 s, a second one nearby below 0.3 s, the diff below 2 s.
"""

from __future__ import annotations

import shutil
import struct
import sys
import tempfile
import time
from pathlib import Path

from metashell.codec.framing import whole_frames
from metashell.codec.primitives import crc32c
from metashell.metadata.history import Past
from metashell.metadata.history.sources import opener_of
from tools.bench.common import Command, alternate, log_of, our_script, print_interpreter, print_pair, snapshot_of

RECORDS = 1_000_000
PARTITIONS = 1_000_000
RUNS = 3
CRC_AT = 17
LEADER_BYTE = 27
"""Where in a partition's value of three replicas the last byte of its first replica lies."""


def main() -> int:
    """Measure and print every pair."""
    print_interpreter()
    log = log_of(RECORDS)
    past = Past(opener_of(str(log)))
    topic = min(past.image(RECORDS // 2).topics.by_name)
    shell = our_script("kafka-shell")
    with tempfile.TemporaryDirectory() as folder:
        snapshot = snapshot_of(PARTITIONS)
        other = changed_copy(snapshot, Path(folder))
        commands = [
            Command(name="log PATH", argv=(shell, "-s", str(log), "log", f"/image/topics/byName/{topic}/0")),
            Command(name="--at", argv=(shell, "-s", str(log), "--at", str(RECORDS // 2), "pwd")),
            Command(name="diff", argv=(shell, "-s", str(snapshot), "diff", "--stat", "-s", str(other)), statuses=(1,)),
        ]
        for name, runs in alternate(commands, RUNS).items():
            print_pair(name, runs, (), {"log PATH": "goal 1 s", "--at": "goal 2 s", "diff": "goal 2 s"}[name])
    began = time.perf_counter()
    past.image(RECORDS // 2 + 3000)
    print(f"a second image nearby: {time.perf_counter() - began:.3f} s, goal 0.3 s")
    return 0


def changed_copy(snapshot: Path, folder: Path) -> Path:
    """A copy of a snapshot in which ten partitions have another first replica."""
    path = Path(shutil.copy(snapshot, folder))
    data = bytearray(path.read_bytes())
    frames = [frame for frame in whole_frames(bytes(data)) if frame[1] > 1 << 16]
    for number in range(10):
        at, size = frames[number % len(frames)]
        data[data.index(b"\x01\x03\x02", at + size * (number + 1) // 12) + LEADER_BYTE] ^= 1
    for at, size in frames:
        struct.pack_into(">I", data, at + CRC_AT, crc32c(bytes(data[at : at + size]), CRC_AT + 4))
    path.write_bytes(data)
    return path


if __name__ == "__main__":
    sys.exit(main())
