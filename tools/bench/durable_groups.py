"""What it costs that commits are durable: commits a second, CPU for each, memory after 208 000 of them, and how long a log takes to open.

The word is a folder on the disk to measure, by default the system's for temporary files. `memory` keeps every batch, as a shard without a
log does; `written` has a log that is not synced; `synced` syncs after so many commits as it says, as if so many clients had asked at once.
The groups of `synced 50` lie in 50 partitions, each with a file of its own to sync.
"""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from metashell.codec import messages
from metashell.codec.codes import OFFSET_COMMIT
from metashell.disk.file_system import Disk, UnsyncedDisk
from metashell.groups.coordinator.coordinator import GroupCoordinator, Shard
from metashell.groups.decision import Request
from metashell.groups.log.group_log import GroupLog
from metashell.groups.state import Settings
from metashell.groups.topics import KnownTopics
from tools.bench.groups import TOPIC, Counted

COMMITS = 208_000
SYNCED = 4_000
ID = b"t" * 16


def request(number: int, group_id: str) -> Request:
    made = messages.OffsetCommitRequest
    partition = made.OffsetCommitRequestPartition(partition_index=number % 20, committed_offset=number, committed_metadata="")
    body = made(group_id=group_id, topics=(made.OffsetCommitRequestTopic(name=TOPIC.name, partitions=(partition,)),))
    return Request(number, OFFSET_COMMIT, 9, body)


def clean(log: GroupLog, now_ms: int) -> None:
    while (found := log.take_cleaning(now_ms)) is not None:
        compacted, cleaning = found
        cleaning.carry_out()
        compacted.finish_cleaning(cleaning)


def run(kind: str, folder: str, count: int, together: int, groups: int) -> None:
    """Commit, and print what that cost."""
    topics = KnownTopics([TOPIC])
    log = None
    if kind != "memory":
        log = GroupLog.open(folder, ID, 50, Disk() if kind == "synced" else UnsyncedDisk())
    coordinator = GroupCoordinator(Settings(), Counted(), topics, None if log is None else log.state)
    shard = Shard(coordinator, append=None if log is None else log.append)
    ids = [f"group-{number}" for number in range(groups)]
    before, cpu, wall = peak_mb(), time.process_time(), time.perf_counter()
    for number in range(count):
        shard.submit(request(number, ids[number % groups]), number)
        if log is not None and number % together == together - 1:
            log.flush()
            clean(log, number)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    gc.collect()
    size = "" if log is None else f", {log.size / 1e6:6.1f} MB on disk"
    name = f"{kind} {together}" if kind == "synced" else kind
    print(f"{name:12}{count / wall:9.0f} commits/s {cpu / count * 1e6:7.1f} us of CPU each {peak_mb() - before:7.1f} MB more{size}")
    if log is not None:
        log.close()
        timed("  opened again", lambda: GroupLog.open(folder, ID, 50).close())


def timed(what: str, work: Callable[[], None]) -> None:
    cpu = time.process_time()
    work()
    print(f"{what:20}{time.process_time() - cpu:6.2f} s of CPU")


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


CASES = {
    "memory": (COMMITS, 1, 1),
    "written": (COMMITS, 100, 1),
    "synced": (SYNCED, 1, 1),
    "synced-10": (SYNCED, 10, 1),
    "synced-100": (10 * SYNCED, 100, 1),
    "synced-50": (SYNCED, 50, 50),
}


def main(words: list[str]) -> int:
    if words[:1] == ["--case"]:
        name = words[1]
        with tempfile.TemporaryDirectory(dir=words[2] or None) as folder:
            run(name.partition("-")[0], folder, *CASES[name])
        return 0
    for name in CASES:
        # Each in a process of its own, since the most that one had of memory is what is printed.
        subprocess.run([sys.executable, "-m", "tools.bench", "--here", "durable_groups", "--case", name, *(words or [""])], check=True)
    return 0
