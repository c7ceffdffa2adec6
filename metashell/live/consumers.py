"""What becomes of what is committed: images and steps between them, or the batches as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from queue import Full, Queue
from typing import NamedTuple, Protocol

from metashell.codec.batches import RecordBatch
from metashell.codec.checked_batches import checked_batches
from metashell.errors import DecodeError, LogCorruptError
from metashell.image import EMPTY_IMAGE, ImageLoader, MetadataImage, load_image
from metashell.image.steps import Step
from metashell.values import OffsetAndEpoch

SOURCE_KIND = "quorum"
NO_OP_RECORD = 20
_FRAME_SIZE_MIN = 3
_QUEUE_MAX = 64
_LOOK_S = 0.2


class Consumer(Protocol):
    """Takes what is committed, in order."""

    def load_snapshot(self, id: OffsetAndEpoch, data: bytes) -> None:
        """Everything up to the snapshot's end is what it says."""

    def take(self, batches: list[RecordBatch], from_offset: int, end_offset: int) -> None:
        """The next batches; of the first, records below `from_offset` are known already."""


class ImageConsumer:
    """Folds what is committed into images; `publish` is given each step, `seen` the batches of the log. `label` names the source."""

    def __init__(
        self,
        label: str,
        publish: Callable[[Step], None],
        max_decompressed: int,
        seen: Callable[[list[RecordBatch]], None] | None = None,
    ) -> None:
        self._seen = seen
        self._label = label
        self._publish = publish
        self._max_decompressed = max_decompressed
        self.image = EMPTY_IMAGE._replace(provenance=EMPTY_IMAGE.provenance._replace(source_kind=SOURCE_KIND, source=label, certain_to=0))
        self._loader = ImageLoader(self.image, max_decompressed=max_decompressed)

    def load_snapshot(self, id: OffsetAndEpoch, data: bytes) -> None:
        source = SnapshotSource(self._label, id, data)
        image = load_image(source, max_decompressed=self._max_decompressed)
        self._loader = ImageLoader(image, max_decompressed=self._max_decompressed)
        self._show(image, None)

    def take(self, batches: list[RecordBatch], from_offset: int, end_offset: int) -> None:
        if self._seen is not None:
            self._seen(batches)
        for batch in batches:
            self._loader.load_batch(batch, from_offset)
        image = self._loader.image()
        provenance = image.provenance._replace(certain_to=end_offset, end_offset=end_offset)
        if all(map(says_nothing, batches)) and (len(image.faults), image.unread) == (len(self.image.faults), self.image.unread):
            # Twice a second in a quiet cluster: what was sorted or counted of the image stays known.
            image = self.image._replace(provenance=provenance)
        else:
            image = image._replace(provenance=provenance)
        self._show(image, tuple(batches))

    def _show(self, image: MetadataImage, batches: tuple[RecordBatch, ...] | None) -> None:
        step = Step(self.image, image, batches)
        self.image = image
        self._publish(step)


def says_nothing(batch: RecordBatch) -> bool:
    """Whether a batch is one NoOpRecord in the usual frame, as controllers write it when nothing else happens."""
    header = batch.header
    if header.is_control or header.count != 1 or header.codec_id:
        return False
    try:
        record = next(iter(batch.records()), None)
    except DecodeError:
        return False
    value = None if record is None else record.value
    return value is not None and len(value) >= _FRAME_SIZE_MIN and value[0] == 1 and value[1] == NO_OP_RECORD


class SnapshotSource:
    """A snapshot's bytes as a source of images. What is damaged in it is a fault."""

    kind = SOURCE_KIND

    def __init__(self, label: str, id: OffsetAndEpoch, data: bytes) -> None:
        self.path = label
        self.snapshot_id = id
        self.certain_to: int | None = id.offset
        self.end_offset: int | None = id.offset
        self.faults: list[SnapshotFault] = []
        self._data = data

    def snapshot_batches(self) -> Iterator[RecordBatch]:
        """Its batches up to the first that is damaged."""
        name = f"{self.path}: {snapshot_name(self.snapshot_id)}"
        try:
            yield from checked_batches(self._data, name)
        except LogCorruptError as error:
            self.faults.append(SnapshotFault(name, error.offset, -1, error.reason))

    def log_batches(self, from_offset: int) -> Iterable[RecordBatch]:
        """None: what follows is fetched."""
        return ()


class SnapshotFault(NamedTuple):
    """What is wrong with a snapshot's bytes."""

    file: str
    offset: int
    position: int
    reason: str
    is_tail: bool = False


def snapshot_name(id: OffsetAndEpoch) -> str:
    """The name of the file that a snapshot has on a controller's disk."""
    return f"{id.offset:020d}-{id.epoch:010d}.checkpoint"


class Chunk(NamedTuple):
    """Bytes as they are: a snapshot's, or those of batches of the log; `from_offset` as a Consumer has it."""

    snapshot_id: OffsetAndEpoch | None
    data: bytes
    from_offset: int
    end_offset: int


class ChunkConsumer:
    """Hands on what is committed as bytes. A slow reader holds back the fetching, never fills the memory."""

    def __init__(self) -> None:
        self.chunks: Queue[Chunk] = Queue(_QUEUE_MAX)
        self.is_closed = False

    def load_snapshot(self, id: OffsetAndEpoch, data: bytes) -> None:
        self._put(Chunk(id, data, 0, id.offset))

    def take(self, batches: list[RecordBatch], from_offset: int, end_offset: int) -> None:
        self._put(Chunk(None, b"".join(batch.data for batch in batches), from_offset, end_offset))

    def _put(self, chunk: Chunk) -> None:
        while not self.is_closed:
            try:
                self.chunks.put(chunk, timeout=_LOOK_S)
            except Full:
                continue
            return
