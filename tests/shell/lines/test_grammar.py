"""Typed lines: steps, pipes, files, comments, and what is refused at which place."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.shell.grammar import COMMENT, FILE, PIPE, WORDS, Redirect, parse_line, unfinished
from metashell.shell.words import LineError, quote_word


def shapes(line: str) -> list[tuple[str, list[str], str | None, Redirect | None]]:
    return [(step.connector, step.words, step.pipe, step.redirect) for step in parse_line(line).steps]


@pytest.mark.parametrize(
    ("line", "steps"),
    [
        ("", []),
        ("  # ls", []),
        ("ls", [("", ["ls"], None, None)]),
        ("ls; pwd ;", [("", ["ls"], None, None), (";", ["pwd"], None, None)]),
        ("ls&&pwd", [("", ["ls"], None, None), ("&&", ["pwd"], None, None)]),
        ("ls / # all; of | it", [("", ["ls", "/"], None, None)]),
        ("ls a#b", [("", ["ls", "a#b"], None, None)]),
        ("ls ';' '|' \"> &&\" \\; \\| \\> \\#", [("", ["ls", ";", "|", "> &&", ";", "|", ">", "#"], None, None)]),
        ("ls > out -l", [("", ["ls", "-l"], None, Redirect("out", False, 3))]),
        ("ls>>'a b'", [("", ["ls"], None, Redirect("a b", True, 2))]),
        ("ls | wc -l > x 2>&1 && pwd", [("", ["ls"], "wc -l > x 2>&1", None), ("&&", ["pwd"], None, None)]),
        ("ls | grep ';' | sort; pwd", [("", ["ls"], "grep ';' | sort", None), (";", ["pwd"], None, None)]),
        ("find / ( -leader 3 -or ! -fenced )", [("", ["find", "/", "(", "-leader", "3", "-or", "!", "-fenced", ")"], None, None)]),
        ("ls user(<default>)>out", [("", ["ls", "user(<default>)"], None, Redirect("out", False, 18))]),
        ("ls --where 'a > 5' > out", [("", ["ls", "--where", "a > 5"], None, Redirect("out", False, 19))]),
    ],
)
def test_a_line_is_steps_with_words_and_where_the_answer_goes(line: str, steps: list[object]) -> None:
    assert shapes(line) == steps


@pytest.mark.parametrize(
    ("line", "index", "words"),
    [
        ("ls 'a b", 3, "unclosed quote"),
        ("ls a'b", 4, "unclosed quote"),
        ("ls \\", 3, "nothing follows the backslash"),
        ("ls |", 3, "a command of the system is missing"),
        ("ls | # x", 3, "a command of the system is missing"),
        ("ls | ; pwd", 3, "a command of the system is missing"),
        ("| wc", 0, "a command is missing before |"),
        ("; ls", 0, "a command is missing before ;"),
        ("ls ;; pwd", 4, "a command is missing before ;"),
        ("ls &&", 3, "a command is missing after &&"),
        ("ls && # x", 3, "a command is missing after &&"),
        ("ls >", 3, "a file name is missing after >"),
        ("ls >> ; pwd", 3, "a file name is missing after >>"),
        ("ls > | wc", 3, "a file name is missing"),
        ("> out", 0, "a command is missing before >"),
        ("ls > a > b", 7, "an answer can go to one file only"),
        ("ls > a | wc", 7, "either to a file or into a pipe"),
        ("ls || pwd", 3, "|| is not supported"),
        ("ls |& wc", 3, "errors go to the terminal"),
        ("ls 2>&1", 3, "errors go to the terminal; redirect kafka-shell itself"),
        ("ls 2> x", 3, "errors go to the terminal"),
        ("ls >& x", 3, "errors go to the terminal"),
        ("ls &> x", 3, "errors go to the terminal"),
        ("ls & pwd", 3, "commands cannot run in the background"),
        ("ls | wc &", 8, "cannot run in the background"),
        ("ls < x", 3, "commands read no standard input"),
        ("ls | cat << END", 9, "<< needs lines"),
        ("ls | (cat; wc", 5, ") is missing"),
        ("ls | cat 'x", 9, "' is missing"),
        ("ls | echo $(date", 10, ") is missing"),
        ("ls | while read x; do echo $x", 5, "done is missing"),
        ("ls | cat )", 9, "nothing is open"),
        ("ls --where partitions > 50", 22, "quote the expression"),
        ("ls --where=partitions>50", 21, "quote the expression"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(line: str, index: int, words: str) -> None:
    with pytest.raises(LineError, match=r".") as caught:
        parse_line(line)
    assert words in str(caught.value)
    assert caught.value.index == index
    text, caret = caught.value.excerpt
    assert caret.index("^") == index
    assert text == line


SHELL_TEXTS = (
    "cat",
    "grep -v ';' | sort",
    'grep "a;b" > /dev/null',
    "sed 's/;/\\;/'",
    "cat; echo no",
    "cat && echo no",
    "cat || echo yes; echo no",
    "grep a\\;b; echo no",
    "echo $(ls; ls) x; echo no",
    "echo `ls; ls`; echo no",
    "(cat; echo yes); echo no",
    "{ cat; echo yes; }; echo no",
    "{ cat; echo yes; } > /dev/null && echo no",
    "echo { ; echo no",
    "while read x; do echo $x; done; echo no",
    "while read -r x; do case $x in (a) echo a;; b|c) echo b;; esac; done; echo no",
    "for x in 1 2; do echo $x; done; echo no",
    "if grep -q a; then echo a; else echo b; fi; echo no",
    "until false; do break; done; echo no",
    "echo done; echo no",
    "echo while; echo no",
    "awk '{print $1; print $2}'; echo no",
    'awk "{print \\$1; print 2}"; echo no',
    "echo ${x:-a;b}; echo no",
    'echo "$(ls; echo ")")"; echo no',
    "echo $((1 + 2)); echo no",
    "cat # a; b && c",
    "echo a#b; echo no",
    "cat 2>&1; echo no",
    "A=1 cat; echo no",
    "! grep -q x; echo no",
    "cat <&0; echo no",
)


@pytest.mark.parametrize("text", SHELL_TEXTS)
def test_a_pipe_ends_where_the_systems_own_shell_sees_the_next_command(text: str) -> None:
    def is_read(part: str) -> bool:
        return subprocess.run(["/bin/sh", "-n", "-c", part], capture_output=True, check=False).returncode == 0

    step, *rest = parse_line(f"ls | {text}").steps
    assert step.pipe is not None
    assert is_read(step.pipe)
    after = text[text.index(step.pipe) + len(step.pipe) :]
    assert bool(rest) == ("echo no" in text) == bool(after)
    assert "echo no" not in step.pipe
    # Each shorter part that ends at a ; or && is no command, or else that would have been the end.
    for at in range(1, len(step.pipe)):
        if step.pipe.startswith((";", "&&"), at):
            assert not is_read(step.pipe[:at]) or step.pipe[:at].count("#") or step.pipe[at - 1] in "\\;", step.pipe[:at]


@given(st.text(st.characters(exclude_characters="\n\r", exclude_categories=("Cs",)), min_size=1))
def test_a_quoted_name_is_one_word_whatever_it_holds(name: str) -> None:
    [step] = parse_line(f"cat {quote_word(name)} end").steps
    assert step.words == ["cat", name, "end"]
    [alone] = parse_line(quote_word(name)).steps
    assert alone.words == [name]


@given(st.text(alphabet="ls '\"\\;&|<>#$(){}`\nwhile do e"))
def test_no_line_is_more_than_refused(line: str) -> None:
    try:
        parse_line(line)
    except LineError as error:
        assert 0 <= error.index <= len(line)
    unfinished(line)


@pytest.mark.parametrize(
    ("line", "place", "words", "current", "start", "step_start"),
    [
        ("ls /im", WORDS, ["ls"], "/im", 3, 0),
        ("ls ", WORDS, ["ls"], "", 3, 0),
        ("ls; cat a\\ b", WORDS, ["cat"], "a b", 8, 3),
        ("ls | wc && cat /", WORDS, ["cat"], "/", 15, 10),
        ("ls > ou", FILE, ["ls"], "ou", 5, 0),
        ("ls > out /", WORDS, ["ls"], "/", 9, 0),
        ("ls >", FILE, ["ls"], "", 4, 0),
        ("ls | gre", PIPE, ["ls"], "", 4, 0),
        ("pwd; ls | while read", PIPE, ["ls"], "", 9, 4),
        ("ls # x", COMMENT, ["ls"], "", 6, 0),
        ("cat 'a b", WORDS, ["cat"], "a b", 4, 0),
        ("ls || x", COMMENT, ["ls"], "", 7, 0),
    ],
)
def test_what_is_being_typed_is_known(line: str, place: str, words: list[str], current: str, start: int, step_start: int) -> None:
    found = unfinished(line)
    assert (found.place, found.words, found.current, found.start, found.step_start) == (place, words, current, start, step_start)
