"""The line at the bottom of a prompt: where what is shown comes from, how far it is certain, its faults, and how far behind it is.

It is drawn with every key, so it is made from what is known already: no file is read, no partition judged, nothing waited for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.codec.releases import NEWEST_RELEASE
from metashell.colors import BAD, DIM, HEADING, UNUSUAL
from metashell.escape import terminal_line
from metashell.forms import counted, text_width
from metashell.image.newer import is_newer

if TYPE_CHECKING:
    from metashell.image import MetadataImage
    from metashell.shell.feed import View

    Part = tuple[str, str]
    """The role of a piece of text, and the text, safe for a terminal."""

GAP: Final = "  "
_LABEL_MIN = 8
_CUT = "…"


def toolbar_parts(label: str, image: MetadataImage, view: View | None, at: int | None, width: int, mode: str = "") -> list[Part]:
    """The pieces of the line, which fit in `width` columns; `view` is that of a live source, and `mode` a word about the keys.

    What is least missed goes first where there is not room for all: the mode, the end of the label, then the whole label.
    """
    parts = [*certainty_parts(image, at), *lag_parts(view)]
    parts = [(DIM, f"offset {image.provenance.offset}"), *parts]
    if mode and _width(parts) + len(GAP + mode) + _LABEL_MIN + len(GAP) <= width:
        parts.append((DIM, mode))
    return labelled(label, parts, width)


def labelled(label: str, parts: list[Part], width: int) -> list[Part]:
    """The pieces behind a label, of which the end is shown where there is not room for all, and nothing where there is hardly any."""
    room = width - _width(parts) - len(GAP)
    shown = terminal_line(label)
    if text_width(shown) > room:
        shown = f"{_CUT}{shown[1 - room :]}" if room >= _LABEL_MIN else ""
    return _fitting([(HEADING, shown), *parts] if shown else parts, width)


def certainty_parts(image: MetadataImage, at: int | None) -> list[Part]:
    """Whether an earlier state is shown, how far it is committed, how many faults it has, and whether a newer release wrote it."""
    provenance = image.provenance
    parts = []
    if at is not None:
        parts.append((UNUSUAL, f"at {at}"))
    elif provenance.certain_to is None:
        parts.append((UNUSUAL, "may not be committed"))
    elif provenance.certain_to < provenance.end_offset:
        parts.append((UNUSUAL, f"committed to {provenance.certain_to}"))
    else:
        parts.append((DIM, "committed"))
    if image.faults:
        parts.append((BAD, counted(len(image.faults), "fault")))
    if is_newer(image):
        parts.append((UNUSUAL, f"newer than Kafka {NEWEST_RELEASE.name}"))
    return parts


def lag_parts(view: View | None) -> list[Part]:
    """How far a live source is behind, or why it is not updated."""
    if view is None:
        return []
    if view.trouble:
        return [(BAD, terminal_line(view.trouble))]
    return [(UNUSUAL if view.lag or view.lag is None else DIM, "lag ?" if view.lag is None else f"lag {view.lag}")]


def _fitting(parts: list[Part], width: int) -> list[Part]:
    """The pieces, the last ones cut where they do not fit."""
    found: list[Part] = []
    for role, text in parts:
        room = width - _width(found) - (len(GAP) if found else 0)
        if room < 1:
            break
        found.append((role, text if text_width(text) <= room else f"{text[: room - 1]}{_CUT}"))
    return found


def _width(parts: list[Part]) -> int:
    return sum(text_width(text) for _, text in parts) + len(GAP) * max(len(parts) - 1, 0)
