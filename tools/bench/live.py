"""A shell on a live quorum: a real controller that holds a snapshot of 100 000 partitions.

Goals: the first answer within 2 s of the command's start, and below 2 % of a core while nothing but Kafka's two empty records a
second happens. Without a Kafka nothing is measured.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from tools.bench.common import KAFKA_VERSION, Case, cpu_of, generated, kafka_script, measure, met, our_script, ours
from tools.bench.controllers import formatted
from tools.interop.nodes import Cluster, cluster, controller_settings, free_ports, write_config

PARTITIONS = 100_000
RUNS = 5
FIRST_ANSWER_GOAL_S = 2.0
IDLE_S = 30.0
IDLE_GOAL = 0.02
CALM_S = 5.0


def main() -> int:
    """Start the controller, measure and print."""
    kafka = kafka_script()
    if kafka is None:
        print("no Kafka to attach to: METASHELL_KAFKA names the script that runs one")
        return 0

    def command_of(tool: str, *words: str) -> list[str]:
        return [str(kafka), KAFKA_VERSION, tool, *words]

    with tempfile.TemporaryDirectory() as folder, cluster(command_of, Path(folder)) as place:
        address = start_controller(place, Path(folder))
        shown = ours("kafka-shell", "-C", address, "ls", "/image/cluster/brokers")
        what = f"attach to {PARTITIONS} partitions, one answer"
        return measure([Case(what=what, ours=shown, runs=RUNS, wall_s=FIRST_ANSWER_GOAL_S)]) | measure_idling(address)


def start_controller(place: Cluster, folder: Path) -> str:
    """A controller on the big snapshot, once it leads; its address."""
    (port,) = free_ports(1)
    log_dir = folder / "d1"
    settings = controller_settings(1, port, log_dir, {"controller.quorum.voters": f"1@localhost:{port}"})
    # Its brokers are gone; they are not to be fenced meanwhile, which would change every partition.
    config = formatted(write_config(folder / "node-1.properties", settings, {"broker.session.timeout.ms": 3_600_000}))
    snapshot = generated("snapshot", partitions=PARTITIONS, kraft_version=0)
    metadata = log_dir / "__cluster_metadata-0"
    metadata.mkdir()
    shutil.copy(snapshot, metadata / snapshot.name)
    place.start(config)
    address = f"localhost:{port}"
    place.wait_until("an answer", lambda: end_offset(address) > 0, limit_s=120)
    return address


def end_offset(address: str) -> int:
    """Where the log ends, -1 while nobody answers."""
    words = [our_script("kafka-shell"), "-C", address, "--timeout", "1", "status", "-o", "json"]
    done = subprocess.run(words, capture_output=True, check=False)
    if done.returncode:
        return -1
    found: int = json.loads(done.stdout)["end_offset"]
    return found


def measure_idling(address: str) -> int:
    """The time on a processor of a shell that follows a quiet quorum; 1 where it is above the goal."""
    child = subprocess.Popen([our_script("kafka-shell"), "-C", address, "follow"], stdout=subprocess.DEVNULL)
    try:
        time.sleep(CALM_S)
        before = cpu_of(child.pid)
        time.sleep(IDLE_S)
        share = (cpu_of(child.pid) - before) / IDLE_S
    finally:
        # Not SIGINT: where the bench itself runs in the background, its children ignore that.
        child.terminate()
        child.wait(30)
    verdict = met(share <= IDLE_GOAL)
    print(f"{'follow, a quiet quorum':<44} {100 * share:6.2f} % of one core over {IDLE_S:g} s  goal {IDLE_GOAL:.0%} {verdict}")
    return 0 if share <= IDLE_GOAL else 1
