"""Administration commands of our own voice against a quorum in this process."""

from __future__ import annotations

import json
import os
import pty
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metashell.cli.main import tool_of
from metashell.quorum.embedded import EmbeddedQuorum
from tests.running import Outcome, run_main

AUTHORIZER = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer", "super.users": "User:ANONYMOUS"}
"""Settings of a quorum that keeps ACLs, and lets everybody change them who did not log in."""
HERE = Path(__file__).parent


def command(quorum: EmbeddedQuorum, noun: str, *words: str, stdin: str = "") -> Outcome:
    """Run `metashell NOUN WORDS...` through the controllers; nobody can be asked."""
    main = tool_of(noun)
    return run_main(main, [words[0], "-C", quorum.bootstrap_controllers, *words[1:]], cwd=HERE, stdin=stdin)


def lines(quorum: EmbeddedQuorum, noun: str, *words: str, stdin: str = "", status: int | None = 0) -> list[str]:
    """The lines that it prints on stdout, then those on stderr; `status` None is any."""
    done = command(quorum, noun, *words, stdin=stdin)
    assert "Traceback" not in done.stderr, done.stderr
    assert status in (None, done.status), done
    return [*done.stdout.decode().splitlines(), *done.stderr.splitlines()]


def objects(quorum: EmbeddedQuorum, noun: str, *words: str, stdin: str = "", status: int = 0) -> list[dict[str, Any]]:
    """The objects that it prints with -o jsonl."""
    done = command(quorum, noun, *words, "-o", "jsonl", stdin=stdin)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.status == status, done
    return [json.loads(line) for line in done.stdout.splitlines()]


def on_terminal(code: str, answers: Sequence[tuple[str, str]]) -> tuple[int, str]:
    """The status of a Python program on a terminal, and all that the terminal showed; each (question, answer) in its turn."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "dumb"
        os.execv(sys.executable, [sys.executable, "-c", code])
    shown = b""
    seen = 0
    for question, answer in answers:
        while question.encode() not in shown[seen:]:
            shown += os.read(terminal, 1000)
        seen = len(shown)
        os.write(terminal, f"{answer}\n".encode())
    while True:
        try:
            part = os.read(terminal, 1000)
        except OSError:  # how Linux says that the other side is closed
            break
        if not part:
            break
        shown += part
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), shown.decode().replace("\r\n", "\n")
