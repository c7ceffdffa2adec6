"""What the nodes of one tree share: the image, the voice's names, and lists that are sorted once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from metashell.nodes.names import KAFKA_NAMES, OWN_NAMES, NameStyle, sorted_names
from metashell.values import uuid_text

if TYPE_CHECKING:
    from metashell.image import MetadataImage

Voice = Literal["own", "kafka"]


class LocalInfo(NamedTuple):
    """What /local shows: the version of this software and the commit it was made from."""

    version: str = "unknown"
    commit_id: str = "unknown"


class Tree:
    """One image in one voice; an image never changes, so sorted names stay valid."""

    __slots__ = ("_topic_ids", "_topic_names", "image", "is_own", "local", "names")

    def __init__(self, image: MetadataImage, voice: Voice, local: LocalInfo, before: Tree | None = None) -> None:
        """The sorted names of `before`, a tree of the same voice, are kept if its image has the same topics."""
        self.image = image
        self.local = local
        self.is_own = voice == "own"
        self.names: NameStyle = OWN_NAMES if self.is_own else KAFKA_NAMES
        self._topic_names: list[str] | None = None
        self._topic_ids: list[str] | None = None
        if before is not None and before.image.topics is image.topics:
            self._topic_names, self._topic_ids = before._topic_names, before._topic_ids

    def topic_names(self) -> list[str]:
        """The components of all topics' names, sorted at the first call."""
        if self._topic_names is None:
            self._topic_names = sorted_names(map(self.names.show, self.image.topics.by_name))
        return self._topic_names

    def topic_ids(self) -> list[str]:
        """The texts of all topics' ids, sorted at the first call."""
        if self._topic_ids is None:
            self._topic_ids = sorted_names(map(uuid_text, self.image.topics.by_id))
        return self._topic_ids
