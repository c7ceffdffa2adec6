"""The EXAMPLES of every command's page, run on the directory that ships with the package."""

from __future__ import annotations

from io import StringIO

import pytest

from metashell.common.forms import Display
from metashell.demo import demo_directory
from metashell.disk.source import open_source
from metashell.metadata.history import Past
from metashell.metadata.history.sources import opener_of
from metashell.metadata.image import MetadataImage, load_image
from metashell.metadata.nodes import LocalInfo, build_root
from metashell.shell import Context, run_line
from metashell.shell.commands import COMMANDS, sections

PROMPT = ">> "


@pytest.fixture(scope="module")
def demo_image() -> MetadataImage:
    with open_source(demo_directory()) as source:
        return load_image(source)


def sessions(doc: str) -> list[tuple[str, str]]:
    """The lines of an EXAMPLES block with what is printed after each."""
    found: list[tuple[str, str]] = []
    for line in sections(doc)["EXAMPLES"].split("\n"):
        if line.startswith(PROMPT):
            found.append((line.removeprefix(PROMPT), ""))
        else:
            typed, output = found[-1]
            found[-1] = (typed, f"{output}{line}\n")
    return found


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_examples_of_a_page_are_what_the_command_prints(command, demo_image):
    streams = StringIO()
    root = build_root(demo_image, voice="own", local=LocalInfo(version="0", commit_id="0"))
    past = Past(opener_of(demo_directory()))
    ctx = Context(root=root, image=demo_image, display=Display(streams), err=streams, source_label="demo", past=lambda: past)
    ctx.make_root = lambda image, before: build_root(image, voice="own", local=LocalInfo(), before=before)
    for line, expected in sessions(command.doc):
        start = streams.tell()
        run_line(ctx, line)
        assert streams.getvalue()[start:] == expected, line
