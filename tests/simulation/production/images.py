"""What the state machines have: the image at an offset is the same on every machine, and the one that the committed batches give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.codec.batches import RecordBatch, read_batch_header
from metashell.common.values import OffsetAndEpoch
from metashell.metadata.image import ImageLoader, MetadataImage
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.history import History

RULE = "S5 ImagesAgree"
EVERY = 16
"""One offset in that many is compared; the loader's own faults are looked at each time."""


class Images:
    """The images along the committed path, made once."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._loader = ImageLoader()
        self._images: dict[int, MetadataImage] = {0: self._loader.image()}
        self._end = 0

    def at(self, offset: int) -> MetadataImage | None:
        """The image of all that is committed before an offset, None where no committed batch ends there."""
        for entry in self._history.since(self._end):
            self._loader.load_batch(RecordBatch(read_batch_header(entry.data), 0, entry.data, "committed"))
            self._images[entry.end] = self._loader.image()
            self._end = entry.end
        return self._images.get(offset)

    def newest(self) -> MetadataImage:
        """The image of all that is committed."""
        found = self.at(self._history.tip.end)
        assert found is not None
        return found

    def check(self, name: str, image: MetadataImage, end: int, *, always: bool = False) -> None:
        """A machine has applied all before `end`."""
        if image.faults:
            raise Violation(RULE, f"{name} goes on at {end} with an image that lacks a record: {image.faults[0]}")
        if always or end % EVERY == 0:
            expected = self.at(end)
            if expected is None:
                raise Violation("L4 StateMachineSafety", f"{name} has applied all before {end}, where no committed batch ends")
            if not image.has_same_metadata(expected):
                raise Violation(RULE, f"{name} has another image at {end} than the committed records give")

    def check_snapshot(self, name: str, id: OffsetAndEpoch, data: bytes) -> None:
        """A snapshot is complete: it stands for what is committed before it."""
        if id.offset == 0:
            return
        loader = ImageLoader(snapshot_id=id)
        position = 0
        while position < len(data):
            header = read_batch_header(data, position)
            batch = RecordBatch(header, position, data[position : position + header.size_bytes], str(id))
            if batch.crc_fault() is not None:
                raise Violation(RULE, f"{name} completes {id} with a wrong checksum at {position}")
            loader.load_snapshot_batch(batch)
            position += header.size_bytes
        self.check(f"{name}, in {id},", loader.image(), id.offset, always=True)
