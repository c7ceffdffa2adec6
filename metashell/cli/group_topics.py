"""Names of the topics that records of groups give by id."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metashell.cli.administering import Work
    from metashell.groups.topics import Topic, Topics


class NamedTopics:
    """Topics as the log directories around the logs of groups know them, which are looked at when somebody first asks for a name.

    Each partition's directory says its topic's name and id; for topics without one there is the metadata. Metadata that was named goes
    before both.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._beside: Topics | None = None
        self._metadata: Topics | None = None

    @property
    def version(self) -> int:
        return 0

    def named(self, name: str) -> Topic | None:
        return next((found for topics in self._views() if (found := topics.named(name)) is not None), None)

    def with_id(self, id: bytes) -> Topic | None:
        return next((found for topics in self._views() if (found := topics.with_id(id)) is not None), None)

    def names(self) -> Iterator[str]:
        yield from dict.fromkeys(name for topics in self._views() for name in topics.names())

    def _views(self) -> Iterator[Topics]:
        if self._work.values.metadata is None:
            if self._beside is None:
                self._beside = self._read_beside()
            yield self._beside
        if self._metadata is None:
            self._metadata = self._read_metadata()
        yield self._metadata

    def _read_beside(self) -> Topics:
        from metashell.groups.topics import KnownTopics, Topic
        from metashell.offsets_log.beside import topic_names

        return KnownTopics(Topic(id, name, ()) for id, name in topic_names(self._work.values.paths).items())

    def _read_metadata(self) -> Topics:
        """The first metadata that can be read. Errors: MetashellError for metadata that was named and cannot be."""
        from metashell.errors import MetashellError
        from metashell.groups.topics import KnownTopics
        from metashell.offsets_log.beside import metadata_directories

        values = self._work.values
        if values.metadata is not None:
            return self._of(values.metadata)
        for path in metadata_directories(values.paths):
            try:
                return self._of(path)
            except MetashellError as error:
                self._work.note_once(f"names of topics are not taken from there: {error}")
        return KnownTopics()

    def _of(self, path: str) -> Topics:
        from metashell.cli.loading import load
        from metashell.groups.topics import KnownTopics, Topic

        image = load(path, certain_only=False, max_decompressed=self._work.values.max_decompressed).image
        return KnownTopics(Topic(topic.id, topic.name, ((),) * topic.partition_count) for topic in image.topics)
