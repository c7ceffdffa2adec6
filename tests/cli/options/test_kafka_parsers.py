"""The rules of joptsimple and argparse4j, as far as scripts can see them."""

from __future__ import annotations

import pytest

from metashell.cli.inspect.dump_log import KAFKA_DUMP_LOG
from metashell.cli.shell_options import KAFKA_METADATA_SHELL
from metashell.common.errors import UsageError
from metashell.common.kafka_options import help_text, parse_argparse4j, parse_joptsimple

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
