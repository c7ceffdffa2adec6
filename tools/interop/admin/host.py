"""The Java process that holds brokers and runs tools (tests/interop/java/AdminHost.java), from Python."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tools.interop.nodes import Node

PACKAGE: Final = "org.apache.kafka.tools"
CLASSES: Final = {
    "kafka-acls": f"{PACKAGE}.AclCommand",
    "kafka-client-metrics": f"{PACKAGE}.ClientMetricsCommand",
    "kafka-cluster": f"{PACKAGE}.ClusterTool",
    "kafka-configs": f"{PACKAGE}.ConfigCommand",
    "kafka-delegation-tokens": f"{PACKAGE}.DelegationTokenCommand",
    "kafka-features": f"{PACKAGE}.FeatureCommand",
    "kafka-groups": f"{PACKAGE}.GroupsCommand",
    "kafka-leader-election": f"{PACKAGE}.LeaderElectionCommand",
    "kafka-log-dirs": f"{PACKAGE}.LogDirsCommand",
    "kafka-metadata-quorum": f"{PACKAGE}.MetadataQuorumCommand",
    "kafka-reassign-partitions": f"{PACKAGE}.reassign.ReassignPartitionsCommand",
    "kafka-topics": f"{PACKAGE}.TopicCommand",
}
"""The class behind each script of Kafka's bin folder."""


class HostError(Exception):
    """What the process could not do."""


@dataclass(frozen=True, slots=True)
class Printed:
    """What a tool did; `status` is None for one that did not end."""

    status: int | None
    stdout: str
    stderr: str


class AdminHost:
    """See the module; `node` is its process, for `Cluster` to end."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        log = folder / "host.log"
        with open(log, "ab") as output:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, cwd=folder)
        self.node = Node("host", process, log)

    def ask(self, what: str, **words: object) -> dict[str, Any]:
        """The answer to one request. Errors: HostError."""
        process = self.node.process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps({"do": what, **words}).encode() + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": f"the process ended:\n{self.node.text()[-3000:]}"}
        if "error" in answer:
            raise HostError(f"{what} {words}: {answer['error']}")
        return answer

    def run(self, tool: str, words: Sequence[str], stdin: str = "") -> Printed:
        """What a tool of Kafka's prints."""
        return Printed(**self.ask("run", **{"class": CLASSES[tool]}, args=list(words), stdin=stdin))
