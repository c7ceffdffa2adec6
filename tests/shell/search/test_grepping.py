"""`grep`: what it finds is what `cat` shows, and nothing of what that hides."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common.forms import Display
from metashell.metadata.checks import PartitionSurvey
from metashell.metadata.nodes import Leaf
from metashell.metadata.nodes.topics import PartitionNode
from metashell.shell import Context, run_command
from metashell.shell.commands.grep import compile_search
from metashell.shell.words import CaretError
from tests.shell.fake_nodes import TREE, FakeDirectory
from tests.shell.search.test_finding import IMAGE, nodes
from tests.shell.search.unsound_cluster import unsound_context


def grep(*words: str, ctx: Context | None = None) -> tuple[int, list[str], str]:
    ctx = ctx or unsound_context(IMAGE)
    status = run_command(ctx, ["grep", *words])
    return status, ctx.display.out.getvalue().splitlines(), ctx.err.getvalue()


def shown_lines(path: str) -> list[str]:
    ctx = unsound_context(IMAGE)
    run_command(ctx, ["cat", path])
    return ctx.display.out.getvalue().splitlines()


EXPRESSIONS = (
    *('"leader": -1', '"partitionId": 1', '"topicId": "ZWV', '"leaderEpoch": 0', "partitionEpoch.: 1"),
    *(r"isr.*\[1, 2", "3, 4", "BwcHBwcHBw", "orders", "nope", "^{"),
)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_it_finds_the_lines_that_cat_shows(expression):
    found = grep("-E", "-r", "-n", re.escape(expression) if expression == "^{" else expression, "/image/topics")[1]
    pattern = re.compile(re.escape(expression) if expression == "^{" else expression)
    expected = []
    for path, node in nodes():
        if path.startswith("/image/topics") and isinstance(node, Leaf):
            lines = json_lines(node)
            expected += [f"{path}:{number}:{line}" for number, line in enumerate(lines, 1) if pattern.search(line)]
    assert found == expected


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_lines_that_do_not_match_are_all_the_others_and_counts_count(expression):
    words = ("-E", re.escape(expression) if expression == "^{" else expression, "/image/topics")
    with_match, without = grep("-rn", *words)[1], grep("-rnv", *words)[1]
    assert sorted(with_match + without) == sorted(grep("-rn", "-E", "", "/image/topics")[1])
    for found, invert in ((with_match, "-r"), (without, "-rv")):
        counts = Counter(line.split(":")[0] for line in found)
        assert grep(invert, "-c", *words)[1] == [f"{path}:{count}" for path, count in counts.items()]
        assert grep(invert, "-l", *words)[1] == [*counts]
        assert grep(invert, "-c", *words)[0] == (0 if found else 1)


def test_one_leaf_has_a_count_without_its_path():
    leaf = "/image/topics/byName/orders/id"
    assert grep("-c", "nope", leaf) == (1, ["0"], "")
    assert grep("-cv", "nope", leaf) == (0, ["1"], "")
    assert grep("-v", "nope", leaf)[1] == shown_lines(leaf)


def test_below_any_depth_each_line_is_found_once():
    lines = grep("-r", "leader.: 2", "/image/topics/byName")[1]
    assert lines
    assert grep("-r", "leader.: 2", "/image/topics/byName/**")[1] == lines


def json_lines(node: Leaf) -> list[str]:
    ctx = unsound_context(IMAGE)
    from metashell.shell.output import write_leaf

    write_leaf(ctx, node)
    return ctx.display.out.getvalue().splitlines()


def test_partitions_that_are_alike_are_rendered_once(monkeypatch):
    made: list[str] = []
    monkeypatch.setattr(PartitionNode, "value", lambda self, redact=True: made.append(self.name) or {"a": 1})
    asked: list[object] = []
    init = PartitionSurvey.__init__

    def counting(self, question, quick=None):
        init(self, lambda row: asked.append(row) or question(row), quick)

    monkeypatch.setattr(PartitionSurvey, "__init__", counting)
    assert grep("-r", "nope", "/image/topics") == (1, [], "")
    assert made == []
    assert 0 < len(asked) < 100  # of 243 partitions


def test_status_and_forms():
    assert grep("-l", "-r", '"leader": -1', "/image/topics/byName/orders")[1][:2] == [
        "/image/topics/byName/orders/0",
        "/image/topics/byName/orders/18",
    ]
    assert grep("orders", "/image/topics/byName/orders/name") == (0, ["orders"], "")
    assert grep("orders", "/image/topics/byName/orders/{id,name}") == (0, ["/image/topics/byName/orders/name:orders"], "")
    assert grep("orders", "/image/topics") == (1, [], "grep: /image/topics: Is a directory.\n")
    assert grep("-i", "ORDERS", "/image/topics/byName/orders/name")[0] == 0
    assert grep("ORDERS", "/image/topics/byName/orders/name") == (1, [], "")
    ctx = unsound_context(IMAGE, output="jsonl")
    (line,) = grep("-r", "1000", "/image/configs", ctx=ctx)[1]
    found = json.loads(line)
    assert (found["path"], found["line"], found["text"]) == ("/image/configs/TOPIC:orders/retention.ms", 1, "1000")


def test_a_secret_changes_nothing():
    answers = [grep("-r", guess, "/image/configs/BROKER:2") for guess in ("s3cr3t", "wrong!")]
    assert answers == [(1, [], "")] * 2
    ctx = unsound_context(IMAGE)
    ctx.redact = False
    assert grep("-r", "s3cr3t", "/image/configs", ctx=ctx)[0] == 0


def test_what_matches_is_painted_on_a_terminal_and_hostile_text_stays_escaped():
    tree = {"a": "x\x1b[31mevil"}
    root = FakeDirectory("", tree)
    out = StringIO()
    ctx = Context(root=root, image=unsound_context(IMAGE).image, display=Display(out, is_terminal=True, color=True), err=StringIO())
    assert run_command(ctx, ["grep", "-r", "evil", "/"]) == 0
    assert out.getvalue() == "\x1b[34m/a\x1b[0m:x\\x1b[31m\x1b[33mevil\x1b[0m\n"
    assert TREE


@pytest.mark.parametrize(
    ("expression", "message", "under"),
    [
        (r"a\(b", "missing ), unterminated subpattern", r"\(b"),
        ("x[ab", "unterminated character set", "[ab"),
        (r"+\{2\}x\)", "unbalanced parenthesis", r"\)"),
    ],
)
def test_a_basic_expression_that_does_not_parse_has_a_caret(expression, message, under):
    status, found, complaints = grep(expression)
    said, line, caret = complaints.splitlines()
    assert (status, found, said) == (2, [], f"grep: {message}")
    assert line[caret.index("^") :] == under


@pytest.mark.parametrize(
    ("basic", "yes", "no"),
    [
        ("a+b", ["a+b"], ["aab"]),
        (r"a\+b", ["aab"], ["a+b"]),
        ("(a|b)", ["(a|b)"], ["a"]),
        (r"^\(a\|b\)$", ["a", "b"], ["c", "ab"]),
        ("*a", ["*a"], ["a"]),
        ("a{2}", ["a{2}"], ["aa"]),
        (r"a\{2\}", ["aa"], ["a{2}"]),
        ("a^b$c", ["a^b$c"], ["ab"]),
        (r"[\]x", ["\\x"], ["x"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("[^]a]", ["b"], ["]", "a"]),
        ("[[:digit:]]x", ["1x"], ["ax"]),
        (r"\<or", ["or", "a or"], ["for"]),
        ("a.c", ["abc"], ["ac"]),
    ],
)
def test_basic_expressions_mean_what_posix_says(basic, yes, no):
    pattern = compile_search(basic, is_extended=False, ignores_case=False)
    assert [text for text in yes if not pattern.search(text)] == []
    assert [text for text in no if pattern.search(text)] == []


@given(st.text(st.sampled_from("ab[]^$*.\\+?|(){}1-:"), max_size=8))
def test_any_text_is_an_expression_or_refused_with_its_place(text):
    for is_extended in (False, True):
        try:
            compile_search(text, is_extended=is_extended, ignores_case=False)
        except CaretError as error:
            assert 0 <= error.index <= len(text)


def test_basic_expressions_find_what_grep_of_the_system_finds():
    assert shutil.which("grep")
    lines = ["a", "b", "ab", "aab", "a+b", "(a|b)", "a{2}", "*a", "a^b", "b$a", "[a]", "a.b", "]", "", "1:a"]
    expressions = ["a*b", "^a", "b$", "a+b", r"a\+b", r"\(a\|b\)\{2\}", "[^a]", "[]a]", "a.b", "^$", "*a", "a^b", "b$a"]
    expressions += [r"\.", "[[:digit:]]", "a?", r"a\?b", r"\(a\)\1"]
    expressions += [r"\A", r"\Z", r"\d", r"\n", r"\t", r"\x61", r"\w", r"\`a", r"b\'", r"\(a\)\10", r"\ba", r"\-", r"\0", r"\W"]
    for expression in expressions:
        real = subprocess.run(["grep", expression], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
        assert real.returncode in (0, 1), expression
        pattern = compile_search(expression, is_extended=False, ignores_case=False)
        assert [line for line in lines if pattern.search(line)] == real.stdout.splitlines(), expression
