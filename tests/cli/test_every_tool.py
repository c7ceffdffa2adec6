"""What every tool keeps, over the registry of tools: a lost answer and a missing path are never status 0."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest

from metashell.cli.main import SUBCOMMANDS
from metashell.common.command import Tool
from metashell.demo import demo_directory
from tests.cli.conftest import ROOT, environment
from tests.running import run_main
from tools.tool_list import TOOLS

DEMO = demo_directory()
LOG = os.path.join(DEMO, "__cluster_metadata-0", "00000000000000000000.log")
CHECKPOINT = os.path.join(DEMO, "__cluster_metadata-0", "00000000000000000329-0000000001.checkpoint")

ANSWERS = {
    "metashell": [["--help"], ["--version"], ["shell", "--version"]],
    "kafka-shell": [["--demo", "ls", "/"], ["--demo", "ls", "/", "-o", "json"], ["--demo", "find", "/"], ["--version"]],
    "metashell-health": [[DEMO], ["--demo", "-o", "json"], ["--list"], ["--help"]],
    "metashell-status": [[DEMO], [DEMO, "-o", "json"], ["--help"]],
    "metashell-ls": [[DEMO, "-l", "/image"], ["--help"]],
    "metashell-cat": [["--demo", "/image/cluster/brokers/4"], ["--help"]],
    "metashell-find": [[DEMO, "/", "-type", "broker"], ["--help"]],
    "metashell-log": [[DEMO, "-n", "2"], ["--help"]],
    "metashell-diff": [[DEMO, DEMO], ["--help"]],
    "metashell-why": [[DEMO, "/image/cluster/brokers/4"], ["--help"]],
    "dump-log": [[LOG], ["-o", "json", LOG], ["--summary", LOG], ["-o", "kafka", LOG], ["--version"]],
    "kafka-metadata-shell": [["--snapshot", CHECKPOINT, "ls", "/"], ["--help"]],
    "kafka-dump-log": [["--cluster-metadata-decoder", "--files", LOG], ["--version"]],
    "metashell-verify": [[DEMO], ["-o", "json", DEMO], ["-o", "jsonl", DEMO], ["--digest", DEMO], ["--start-safe", DEMO]],
    "metashell-bundle": [[DEMO, "--out", "-"], ["--help"], ["--version"]],
    "metashell-rehearse": [
        ["--demo"],
        ["--demo", "kill-broker", "5"],
        ["--demo", "-o", "json", "kill-broker", "5"],
        ["--demo", "-o", "csv"],
    ],
    "metashell-simulate": [
        ["--help"],
        ["rebalance", "--members", "3", "--partitions", "6", "--scenario", "join"],
        ["rebalance", "--members", "3", "--partitions", "6", "--scenario", "join", "-o", "json"],
        ["rebalance", "--members", "3", "--partitions", "6", "--scenario", "join", "-o", "csv"],
    ],
    "metashell-storage": [["random-uuid"], ["version-mapping", "-o", "json"], ["info", "-c", "{config}"], ["--help"]],
    "kafka-storage": [["random-uuid"], ["info", "-c", "{config}"], ["--help"]],
    "kafka-cluster": [["--help"], ["unregister", "-h"]],
    "kafka-metadata-quorum": [["--help"], ["describe", "-h"]],
    "kafka-features": [["version-mapping"], ["version-mapping", "-o", "json"], ["--help"]],
    "metashell-kafka": [[], ["features", "version-mapping"], ["--help"]],
    "metashell-quorum": [["--help"], ["--version"], ["start", "--help"]],
    "metashell-topics": [["--help"], ["--version"], ["create", "--help"]],
    "metashell-configs": [["--help"], ["--version"], ["set", "--help"]],
    "metashell-cluster": [["--help"], ["--version"]],
    "metashell-brokers": [["--help"], ["--version"], ["list", "--help"]],
    "metashell-features": [["--help"], ["--version"], ["upgrade", "--help"]],
    "metashell-elect": [["--help"], ["--version"], ["unclean", "--help"]],
    "metashell-reassign": [["plan", "-s", DEMO], ["plan", "-s", DEMO, "-o", "json"], ["plan", "-s", DEMO, "-o", "csv"]],
    "metashell-acls": [["--help"], ["--version"], ["add", "--help"]],
    "metashell-quotas": [["--help"], ["--version"], ["set", "--help"]],
    "metashell-scram": [["--help"], ["--version"], ["set", "--help"]],
    "metashell-groups": [["--help"], ["--version"], ["assign", "--help"]],
    "metashell-server": [["--help"], ["--version"]],
    "metashell-export": [["--out", "{out}", DEMO], ["--help"]],
    "metashell-lake": [["--help"], ["--version"], ["check", "--help"]],
    "metashell-sql": [["select 1", DEMO], ["select 1", DEMO, "-o", "json"], ["select 1", DEMO, "-o", "csv"]],
    "metashell-report": [
        ["broker_sessions", DEMO, "--out", "{out}"],
        ["broker_sessions", DEMO],
        ["all", DEMO, "-o", "jsonl"],
        ["timeline", DEMO, "--out", "-", "--format", "html"],
        ["--help"],
    ],
    "metashell-tables": [[], ["partition"], ["all", "-o", "json"], ["leader", "-o", "csv"], ["--help"]],
    "metashell-completion": [["bash"], ["zsh"], ["fish"], ["--help"]],
    "spark-reports": [["--help"], ["--version"]],
}
"""Command lines that print something, for each tool."""

MISSING = {
    "metashell": [["shell", "-s", "{path}"], ["sql", "select 1 from topic", "{path}"]],
    "kafka-shell": [["-s", "{path}", "ls"], ["{path}", "ls"], ["{path}"], ["-C", "127.0.0.1:1", "-c", "{path}"]],
    "metashell-health": [["{path}"]],
    "metashell-status": [["{path}"], ["-s", "{path}"]],
    "metashell-ls": [["{path}", "/image"]],
    "metashell-cat": [["{path}", "/image/cluster/brokers/4"]],
    "metashell-find": [["{path}", "/", "-type", "broker"]],
    "metashell-log": [["{path}", "/image/cluster/brokers/4"]],
    "metashell-diff": [["{path}", DEMO], [DEMO, "{path}"]],
    "metashell-why": [["{path}", "/image/cluster/brokers/4"]],
    "dump-log": [["{path}"], ["--summary", "{path}"], ["-o", "kafka", "{path}"], ["--files", "{path}"]],
    "kafka-metadata-shell": [["--snapshot", "{path}", "ls"]],
    # Kafka's own: it names the file, goes on, and ends well.
    "kafka-dump-log": [],
    "metashell-verify": [["{path}"], ["--digest", "{path}"], ["--start-safe", "{path}"], ["--start-safe", "--config", "{path}", DEMO]],
    "metashell-bundle": [["{path}", "--out", "case.tar.gz"], [DEMO, "--out", "{path}/case.tar.gz"]],
    "metashell-rehearse": [
        ["-s", "{path}"],
        ["-s", "{path}", "kill-broker", "5"],
        ["--demo", "{path}/plan.toml"],
        ["--demo", "reassign", "{path}"],
    ],
    "metashell-simulate": [["rebalance", "--members", "3", "--partitions", "6", "--scenario", "join", "--html", "{path}"]],
    "metashell-storage": [["info", "-c", "{path}"], ["format", "-c", "{path}", "-t", "AAAAAAAAAAAAAAAAAAAAAA"], ["@{path}"]],
    "kafka-storage": [["info", "-c", "{path}"], ["@{path}"]],
    "kafka-cluster": [["cluster-id", "-b", "127.0.0.1:1", "-c", "{path}"], ["cluster-id", "-C", "127.0.0.1:1", "--config", "{path}"]],
    "kafka-metadata-quorum": [["--bootstrap-server", "127.0.0.1:1", "--command-config", "{path}", "describe", "--status"]],
    "kafka-features": [["--bootstrap-server", "127.0.0.1:1", "--command-config", "{path}", "describe"]],
    "metashell-kafka": [["storage", "info", "-c", "{path}"]],
    "metashell-quorum": [],
    "metashell-topics": [["list", "-C", "127.0.0.1:1", "-c", "{path}"]],
    "metashell-configs": [["set", "topic:t", "--from-file", "{path}", "-C", "127.0.0.1:1"]],
    "metashell-cluster": [["-C", "127.0.0.1:1", "-c", "{path}"]],
    "metashell-brokers": [["list", "-C", "127.0.0.1:1", "-c", "{path}"]],
    "metashell-features": [["describe", "-C", "127.0.0.1:1", "-c", "{path}"]],
    "metashell-elect": [["preferred", "--all", "-C", "127.0.0.1:1", "-c", "{path}"]],
    "metashell-reassign": [["plan", "-s", "{path}"], ["apply", "{path}", "-C", "127.0.0.1:1"]],
    "metashell-acls": [["list", "-C", "127.0.0.1:1", "-c", "{path}"]],
    "metashell-quotas": [["list", "-b", "127.0.0.1:1", "-c", "{path}"], ["list", "-C", "127.0.0.1:1", "-c", "{path}"]],
    "metashell-scram": [["set", "a", "--password-file", "{path}"], ["list", "-b", "127.0.0.1:1", "-c", "{path}"]],
    "metashell-groups": [["assign", "-a", "server-uniform", "{path}"]],
    "metashell-server": [["{path}"], ["{path}", "--log-format", "json"]],
    "metashell-export": [["{path}", "--out", "{out}"]],
    "metashell-lake": [["status", "{path}"], ["log", "{path}"], ["check", "{path}"]],
    "metashell-sql": [["select 1 from topic", "{path}"]],
    "metashell-report": [["broker_sessions", "{path}", "--out", "{out}"]],
    "metashell-tables": [],
    "metashell-completion": [],
    "spark-reports": [["broker_sessions", "{path}", "--out", "{out}"]],
}
"""Command lines that name a path which is not there, for each tool."""


def cases(lines: dict[str, list[list[str]]]) -> list[object]:
    assert list(lines) == list(TOOLS)
    return [
        pytest.param(name, words, id=f"{name} {' '.join(words[:2])}".replace(DEMO, "{demo}"))
        for name, found in lines.items()
        for words in found
    ]


def tool_place(name: str) -> tuple[str, str]:
    """The module of a tool, and its name there."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    if name in scripts:
        module, _, attribute = str(scripts[name]).partition(":")
        return module, attribute
    module, _, attribute = SUBCOMMANDS[name.removeprefix("metashell-")][0].partition(":")
    return f"metashell.cli.{module}", attribute or "main"


def tool_main(name: str):
    """The tool, which is called with words."""
    module, attribute = tool_place(name)
    return getattr(import_module(module), attribute)


@pytest.fixture
def filled(tmp_path: Path):
    """Fills the places in the words of a command line."""
    config = tmp_path / "server.properties"
    config.write_text(
        f"process.roles=controller\nnode.id=1\nlog.dirs={DEMO}\ncontroller.listener.names=C\nlisteners=C://:1\n"
        "controller.quorum.voters=1@h:1\n"
    )
    places = {"config": str(config), "out": str(tmp_path / "out"), "path": str(tmp_path / "no" / "such.file")}
    return lambda words: [word.format(**places) if word.startswith(("{", "@{")) else word for word in words]


def start(name: str, words: Sequence[str | bytes], **streams: object) -> subprocess.CompletedProcess[str]:
    module, attribute = tool_place(name)
    code = f"import sys; from {module} import {attribute} as main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=environment(PYTHONUNBUFFERED=""),
        timeout=120,
        check=False,
        **streams,
    )


@pytest.mark.parametrize(("name", "words"), cases(ANSWERS))
def test_an_answer_that_cannot_be_written_is_an_error(name: str, words: list[str], filled, tmp_path: Path) -> None:
    with open("/dev/full", "wb", buffering=0) as full:
        done = run_main(tool_main(name), filled(words), cwd=tmp_path, stdout=full)
    assert done.status != 0
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].endswith(": standard output: No space left on device")


ENDS = (
    ("kafka-shell", ["--demo", "ls", "/"]),
    ("dump-log", [LOG]),
    ("kafka-dump-log", ["--cluster-metadata-decoder", "--files", LOG]),
    ("metashell", ["sql", "select 1", DEMO]),
    ("metashell-verify", [DEMO]),
    ("metashell-bundle", [DEMO, "--out", "-"]),
    ("metashell-report", ["all", DEMO, "-o", "jsonl"]),
    ("metashell-export", ["--out", "{out}", DEMO]),
    ("metashell-completion", ["zsh"]),
    ("spark-reports", ["--help"]),
)
"""What ends in its own way: by the libraries and processes that it uses, by the descriptor that it writes to, by whom it is run."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "words"), ENDS, ids=[name for name, _ in ENDS])
def test_nothing_more_is_said_of_it_at_the_end_of_the_process(name: str, words: list[str], filled) -> None:
    with open("/dev/full", "w") as full:
        done = start(name, filled(words), stdout=full)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].endswith(": standard output: No space left on device")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "words"), ENDS, ids=[name for name, _ in ENDS])
def test_an_answer_to_a_closed_output_is_an_error(name: str, words: list[str], filled) -> None:
    done = start(name, filled(words), preexec_fn=lambda: os.close(1))
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1].endswith(": standard output is closed")


@pytest.mark.parametrize(("name", "words"), cases(MISSING))
def test_a_path_that_is_not_there_is_status_1(name: str, words: list[str], filled, tmp_path: Path) -> None:
    done = run_main(tool_main(name), filled(words), cwd=tmp_path)
    assert done.status == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "such.file" in done.stderr + done.stdout.decode()


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_is_run_by_the_same_function(name: str) -> None:
    assert isinstance(tool_main(name), Tool)


ESCAPED = {
    "kafka-shell": [["-s", "{path}", "status"], ["-s", "{path}", "status", "-o", "json"], ["-s", "{path}", "status", "-o", "csv"]],
    "dump-log": [["{path}"], ["-o", "json", "{path}"], ["--summary", "{path}"], ["--summary", "-o", "json", "{path}"]],
    "metashell-verify": [["--digest", "{path}"], ["-o", "json", "--digest", "{path}"], ["--start-safe", "{path}"]],
    "metashell-sql": [["select file from batches limit 1", "{path}", "-o", form] for form in ("json", "csv", "table")],
}
"""Command lines that print the name of a directory, in our own voice."""


@pytest.mark.parametrize(("name", "words"), [(name, words) for name, found in ESCAPED.items() for words in found])
def test_a_name_that_is_not_utf_8_is_escaped(name: str, words: list[str], tmp_path: Path) -> None:
    folder = os.path.join(os.fsencode(tmp_path), b"caf\xe9")
    shutil.copytree(os.fsencode(DEMO), folder)
    done = run_main(tool_main(name), [word if word != "{path}" else os.fsdecode(folder) for word in words], cwd=tmp_path)
    assert done.status == 0, done.stderr
    # JSON has the backslash twice.
    assert b"caf\\xe9" in done.stdout.replace(b"\\\\", b"\\")
