"""A directory that its node is writing, for the shell's `follow` and `watch`.

The log does not say how much of it is committed, so changes are shown as they are written. If the node truncates its log (a new
leader does not have those records), the image is loaded again.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from metashell.errors import MetashellError
from metashell.image import ImageLoader, load_image
from metashell.log.directory_source import DirectorySource
from metashell.log.source import open_source

if TYPE_CHECKING:
    from collections.abc import Callable

    from metashell.codec.batches import BatchHeader, RecordBatch
    from metashell.image import MetadataImage
    from metashell.image.steps import Step

POLL_S: Final = 0.2


class StillView:
    """The image that was shown last."""

    lag: int | None = None
    trouble = ""

    def __init__(self, image: MetadataImage) -> None:
        self.image = image

    @property
    def details(self) -> dict[str, object]:
        return {}


class GrowingDirectory:
    """The feed of a directory: each view is of what its node has written until then, but for the first one, which is what was loaded."""

    is_live = False

    def __init__(self, path: str, image: MetadataImage, max_decompressed: int) -> None:
        self.path = path
        self.image = image
        self.max_decompressed = max_decompressed
        self._growth: Growth | None = None
        self._viewed: MetadataImage | None = None

    def view(self) -> StillView:
        """The newest image; the last one where the directory cannot be read any more."""
        if self._viewed is not None:
            if self._growth is None or self._viewed is not self.image:
                # `follow` and `watch` have gone on meanwhile.
                self._growth = Growth(self)
            with suppress(MetashellError, OSError):
                self._growth.look()
        self._viewed = self.image
        return StillView(self.image)

    def subscribe(self) -> Growth:
        """The steps that follow the image that was shown last."""
        return Growth(self)


class Growth:
    """Looks for new records a few times a second; `pause` waits in between."""

    def __init__(self, directory: GrowingDirectory, pause: Callable[[float], None] = time.sleep) -> None:
        self._directory = directory
        self._pause = pause
        self.start = directory.image
        self._loader = ImageLoader(directory.image, max_decompressed=directory.max_decompressed)
        self._last: BatchHeader | None = None
        self._seen: object = None

    def next(self, timeout_s: float) -> Step | None:
        """The next step, None if nothing was written in time. Errors: MetashellError if the directory is gone."""
        looks = max(round(timeout_s / POLL_S), 1)
        for _ in range(looks):
            if (step := self.look()) is not None:
                return step
            self._pause(POLL_S)
        return None

    def look(self) -> Step | None:
        """The step for what was written since the last look, None for nothing."""
        signature = _signature(self._directory.path)
        if signature == self._seen:
            return None
        with open_source(self._directory.path) as source:
            added = self._added(source) if isinstance(source, DirectorySource) else None
            certain_to = source.certain_to
        self._seen = signature
        if added is None:
            return self._reload()
        if not added:
            return None
        before = self._directory.image
        end = before.provenance.end_offset
        for batch in added:
            self._loader.load_batch(batch, end)
        image = self._loader.image()
        known = before.provenance.certain_to
        certain_to = known if certain_to is None or (known is not None and known > certain_to) else certain_to
        self._last = added[-1].header
        return self._show(image._replace(provenance=image.provenance._replace(certain_to=certain_to)), tuple(added))

    def _added(self, source: DirectorySource) -> list[RecordBatch] | None:
        """The batches that the image does not have yet; None if the log is not the one that the image was made from."""
        position = self._directory.image.provenance
        end, last = position.end_offset, self._last
        if last is None and position.offset + 1 != end:
            # A transaction is open, of which the image shows nothing.
            return None
        added: list[RecordBatch] = []
        expected = end
        for batch in source.log_batches(max(end - 1, 0)):
            header = batch.header
            if header.last_offset < end:
                same = header.leader_epoch == position.epoch if last is None else _same(header, last)
                if header.last_offset == end - 1 and not same:
                    return None
                continue
            if header.base_offset > expected or (header.base_offset < end and last is not None):
                return None
            added.append(batch)
            expected = header.last_offset + 1
        # What formatting left is shown as long as there is nothing else.
        is_first = bool(added) and end == 0 and source.snapshot_id is not None
        return added if (source.end_offset or 0) >= end and not is_first else None

    def _reload(self) -> Step | None:
        directory = self._directory
        with open_source(directory.path) as source:
            image = load_image(source, max_decompressed=directory.max_decompressed)
        self._loader = ImageLoader(image, max_decompressed=directory.max_decompressed)
        self._last = None
        return self._show(image, None)

    def _show(self, image: MetadataImage, batches: tuple[RecordBatch, ...] | None) -> Step:
        from metashell.image.steps import Step

        step = Step(self._directory.image, image, batches)
        self._directory.image = image
        return step

    def close(self) -> None:
        """Nothing is held open."""


def _same(one: BatchHeader, other: BatchHeader) -> bool:
    return (one.base_offset, one.leader_epoch, one.crc) == (other.base_offset, other.leader_epoch, other.crc)


def _signature(path: str) -> object:
    """A value that differs after every write. Errors: MetashellError if the directory is gone."""
    from metashell.log.inputs import find_metadata

    found = find_metadata(path)
    sizes = []
    try:
        for entry in os.scandir(found):
            with suppress(FileNotFoundError):
                sizes.append((entry.name, entry.stat().st_size, entry.stat().st_mtime_ns))
    except OSError as error:
        raise MetashellError(f"{found}: {error.strerror or error}") from None
    return sorted(sizes)
