"""Patterns of one component, and their expansion over a tree."""

from __future__ import annotations

import pytest

from metashell.shell.paths import BrokenChildError, absolute_components, compile_kafka_component, expand_kafka
from tests.shell.fake_nodes import TREE, FakeDirectory


def matches(glob: str, name: str) -> bool:
    pattern = compile_kafka_component(glob)
    return name == glob if pattern is None else pattern.fullmatch(name) is not None


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("o*", ["o", "orders"], ["", "xo", "a/o"]),
        ("?", ["a", "é", "😀"], ["", "ab"]),
        ("*.*", ["a.b", "."], ["ab"]),
        ("{a,b}", ["a", "b"], ["", "ab", "c", "{a,b}"]),
        ("{a,}x", ["ax", "x"], ["bx"]),
        ("{a*,?b}", ["a", "axx", "cb"], ["b"]),
        ("{a\\,b}", ["a,b"], ["a", "b"]),
        ("a}*", ["a}", "a}b"], ["a"]),
        ("a,*", ["a,", "a,b"], ["a"]),
        ("\\**", ["*", "*a"], ["a", "\\*"]),
        ("[ab]*", ["[ab]", "[ab]c"], ["a", "b"]),
        ("a+(b)|^$.*", ["a+(b)|^$."], ["aab"]),
        ("\\d*", ["d", "dx"], ["1"]),
    ],
)
def test_a_pattern_matches_what_kafkas_shell_matches(glob, yes, no):
    assert compile_kafka_component(glob) is not None
    assert [name for name in yes if not matches(glob, name)] == []
    assert [name for name in no if matches(glob, name)] == []


@pytest.mark.parametrize("glob", ["orders", "a}", "a,b", "{a", "{a{b}}", "\\*x", "{4,5", "", "a\\"])
def test_without_wildcards_or_with_a_broken_group_a_component_is_literal_with_its_backslashes(glob):
    assert compile_kafka_component(glob) is None
    assert matches(glob, glob)


def test_a_backslash_at_the_end_quotes_the_end_mark_of_kafkas_expression():
    assert matches("a*\\", "ab$")
    assert not matches("a*\\", "ab\\")


def test_wildcards_do_not_match_javas_line_terminators():
    assert not matches("a*", "a\nb")
    assert not matches("a?b", "a\u2028b")


def found(path: str, cwd: str = "/") -> list[str]:
    return [match.path for match in expand_kafka(FakeDirectory("", TREE), absolute_components(path, cwd))]


def test_expansion_is_in_order_of_names_as_text():
    assert found("/image/brokers/*") == ["/image/brokers/1", "/image/brokers/10", "/image/brokers/2"]


def test_a_leaf_has_no_children_and_a_miss_gives_nothing():
    assert found("/local/version/*") == []
    assert found("/local/version/x") == []
    assert found("/nope/*") == []


def test_dots_are_taken_textually_and_stay_at_the_root():
    assert found("../../image/./x/../features", "/local") == ["/image/features"]
    assert found("..", "/image/features") == ["/image"]
    assert found("") == ["/"]


def test_a_literal_component_is_looked_up_and_not_listed():
    root = FakeDirectory("", {"a": "x", "b": "y"})
    assert [match.name for match in expand_kafka(root, ["b"])] == ["b"]
    assert root.asked == ["b"]


def test_a_listed_name_without_a_node_ends_the_expansion():
    with pytest.raises(BrokenChildError, match="Expected ghost to be a valid child of /"):
        list(expand_kafka(FakeDirectory("", {"ghost": None}), ["*"]))


def test_kafkas_rules_find_no_name_that_is_an_unlucky_pattern():
    root = FakeDirectory("", {"a*{c}": "x", "b": "y"})
    assert list(expand_kafka(root, ["a*{c}"])) == []
    assert list(expand_kafka(root, ["\\b"])) == []
