"""From a path to an image, its tree, and a context for commands; and what is told about faults on the way."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, Literal, NamedTuple

from metashell.cli.common import complain
from metashell.errors import MetashellError, UsageError

if TYPE_CHECKING:
    from metashell.image import MetadataImage
    from metashell.nodes import Node
    from metashell.shell.context import Context

KAFKA_VERSION = "4.3.1"
KAFKA_COMMIT_ID = "26b251a451ce941d"
"""The release whose voice Kafka's names speak, and the commit that its shell shows in /local."""


class Loaded(NamedTuple):
    """An image and where it is from."""

    path: str
    kind: str
    image: MetadataImage


def load(path: str, *, certain_only: bool, max_decompressed: int) -> Loaded:
    """The image that a file or directory describes.

    Errors: MetashellError for a path that cannot be opened.
    """
    from metashell.image import load_image
    from metashell.log.source import open_source

    try:
        source = open_source(path)
    except UsageError as error:
        # A path that is not there is a failure, not a wrong command line.
        raise MetashellError(str(error)) from None
    with source:
        # From here on memory must not grow with what commands do; the image itself the loader hides from the collector.
        gc.enable()
        image = load_image(source, certain_only=certain_only, max_decompressed=max_decompressed)
        return Loaded(path=path, kind=source.kind, image=image)


def tell_faults(name: str, loaded: Loaded, *, verbose: bool) -> None:
    """Tell on stderr in one line how many faults there are and which is the first; with `verbose` all, and torn tails."""
    provenance = loaded.image.provenance
    if verbose:
        certain = provenance.certain_to
        reach = "none of it certain" if certain is None else f"certain to offset {certain}"
        complain(name, f"{loaded.path}: {loaded.kind}, {reach}, end offset {provenance.end_offset}")
        for fault in (*loaded.image.faults, *loaded.image.torn_tails):
            complain(name, str(fault))
    elif faults := loaded.image.faults:
        notes = [f"1 of {len(faults)} faults; -v tells all"] if len(faults) > 1 else []
        if starts_late(loaded):
            notes.append("a later segment lacks what came before it: open its directory instead")
        complain(name, f"{faults[0]} ({'; '.join(notes)})" if notes else str(faults[0]))


def starts_late(loaded: Loaded) -> bool:
    """Whether this is a single segment that does not begin the log."""
    digits = os.path.basename(loaded.path).split(".")[0]
    return loaded.kind == "segment" and digits.isascii() and digits.isdigit() and int(digits) > 0


def make_context(
    loaded: Loaded,
    *,
    voice: Literal["own", "kafka"],
    output: str,
    redact: bool = True,
    no_color: bool = False,
    label: str = "",
    width: bool = True,
) -> Context:
    """A context for commands, which write to the standard streams as these are: a terminal or not."""
    from metashell import __version__
    from metashell.nodes import LocalInfo, build_root
    from metashell.shell.context import Context

    ours = LocalInfo(version=__version__)
    local = ours if voice == "own" else LocalInfo(version=KAFKA_VERSION, commit_id=KAFKA_COMMIT_ID)
    terminal = sys.stdout.isatty()

    def make_root(image: MetadataImage, before: Node) -> Node:
        return build_root(image, voice=voice, local=local, before=before)

    return Context(
        root=build_root(loaded.image, voice=voice, local=local),
        image=loaded.image,
        out=sys.stdout,
        err=sys.stderr,
        voice=voice,
        output=output,
        source_label=label or loaded.path,
        color=terminal and not no_color and may_color(),
        width=terminal_width() if terminal and width else None,
        terminal=terminal,
        redact=redact,
        make_root=make_root,
    )


def may_color() -> bool:
    """Whether the environment lets us colour: no NO_COLOR, and a terminal that can."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def terminal_width() -> int:
    """The columns of the terminal, 80 where nobody knows."""
    from shutil import get_terminal_size

    return get_terminal_size((80, 24)).columns
