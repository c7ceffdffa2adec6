"""The rules of joptsimple and argparse4j, as far as scripts can see them."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.cli.inspect.dump_log import KAFKA_DUMP_LOG
from metashell.cli.kafka.file_tools import KAFKA_STORAGE
from metashell.cli.shell_options import KAFKA_METADATA_SHELL
from metashell.common.errors import UsageError
from metashell.common.kafka_options import (
    command_help_text,
    help_text,
    parse_argparse4j,
    parse_argparse4j_command,
    parse_joptsimple,
    splice_argument_files,
    usage_text,
)

HELP_40 = """\
usage: kafka-metadata-shell [-h]
                            --snapshot SNAPSHOT
                            [command [command ...]]
"""


def dump_error(*words: str) -> str:
    with pytest.raises(UsageError) as caught:
        parse_joptsimple(KAFKA_DUMP_LOG, words)
    return str(caught.value)


def shell_error(*words: str) -> str:
    with pytest.raises(UsageError) as caught:
        parse_argparse4j(KAFKA_METADATA_SHELL, words)
    return str(caught.value)


def test_dump_log_takes_values_as_words_or_joined_and_ignores_other_words() -> None:
    values = parse_joptsimple(KAFKA_DUMP_LOG, ["stray", "--files", "a,b", "--max-bytes=100", "--print-data-log", "words"])
    assert (values.files, values.max_bytes, values.print_data_log) == ("a,b", 100, True)


def test_dump_log_takes_single_dashes_too() -> None:
    assert parse_joptsimple(KAFKA_DUMP_LOG, ["-files", "a"]).files == "a"


def test_dump_log_refuses_abbreviations_and_unknown_options() -> None:
    assert dump_error("--file", "a") == "file is not a recognized option (did you mean files?)"
    assert dump_error("-h") == "h is not a recognized option"


def test_dump_log_takes_the_next_word_as_a_required_value_whatever_it_is() -> None:
    assert parse_joptsimple(KAFKA_DUMP_LOG, ["--files", "--print-data-log"]).files == "--print-data-log"
    assert dump_error("--files") == "Option files requires an argument"
    assert parse_joptsimple(KAFKA_DUMP_LOG, ["--files=", "a"]).files == ""


def test_dump_log_lets_the_value_of_a_decoder_class_be_missing() -> None:
    values = parse_joptsimple(KAFKA_DUMP_LOG, ["--value-decoder-class", "--files", "a"])
    assert (values.value_decoder_class, values.key_decoder_class) == ("", None)
    assert parse_joptsimple(KAFKA_DUMP_LOG, ["--value-decoder-class", "X"]).value_decoder_class == "X"


def test_dump_log_refuses_a_repeated_value_and_a_bad_number() -> None:
    assert dump_error("--files", "a", "--files", "b") == "Found multiple arguments for option files, but you asked for only one"
    assert dump_error("--max-bytes", "x") == "Cannot parse argument 'x' of option max-bytes"


@pytest.mark.parametrize("words", [["-s", "F"], ["-sF"], ["--snapshot", "F"], ["--snapshot=F"], ["--snap", "F"], ["--s=F"]])
def test_the_shell_takes_its_file_in_every_form(words: list[str]) -> None:
    values = parse_argparse4j(KAFKA_METADATA_SHELL, [*words, "ls", "/"])
    assert (values.snapshot, values.command) == ("F", ("ls", "/"))


def test_the_shell_takes_flags_of_commands_for_its_own() -> None:
    assert shell_error("-s", "F", "ls", "-l") == "unrecognized arguments: '-l'"


def test_the_shell_needs_a_file() -> None:
    assert shell_error("ls") == "argument --snapshot/-s is required"
    assert shell_error("--snapshot") == "argument --snapshot/-s: expected one argument"


@pytest.mark.parametrize("words", [["-h"], ["--help"], ["--he"], ["-s", "F", "cat", "-h"]])
def test_the_shell_shows_help_wherever_it_is_asked_for(words: list[str]) -> None:
    assert parse_argparse4j(KAFKA_METADATA_SHELL, words).help


def test_help_is_wrapped_at_columns_and_justified_like_the_real_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    text = help_text(KAFKA_METADATA_SHELL)
    assert "  command                The    command\n                         to run.\n" in text
    assert "  -h, --help             show      this\n                         help   message\n" in text
    monkeypatch.setenv("COLUMNS", "40")
    assert help_text(KAFKA_METADATA_SHELL).startswith(HELP_40)


def test_help_without_columns_is_75_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    lines = help_text(KAFKA_METADATA_SHELL).split("\n")
    assert lines[0] == "usage: kafka-metadata-shell [-h] --snapshot SNAPSHOT"
    assert lines[-3:] == [
        "  --snapshot SNAPSHOT, -s SNAPSHOT",
        "                         The metadata snapshot file to read.",
        "",
    ]


# ---- sub-commands by the rules of argparse4j, as kafka-storage shows them; the usage lines are those of the golden cases


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
