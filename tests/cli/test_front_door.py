"""metashell, the front door."""

from __future__ import annotations

from metashell import __version__
from metashell.options.subcommands import SUBCOMMANDS
from metashell.options.tool_list import TOOLS
from tests.cli.conftest import Run


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
    assert "COMMANDS\n    shell" in result.stderr


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
