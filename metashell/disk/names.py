"""Names of logs and of the files in a log directory, marks of compressed files, and base classes of opened files.

A segment is `%020d.log`, named by its base offset; a checkpoint is `%020d-%010d.checkpoint`, named by its end offset (exclusive) and epoch.
Kafka adds a suffix to files that it is writing or removing; people compress copies. The first bytes show whether a file is compressed or an
archive: a log begins with an offset, which would have to be above 10^17 to look like such a mark."""

import os
from types import TracebackType
from typing import Final, Literal, NamedTuple, Self

from metashell.codec.batches import RecordBatch
from metashell.codec.framing import FRAME_SIZE_MAX
from metashell.common.values import BOOTSTRAP_SNAPSHOT_ID, OffsetAndEpoch

FileKind = Literal["segment", "checkpoint", "bootstrap"]

METADATA_DIRECTORY = "__cluster_metadata-0"
BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"
"""In a log directory formatted by a release before 4.4: the records that the first leader writes into the log."""
QUORUM_STATE = "quorum-state"
META_PROPERTIES = "meta.properties"
LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
RECOVERY_POINT = "recovery-point"
"""Our file about how far the log is durable. Kafka ignores it, the next one, and names that end in DAMAGED_SUFFIX and a number."""
DAMAGED = "damaged"
"""Our file about lost records: this replica has no vote until its log is whole again."""
DAMAGED_SUFFIX = ".damaged-"
ACKNOWLEDGED = "acknowledged"
"""Our file in a log directory about what this node has acknowledged, should the metadata directory be lost. Kafka ignores it."""
REPAIR_JOURNAL = "repair.json"
"""Our file in a log directory about the repairs that `undo` can take back. Kafka ignores it."""

SNAPSHOT_HEADER_TYPE = 3
SNAPSHOT_FOOTER_TYPE = 4

OTHER_FILES: Final = {
    ".index": "an offset index",
    ".timeindex": "a time index",
    ".txnindex": "an index of aborted transactions",
    ".snapshot": "a producer snapshot",
    LEADER_EPOCH_CHECKPOINT: "the leader epochs of a log",
    "recovery-point-offset-checkpoint": "the recovery points of a log directory",
    "replication-offset-checkpoint": "the high watermarks of a log directory",
    "log-start-offset-checkpoint": "the log starts of a log directory",
    "cleaner-offset-checkpoint": "the cleaner's offsets of a log directory",
    PARTITION_METADATA: "the topic id of a partition",
    QUORUM_STATE: "the election state of a node",
    META_PROPERTIES: "the identity of a log directory",
}
"""Other files beside logs, by suffix or name."""

_STATES = {"log": ("deleted", "swap", "cleaned"), "checkpoint": ("deleted", "part")}
_OFFSET_LIMIT = 1 << 63


class LogFileName(NamedTuple):
    """The meaning of a file's name: its kind, its offset in the log, and its state.

    `state` is empty for a file in use, else `deleted`, `swap`, `cleaned` or `part`.
    """

    kind: FileKind
    base_offset: int | None = None
    snapshot_id: OffsetAndEpoch | None = None
    state: str = ""
    is_compressed: bool = False

    @property
    def is_in_use(self) -> bool:
        return not self.state and not self.is_compressed


def parse_name(name: str) -> LogFileName | None:
    """Parse the name of a segment or checkpoint; None for any other name."""
    stem, *suffixes = name.split(".")
    is_compressed = suffixes[-1:] != [] and suffixes[-1] in COMPRESSED_SUFFIXES
    if is_compressed:
        suffixes.pop()
    if not suffixes or suffixes[0] not in _STATES:
        return None
    kind, *states = suffixes
    if len(states) > 1 or not all(state in _STATES[kind] for state in states):
        return None
    parse = _segment if kind == "log" else _checkpoint
    return parse(stem, "".join(states), is_compressed)


def other_file(path: str) -> str | None:
    """Describe a file beside logs and checkpoints by its name; None for an unknown name."""
    return OTHER_FILES.get(os.path.basename(path)) or OTHER_FILES.get(os.path.splitext(path)[1])


def segment_name(base_offset: int) -> str:
    return f"{base_offset:020d}.log"


def checkpoint_name(snapshot_id: OffsetAndEpoch) -> str:
    return f"{snapshot_id.offset:020d}-{snapshot_id.epoch:010d}.checkpoint"


BOOTSTRAP_SNAPSHOT: Final = checkpoint_name(BOOTSTRAP_SNAPSHOT_ID)
"""In a metadata directory: the first voters of a dynamic quorum and, from 4.4 on, the records that the first leader writes into the log."""


def index_name(base_offset: int) -> str:
    return f"{base_offset:020d}.index"


def time_index_name(base_offset: int) -> str:
    return f"{base_offset:020d}.timeindex"


def classify(name: str, first_batch: RecordBatch | None) -> FileKind:
    """Checkpoint or segment: by the name if that decides, else by the file's first batch.

    Only a checkpoint starts with a SnapshotHeader control record; any other file is taken for a segment.
    """
    parsed = parse_name(name)
    if parsed is not None:
        return parsed.kind
    if first_batch is not None and first_batch.first_control_type() == SNAPSHOT_HEADER_TYPE:
        return "checkpoint"
    return "segment"


def _segment(stem: str, state: str, is_compressed: bool) -> LogFileName | None:
    if not _is_number(stem, 20) or int(stem) >= _OFFSET_LIMIT:
        return None
    return LogFileName("segment", int(stem), None, state, is_compressed)


def _checkpoint(stem: str, state: str, is_compressed: bool) -> LogFileName | None:
    if stem == "bootstrap":
        return LogFileName("bootstrap", None, None, state, is_compressed)
    # A third part is the random number of a file that is being written.
    offset, epoch, *_ = (*stem.split("-"), "")
    if not _is_number(offset, 20) or not _is_number(epoch, 10) or int(offset) >= _OFFSET_LIMIT:
        return None
    return LogFileName("checkpoint", None, OffsetAndEpoch(int(offset), int(epoch)), state, is_compressed)


def _is_number(text: str, digits: int) -> bool:
    return len(text) == digits and text.isascii() and text.isdigit()


LogKind = Literal["metadata", "offsets", "transactions", "share", "remote_log", "data"]
METADATA: Final = "metadata"
OFFSETS: Final = "offsets"
TRANSACTIONS: Final = "transactions"
SHARE: Final = "share"
REMOTE_LOG: Final = "remote_log"
DATA: Final = "data"
"""The log of a topic with users' data."""

KNOWN_LOGS: Final[tuple[LogKind, ...]] = (METADATA, OFFSETS, TRANSACTIONS, SHARE, REMOTE_LOG)
"""The logs whose records we decode."""
TOPICS: Final[dict[str, LogKind]] = {
    "__cluster_metadata": METADATA,
    "__consumer_offsets": OFFSETS,
    "__transaction_state": TRANSACTIONS,
    "__share_group_state": SHARE,
    "__remote_log_metadata": REMOTE_LOG,
}
LOG_NAMES: Final[dict[LogKind, str]] = {
    METADATA: "the metadata log",
    OFFSETS: "the log of groups (__consumer_offsets)",
    TRANSACTIONS: "the log of transactions (__transaction_state)",
    SHARE: "the log of share groups (__share_group_state)",
    REMOTE_LOG: "the log of remote storage (__remote_log_metadata)",
    DATA: "the log of a topic",
}
READERS: Final[dict[LogKind, str]] = {
    METADATA: "dump-log --cluster-metadata-decoder",
    OFFSETS: "dump-log --offsets-decoder",
    TRANSACTIONS: "dump-log --transaction-log-decoder",
    SHARE: "dump-log --share-group-state-decoder",
    REMOTE_LOG: "dump-log --remote-log-metadata-decoder",
    DATA: "dump-log --print-data-log",
}
"""The command that reads a log of each kind."""


Packing = Literal["gzip", "bzip2", "xz", "zstd", "lz4"]

COMPRESSED_SUFFIXES: Final = ("gz", "bz2", "xz", "zst", "lz4")
MAGICS: Final[tuple[tuple[bytes, Packing], ...]] = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "lz4"),
)
"""Compressions that are expanded during reading."""
FOREIGN_MAGICS: Final = (
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a rar archive"),
    (b"LZIP", "an lzip file"),
    (b"\x89LZO", "an lzop file"),
    (b"\x1f\x9d", "a file of compress (.Z)"),
    (b"\xff\x06\x00\x00sNaPpY", "a snappy file"),
    (b"\x82SNAPPY\x00", "a snappy file"),
    (b"\x02\x21\x4c\x18", "an lz4 file of the legacy format"),
)
"""The marks and names of archives, which have to be unpacked first."""
HEAD_SIZE: Final = max(len(magic) for magic, _ in (*MAGICS, *FOREIGN_MAGICS))
TAR_MARK: Final = b"ustar"
TAR_MARK_AT: Final = 257


def packing_of(head: bytes) -> Packing | None:
    """The compression of a file that begins with these bytes; None if it is not compressed."""
    return next((packing for magic, packing in MAGICS if head.startswith(magic)), None)


def archive_of(head: bytes) -> str | None:
    """The name of the archive format that begins like this; None if there is none."""
    return next((name for magic, name in FOREIGN_MAGICS if head.startswith(magic)), None)


PIECE_SIZE = 1 << 20
"""The bytes to request from a stream at once, so that a size that it only claims is never allocated."""


class Closable:
    """Closes at the end of a `with` block."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Closing(Closable):
    """A file to read that closes at the end of a `with` block."""

    name: str
    trouble: str | None = None
    batch_size_max: int = FRAME_SIZE_MAX


class HeldBytes(Closing):
    """Bytes as a file."""

    def __init__(self, name: str, data: bytes, batch_size_max: int = FRAME_SIZE_MAX) -> None:
        self.name = name
        self.batch_size_max = batch_size_max
        self._data = data

    def read_at(self, position: int, size: int) -> bytes:
        return self._data[position : position + size]

    def peek(self, size: int) -> bytes:
        return self._data[:size]

    def size(self) -> int | None:
        return len(self._data)

    def close(self) -> None:
        return


class FrontToBack(Closing):
    """A file whose size is known only at its end.

    `_more` returns up to `size` bytes that were not read before; none at the end, or after an error.
    """

    def __init__(self) -> None:
        self._position = 0
        self._peeked = b""

    def _more(self, size: int) -> bytes:
        raise NotImplementedError

    def read_at(self, position: int, size: int) -> bytes:
        while self._position < position:
            if not self._next(min(position - self._position, PIECE_SIZE)):
                return b""
        pieces = []
        while size > 0 and (piece := self._next(min(size, PIECE_SIZE))):
            pieces.append(piece)
            size -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def peek(self, size: int) -> bytes:
        """The first `size` bytes, which the next read returns again."""
        while len(self._peeked) < size and (piece := self._more(size - len(self._peeked))):
            self._peeked += piece
        return self._peeked

    def _next(self, size: int) -> bytes:
        if self._peeked:
            data, self._peeked = self._peeked[:size], self._peeked[size:]
        else:
            data = self._more(size)
        self._position += len(data)
        return data

    def size(self) -> int | None:
        return None
