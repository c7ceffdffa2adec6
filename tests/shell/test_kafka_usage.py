"""Kafka's parser inside the shell; every expected text was printed by kafka-metadata-shell 4.3.1."""

from __future__ import annotations

import pytest

from metashell.common.errors import UsageError
from metashell.shell.kafka_voice import KAFKA_COMMANDS, KafkaHelp, man_text, parse_kafka, shell_help
from metashell.shell.words import split_line

ALL = "'cat', 'cd', 'exit', 'find', 'help', 'history', 'ls', 'man', 'pwd', 'tree'"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("frob", f"invalid choice: 'frob' (choose from {ALL})"),
        ("-1", f"invalid choice: '-1' (choose from {ALL})"),
        ("h", "ambiguous command: h could match help, history"),
        ("h -z", "ambiguous command: h could match help, history"),
        ("l", "invalid choice: 'l': did you mean 'ls'?"),
        ("fi /", "invalid choice: 'fi': did you mean 'find'?"),
        ("t", "too few arguments"),
        ("cat", "too few arguments"),
        ("cat --", "too few arguments"),
        ("ls -z -y", "unrecognized arguments: '-z'"),
        ("cat /nope -z", "unrecognized arguments: '-z'"),
        ("ls --x=3", "unrecognized arguments: '--x=3'"),
        ("ls -.5", "unrecognized arguments: '-.5'"),
        ("-h", "unrecognized arguments: '-h'"),
        ("-hz", "unrecognized arguments: '-hz'"),
        ("--help", "unrecognized arguments: '--help'"),
        ("-- ls", "unrecognized arguments: 'ls'"),
        ("pwd x y z", "unrecognized arguments: 'x y z'"),
        ("cd a b -h", "unrecognized arguments: 'b -h'"),
        ("cd -- -x y", "unrecognized arguments: 'y'"),
        ("exit -- now", "unrecognized arguments: 'now'"),
        ("man ls cat dog", "unrecognized arguments: 'cat dog'"),
        ("history 1 2 3", "unrecognized arguments: '2 3'"),
        (
            f"history {'9' * 5000}",
            f"argument numEntriesToShow: could not convert '{'9' * 5000}' to Integer (For input string: \"{'9' * 5000}\")",
        ),
        ("history x y", "unrecognized arguments: 'y'"),
        ("history 3 -z", "unrecognized arguments: '-z'"),
        ("ls -h=3", "argument -h/--help: ignore implicit argument '3'"),
        ("history x", "argument numEntriesToShow: could not convert 'x' to Integer (For input string: \"x\")"),
        ("history 0x1", "argument numEntriesToShow: could not convert '0x1' to Integer (For input string: \"0x1\")"),
        ("history 2147483648", "argument numEntriesToShow: could not convert '2147483648' to Integer (For input string: \"2147483648\")"),
    ],
)
def test_a_wrong_line_gets_kafkas_words(line, message):
    with pytest.raises(UsageError) as error:
        parse_kafka(split_line(line), one_shot=False)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ls", ()),
        ("ls -1", ("-1",)),
        ("ls 1 -2 -", ("1", "-2", "-")),
        ("ls -- -- -h", ("--", "-h")),
        ("ls a -- -h", ("a", "-h")),
        ("history -1", ("-1",)),
        ("history +2", ("+2",)),
        ("history -- -2147483648", ("-2147483648",)),
    ],
)
def test_a_good_line_gives_its_words(line, words):
    call = parse_kafka(split_line(line), one_shot=False)
    assert call is not None
    assert call.words == words


@pytest.mark.parametrize("words", [[], [""], ["", ""]])
def test_an_empty_line_does_nothing(words):
    assert parse_kafka(words, one_shot=False) is None


@pytest.mark.parametrize("line", ["ls -h", "ls --hel", "ls -hx", "ls a -h", "history x -h"])
def test_help_may_be_cut_short_and_wins_over_what_follows(line):
    with pytest.raises(KafkaHelp):
        parse_kafka(split_line(line), one_shot=False)


def test_the_help_of_a_command_names_no_program():
    with pytest.raises(KafkaHelp) as text:
        parse_kafka(["history", "-h"], one_shot=False)
    assert str(text.value) == (
        "usage:  history [-h] [numEntriesToShow]\n\npositional arguments:\n  numEntriesToShow       The number of entries to show.\n"
        "\noptional arguments:\n  -h, --help             show this help message and exit\n"
    )


def test_one_shot_knows_four_commands_and_does_not_split_words():
    for words in (["cd", "/"], ["ls /image"]):
        with pytest.raises(UsageError) as error:
            parse_kafka(words, one_shot=True)
        assert str(error.value) == f"invalid choice: '{words[0]}' (choose from 'cat', 'find', 'ls', 'tree')"


def test_a_man_page_ends_after_the_usage_where_there_is_no_argument():
    assert man_text(KAFKA_COMMANDS["pwd"]) == "pwd: Print the current working directory.\n\nusage: pwd\n"
    assert man_text(KAFKA_COMMANDS["cat"]).startswith("cat: Show the contents of metadata files.\n\nusage: cat targets [targets ...]\n\n")


HELP_AT_50 = """\
Welcome to the Apache Kafka metadata shell.

usage:  {cat,cd,exit,find,help,history,ls,man,pwd,tree}
        ...

positional arguments:
  {cat,cd,exit,find,help,history,ls,man,pwd,tree}
    cat                  Show  the   contents
                         of metadata files.
    cd                   Set   the    current
                         working directory.
    exit                 Exit  the   metadata
                         shell.
    find                 Search for  nodes in
                         the        directory
                         hierarchy.
    help                 Display  this   help
                         message.
    history              Print        command
                         history.
    ls                   List metadata nodes.
    man                  Show the  help  text
                         for    a    specific
                         command.
    pwd                  Print  the   current
                         working directory.
    tree                 Show  the   contents
                         of  metadata   nodes
                         in a tree structure.
"""


def test_help_is_wrapped_where_kafka_wraps_it(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    assert shell_help() == HELP_AT_50
    assert man_text(KAFKA_COMMANDS["ls"]) == (
        "ls: List metadata nodes.\n\nusage: ls [targets [targets ...]]\n\npositional arguments:\n"
        "  targets                The  metadata   node\n                         paths to list.\n"
    )
