"""The path that was probably meant."""

from __future__ import annotations

import pytest

from metashell.shell import run_line
from metashell.shell.words import nearest_name
from tests.shell.fake_nodes import complaints, fake_context


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("ls /image/topcs", "/image/topics"),
        ("cat /image/topics/byName/order/name", "/image/topics/byName/orders/name"),
        ("cat /image/topics/byname/orders/nope", "/image/topics/byName"),
        ("cat /image/topics/orders/name", "/image/topics/byName/orders/name"),
        ("cd /imgae/topics", "/image/topics"),
        ("cat '/image/topics/byName/a  b/0'", r"/image/topics/byName/a\ b/0"),
        ("cat /image/features/metadataversion", "/image/features/metadataVersion"),
    ],
)
def test_a_path_like_one_that_is_there_is_a_hint(line: str, hint: str) -> None:
    ctx = fake_context()
    assert run_line(ctx, line) == 1
    assert complaints(ctx).endswith(f": No such file or directory (did you mean {hint}?)\n")


@pytest.mark.parametrize("line", ["ls /nothing/like/it", "ls /image/topcs*", "cat /image/features/metadataVersion/x"])
def test_where_nothing_is_near_nothing_is_said(line: str) -> None:
    ctx = fake_context()
    run_line(ctx, line)
    assert "did you mean" not in complaints(ctx)


def test_kafkas_shell_has_no_hints() -> None:
    ctx = fake_context(voice="kafka")
    run_line(ctx, "ls /image/topcs")
    assert "did you mean" not in ctx.out.getvalue()  # type: ignore[attr-defined]


def test_a_hint_can_be_typed_and_runs_nothing() -> None:
    ctx = fake_context({"image": {"$(touch x); ls|sh": {"name": "found"}}})
    assert run_line(ctx, "cat '/image/$(touch y); ls|sh/name'") == 1
    said = complaints(ctx)
    hint = said[said.index("(did you mean ") + len("(did you mean ") :].removesuffix("?)\n")
    assert run_line(ctx, f"cat {hint}") == 0
    assert ctx.out.getvalue() == "found\n"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("word", "near"),
    [("topic-01234", "topic-01234"), ("topc-01234", "topic-01234"), ("TOPIC-01234", "topic-01234"), ("topic-0123x", "topic-01230")],
)
def test_among_many_names_the_nearest_is_found_by_its_ends(word: str, near: str) -> None:
    names = [f"topic-{number:05d}" for number in range(5000)]
    assert nearest_name(word, names) == near
    assert nearest_name("something-else", names) is None
