"""`metashell status SOURCE` and its like: a source is written alike everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metashell.cli.inspect.kafka_shell import full_spec
from metashell.cli.main import SUBCOMMANDS
from metashell.cli.shell_options import SHELL_COMMANDS
from metashell.cli.sources import front_words
from metashell.demo import demo_directory
from tests.cli.conftest import Run

DEMO = demo_directory()
BROKERS = ["/image/cluster/brokers/4", "/image/cluster/brokers/5", "/image/cluster/brokers/6"]


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "config.toml"
    path.write_text(f'[sources]\nlab = "{DEMO}"\nlive = "-C localhost:1 --timeout 1"\nours = "--demo"\n')
    return str(path)


@pytest.mark.parametrize("source", [[DEMO], ["-s", DEMO], ["--demo"], ["@lab"], ["@ours"], [f"--snapshot={DEMO}"]])
def test_a_source_is_a_path_a_name_or_the_demo(run: Run, config: str, source: list[str]) -> None:
    found = run("metashell", "find", *source, "/", "-type", "broker", env={"METASHELL_CONFIG": config})
    assert (found.returncode, found.stdout.splitlines(), found.stderr) == (0, BROKERS, "")


def test_options_of_a_source_may_stand_behind_the_words_of_the_command(run: Run) -> None:
    assert run("metashell", "find", "/", "-type", "broker", "--demo").stdout.splitlines() == BROKERS
    assert run("metashell", "ls", "/image/cluster", "--demo").stdout == "brokers\ncontrollers\n"


def test_a_default_source_needs_no_word(run: Run) -> None:
    env = {"METASHELL_SOURCE": DEMO}
    assert run("metashell", "find", "/", "-type", "broker", env=env).stdout.splitlines() == BROKERS
    assert run("metashell", "status", env=env).stdout == run("metashell", "status", DEMO, env={"METASHELL_SOURCE": "/no"}).stdout


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["find", "/", "-type", "broker"], 2, "metashell find: name a source first: metashell find DIR, @NAME, --demo, -C HOST:PORT"),
        (["ls", "/image"], 2, "metashell ls: name a source first"),
        (["ls", "nowhere"], 1, "metashell ls: nowhere: No such file or directory"),
        (["status", "@nope"], 2, "metashell status: --snapshot: @nope: the settings name no such source"),
        (["cat", "--demo", "-s", DEMO, "/image"], 2, "metashell cat: --demo and -s exclude each other"),
        (["status", "@live"], 1, "metashell status: no controller "),
        (["verify", "@live"], 2, "metashell verify: @live is a live cluster, and this reads files"),
        (["dump-log", "@live"], 1, "dump-log: not attached within 1 s: localhost:1: Connection refused"),
    ],
)
def test_what_names_no_source_is_one_line(run: Run, config: str, words: list[str], status: int, message: str) -> None:
    done = run("metashell", *words, env={"METASHELL_CONFIG": config})
    assert done.returncode == status
    assert done.stderr.startswith(message) or ("exclude each other" in message and "exclude each other" in done.stderr)
    assert done.stderr.count("\n") == 1


def test_the_second_source_of_diff_is_a_word_too(run: Run, config: str) -> None:
    env = {"METASHELL_CONFIG": config}
    same = run("metashell", "diff", DEMO, "@lab", env=env)
    assert (same.returncode, same.stdout.splitlines()[-1]) == (0, "no difference")
    assert run("metashell", "diff", DEMO, "--stat", "500", "end").stdout.startswith("offset 500")
    assert "localhost:1" in run("metashell", "diff", DEMO, "-C", "localhost:1", "--timeout", "1").stderr


def test_words_are_those_of_kafka_shell() -> None:
    def words_of(name: str, *words: str) -> list[str]:
        return front_words(name, words, lambda name, path: None)

    assert words_of("diff", "-C", "h:1", "DIR/x", "-2h") == ["-C", "h:1", "diff", "--snapshot", "DIR/x", "-2h"]
    assert words_of("diff", "a/b", "-C", "h:1") == ["--snapshot", "a/b", "diff", "-C", "h:1"]
    assert words_of("find", "-Ch:1", "/", "-name", "a/b") == ["-Ch:1", "find", "/", "-name", "a/b"]
    assert words_of("log", "-n", "2", "a/b", "/image") == ["--snapshot", "a/b", "log", "-n", "2", "/image"]
    assert words_of("cat", "--demo", "--", "-x") == ["--demo", "cat", "--", "-x"]


def test_help_has_the_options_of_the_command(run: Run) -> None:
    text = run("metashell", "find", "--help").stdout
    assert "-under-replicated" in text and "--bootstrap-controller" in text and "metashell find" in text
    for name in SHELL_COMMANDS:
        assert SUBCOMMANDS[name] == (f"inspect.kafka_shell:{name}", SHELL_COMMANDS[name].summary)
        assert len({each for option in full_spec(name).options for each in option.names}) == sum(
            len(o.names) for o in full_spec(name).options
        )


def test_paths_of_other_commands_may_have_names_too(run: Run, config: str) -> None:
    env = {"METASHELL_CONFIG": config}
    plain = run("metashell", "verify", DEMO)
    assert run("metashell", "verify", "@lab", env=env).stdout == run("metashell", "verify", "--demo").stdout == plain.stdout
    asked = "select count(*) as n from partitions"
    assert json.loads(run("metashell", "sql", asked, "@ours", "-o", "jsonl", env=env).stdout) == {"n": 36}
    assert json.loads(run("metashell", "sql", asked, "--demo", "-o", "jsonl").stdout) == {"n": 36}
    rehearsed = run("metashell", "rehearse", "@lab", "kill-broker", "4", env=env)
    assert rehearsed.stdout == run("metashell", "rehearse", DEMO, "kill-broker", "4").stdout != ""


NOUNS = [
    (["topics", "list"], ["orders"], {"topic": "orders", "partitions": 3, "offline": 0}),
    (["topics", "describe"], ["reassigned-1"], {"topic": "reassigned-1", "partition": 0, "leader": 5}),
    (["brokers", "list"], [], {"id": 4, "state": "up", "rack": "rack-a"}),
    (["brokers", "describe"], ["5"], {"id": 5, "epoch": 367}),
    (["quorum", "describe"], [], {"id": 1, "role": "voter", "directory_id": "Hgd4GpexRGO6FNG6tnAFRA"}),
    (["features", "describe"], [], {"feature": "eligible.leader.replicas.version", "finalized": 1, "supported_max": None}),
    (["configs", "get"], ["topic:orders"], {"key": "cleanup.policy", "value": "compact", "source": "topic"}),
    (["acls", "list"], ["--topic", "orders", "--pattern", "prefixed"], None),
    (["acls", "list"], ["--topic", "orders", "--pattern", "match"], {"principal": "User:mallory", "permission_type": "DENY"}),
    (["quotas", "list"], [], {"entity": "user=<default>", "quota": "consumer_byte_rate", "value": 123456}),
    (["reassign", "status"], [], {"topic": "reassigned-1", "partition": 0, "adding": [6], "removing": [4]}),
    (["scram", "list"], ["carol"], {"user": "carol", "mechanism": "SCRAM-SHA-256", "iterations": 4096}),
]
"""A reading command, the words behind its source, and a part of its first object."""


@pytest.mark.parametrize(("command", "words", "part"), NOUNS)
def test_read_verbs_answer_from_metadata_on_disk(run: Run, config: str, command: list[str], words: list[str], part: dict | None) -> None:
    env = {"METASHELL_CONFIG": config}
    answers = [
        run("metashell", *command, *source, *words, "-o", "jsonl", env=env) for source in ([DEMO], ["@lab"], ["--demo"], ["-s", DEMO])
    ]
    assert [answer.stderr for answer in answers] == [""] * 4
    assert {(answer.returncode, answer.stdout) for answer in answers} == {(0, answers[0].stdout)}
    if part is None:
        assert answers[0].stdout == ""
    else:
        assert json.loads(answers[0].stdout.splitlines()[0]).items() >= part.items()


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["topics", "create", "@lab", "x"], 2, "@lab is metadata on disk, and this asks a live cluster"),
        (["topics", "create", "--demo", "x"], 2, "unknown option --demo"),
        (["topics", "list", "@nope"], 2, "@nope: the settings name no such source"),
        (["topics", "list", "/nowhere"], 1, "/nowhere: No such file or directory"),
        (["topics", "list", DEMO, "-C", "localhost:1"], 2, "exclude each other"),
        (["topics", "list", "@live"], 1, "localhost:1"),
        (["topics", "create", "@live", "x"], 1, "localhost:1"),
        (["configs", "get", DEMO, "topic:nope"], 1, "UNKNOWN_TOPIC_OR_PARTITION"),
        (["brokers", "describe", DEMO, "9"], 1, "BROKER_ID_NOT_REGISTERED"),
    ],
)
def test_a_source_that_cannot_answer_is_one_line(run: Run, config: str, words: list[str], status: int, message: str) -> None:
    done = run("metashell", *words, env={"METASHELL_CONFIG": config})
    assert (done.returncode, done.stderr.count("\n")) == (status, 1), done.stderr
    assert message in done.stderr
