"""Our own patterns: Kafka's, classes of characters and `**`."""

from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common.errors import UsageError
from metashell.metadata.nodes import name_escape
from metashell.shell.paths import (
    absolute_components,
    compile_component,
    compile_kafka_component,
    expand_path,
    fits,
    has_wildcards,
    quote_glob,
    refuse_deep,
)
from tests.shell.fake_nodes import TREE, FakeDirectory


def named(content: object, path: str) -> list[str]:
    return [match.path for match in expand_path(FakeDirectory("", content), absolute_components(path, "/"))]


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("[ab]", ["a", "b"], ["", "c", "ab", "[ab"]),
        ("[a-o]*", ["a", "orders", "m1"], ["p", "", "A", "-x"]),
        ("[!a-o]*", ["p", "A"], ["a", "o", ""]),
        ("[^a]", ["b", "^"], ["a"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("[!]a]", ["b"], ["]", "a"]),
        ("[a-]", ["a", "-"], ["b"]),
        ("[\\]\\-]", ["]", "-"], ["\\"]),
        ("[*?]x", ["*x", "?x"], ["ax"]),
        ("[a&&b]", ["a", "&", "b"], ["c"]),
        ("{[ab],c}d", ["ad", "bd", "cd"], ["dd"]),
        ("[é-ü]", ["ñ"], ["e"]),
    ],
)
def test_a_class_is_one_of_its_characters(glob, yes, no):
    assert [name for name in yes if not fits(glob, name)] == []
    assert [name for name in no if fits(glob, name)] == []


@pytest.mark.parametrize("glob", ["[", "[]", "[a", "a]", "[!]", "[z-a]", "[\\]"])
def test_what_no_bracket_closes_is_no_class(glob):
    assert compile_component(glob) is None
    assert named({glob.replace("\\", ""): "x"}, f"/{glob}")


@given(st.text(st.sampled_from("ab?*[]!-{},\\/x")))
def test_without_brackets_a_pattern_means_what_kafka_means(text):
    component = text.replace("[", "")
    ours, kafkas = compile_component(component), compile_kafka_component(component)
    assert (ours and ours.pattern) == (kafkas and kafkas.pattern)


@given(st.text(st.sampled_from("ab-c"), min_size=1, max_size=4), st.text(st.sampled_from("abc-"), min_size=1, max_size=2))
def test_classes_are_those_of_other_shells(content, name):
    glob = f"[{content}]"
    if compile_component(glob) is not None:
        assert fits(glob, name) == fnmatch.fnmatchcase(name, glob)


def test_a_name_that_is_there_wins_over_a_class():
    content = {"a[b]": "x", "ab": "y", "[a]*": "z", "[a]b": "w"}
    assert named(content, "/a[b]") == ["/a[b]"]
    assert named(content, "/[a]*") == ["/[a]*", "/[a]b"]
    assert named({"ab": "y"}, "/a[b]") == ["/ab"]
    assert named({"ab": "y", "a": "x"}, "/[a]*") == ["/a", "/ab"]


def test_any_depth():
    assert named(TREE, "/**/version") == ["/local/version"]
    assert named(TREE, "/image/**/orders/0") == ["/image/topics/byName/orders/0"]
    assert named(TREE, "/image/topics/**/name") == [f"/image/topics/byName/{topic}/name" for topic in ("a b", "orders", "other")]
    assert named(TREE, "/local/**") == ["/local", "/local/version"]
    assert named(TREE, "/local/**/**") == ["/local", "/local/version"]
    assert named(TREE, "/local/version/**") == []
    assert named(TREE, "/**/local/**/version") == ["/local/version"]


def test_what_two_ways_lead_to_is_named_once():
    nested = {"a": {"a": {"a": {"b": "x"}}}}
    assert named(nested, "/**/a/**/b") == ["/a/a/a/b"]


@pytest.mark.parametrize(
    ("path", "whether"), [("/image/*/x", True), ("/image/{a/x", False), ("/[ab]/x", True), ("/**", True), ("/a**", True)]
)
def test_wildcards_are_seen_in_any_component(path, whether):
    assert has_wildcards(path) is whether


def test_where_one_thing_is_meant_any_depth_is_refused():
    with pytest.raises(UsageError, match=r"^/\*\*/orders: \*\* is for commands that list or print$"):
        refuse_deep("/**/orders")
    refuse_deep("/image/*/a**")


def test_a_pattern_that_finds_nothing_is_the_name_that_it_spells():
    assert named({"a*{c}": "x", "b": "y"}, "/a*{c}") == ["/a*{c}"]
    assert named({"a*{c}": "x", "b": "y"}, "/\\b") == ["/b"]


ODD_NAMES = st.text(st.sampled_from("ab?*\\{},/%. \n'\"[]!-") | st.characters(), max_size=8).map(name_escape)


@given(st.sets(ODD_NAMES | st.sampled_from(["**", "[a]", "\\[a\\]", "*", "\\*"]), min_size=1, max_size=6))
def test_every_name_can_be_typed_whatever_is_beside_it(names):
    root = FakeDirectory("", dict.fromkeys(names, "x"))
    for name in names:
        path = absolute_components("/" + quote_glob(name), "/")
        assert [match.name for match in expand_path(root, path)] == [name]
