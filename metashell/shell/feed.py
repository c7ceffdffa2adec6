"""What the shell needs of a source that goes on: the newest image, and each step to the next one.

The source is handed in by cli: a live quorum (`metashell.live`), or a directory as its node writes it. The shell asks for `view()` before
each command and each prompt, so that one command sees one image.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from metashell.image import MetadataImage
    from metashell.image.steps import Step


class View(Protocol):
    """How things stand; a value that never changes."""

    @property
    def image(self) -> MetadataImage: ...
    @property
    def lag(self) -> int | None:
        """Records that are committed and not yet in the image; None where nobody knows."""

    @property
    def trouble(self) -> str:
        """What keeps the image from going on, in a few words (`no leader for 14 s`); empty while all is well."""

    @property
    def details(self) -> dict[str, object]:
        """What `status` tells of it, in snake_case; empty for a directory."""


class Subscription(Protocol):
    """The steps from the image that was the newest when it was made; none is left out, though several may come as one."""

    @property
    def start(self) -> MetadataImage:
        """The image from which the first step goes on."""

    def next(self, timeout_s: float) -> Step | None:
        """The next step, None if there was none in time. Errors: MetashellError where there will never be one."""

    def close(self) -> None: ...


class Feed(Protocol):
    """A source that goes on."""

    is_live: bool
    """Whether `view` goes on by itself, so that a prompt is drawn anew now and then."""

    def view(self) -> View: ...
    def subscribe(self) -> Subscription: ...
