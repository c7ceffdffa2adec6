"""Replays transcripts: whole files that hold a command line, what it reads, and all that it prints.

Shape of a transcript, `tests/transcripts/FOLDER/NAME.txt`:

    # Comments, which say what the story is.
    kafka-shell --demo            the first word picks the tool; words as a POSIX shell splits them
    ls /                          any lines that follow are its standard input
    ----
    image                         stdout and stderr, in the order in which they were written
    [status 1]                    last line, only when the status is not 0

A command line `attached ...` is a kafka-shell on a live quorum of its own, with three brokers that register, an authorizer and the topic
`orders`; it goes on after a failure, and its address is shown as localhost:9093. A command
line `run ...` is a story of a quorum, which `tests/quorum/raft/stories.py` plays in this process.
Tools run as processes of their own in `tests/golden` (so that file names in outputs are short), without a terminal.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from metashell.quorum.embedded import EmbeddedQuorum
from tests.administering import AUTHORIZER
from tests.quorum.raft.stories import play

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "golden"
PROJECT = HERE.parent.parent
SEPARATOR = "----\n"
TIMEOUT_SECONDS = 120

TOOLS = {
    "shell": ("metashell.cli.inspect.kafka_shell", ("--demo", "--keep-going")),
    "kafka-shell": ("metashell.cli.inspect.kafka_shell", ()),
    "kafka-metadata-shell": ("metashell.cli.kafka.file_tools:shell_main", ()),
    "dump-log": ("metashell.cli.inspect.dump_log", ()),
    "kafka-dump-log": ("metashell.cli.inspect.dump_log:kafka_main", ()),
    "metashell": ("metashell.cli.main", ()),
}
"""First word of the command line -> the module whose `main` runs, and arguments that go before the typed ones."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """One story: its comments, the command line, standard input, and the expected output."""

    comments: str
    command: str
    stdin: str
    expected: str

    def render(self, output: str) -> str:
        """The file's text with `output` in place of what was expected."""
        return f"{self.comments}{self.command}\n{self.stdin}{SEPARATOR}{output}"


def read_transcript(path: Path) -> Transcript:
    """Read a transcript file.

    Errors: ValueError without a command line or separator.
    """
    text = path.read_text(encoding="utf-8")
    head, found, expected = text.partition(SEPARATOR)
    lines = head.splitlines(keepends=True)
    count = next((index for index, line in enumerate(lines) if not line.startswith("#")), len(lines))
    if count == len(lines) or not found:
        raise ValueError(f"{path.name}: no command line or no ---- line")
    return Transcript("".join(lines[:count]), lines[count].rstrip("\n"), "".join(lines[count + 1 :]), expected)


def replay(transcript: Transcript) -> str:
    """All that the tool prints, stdout and stderr as they came, then the status if it is not 0."""
    tool, *arguments = shlex.split(transcript.command)
    if tool == "run":
        return play(arguments, transcript.stdin)
    if tool == "attached":
        with EmbeddedQuorum(controllers=1, fake_brokers=3, properties=AUTHORIZER) as quorum:
            quorum.create_topic("orders", 3, 2, {"retention.ms": "86400000"})
            address = quorum.bootstrap_controllers
            output = _run("metashell.cli.inspect.kafka_shell", ["-C", address, "--keep-going", *arguments], transcript.stdin)
            return output.replace(address, "localhost:9093")
    module, before = TOOLS[tool]
    return _run(module, [*before, *arguments], transcript.stdin)


def _run(module: str, arguments: list[str], stdin: str) -> str:
    place, _, main = module.partition(":")
    code = f"import sys; from {place} import {main or 'main'} as main; sys.exit(main())"
    run = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input=stdin.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=GOLDEN,
        env=environment(),
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    # Where the checkout lies must not show.
    output = run.stdout.decode("utf-8", "backslashreplace").replace(f"{PROJECT}/", "")
    if run.returncode:
        output = f"{output}{'' if output.endswith(chr(10)) or not output else chr(10)}[status {run.returncode}]\n"
    return output


def environment() -> dict[str, str]:
    """The environment that transcripts run in: no colours, 80 columns, UTC, and a state folder that is never written."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "SYSTEMROOT", "PYTHONHASHSEED")}
    path = os.pathsep.join([str(PROJECT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return kept | {"COLUMNS": "80", "TZ": "UTC", "TERM": "dumb", "NO_COLOR": "1", "HOME": "/nonexistent", "PYTHONPATH": path}


def all_transcripts() -> list[Path]:
    """Every transcript file, sorted by folder and name."""
    return sorted(HERE.glob("*/*.txt"))
