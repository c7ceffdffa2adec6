"""A Java process that holds servers and runs tools (java/Host.java and java/Servers.java), from Python."""

from __future__ import annotations

import json
import select
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tools.interop.nodes import Node

LIMIT_S: Final = 300.0
_T: Final = "org.apache.kafka.tools"
CLASSES: Final = {
    "kafka-acls": f"{_T}.AclCommand",
    "kafka-client-metrics": f"{_T}.ClientMetricsCommand",
    "kafka-cluster": f"{_T}.ClusterTool",
    "kafka-configs": f"{_T}.ConfigCommand",
    "kafka-consumer-groups": f"{_T}.consumer.group.ConsumerGroupCommand",
    "kafka-delegation-tokens": f"{_T}.DelegationTokenCommand",
    "kafka-features": f"{_T}.FeatureCommand",
    "kafka-groups": f"{_T}.GroupsCommand",
    "kafka-leader-election": f"{_T}.LeaderElectionCommand",
    "kafka-log-dirs": f"{_T}.LogDirsCommand",
    "kafka-metadata-quorum": f"{_T}.MetadataQuorumCommand",
    "kafka-reassign-partitions": f"{_T}.reassign.ReassignPartitionsCommand",
    "kafka-topics": f"{_T}.TopicCommand",
}
"""The class of each tool in the newest release."""


class HostError(Exception):
    """The process could not do what it was asked for, or has ended."""


@dataclass(frozen=True, slots=True)
class Printed:
    """What a tool printed, and its exit status, None where it did not end."""

    status: int | None
    stdout: str
    stderr: str


class Host:
    """The running process; `node` is what ends it. It ends by itself when this process does."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        log = folder / "host.log"
        with open(log, "ab") as output:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, cwd=folder)
        self.node = Node("host", process, log)
        self._one_at_a_time = threading.Lock()

    def ask(self, what: str, **words: object) -> dict[str, Any]:
        """The answer to one request. Errors: HostError, also where it does not come."""
        process = self.node.process
        assert process.stdin is not None and process.stdout is not None
        with self._one_at_a_time:
            try:
                process.stdin.write(json.dumps({"do": what, **words}).encode() + b"\n")
                process.stdin.flush()
                is_there, _, _ = select.select([process.stdout], [], [], LIMIT_S)
                line = process.stdout.readline() if is_there else b""
            except BrokenPipeError:
                line = b""
        if not line:
            raise HostError(f"{what} {words}: the process ended, or hangs:\n{self.node.text()[-3000:]}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise HostError(f"{what} {words}: {answer['error']}")
        return answer

    def end_in_order(self) -> None:
        """End it as a program ends, so that Java keeps what it was told to."""
        assert self.node.process.stdin is not None
        self.node.process.stdin.write(b'{"do": "exit"}\n')
        self.node.process.stdin.flush()
        self.node.wait(LIMIT_S)

    def run_class(self, name: str, words: Sequence[str], stdin: bytes = b"", classes: str = "") -> subprocess.CompletedProcess[bytes]:
        """What `main` of a Java class does, of the class path or of a jar. Errors: HostError where it does not end."""
        done = self.ask("run", **{"class": name}, classes=classes, args=list(words), stdin=stdin.decode("latin-1"))
        if done["status"] is None:
            raise HostError(f"{name} {words} does not end:\n{done['stdout']}{done['stderr']}")
        return subprocess.CompletedProcess(
            [name, *words], done["status"], done["stdout"].encode("latin-1"), done["stderr"].encode("latin-1")
        )

    def run(self, tool: str, words: Sequence[str], stdin: str = "") -> Printed:
        """What a tool of Kafka's prints."""
        done = self.run_class(CLASSES[tool], words, stdin.encode())
        return Printed(done.returncode, done.stdout.decode(), done.stderr.decode())
