"""Where kafka-shell takes its source from when the command line names none, or a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.demo import demo_directory
from tests.cli.conftest import Run

LS = ("ls", "/image/cluster")
ANSWER = "brokers\ncontrollers\n"


@pytest.fixture
def settings(tmp_path: Path) -> str:
    path = tmp_path / "config.toml"
    path.write_text(f'[sources]\nlab = "{demo_directory()}"\nlive = "-C localhost:1 --timeout 1"\nodd = "ls /"\nloop = "@lab"\n')
    return str(path)


def test_the_variable_names_a_path(run: Run) -> None:
    assert run("kafka-shell", *LS, env={"METASHELL_SOURCE": demo_directory()}).stdout == ANSWER
    assert run("kafka-shell", "pwd", env={"METASHELL_SOURCE": "/no/such"}).stderr == "kafka-shell: /no/such: No such file or directory\n"


def test_what_the_command_line_names_counts_more(run: Run) -> None:
    wrong = {"METASHELL_SOURCE": "/no/such"}
    assert run("kafka-shell", demo_directory(), *LS, env=wrong).stdout == ANSWER
    assert run("kafka-shell", "--demo", *LS, env=wrong).stdout == ANSWER
    assert run("kafka-shell", *LS, "-s", demo_directory(), env=wrong).stdout == ANSWER


def test_a_source_may_have_a_name(run: Run, settings: str) -> None:
    for words in (("-s", "@lab", *LS), ("@lab", *LS), (*LS, "--snapshot=@lab")):
        assert run("kafka-shell", "--settings", settings, *words).stdout == ANSWER
    named = {"METASHELL_CONFIG": settings, "METASHELL_SOURCE": "@lab"}
    assert run("kafka-shell", *LS, env=named).stdout == ANSWER


def test_the_other_source_of_diff_may_have_a_name(run: Run, settings: str) -> None:
    result = run("kafka-shell", "--settings", settings, "--demo", "diff", "-s", "@lab")
    assert (result.returncode, result.stderr) == (0, "")
    result = run("kafka-shell", "--settings", settings, "--demo", "diff", "-s", "@lob")
    assert result.returncode == 2
    assert "@lob: the settings name no such source (did you mean lab?)" in result.stderr
    result = run("kafka-shell", "--demo", "diff", "-s", "@live", env={"METASHELL_CONFIG": settings})
    assert result.returncode == 1
    assert "localhost:1" in result.stderr


def test_a_name_may_stand_for_a_quorum(run: Run, settings: str) -> None:
    result = run("kafka-shell", "--settings", settings, "@live", *LS)
    assert result.returncode == 1
    assert "localhost:1" in result.stderr


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("@lob", "METASHELL_SOURCE: @lob: the settings name no such source (did you mean lab?)"),
        ("-C", "METASHELL_SOURCE: option -C needs a value"),
        ("-v", "METASHELL_SOURCE: '-v' is no source: a path, @NAME, or options such as -C HOST:PORT"),
        ("--help", "METASHELL_SOURCE: '--help' is no source: a path, @NAME, or options such as -C HOST:PORT"),
        ("@loop", "sources.loop: '@lab' is no source: a path, @NAME, or options such as -C HOST:PORT"),
    ],
)
def test_what_names_no_source_is_refused(run: Run, settings: str, source: str, message: str) -> None:
    result = run("kafka-shell", *LS, env={"METASHELL_CONFIG": settings, "METASHELL_SOURCE": source})
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"kafka-shell: {message}\n")


def test_kafkas_names_read_neither(run: Run, tmp_path: Path) -> None:
    broken = tmp_path / "config.toml"
    broken.write_text("[")
    env = {"METASHELL_CONFIG": str(broken), "METASHELL_SOURCE": demo_directory()}
    result = run("kafka-metadata-shell", *LS, env=env)
    assert result.returncode == 1
    assert "config.toml" not in result.stderr
    assert run("kafka-shell", *LS, env=env).stderr.startswith(f"kafka-shell: {broken}: line 1")


RACKS = ("-r", "rack", "/image/cluster/brokers")


@pytest.mark.parametrize("before", [(), ("time",)])
def test_options_of_grep_are_never_those_of_the_tool(run: Run, before: tuple[str, ...]) -> None:
    with_racks = run("kafka-shell", "--demo", *before, "grep", *RACKS).stdout.splitlines()
    others = run("kafka-shell", "--demo", *before, "grep", "-v", *RACKS)
    assert with_racks and others.stdout
    assert not {*with_racks} & {*others.stdout.splitlines()}
    assert "/image/cluster/brokers/4:1\n" in run("kafka-shell", "--demo", *before, "grep", "-c", *RACKS).stdout
    for option in ("-s", "-C", "-b", "-k"):
        result = run("kafka-shell", "--demo", *before, "grep", option, *RACKS)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr == f"kafka-shell: grep has no option {option}; that of kafka-shell stands before the command\n"


@pytest.mark.parametrize("command", ["ls", "find", "cat", "status"])
@pytest.mark.parametrize("option", ["-v", "-k"])
def test_a_letter_after_a_command_is_its_own(run: Run, command: str, option: str) -> None:
    result = run("kafka-shell", "--demo", command, "/image", option)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"kafka-shell: {command} has no option {option}; that of kafka-shell stands before the command\n"


def test_words_after_a_command_are_options_of_the_tool_where_nothing_else_is_meant(run: Run) -> None:
    assert run("kafka-shell", *LS, "-s", demo_directory(), "--verbose", "--no-color").stdout == ANSWER
    assert run("kafka-shell", "time", *LS, "--demo").stdout == ANSWER
    for word in ("-v", "-k"):
        shown = run("kafka-shell", "--demo", "grep", "-r", "--", word, "/image/cluster/brokers")
        assert (shown.returncode, shown.stdout, shown.stderr) == (1, "", "")
        shown = run("kafka-shell", "--demo", "find", "/image", "-name", word)
        assert (shown.returncode, shown.stdout, shown.stderr) == (0, "", "")
