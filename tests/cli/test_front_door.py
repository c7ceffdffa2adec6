"""metashell, the front door."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

from metashell import __version__
from metashell.cli.main import KAFKA_NAMES, SUBCOMMANDS, TASKS
from tests.cli.conftest import ROOT, Run
from tools.tool_list import TOOLS


def test_version_is_answered_by_the_door_and_behind_it(run: Run) -> None:
    assert run("metashell", "--version").stdout == f"metashell {__version__}\n"
    assert run("metashell", "dump-log", "--version").stdout == f"dump-log {__version__}\n"


def test_a_subcommand_takes_all_words_after_its_name(run: Run, segment: str) -> None:
    behind = run("metashell", "dump-log", "--cluster-metadata-decoder", segment)
    direct = run("dump-log", "--cluster-metadata-decoder", segment)
    assert behind.stdout == direct.stdout != ""


def test_without_a_command_help_is_on_stderr_and_status_2(run: Run) -> None:
    result = run("metashell")
    assert (result.returncode, result.stdout) == (2, "")
    assert "LOOK\n    shell" in result.stderr


def test_help_groups_commands_by_task_with_kafkas_names_at_the_end(run: Run) -> None:
    headings = re.findall(r"(?m)^[A-Z][A-Z' ]+$", run("metashell", "--help").stdout)
    assert [heading for heading in headings if heading in TASKS] == list(TASKS)
    assert list(TASKS)[-1] == "KAFKA'S NAMES"
    assert sum(map(len, TASKS.values())) == len(SUBCOMMANDS)


def test_the_module_is_the_command() -> None:
    argv = [sys.executable, "-m", "metashell", "--version"]
    assert subprocess.run(argv, capture_output=True, text=True, check=True, cwd=ROOT).stdout == f"metashell {__version__}\n"


def test_kafkas_names_are_listed_and_run_with_or_without_kafka_before_them(run: Run) -> None:
    assert run("metashell", "kafka").stdout.split() == list(KAFKA_NAMES)
    direct = run("kafka-storage", "version-mapping").stdout
    assert direct
    assert run("metashell", "kafka", "storage", "version-mapping").stdout == direct
    assert run("metashell", "kafka", "kafka-storage", "version-mapping").stdout == direct
    assert run("metashell", "kafka", "shell", "--version").stdout == f"kafka-shell {__version__}\n"


def test_every_name_of_kafka_is_also_a_console_script() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert {name for name in scripts if name.startswith("kafka-")} == set(KAFKA_NAMES)


def test_a_name_that_kafka_does_not_have_is_answered_with_the_nearest_one(run: Run) -> None:
    result = run("metashell", "kafka", "storag")
    assert (result.returncode, result.stderr) == (2, "metashell kafka: unknown name storag (did you mean kafka-storage?)\n")


def test_an_unknown_command_is_named_with_the_nearest_one(run: Run) -> None:
    result = run("metashell", "dumplog")
    assert (result.returncode, result.stderr) == (2, "metashell: unknown command dumplog (did you mean dump-log?)\n")


def test_the_static_summaries_are_those_of_the_commands() -> None:
    # What runs on Spark is a package of its own, above cli.
    apart = ("metashell", "spark-reports")
    own = {tool.summary for tool in TOOLS.values() if tool.voice == "own" and tool.name not in apart}
    assert own <= {summary for _, summary in SUBCOMMANDS.values()}


def test_help_is_a_command_too(run: Run) -> None:
    assert run("metashell", "help").stdout == run("metashell", "--help").stdout
    assert run("metashell", "help", "verify").stdout == run("metashell", "verify", "--help").stdout
    assert run("metashell", "help", "nope").returncode == 2
