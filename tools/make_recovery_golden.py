"""Makes tests/golden/recovery with real Kafka: what a broker does when the metadata goes back.

    python -m tools.make_recovery_golden FILE VERSION...      # lines of JSON; takes five minutes for each release

A controller and a broker. The state of the controller is kept; then a topic is made and written to, and the controller is restarted, so
that its epoch rises. Both are killed, the old state takes the place of the new one, and the broker starts on what it had. The cases differ
in what the new leader has:

- `lower epoch`: the old directory as it was, whose leader has a lower epoch than the broker has seen.
- `shorter log`: the same with a higher epoch.
- `older snapshot`: the same, where the broker has snapshots of its own, later than the end of the leader's log.
- `restored`: what `metashell quorum restore` makes of it.
- `running`: that again, forced, while the broker was never stopped.

A row has the release, the case, whether the broker serves, what became of the topic's data, and its log lines that tell why.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from metashell.cli.controllers.quorum import main as quorum
from metashell.disk.names import METADATA_DIRECTORY, QUORUM_STATE
from tests.java import kafka_command
from tests.running import run_main
from tools.interop.nodes import Cluster, Node, broker_settings, cluster, controller_settings, format_directories, free_ports, write_config

CONTROLLER: Final = 1
BROKER: Final = 101
CASES: Final = ("lower epoch", "shorter log", "older snapshot", "restored", "running")
LATE: Final = "late"
RESTARTS: Final = 3
HIGH_EPOCH: Final = 50
WATCH_S: Final = 30.0
"""Longer than a broker needs to start, or to delete data that is not wanted any more."""
_T: Final = "org.apache.kafka.tools"
_QUICK: Final = {
    "auto.create.topics.enable": "false",
    "broker.session.timeout.ms": 6000,
    "broker.heartbeat.interval.ms": 1000,
    "log.segment.delete.delay.ms": 5000,
}
_OFTEN: Final = {"metadata.log.max.record.bytes.between.snapshots": 500}
_TELLING: Final = (
    r"Truncated to offset \d+ from Fetch response",
    r"Truncating to \d+ has no effect",
    r"Fully truncated the log at .* after downloading snapshot",
    r"Found stray log dir .*: the topicId .* does not exist",
    r"marked stray and renamed",
    r"received error STALE_BROKER_EPOCH",
    r"Shutting down because we were unable to register",
    r"Scheduling log for partition late-0 .*for deletion|Log for partition late-0 is renamed to .*-delete",
)
_PLACE: Final = re.compile(r"(?:/[^\s,/]+)+/(?=node-)")
_TIME: Final = re.compile(r"^\d\S+ .*? (?=(?:INFO|WARN|ERROR) )")


class Lab:
    """The two nodes and their directories."""

    def __init__(self, place: Cluster, version: str, more: Mapping[str, object]) -> None:
        self.place = place
        self.version = version
        self.more = {**_QUICK, **more}
        self.ports = dict(zip((CONTROLLER, BROKER), free_ports(2), strict=True))
        self.nodes: dict[int, Node] = {}
        self._said: dict[int, int] = {}
        """How much each node had said when it was started last."""
        self.bootstrap = f"localhost:{self.ports[BROKER]}"
        release = ("-r", ".".join(version.split(".")[:2]))
        format_directories(self.config(CONTROLLER), "--standalone", *release)
        format_directories(self.config(BROKER), "--no-initial-controllers", *release)

    def directory(self, id: int) -> Path:
        return self.place.folder / f"node-{id}"

    def config(self, id: int) -> Path:
        servers: dict[str, object] = {"controller.quorum.bootstrap.servers": f"localhost:{self.ports[CONTROLLER]}"}
        make = broker_settings if id == BROKER else controller_settings
        return write_config(self.place.folder / f"{id}.properties", make(id, self.ports[id], self.directory(id), servers), self.more)

    def start(self, *ids: int) -> None:
        for id in ids:
            config = self.config(id)
            log = self.place.folder / f"{config.stem}.log"
            self._said[id] = len(log.read_text(errors="replace")) if log.exists() else 0
            self.nodes[id] = self.place.start(config)

    def kill(self, *ids: int) -> None:
        for id in ids:
            node = self.nodes.pop(id)
            self.place.nodes.remove(node)
            node.process.send_signal(signal.SIGKILL)
            node.wait(30)

    def serves(self, id: int) -> bool:
        return "Kafka Server started" in self.said(id)

    def said(self, id: int) -> str:
        """What a node has said since it was started last."""
        return self.nodes[id].text()[self._said[id] :]

    def wait(self, *ids: int) -> None:
        self.place.wait_until("nodes serve", lambda: all(map(self.serves, ids)))

    def tool(self, name: str, *words: str, stdin: bytes = b"") -> None:
        from tests.java import kafka

        done = kafka("4.4.0", name, "--bootstrap-server", self.bootstrap, *words, stdin=stdin)
        assert done.returncode == 0, done


def command_of(version: str) -> Callable[..., list[str]]:
    def command(tool: str, *words: str) -> list[str]:
        made = kafka_command(version, tool, *words)
        return [word.replace("-Dlog4j2.level=OFF", "-Dlog4j2.level=INFO") for word in made]

    return command


def rows(version: str) -> Iterator[dict[str, object]]:
    """What a broker of a release does in each case."""
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder, cluster(command_of(version), Path(folder)) as place:
            yield _row(Lab(place, version, _OFTEN if case == "older snapshot" else {}), case)


def _row(lab: Lab, case: str) -> dict[str, object]:
    old = lab.place.folder / "old"
    lab.start(CONTROLLER, BROKER)
    lab.wait(CONTROLLER, BROKER)
    lab.tool("topics", "--create", "--topic", "orders", "--partitions", "1")
    shutil.copytree(lab.directory(CONTROLLER), old)
    lab.tool("topics", "--create", "--topic", LATE, "--partitions", "1")
    lab.tool(f"{_T}.ConsoleProducer", "--topic", LATE, "--command-property", "acks=all", stdin=b"a\nb\nc\n")
    for _ in range(RESTARTS):
        lab.kill(CONTROLLER)
        lab.start(CONTROLLER)
        lab.wait(CONTROLLER)
    time.sleep(5)
    lab.kill(CONTROLLER, *(() if case == "running" else (BROKER,)))
    shutil.rmtree(lab.directory(CONTROLLER))
    _put_back(lab, old, case)
    said = len(lab.nodes[BROKER].text()) if case == "running" else 0
    lab.start(CONTROLLER)
    if case != "running":
        lab.wait(CONTROLLER)
        lab.start(BROKER)
    ends_at = time.monotonic() + WATCH_S
    while time.monotonic() < ends_at and lab.nodes[BROKER].process.poll() is None:
        time.sleep(1)
    text = lab.nodes[BROKER].text()[said:] if said else lab.said(BROKER)
    names = [path.name for path in lab.directory(BROKER).iterdir() if path.name.startswith(f"{LATE}-0")]
    data = "deleted" if not names else "set aside" if names[0].endswith("-stray") else "kept"
    row = {"release": lab.version, "case": case, "serves": lab.serves(BROKER), "data": data}
    return {**row, "lines": list(_lines(text))}


def _put_back(lab: Lab, old: Path, case: str) -> None:
    if case in ("restored", "running"):
        words = ["restore", str(old), "--out", str(lab.directory(CONTROLLER)), "--node-id", "1", "--force"]
        done = run_main(quorum, [*words, "--listener", f"localhost:{lab.ports[CONTROLLER]}"], cwd=lab.place.folder)
        assert done.status == 0, done
        return
    shutil.copytree(old, lab.directory(CONTROLLER))
    if case != "lower epoch":
        path = lab.directory(CONTROLLER) / METADATA_DIRECTORY / QUORUM_STATE
        path.write_text(json.dumps(json.loads(path.read_text()) | {"leaderEpoch": HIGH_EPOCH, "leaderId": -1}))


def _lines(text: str) -> Iterator[str]:
    """The first line of each kind that tells why, without time, thread and folder."""
    for pattern in _TELLING:
        found = next((line for line in text.splitlines() if re.search(pattern, line)), None)
        if found is not None:
            yield _PLACE.sub("", _TIME.sub("", found)).strip()


def main(argv: list[str]) -> int:
    path, *versions = argv
    with suppress(FileNotFoundError):
        Path(path).unlink()
    for version in versions:
        for row in rows(version):
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(row)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
