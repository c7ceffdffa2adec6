"""What the shell needs from a source that changes: the newest image, and each step to the next one.

cli hands the source in: a live quorum (`metashell.live`), or a directory that its node is writing. The shell calls `view()` before
each command and each prompt, so that one command sees one image.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from metashell.image import MetadataImage
    from metashell.image.steps import Step


class View(Protocol):
    """The state of a source at one moment; it never changes."""

    @property
    def image(self) -> MetadataImage: ...
    @property
    def lag(self) -> int | None:
        """Committed records that are not yet in the image; None if unknown."""

    @property
    def trouble(self) -> str:
        """Why the image is not updated, in a few words (`no leader for 14 s`); empty while all is well."""

    @property
    def details(self) -> dict[str, object]:
        """Facts about the source that `status` shows, in snake_case; empty for a directory."""


class Subscription(Protocol):
    """The steps from the image that was newest when it was made; none is missing, but several may come as one."""

    @property
    def start(self) -> MetadataImage:
        """The image before the first step."""

    def next(self, timeout_s: float) -> Step | None:
        """The next step, None if there was none in time. Errors: MetashellError if there can be no more."""

    def close(self) -> None: ...


class Feed(Protocol):
    """A source that changes."""

    is_live: bool
    """Whether `view` changes by itself, so that the prompt is redrawn regularly."""

    def view(self) -> View: ...
    def subscribe(self) -> Subscription: ...
