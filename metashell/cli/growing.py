"""A directory as the shell's feed; what it costs is imported when somebody follows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metashell.cli.growth import Growth
    from metashell.image import MetadataImage


class StillView:
    """The image as it was last shown."""

    lag: int | None = None
    trouble = ""

    def __init__(self, image: MetadataImage) -> None:
        self.image = image

    @property
    def details(self) -> dict[str, object]:
        return {}


class GrowingDirectory:
    """The feed of a directory: its view goes on only while somebody follows."""

    is_live = False

    def __init__(self, path: str, image: MetadataImage, max_decompressed: int) -> None:
        self.path = path
        self.image = image
        self.max_decompressed = max_decompressed

    def view(self) -> StillView:
        return StillView(self.image)

    def subscribe(self) -> Growth:
        """The steps from the image that was last shown."""
        from metashell.cli.growth import Growth

        return Growth(self)
