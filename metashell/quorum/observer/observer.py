"""The consensus core as an anonymous observer, without I/O: answers in, requests and committed batches out.

It drives a `RaftNode` that has no id and may not stand, over a log in memory that forgets what was consumed. Nothing that it holds
has to survive it, so every state is "durable" as soon as it is written down here.

A `Consumer` takes committed batches: `ImageConsumer` makes images and steps between them, `ChunkConsumer` passes the batches on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from queue import Full, Queue
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, assert_never

from metashell.codec.batches import RecordBatch
from metashell.codec.framing import checked_batches
from metashell.common.errors import DecodeError, LogCorruptError
from metashell.common.values import OffsetAndEpoch
from metashell.metadata.image import EMPTY_IMAGE, ImageLoader, MetadataImage, load_image
from metashell.metadata.image.differences import Step
from metashell.quorum.raft.messages import FetchResponse, RaftConfig, Response
from metashell.quorum.raft.node import RaftNode
from metashell.quorum.raft.ready import Committed, Durable, ElectionState, LeaderChanged, Ready, Send, SnapshotToLoad, TruncatedTo
from metashell.quorum.raft.replicated_log import MemoryLog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metashell.net.addresses import Address
    from metashell.quorum.raft.replica import Random


READ_SIZE: Final = 1 << 20
"""Bytes of the log that become one step."""
REQUEST_TIMEOUT_MS: Final = 3_000
RETRY_BACKOFF_MS: Final = 250
"""Longer than Kafka's 20 ms: nobody waits for us."""


class Observer:
    """See the module. `label` names the source of batches in faults.

    `high_watermark` is the newest that a leader named, -1 before; `end_offset` how far all is consumed.
    """

    def __init__(self, controllers: Sequence[Address], consumer: Consumer, label: str, random: Random, now_ms: int) -> None:
        config = RaftConfig(
            cluster_id="",
            local=None,
            bootstrap_servers=tuple((address.host, address.port) for address in controllers),
            is_controller=False,
            may_stand=False,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
            retry_backoff_ms=RETRY_BACKOFF_MS,
        )
        self._consumer = consumer
        self._label = label
        self._log = MemoryLog()
        self._durable = Durable(ElectionState(0), 0)
        self._position = 0
        self.high_watermark = -1
        self.end_offset = 0
        self.leader_id = -1
        self.epoch = 0
        self.refused = ""
        """Why the last answer was refused, empty if it was not."""
        self._node = RaftNode(config, self._log, ElectionState(0), random=random, now_ms=now_ms)
        self._listener, registered = self._node.register(now_ms)
        self._pending = deque([self._node.take_ready(), registered])

    def start(self, now_ms: int) -> list[Send]:
        """The first requests."""
        self._pending.append(self._node.poll(now_ms))
        return self._work(now_ms)

    def poll(self, now_ms: int) -> list[Send]:
        """Do what is due; call it at `next_poll_ms`."""
        self._pending.append(self._node.poll(now_ms))
        return self._work(now_ms)

    @property
    def next_poll_ms(self) -> int:
        return self._node.next_poll_ms()

    def answered(self, send: Send, response: Response, now_ms: int) -> list[Send]:
        """Take an answer; return what to send now."""
        if isinstance(response, FetchResponse) and not response.error and not response.top_error:
            self.high_watermark = max(self.high_watermark, response.high_watermark)
        complaints = self._node.complaints
        self._pending.append(self._node.handle_response(send.destination, send.correlation_id, response, now_ms))
        self.refused = self._node.last_complaint if self._node.complaints > complaints else ""
        return self._work(now_ms)

    def failed(self, send: Send, error_code: int, now_ms: int) -> list[Send]:
        """Note that no answer came; return what to send now."""
        self._pending.append(self._node.handle_failure(send.destination, send.correlation_id, error_code, now_ms))
        return self._work(now_ms)

    @property
    def complaint(self) -> str:
        """The last fault in a peer's message, empty if there was none."""
        return self._node.last_complaint

    def _work(self, now_ms: int) -> list[Send]:
        sends: list[Send] = []
        while self._pending:
            ready = self._pending.popleft()
            if ready.election is not None:
                self._durable = Durable(ready.election, ready.kraft_version)
            sends += [message for message in ready.messages(self._durable) if isinstance(message, Send)]
            self._perform(ready, now_ms)
        if self._node.next_poll_ms() <= now_ms:
            self._pending.append(self._node.poll(now_ms))
        return sends

    def _perform(self, ready: Ready, now_ms: int) -> None:
        if ready.flush_to is not None:
            self._log.flush_to(ready.flush_to)
            self._pending.append(self._node.flushed(now_ms))
        if ready.freeze is not None:
            part = self._node.downloaded_part()
            assert part is not None, "a snapshot to freeze has its part"
            part.freeze()
            self._pending.append(self._node.snapshot_frozen(ready.freeze, now_ms))
        for notice in ready.notices:
            match notice:
                case SnapshotToLoad(_, id):
                    self._load_snapshot(id)
                    self._pending.append(self._node.consumed(self._listener, id.offset, now_ms))
                case Committed(_, _, end_offset):
                    self._take(end_offset)
                    self._pending.append(self._node.consumed(self._listener, end_offset, now_ms))
                case LeaderChanged(_, leader_id, epoch):
                    self.leader_id, self.epoch = leader_id, epoch
                case TruncatedTo():
                    pass  # nobody mirrors what is not committed
                case _:
                    assert_never(notice)

    def _load_snapshot(self, id: OffsetAndEpoch) -> None:
        data = self._log.read_snapshot(id, 0, self._log.snapshot_size(id))
        # The image keeps what it needs of these bytes, and nobody fetches them from us.
        self._log.add_snapshot(id, b"")
        self._position = self.end_offset = id.offset
        self._consumer.load_snapshot(id, data)

    def _take(self, end_offset: int) -> None:
        """Pass on whole batches below `end_offset`; one that ends behind it waits for the next call."""
        while self._position < end_offset:
            data = self._log.read(self._position, end_offset, READ_SIZE)
            batches: list[RecordBatch] = []
            for batch in checked_batches(data, self._label):
                if batch.header.last_offset >= end_offset:
                    break
                batches.append(batch)
            if not batches:
                break
            start, self._position = self._position, batches[-1].header.last_offset + 1
            self.end_offset = self._position
            self._consumer.take(batches, start, self._position)
            # The last batch that was consumed stays: a log that is cut back to it has to know its epoch.
            self._log.forget_before(self._position - 1)


SOURCE_KIND = "quorum"
NO_OP_RECORD = 20
_FRAME_SIZE_MIN = 3
_QUEUE_MAX = 64
_LOOK_S = 0.2


class Consumer(Protocol):
    """Takes what is committed, in order."""

    def load_snapshot(self, id: OffsetAndEpoch, data: bytes) -> None:
        """Load a snapshot in place of everything up to its end."""

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
    """A fault in a snapshot's bytes."""

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
    """Passes committed bytes on. A slow reader slows the fetches down and never fills the memory."""

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
