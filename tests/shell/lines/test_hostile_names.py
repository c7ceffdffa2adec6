"""Names from the metadata that would be commands if anything took them for part of a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.shell.completion import complete
from metashell.shell.grammar import expand_recall, parse_line
from metashell.shell.runner import run_typed
from tests.shell.fake_nodes import complaints, fake_context, printed

NAMES = (
    "$(touch x1)",
    "`touch x2`",
    ";touch x3",
    "|touch x4",
    "&& touch x5",
    ">x6",
    ">>x7",
    "#x8",
    "!!",
    "!touch x9",
    "a|sh",
    "a;b",
    "a && b",
    "q'q",
    'q"q',
    "back\\slash",
    "blank blank",
    "<default>",
    "(x)",
    "[ab]",
    "*",
    "$HOME",
    "~",
    "a\u2028touch x\x85b",
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_a_completed_name_is_one_word_of_one_step_and_names_what_it_should(name: str, folder: Path) -> None:
    ctx = fake_context({"image": {"groups": {name: {"leaf": f"value of {name}"}}}})
    [candidate] = complete(ctx, "cat /image/groups/")
    line = "cat /image/groups/"[: candidate.start] + candidate.text + "leaf"
    [step] = parse_line(line).steps
    assert len(step.words) == 2
    assert (step.pipe, step.redirect) == (None, None)
    # Again by !!, in a pipe, and as a hint for a word that is nearly it.
    for typed in (line, expand_recall("!!", [line]), f"{line} ; pwd"):
        assert run_typed(ctx, typed, lambda kept: None) == 0, complaints(ctx)
        assert printed(ctx).startswith(f"value of {name}\n")
    assert list(folder.iterdir()) == []


def test_a_name_with_a_line_end_is_not_offered() -> None:
    ctx = fake_context({"image": {"groups": {"a\nb": {}, "plain": {}}}})
    assert ["plain" in candidate.text for candidate in complete(ctx, "ls /image/groups/")] == [True]
