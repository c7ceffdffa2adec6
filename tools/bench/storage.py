"""The storage tool, in turn with Kafka's on its smallest class path.

Goals: format, info and version-mapping at least 6 times faster than Kafka's, within 100 ms; format may add what the disk takes to
sync its files, which is measured beside it.
"""

from __future__ import annotations

import compileall
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tools.bench.common import REPOSITORY, Command, Run, best, kafka_argv, our_script, print_interpreter, print_pair, run_once

RUNS = 12
KAFKA_RUNS = 4
GOAL_MS = 100
GOAL_RATIO = 6
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
CONFIG = """process.roles=controller
node.id=1
controller.listener.names=CONTROLLER
listeners=CONTROLLER://localhost:9093
controller.quorum.bootstrap.servers=localhost:9093
log.dirs={directory}
"""


def main() -> int:
    """Measure and print every command."""
    compileall.compile_dir(REPOSITORY / "metashell", quiet=2)
    print_interpreter()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "server.properties"
        log_dir = Path(folder) / "d1"
        config.write_text(CONFIG.format(directory=log_dir), encoding="utf-8")
        sync_ms = syncs_ms(Path(folder))
        format_words = ("format", "-t", CLUSTER_ID, "-c", str(config), "-s")
        show("kafka-storage format -s", format_words, log_dir, sync_ms)
        show("kafka-storage info", ("info", "-c", str(config)), None, 0.0)
        show("kafka-storage version-mapping", ("version-mapping",), None, 0.0)
        show("kafka-storage random-uuid", ("random-uuid",), None, 0.0)
    return 0


def show(what: str, words: tuple[str, ...], made: Path | None, sync_ms: float) -> None:
    """Run ours and Kafka's in turn; `made` is what each run makes and is removed before the next."""
    commands = [Command(name="ours", argv=(our_script("kafka-storage"), *words))]
    theirs = kafka_argv("storage", *words)
    if theirs is not None:
        commands.append(Command(name="kafka", argv=theirs))
    results: dict[str, list[Run]] = {command.name: [] for command in commands}
    for turn in range(RUNS + 1):
        for command in commands:
            if command.name == "kafka" and turn > KAFKA_RUNS:
                continue
            if made is not None:
                shutil.rmtree(made, ignore_errors=True)
            run = run_once(command)
            if turn:
                results[command.name].append(run)
    wall_ms = best(results["ours"]).wall_s * 1000
    verdict = "met" if wall_ms <= GOAL_MS + sync_ms else "MISSED"
    note = f"goal {GOAL_MS} ms" + (f" plus {sync_ms:.0f} ms of syncs" if sync_ms else "") + f" {verdict}"
    if theirs is not None:
        ratio = best(results["kafka"]).wall_s * 1000 / wall_ms
        note += f", {GOAL_RATIO} x {'met' if ratio >= GOAL_RATIO else 'MISSED'}"
    print_pair(what, results["ours"], results.get("kafka", []), note)


def syncs_ms(folder: Path) -> float:
    """What the syncs of one format take on this disk: three small files and five directories, best of five."""
    found = []
    for turn in range(5):
        place = folder / f"sync-{turn}"
        place.mkdir()
        started = time.perf_counter()
        for index in range(3):
            fd = os.open(place / str(index), os.O_WRONLY | os.O_CREAT)
            os.write(fd, bytes(400))
            os.fsync(fd)
            os.close(fd)
        fd = os.open(place, os.O_RDONLY)
        for _ in range(5):
            os.fsync(fd)
        os.close(fd)
        found.append((time.perf_counter() - started) * 1000)
    return min(found)


if __name__ == "__main__":
    sys.exit(main())
