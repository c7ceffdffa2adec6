"""Command lines of our own voice."""

from __future__ import annotations

import pytest

from metashell.common.errors import UsageError
from metashell.common.option_parser import HelpRequested, parse_command
from metashell.common.options import Argument, CommandSpec, Option

LIST = CommandSpec(
    name="ls",
    summary="list nodes",
    description="Lists what each PATH holds.",
    options=(
        Option(names=("-l", "--long"), type="flag", help="long lines"),
        Option(names=("-maxdepth",), metavar="N", type="int", help="how deep"),
        Option(
            names=("--output", "-o"),
            metavar="FORM",
            type="choice",
            choices=("text", "json"),
            default="text",
            help="form",
        ),
        Option(names=("--type",), metavar="TYPE", multiple=True, help="only these"),
        Option(names=("--batches",), metavar="only", type="optional-choice", choices=("also", "only"), help="batches"),
    ),
    arguments=(Argument(name="path", nargs="*", help="what to list"),),
    examples=(("ls -l /", "all of the root"),),
)
ONE_AND_MORE = CommandSpec(
    name="copy",
    summary="copy",
    arguments=(Argument(name="source", nargs="+", help="from"), Argument(name="target", help="to")),
)
OUTER = CommandSpec(
    name="outer",
    summary="runs another",
    options=(Option(names=("--output", "-o"), help="form"),),
    arguments=(Argument(name="command", nargs="*", help="words"),),
    first_word_ends_options=True,
)


def error_of(spec: CommandSpec, *words: str) -> str:
    with pytest.raises(UsageError) as caught:
        parse_command(spec, words)
    return str(caught.value)


@pytest.mark.parametrize("words", [("-l", "/", "a"), ("/", "-l", "a"), ("/", "a", "-l"), ("/", "a", "--long"), ("-l", "--", "/", "a")])
def test_flags_may_stand_before_between_and_after_the_words(words: tuple[str, ...]) -> None:
    values = parse_command(LIST, words)
    assert values.long is True
    assert values.path == ("/", "a")


@pytest.mark.parametrize("words", [("-ojson",), ("-o", "json"), ("--output", "json"), ("--output=json",), ("-lojson",)])
def test_a_value_follows_or_is_joined(words: tuple[str, ...]) -> None:
    assert parse_command(LIST, words).output == "json"


def test_what_is_not_given_has_its_default() -> None:
    values = parse_command(LIST, [])
    assert (values.long, values.maxdepth, values.output, values.type, values.path) == (False, None, "text", (), ())


def test_a_repeated_option_gathers_its_values_in_order() -> None:
    assert parse_command(LIST, ["--type", "a", "--type=b"]).type == ("a", "b")


def test_long_names_with_one_dash_are_no_clusters_of_flags() -> None:
    assert parse_command(LIST, ["-maxdepth", "3"]).maxdepth == 3


def test_an_option_whose_value_may_be_missing_does_not_take_the_next_word() -> None:
    values = parse_command(LIST, ["--batches", "only"])
    assert (values.batches, values.path) == ("also", ("only",))
    assert parse_command(LIST, ["--batches=only"]).batches == "only"


def test_after_two_dashes_nothing_is_an_option() -> None:
    assert parse_command(LIST, ["--", "-l", "--help"]).path == ("-l", "--help")


def test_a_single_dash_is_a_word() -> None:
    assert parse_command(LIST, ["-"]).path == ("-",)


def test_an_unknown_option_is_named_with_the_nearest_one() -> None:
    assert error_of(LIST, "--outptu") == "unknown option --outptu (did you mean --output?)"
    assert error_of(LIST, "-maxdeph", "3") == "unknown option -maxdeph (did you mean -maxdepth?)"


def test_an_unknown_flag_is_named_alone() -> None:
    flags_only = CommandSpec(name="x", summary="x", options=(Option(names=("-l",), type="flag", help="x"),))
    assert error_of(flags_only, "-lz") == "unknown option -z"


def test_a_wrong_choice_is_named_with_the_nearest_one() -> None:
    assert error_of(LIST, "-o", "jsn") == "option --output: 'jsn' is not one of text, json (did you mean json?)"


def test_a_missing_value_and_a_superfluous_one_are_told_apart() -> None:
    assert error_of(LIST, "--output") == "option --output needs a value"
    assert error_of(LIST, "--long=yes") == "option --long takes no value"


def test_a_value_of_the_wrong_type_is_named_with_its_option() -> None:
    assert error_of(LIST, "-maxdepth", "deep") == "option -maxdepth: 'deep' is not a whole number"


def test_words_are_shared_out_to_the_arguments() -> None:
    values = parse_command(ONE_AND_MORE, ["a", "b", "c"])
    assert (values.source, values.target) == (("a", "b"), "c")


def test_missing_and_superfluous_words_are_named() -> None:
    assert error_of(ONE_AND_MORE) == "missing SOURCE"
    assert error_of(ONE_AND_MORE, "a") == "missing SOURCE"
    assert error_of(CommandSpec(name="pwd", summary="x"), "a") == "unexpected argument 'a'"


def test_the_first_word_may_end_the_options() -> None:
    values = parse_command(OUTER, ["-o", "json", "ls", "-l", "--nonsense", "-o", "text"])
    assert values.output == "json"
    assert values.command == ("ls", "-l", "--nonsense", "-o", "text")


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["/", "--help"]])
def test_help_shows_usage_options_and_examples(words: list[str]) -> None:
    with pytest.raises(HelpRequested) as caught:
        parse_command(LIST, words)
    text = str(caught.value)
    assert text.startswith("ls - list nodes\n\nUSAGE\n    ls [OPTIONS] [PATH...]\n")
    assert "    -l, --long         long lines\n" in text
    assert "    --batches[=only]   batches\n" in text
    assert "EXAMPLES\n    ls -l /\n        all of the root\n" in text


def test_help_stays_within_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from metashell.common.option_parser import render_help
    from tools.tool_list import TOOLS

    monkeypatch.setenv("COLUMNS", "60")
    for spec in TOOLS.values():
        # Examples are shown as they are typed.
        text = render_help(spec).partition("\nEXAMPLES")[0]
        assert max(map(len, text.split("\n"))) <= 70, spec.name
