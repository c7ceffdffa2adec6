"""Kafka's administration tools beside ours of the same names, on one live cluster.

A line has the names of ports and files in braces. What differs from moment to moment (offsets, times) is compared by its shape.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from metashell.common.command import Tool
from tests.running import Outcome, run_main
from tools.interop.host import Host, Printed

MODULES: Final = {
    "kafka-cluster": "metashell.cli.kafka.cluster",
    "kafka-metadata-quorum": "metashell.cli.kafka.metadata_quorum",
    "kafka-features": "metashell.cli.kafka.features",
}
_MOMENTS: Final = (
    # The replicas of `describe --replication`: what they are, and that there are as many numbers.
    (re.compile(r"^(\d+ *\t[\w-]{22})\t(?:(?:-?\d+|-?\d+ ms ago) *\t){4}(\w+)(?= *\t$)", re.MULTILINE), r"\1 ... \2"),
    (re.compile(r"^NodeId\t.*$", re.MULTILINE), "NodeId ..."),
    (re.compile(r"(?<=Epoch: )\d+$", re.MULTILINE), "N"),
    (re.compile(r"Request Request\(.*\) (?=is not authorized|needs \w+ permission)"), "Request "),
    (re.compile(r"^(HighWatermark|MaxFollowerLag|MaxFollowerLagTimeMs):( +)-?\d+", re.MULTILINE), r"\1:\2N"),
)
_OBSERVERS: Final = re.compile(r"(?<=CurrentObservers:)( *\[)(.*)(?=\])")
_MEMBERS: Final = re.compile(r"(?<=set of voters \[)([^]]*)(?=\])")


_OURS: Final = re.compile(
    r"^kafka-[a-z-]+: (\S+:\d+(: | is a )|\d+: the cluster has no such |.*(No such file or directory|is not HOST:PORT|no address))"
)
"""What ours says instead of Kafka: who did not answer and why, which node or file is not there, which address is none."""


def ours(tool: str, words: Sequence[str], folder: Path) -> Outcome:
    """What our tool of that name does."""
    main = import_module(MODULES[tool]).main
    assert isinstance(main, Tool)
    return run_main(main, words, cwd=folder, limit_s=90)


def settled(text: str) -> str:
    """Output without what differs from moment to moment."""
    for pattern, name in _MOMENTS:
        text = pattern.sub(name, text)
    text = _OBSERVERS.sub(lambda found: found[1] + ", ".join(sorted(found[2].split(", {"))), text)
    return _MEMBERS.sub(lambda found: ", ".join(sorted(found[1].split(", Rep"))), text)


def first_line(stderr: str) -> str:
    """What a tool says first on stderr, past log lines and usage, without blanks: Java stretches long lines."""
    lines = [line for line in stderr.splitlines() if line.strip() and not re.match(r"\[\d{4}-|WARNING|usage:|\s", line)]
    found = settled(lines[0]) if lines else ""
    return "".join(found.partition("error: ")[2].split() if "error: " in found else found.split())


def differences(host: Host, lines: Sequence[str], names: dict[str, str], folder: Path) -> list[str]:
    """Run every line with both tools; what differs in status, stdout, or whether something is said on stderr."""
    found = []
    for line in lines:
        tool, *words = shlex.split(line.format(**names))
        theirs, own = host.run(tool, words), ours(tool, words, folder)
        if (problem := _difference(theirs, own)) is not None:
            found.append(f"$ {line}\n{problem}")
    return found


def _difference(theirs: Printed, own: Outcome) -> str | None:
    stdout = own.stdout.decode()
    if theirs.status != own.status or settled(theirs.stdout) != settled(stdout):
        return f"theirs {theirs.status}:\n{theirs.stdout}{theirs.stderr[:600]}\nours {own.status}:\n{stdout}{own.stderr}"
    says = first_line(theirs.stderr)
    if "Traceback" in own.stderr or (says and not own.stderr) or not (_OURS.search(own.stderr) or first_line(own.stderr).startswith(says)):
        return f"stderr, theirs:\n{theirs.stderr[:600]}\nours:\n{own.stderr}"
    return None
