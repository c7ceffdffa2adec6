"""The line at the bottom of the prompt: what it says, and what it does without."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from metashell.common.forms import text_width
from metashell.metadata.image import Fault, FeaturesImage
from metashell.shell.terminal.parts import toolbar_parts
from metashell.shell.terminal.prompt import is_safe_to_suggest, prompt_text
from tests.shell.fake_nodes import fake_context


class OnlyWhatIsKnown:
    """An image and a feed's view of which nothing may be read but what costs nothing."""

    def __init__(self, **known: Any) -> None:
        self._known = known

    def __getattr__(self, name: str) -> Any:
        if name not in self._known:
            raise AssertionError(f"{name} was read")
        return self._known[name]


def image(certain_to: int | None = 252, faults: int = 0, newer: str = "") -> Any:
    provenance = SimpleNamespace(offset=251, end_offset=252, certain_to=certain_to)
    fault = Fault("a.log", 7, 0, "", "odd", newer)
    return OnlyWhatIsKnown(provenance=provenance, faults=(fault,) * faults, unread=(), features=FeaturesImage())


def view(lag: int | None = 0, trouble: str = "") -> Any:
    return OnlyWhatIsKnown(lag=lag, trouble=trouble)


def line(*args: Any, width: int = 80, at: int | None = None, mode: str = "") -> str:
    label, shown, seen = (*args, None, None)[:3]
    return "  ".join(text for _, text in toolbar_parts(label, shown, seen, at, width, mode))


def test_it_says_source_offset_certainty_faults_and_lag() -> None:
    assert line("demo", image()) == "demo  offset 251  committed"
    assert line("demo", image(certain_to=100)) == "demo  offset 251  committed to 100"
    assert line("demo", image(certain_to=None, faults=2)) == "demo  offset 251  may not be committed  2 faults"
    assert line("demo", image(faults=1, newer="record type 63")) == "demo  offset 251  committed  1 fault  newer than Kafka 4.4"
    assert line("demo", image(), at=252) == "demo  offset 251  at 252"
    assert line("b1:9093", image(), view()) == "b1:9093  offset 251  committed  lag 0"
    assert line("b1:9093", image(), view(lag=None)) == "b1:9093  offset 251  committed  lag ?"
    assert (
        line("b1:9093", image(faults=1), view(trouble="no leader for 14 s"))
        == "b1:9093  offset 251  committed  1 fault  no leader for 14 s"
    )
    assert line("demo", image(), mode="vi insert") == "demo  offset 251  committed  vi insert"


def test_what_is_bad_or_unusual_has_its_colour() -> None:
    parts = {text: role for role, text in toolbar_parts("demo", image(certain_to=100, faults=1), view(lag=7), None, 80)}
    assert parts == {"demo": "heading", "offset 251": "dim", "committed to 100": "unusual", "1 fault": "bad", "lag 7": "unusual"}


@pytest.mark.parametrize("width", range(1, 90))
def test_it_fits_however_narrow_the_terminal_is(width: int) -> None:
    shown = line(
        "/var/lib/kafka/データ/__cluster_metadata-0", image(100, 3), view(trouble="refused: no right"), width=width, mode="vi normal"
    )
    assert 0 < text_width(shown) <= width
    if width >= len("offset 251"):
        assert "offset 251" in shown


def test_the_end_of_a_long_source_is_what_tells_it_from_others() -> None:
    assert line("/var/lib/kafka/a/__cluster_metadata-0", image(), width=42) == "…cluster_metadata-0  offset 251  committed"


def test_hostile_text_is_escaped() -> None:
    shown = line("a\x1b[31mb", image(), view(trouble="c\x1b]0;x\x07\u202e"))
    assert not set(shown) & {"\x1b", "\x07", "\u202e"}


def test_with_the_line_the_prompt_keeps_what_one_must_know_while_typing() -> None:
    assert prompt_text(fake_context(), has_bar=True) == "demo /> "
    assert prompt_text(fake_context(at=17, administrator=object(), cwd="/image"), has_bar=True) == "demo (at 17) changes on /image> "


def test_without_room_for_it_the_prompt_says_all_and_begins_a_line() -> None:
    assert prompt_text(fake_context(cwd="/image"), width=20) == "demo@119\n(committed to 100)\n/image> "
    assert prompt_text(fake_context(source_label="x" * 50), width=20).split("\n")[0] == "..." + "x" * 15 + "…"


@pytest.mark.parametrize(
    ("text", "is_safe"),
    [
        ("ls -y", True),
        ("delete /x", True),
        ("delete /x -y", False),
        ("pwd; delete -ny /x", False),
        ("set --yes /x a=b", False),
        ("time delete -y /x", False),
        ("gone -y /x", False),
        ("ls 'open", False),
    ],
)
def test_a_line_that_changes_the_cluster_without_asking_is_never_suggested(text: str, is_safe: bool) -> None:
    assert is_safe_to_suggest(text, {"gone": "delete"}) is is_safe
