"""The picture in the README is what the prompt shows today, and its drawing keeps colours, places and text."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pyte

from tools.prompt_picture import BAR_HEIGHT, CELL_HEIGHT, COLORS, HALF_TYPED, MARGIN, PICTURE, PLAIN, SESSION, draw, svg

LINES_MAX = 27
TEXT = "{http://www.w3.org/2000/svg}text"


def drawn(text: str) -> list[tuple[str, str, str | None]]:
    """What the picture of a small screen says: each text, its colour and its weight; the first is the title of the window."""
    screen = pyte.Screen(30, 5)
    pyte.Stream(screen).feed(text)
    return [(node.text or "", node.get("fill", ""), node.get("class")) for node in ElementTree.fromstring(svg(screen)).iter(TEXT)]


def test_the_picture_is_fresh() -> None:
    committed = PICTURE.read_text(encoding="utf-8")
    assert draw(committed) == committed


def test_the_picture_shows_every_line_of_the_session_and_no_path_of_this_machine() -> None:
    picture = PICTURE.read_text(encoding="utf-8")
    texts = " ".join(node.text or "" for node in ElementTree.fromstring(picture).iter(TEXT))
    for line in (*SESSION, HALF_TYPED):
        assert line in texts
    assert str(Path.home()) not in picture
    assert not re.search(r"/(home|root|tmp|work)\b", picture)


def test_the_picture_is_low_enough_to_be_seen_at_a_glance() -> None:
    height = int(ElementTree.fromstring(PICTURE.read_text(encoding="utf-8")).get("height", ""))
    assert (height - BAR_HEIGHT - MARGIN) // CELL_HEIGHT <= LINES_MAX


def test_colours_and_weight_are_those_of_the_terminal() -> None:
    assert drawn("\x1b[1;34mblue\x1b[0m plain \x1b[31mred\x1b[0m \x1b[94mbright\x1b[0m \x1b[38;2;1;2;3mown")[1:] == [
        ("blue", COLORS["blue"], "b"),
        ("plain", PLAIN, None),
        ("red", COLORS["red"], None),
        ("bright", COLORS["blue"], None),
        ("own", "#010203", None),
    ]


def test_markup_in_the_text_is_escaped() -> None:
    assert [text for text, _, _ in drawn('a <b> & "c"')[1:]] == ['a <b> & "c"']


def test_a_text_begins_at_its_column() -> None:
    screen = pyte.Screen(30, 5)
    pyte.Stream(screen).feed("abc\x1b[31m   red")
    places = [float(node.get("x", "")) for node in ElementTree.fromstring(svg(screen)).iter(TEXT)][1:]
    assert round((places[1] - places[0]) / 8.4) == 6
