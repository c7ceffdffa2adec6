"""Administration commands of our own voice against a quorum in this process."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from metashell.embedded import EmbeddedQuorum
from metashell.options.subcommands import SUBCOMMANDS
from tests.running import Outcome, run_main

AUTHORIZER = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer", "super.users": "User:ANONYMOUS"}
"""Settings of a quorum that keeps ACLs, and lets everybody change them who did not log in."""
HERE = Path(__file__).parent


def command(quorum: EmbeddedQuorum, noun: str, *words: str, stdin: str = "") -> Outcome:
    """Run `metashell NOUN WORDS...` through the controllers; nobody can be asked."""
    main = import_module(f"metashell.cli.{SUBCOMMANDS[noun][0]}").main
    return run_main(main, [words[0], "-C", quorum.bootstrap_controllers, *words[1:]], cwd=HERE, stdin=stdin)


def lines(quorum: EmbeddedQuorum, noun: str, *words: str, stdin: str = "", status: int = 0) -> list[str]:
    """The lines that it prints on stdout, then those on stderr."""
    done = command(quorum, noun, *words, stdin=stdin)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.status == status, done
    return [*done.stdout.decode().splitlines(), *done.stderr.splitlines()]


def objects(quorum: EmbeddedQuorum, noun: str, *words: str, stdin: str = "", status: int = 0) -> list[dict[str, Any]]:
    """The objects that it prints with -o jsonl."""
    done = command(quorum, noun, *words, "-o", "jsonl", stdin=stdin)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.status == status, done
    return [json.loads(line) for line in done.stdout.splitlines()]
