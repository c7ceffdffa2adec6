"""Sub-commands by the rules of argparse4j, as kafka-storage shows them; the usage lines are those of the golden cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.cli.kafka.file_tools import KAFKA_STORAGE
from metashell.common.errors import UsageError
from metashell.common.kafka_options import command_help_text, parse_argparse4j_command, splice_argument_files, usage_text

FORMAT_USAGE = """\
usage: kafka-storage format [-h] --config CONFIG --cluster-id CLUSTER_ID
                     [--add-scram ADD_SCRAM] [--ignore-formatted]
                     [--release-version RELEASE_VERSION]
                     [--feature FEATURE] [--standalone |
                     --no-initial-controllers |
                     --initial-controllers INITIAL_CONTROLLERS]
"""
TOOL_USAGE = """\
usage: kafka-storage [-h]
                     {info,format,version-mapping,feature-dependencies,random-uuid}
                     ...
"""


def error(*words: str) -> str:
    with pytest.raises(UsageError) as caught:
        parse_argparse4j_command(KAFKA_STORAGE, words)
    return str(caught.value)


def test_a_command_and_its_options_may_be_cut_short() -> None:
    command, values = parse_argparse4j_command(KAFKA_STORAGE, ["fo", "--conf", "f", "--cl=id", "--ignore", "--add", "a", "-Sb", "-S", "c"])
    assert command.name == "format"
    assert (values.config, values.cluster_id, values.ignore_formatted) == ("f", "id", True)
    assert values.add_scram == ("a", "b", "c")
    assert not values.standalone
    assert values.feature == ()


def test_what_only_ours_has_makes_no_prefix_ambiguous() -> None:
    _, values = parse_argparse4j_command(KAFKA_STORAGE, ["format", "--add-s", "x", "-c", "f", "-t", "t", "--dry-run"])
    assert values.add_scram == ("x",)
    assert values.dry_run
    assert error("format", "--dry") == "unrecognized arguments: '--dry'"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "too few arguments"),
        (("nope",), "invalid choice: 'nope' (choose from 'info', 'format', 'version-mapping', 'feature-dependencies', 'random-uuid')"),
        (("f",), "ambiguous command: f could match format, feature-dependencies"),
        (("--nope",), "unrecognized arguments: '--nope'"),
        (("random-uuid", "x"), "unrecognized arguments: 'x'"),
        (("format",), "argument --cluster-id/-t is required"),
        (("format", "-c", "f"), "argument --cluster-id/-t is required"),
        (("format", "-c"), "argument --config/-c: expected one argument"),
        (("format", "-s", "-N"), "argument --no-initial-controllers/-N: not allowed with argument --standalone/-s"),
        (("format", "-I", "-1@h:1:x"), "argument --initial-controllers/-I: expected one argument"),
        (("feature-dependencies",), "argument --feature/-f is required"),
    ],
)
def test_a_wrong_command_line_is_told_in_kafkas_words(words: tuple[str, ...], message: str) -> None:
    assert error(*words) == message


def test_an_empty_value_is_a_value() -> None:
    _, values = parse_argparse4j_command(KAFKA_STORAGE, ["format", "-c", "f", "-t", "", "-I", ""])
    assert (values.cluster_id, values.initial_controllers) == ("", "")


def test_usage_lines_are_kafkas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    command = next(command for command in KAFKA_STORAGE.commands if command.name == "format")
    assert usage_text(command, KAFKA_STORAGE) == FORMAT_USAGE
    assert usage_text(KAFKA_STORAGE) == TOOL_USAGE
    assert command_help_text(KAFKA_STORAGE).startswith(TOOL_USAGE + "\nThe Kafka storage tool.\n\npositional arguments:\n  {info,")


def test_the_lines_of_a_file_stand_for_words(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("info\n-c\na b\n")
    assert splice_argument_files([f"@{tmp_path}/words", "x"]) == ["info", "-c", "a b", "x"]
    with pytest.raises(UsageError, match="missing"):
        splice_argument_files(["@missing"])


def test_numbers_are_words_and_joined_help_is_help() -> None:
    assert error("-1").startswith("invalid choice: '-1'")
    assert error("random-uuid", "-1", "-h") == "unrecognized arguments: '-1 -h'"
    assert error("random-uuid", "-h=3") == "argument -h/--help: ignore implicit argument '3'"
    assert parse_argparse4j_command(KAFKA_STORAGE, ["random-uuid", "-hx"])[1].help
