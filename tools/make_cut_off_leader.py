"""Makes tests/golden/cut-off-leader with a real Kafka: a leader that is cut off from its quorum and then written to.

    python -m tools.make_cut_off_leader FOLDER      # FOLDER/leader and FOLDER/majority; takes about a minute

Three controllers and a broker on loopback. Topics are made, and a snapshot with them; then both followers are stopped
(SIGSTOP) and a topic and a broker's config are asked for, which the leader appends and cannot commit. Leader and
broker are killed. The followers go on, elect another leader, and with the broker back make two other topics. What is kept
are the metadata directories of the killed leader and of the new one.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tests.java import KAFKA, kafka_command

Found = TypeVar("Found")
CLUSTER_ID = "Y3V0LW9mZi1sZWFkZXItMQ"
DIRECTORY_IDS = {number: f"Y3V0LW9mZi1sZWFkZXIt{letter}w" for number, letter in ((1, "A"), (2, "B"), (3, "C"))}
CONTROLLERS = (1, 2, 3)
BROKER = 4
KEPT = ("*.log", "*.checkpoint", "quorum-state", "leader-epoch-checkpoint", "partition.metadata")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Cluster:
    """The processes of one cluster below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = {number: free_port() for number in (*CONTROLLERS, BROKER)}
        self.processes: dict[int, subprocess.Popen[bytes]] = {}

    def configure(self, number: int) -> Path:
        role = "broker" if number == BROKER else "controller"
        listener = "PLAIN" if number == BROKER else "CONTROLLER"
        lines = {
            "process.roles": role,
            "node.id": number,
            "log.dirs": self.folder / f"node-{number}",
            "listeners": f"{listener}://127.0.0.1:{self.ports[number]}",
            "advertised.listeners": f"{listener}://127.0.0.1:{self.ports[number]}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAIN:PLAINTEXT",
            "inter.broker.listener.name": "PLAIN",
            "controller.quorum.bootstrap.servers": ",".join(f"127.0.0.1:{self.ports[n]}" for n in CONTROLLERS),
            # The leader stays leader for 1.5 times as long without its followers.
            "controller.quorum.fetch.timeout.ms": 20000,
            "controller.quorum.election.timeout.ms": 1000,
            "metadata.log.max.record.bytes.between.snapshots": 2000,
            "metadata.max.idle.interval.ms": 5000,
            "offsets.topic.replication.factor": 1,
        }
        if role == "controller":
            del lines["inter.broker.listener.name"]
        path = self.folder / f"node-{number}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        return path

    def format(self, number: int) -> None:
        voters = ",".join(f"{n}@127.0.0.1:{self.ports[n]}:{DIRECTORY_IDS[n]}" for n in CONTROLLERS)
        extra = ["--no-initial-controllers"] if number == BROKER else ["--initial-controllers", voters]
        config = str(self.configure(number))
        subprocess.run(kafka_command(KAFKA, "storage", "format", "-t", CLUSTER_ID, "-c", config, *extra), check=True)

    def start(self, number: int) -> None:
        log = (self.folder / f"node-{number}.out").open("wb")
        command = kafka_command(KAFKA, "server", str(self.folder / f"node-{number}.properties"))
        self.processes[number] = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)

    def metadata(self, number: int) -> Path:
        return self.folder / f"node-{number}" / "__cluster_metadata-0"

    def quorum_state(self, number: int) -> dict[str, int]:
        try:
            state: dict[str, int] = json.loads((self.metadata(number) / "quorum-state").read_bytes())
        except (OSError, ValueError):
            return {}
        return state

    def leader(self, *among: int) -> int | None:
        """The leader that all of `among` agree on."""
        known = {(state.get("leaderId", -1), state.get("leaderEpoch")) for state in map(self.quorum_state, among)}
        return known.pop()[0] if len(known) == 1 and -1 not in {leader for leader, _ in known} else None

    def signal(self, number: int, which: signal.Signals) -> None:
        os.kill(self.processes[number].pid, which)

    def create_topic(self, name: str) -> list[str]:
        server = f"127.0.0.1:{self.ports[BROKER]}"
        return kafka_command(KAFKA, "topics", "--bootstrap-server", server, "--create", "--topic", name, "--partitions", "3")

    def alter(self, controller: int, kind: str, name: str, setting: str) -> list[str]:
        server = f"127.0.0.1:{self.ports[controller]}"
        words = ["--alter", "--entity-type", kind, "--entity-name", name, "--add-config", setting]
        return kafka_command(KAFKA, "configs", "--bootstrap-controller", server, *words)

    def stop(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()


def wait_for(what: str, probe: Callable[[], Found], seconds: float = 60) -> Found:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := probe():
            return found
        time.sleep(0.3)
    raise TimeoutError(f"no {what} within {seconds} s")


def keep(directory: Path, target: Path) -> None:
    """Copy a metadata directory and the meta.properties above it; indexes are left out."""
    shutil.rmtree(target, ignore_errors=True)
    inside = target / directory.name
    inside.mkdir(parents=True)
    for pattern in KEPT:
        for file in directory.glob(pattern):
            shutil.copyfile(file, inside / file.name)
    shutil.copyfile(directory.parent / "meta.properties", target / "meta.properties")


def play(cluster: Cluster, target: Path) -> None:
    for number in (*CONTROLLERS, BROKER):
        cluster.format(number)
        cluster.start(number)
    leader = wait_for("leader", lambda: cluster.leader(*CONTROLLERS))
    followers = [number for number in CONTROLLERS if number != leader]
    for index in range(20):
        subprocess.run(cluster.create_topic(f"before-{index}"), check=True)
        if list(cluster.metadata(leader).glob("*[1-9]-*.checkpoint")):
            break
    subprocess.run(cluster.create_topic("last-committed"), check=True)
    cut_off(cluster, leader, followers)
    keep(cluster.metadata(leader), target / "leader")
    for follower in followers:
        cluster.signal(follower, signal.SIGCONT)
    successor = wait_for("second leader", lambda: cluster.leader(*followers) not in (None, leader) and cluster.leader(*followers))
    assert successor
    cluster.start(BROKER)
    for name in ("after-0", "after-1"):
        subprocess.run(cluster.create_topic(name), check=True)
    time.sleep(2)
    keep(cluster.metadata(successor), target / "majority")


def cut_off(cluster: Cluster, leader: int, followers: list[int]) -> None:
    """Stop the followers, have the leader append what it cannot commit, and kill it and the broker.

    The broker would ask the next leader again for what this one did not answer.
    """
    for follower in followers:
        cluster.signal(follower, signal.SIGSTOP)
    wishes = (
        cluster.create_topic("lost-topic"),
        cluster.alter(leader, "brokers", str(BROKER), "log.cleaner.threads=2"),
    )
    asking = [subprocess.Popen(wish) for wish in wishes]
    time.sleep(10)
    for number in (leader, BROKER):
        cluster.signal(number, signal.SIGKILL)
    for client in asking:
        client.kill()
        client.wait()


def main() -> int:
    target = Path(sys.argv[1]).absolute()
    work = target / "work"
    work.mkdir(parents=True)
    cluster = Cluster(work)
    try:
        play(cluster, target)
    finally:
        cluster.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
