"""Aliases stand for one step."""

from __future__ import annotations

import pytest

from metashell.common.errors import UsageError
from metashell.common.settings import Settings
from metashell.shell import run_line
from metashell.shell.grammar import Step, check_alias, parse_line, with_aliases
from metashell.shell.words import LineError
from tests.shell.fake_nodes import fake_context, printed

ALIASES = {"ll": "ls -l", "ls": "ls -1", "racks": "count --by rack | sort -n", "save": "ls / > out.txt"}


def steps(line: str) -> list[Step]:
    return with_aliases(parse_line(line), ALIASES, line).steps


@pytest.mark.parametrize(
    ("line", "words", "pipe"),
    [
        ("ll", ["ls", "-l"], None),
        ("ll -R 'a b' | wc", ["ls", "-l", "-R", "a b"], "wc"),
        ("ls ll", ["ls", "-1", "ll"], None),
        ("racks", ["count", "--by", "rack"], "sort -n"),
        ("cat ll", ["cat", "ll"], None),
    ],
)
def test_the_first_word_is_expanded_once(line: str, words: list[str], pipe: str | None) -> None:
    (step,) = steps(line)
    assert (step.words, step.pipe, len(step.starts), len(step.ends)) == (words, pipe, len(words), len(words))


def test_each_step_has_its_own_and_keeps_its_connector() -> None:
    assert [(step.connector, step.words[0]) for step in steps("pwd && racks; ll")] == [("", "pwd"), ("&&", "count"), (";", "ls")]


@pytest.mark.parametrize(
    ("line", "at", "message"),
    [
        ("racks /image", 6, "racks takes no words: its answer goes to another program or a file"),
        ("pwd; racks | wc", 5, "the answer of racks already goes to a program or a file: it stands for count --by rack | sort -n"),
        ("save > other", 0, "the answer of save already goes to a program or a file: it stands for ls / > out.txt"),
    ],
)
def test_nothing_is_spliced_into_a_pipe(line: str, at: int, message: str) -> None:
    with pytest.raises(LineError) as error:
        steps(line)
    assert (str(error.value), error.value.index) == (message, at)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("set", "ls", "set means the same everywhere, and cannot be an alias"),
        ("x", "ls 'a", '"ls \'a": unclosed quote'),
        ("x", "ls; ls", "'ls; ls': an alias is one command"),
        ("x", "# nothing", "'# nothing': an alias is one command"),
    ],
)
def test_what_can_be_no_alias(name: str, text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        check_alias(name, text)
    assert str(error.value) == message


def test_help_says_what_an_alias_stands_for() -> None:
    ctx = fake_context(chosen=Settings(aliases=ALIASES))
    assert run_line(ctx, "help ll") == 0
    assert printed(ctx) == "ll stands for: ls -l\n"
