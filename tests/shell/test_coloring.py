"""What is bad is red, what is unusual yellow, and nothing is coloured where nobody wants it.

The checkpoint of the demonstration was written while a broker was fenced: the ISRs of its partitions have shrunk.
"""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pytest

from metashell.common.forms import Display
from metashell.demo import demo_directory
from metashell.disk.source import open_source
from metashell.metadata.history import Past
from metashell.metadata.history.sources import opener_of
from metashell.metadata.image import load_image
from metashell.metadata.nodes import LocalInfo, Node, build_root
from metashell.shell import Context, run_line
from tests.quick import quick
from tests.shell.fake_nodes import fake_context, printed
from tests.shell.terminal import Screen

COLORS = {"31": "bad", "33": "unusual", "32": "good"}


def run(line: str, *, color: bool = True) -> str:
    out = StringIO()
    with open_source(demo_directory()) as source:
        image = load_image(source, certain_only=True)

    def root(of: object, before: Node | None = None) -> Node:
        return build_root(of, voice="own", local=LocalInfo(version="0", commit_id="0"))  # type: ignore[arg-type]

    display = Display(out, color=color, is_terminal=True, width=200)
    ctx = Context(root=root(image), image=image, display=display, err=StringIO(), source_label="demo", make_root=root)
    ctx.past = lambda: Past(opener_of(demo_directory()))
    run_line(ctx, line)
    return out.getvalue()


def painted(text: str) -> set[tuple[str, str]]:
    """Each text in red, yellow or green, with what that means."""
    return {(COLORS[sgr], words.strip()) for sgr, words in re.findall(r"\x1b\[(3[123])m([^\x1b]*)\x1b\[0m", text)}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("ls -l /image/cluster/brokers", {("bad", "state=fenced")}),
        ("ls -l /image/topics/byName/orders", {("bad", "state=under_replicated"), ("bad", "isr=4")}),
        ("ls -l /image/topics/byName", {("bad", "under_replicated=2"), ("unusual", "reassigning=1")}),
        ("cat /image/cluster/brokers/5", {("bad", '"fenced": true,')}),
        ("cat /image/topics/byName/orders/0", {("bad", '"isr": [4],')}),
        ("tree /image/cluster/brokers", {("bad", '"fenced": true')}),
        ("tree /image/topics/byName/orders", {("bad", '"isr": [4]')}),
        ("status", {("bad", "1 fenced"), ("unusual", "1 reassigning")}),
        ("health", {("bad", "bad"), ("unusual", "unusual")}),
        ("diff 100 end", {("good", "created"), ("bad", "2"), ("good", "1")}),
        ("log -p -n 1", {("bad", "- partitionEpoch: 0"), ("good", "+ partitionEpoch: 1")}),
    ],
)
def test_what_health_says_is_seen_wherever_it_shows(line: str, found: set[tuple[str, str]]) -> None:
    text = run(line)
    assert painted(text) >= found, painted(text)
    plain = run(line, color=False)
    assert "\x1b" not in plain
    # Colours change nothing else.
    assert re.sub(r"\x1b\[[0-9;]*m", "", text) == plain


def test_what_is_sound_has_no_colour() -> None:
    assert painted(run("ls -l /image/cluster/brokers")) == {("bad", "state=fenced"), ("bad", "fenced_since=2026-11-21T00:23:49.403Z")}
    shrunk = {("bad", "state=under_replicated"), ("bad", "isr=4"), ("bad", "isr=6")}
    assert painted(run("ls -l /image/topics/byName/orders")) == shrunk | {("unusual", "leader=6")}


def test_a_name_brings_no_colours_of_its_own() -> None:
    hostile = "a\x1b[31mb\x1b[0mc"
    for line in ("ls /image", "ls -l /image", "tree /image", "find /image", "cat /image/*/*"):
        ctx = fake_context({"image": {hostile: {hostile: {"x": "v"}, "leaf": hostile}}}, color=True, terminal=True, width=80)
        run_line(ctx, line)
        shown = printed(ctx)
        assert "\\x1b[31m" in shown
        assert "\x1b[31m" not in shown


@pytest.mark.parametrize(("words", "env"), quick([((), {}), ((), {"NO_COLOR": "1"}), ((), {"TERM": "dumb"}), (("--no-color",), {})]))
def test_who_wants_no_colours_gets_none(tmp_path: Path, words: tuple[str, ...], env: dict[str, str]) -> None:
    with Screen.shell("--demo", "--certain-only", *words, home=tmp_path, env=env) as screen:
        shown = screen.run("health fenced; ls -l /image/cluster/brokers/5")
        assert "bad" in "".join(shown)
        colors = {screen.color_of("bad      fenced"), screen.color_of("state=fenced")}
        assert colors == ({"default"} if words or env else {"red"})
        assert screen.leave() == 0
