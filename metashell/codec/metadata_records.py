"""Metadata records: the frame around them, and the fast loop over a batch of them.

The frame is uvarint frame version, uvarint record type, uvarint record version, body. Bytes without a readable frame are a FrameError with
Kafka's text (tools print it). An unknown type is not an error: its bytes are kept. A version above the newest known one is read with the
newest layout and marked as a fault; if that fails, its bytes are kept too. Frame version 0 is the format in the text of KIP-631, with its
own schemas.

The fast loop is made from one template. It compares bytes with the record header that metadata logs have (no attributes, the batch's
timestamp, the next offset, null key, no headers, lengths below 8192); at anything else it gives up, and the caller reads the same records
again with every check. So the loop need not handle a rare case; it must only never accept one that the checked reader would read
otherwise. Why a template: dump, image and export each do something else with a record, and a function call per record would cost more
than the loop itself.
Source: org.apache.kafka.server.common.serialization.AbstractApiMessageSerde, MetadataRecordSerde; KIP-631."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from textwrap import indent
from typing import Any

from metashell.codec.dispatch import KIP631_TYPES, METADATA_TYPES
from metashell.codec.primitives import encode_uvarint, read_uvarint
from metashell.codec.registry import MessageType, message_type
from metashell.codec.schema import TrailingBytesError, snake_case
from metashell.common.errors import DecodeError, EncodeError

FRAME_VERSION = 1
KIP631_FRAME_VERSION = 0
NO_VALUE = "the record has no value"
"""The fault of a record without a value, in a log in which every record needs one."""
RECORD_TYPE_NAMES = {key: snake_case(name).upper() for key, name in METADATA_TYPES.items()}
"""Record type to Kafka's name of it, `{3: "PARTITION_RECORD", ...}`."""

_KIP631_TYPE_NAMES = {key: snake_case(name).upper() for key, name in KIP631_TYPES.items()}
_UNSUPPORTED_VERSION = "org.apache.kafka.common.errors.UnsupportedVersionException: "


class FrameError(DecodeError):
    """A value that is not a metadata record; the text is the one that Kafka's tools print."""


class UnknownFrameVersionError(FrameError):
    """A frame of an unknown version."""

    def __init__(self, version: int, offset: int) -> None:
        text = (
            f"Could not deserialize metadata record due to unknown frame version {version}(only frame version {FRAME_VERSION} is supported)"
        )
        super().__init__(text, offset=offset)
        self.newer = f"frame version {version}"


class UnknownRecord:
    """A record that could not be read as a message: its type, version and the bytes after them."""

    __slots__ = ("payload", "type_id", "version")

    def __init__(self, type_id: int, version: int, payload: bytes) -> None:
        self.type_id = type_id
        self.version = version
        self.payload = payload

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownRecord) and (self.type_id, self.version, self.payload) == (
            other.type_id,
            other.version,
            other.payload,
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"UnknownRecord(type_id={self.type_id}, version={self.version}, payload={self.payload!r})"


class Frame:
    """The frame of a record: the type and version that it names, and the start of the body, `buf[body_start:end]`."""

    __slots__ = ("body_start", "frame_version", "type_id", "version")

    def __init__(self, frame_version: int, type_id: int, version: int, body_start: int) -> None:
        self.frame_version = frame_version
        self.type_id = type_id
        self.version = version
        self.body_start = body_start

    @property
    def family(self) -> str:
        """The family of schemas that describes the body."""
        return "kip631" if self.frame_version == KIP631_FRAME_VERSION else "metadata"


class MetadataRecord:
    """A metadata record: `body` is a message's object or an UnknownRecord; `fault` is what is wrong with it, or None.

    `family` is "metadata", or "kip631" for frame version 0.
    """

    __slots__ = ("body", "family", "fault", "type_id", "version")

    def __init__(self, family: str, type_id: int, version: int, body: Any, fault: str | None = None) -> None:
        self.family = family
        self.type_id = type_id
        self.version = version
        self.body = body
        self.fault = fault

    @property
    def type_name(self) -> str:
        """Kafka's upper-case name, or `UNKNOWN_RECORD_<type>`."""
        return record_type_name(self.type_id, self.family)

    @property
    def message(self) -> MessageType | None:
        """The message that `body` is of; None for an UnknownRecord."""
        return None if isinstance(self.body, UnknownRecord) else metadata_message(self.type_id, self.family)

    @property
    def newer(self) -> str:
        """What this release does not know in the record: its type, its version or a tagged field; empty if it knows all."""
        message = metadata_message(self.type_id, self.family)
        if message is None:
            return f"record type {self.type_id}"
        if self.version > message.versions[1]:
            return f"{self.type_name} version {self.version}"
        if isinstance(self.body, UnknownRecord) or not (self.body.unknown_tags or message.schema.structs):
            return ""  # Nearly every record: no look at its fields.
        tags = self.unknown_tags
        return f"{self.type_name} tag {tags[0]}" if tags else ""

    @property
    def unknown_tags(self) -> list[int]:
        """The numbers of unknown tagged fields, which were kept unread."""
        return [] if isinstance(self.body, UnknownRecord) else list(unknown_tags(self.body))


def refuse_newer_structs(message: MessageType, version: int, body: Any) -> None:
    """Errors: DecodeError for a struct in a message of a version above the newest: Kafka's generated struct readers check the version."""
    if version > message.versions[1] and _holds_structs(body):
        raise DecodeError(f"version {version} of a struct is not known")


def _holds_structs(body: Any) -> bool:
    for name in body.__slots__:
        value = getattr(body, name)
        if hasattr(value[0] if isinstance(value, tuple) and value else value, "unknown_tags"):
            return True
    return False


def unknown_tags(body: Any) -> Iterator[int]:
    """The numbers of the tagged fields, at any depth, that a message's schema does not have."""
    for tag, _ in body.unknown_tags:
        yield tag
    for name in body.__slots__:
        value = getattr(body, name)
        for item in value if isinstance(value, tuple) else (value,):
            if hasattr(item, "unknown_tags"):
                yield from unknown_tags(item)


def record_type_name(type_id: int, family: str = "metadata") -> str:
    """Kafka's upper-case name of a record type, or `UNKNOWN_RECORD_<type>`."""
    names = _KIP631_TYPE_NAMES if family == "kip631" else RECORD_TYPE_NAMES
    return names.get(type_id) or f"UNKNOWN_RECORD_{type_id}"


def metadata_message(type_id: int, family: str = "metadata") -> MessageType | None:
    """The message of a record type; None for an unknown type."""
    name = (KIP631_TYPES if family == "kip631" else METADATA_TYPES).get(type_id)
    return None if name is None else message_type(family, name)


def read_frame(buf: bytes, start: int, end: int) -> Frame:
    """The frame of the record in `buf[start:end]`, of any frame version.

    Errors: FrameError with Kafka's text if it cannot be read, also for an unknown frame version.
    """
    if end - start > 3 and buf[start] == FRAME_VERSION and buf[start + 1] < 128 and buf[start + 2] < 128:
        return Frame(FRAME_VERSION, buf[start + 1], buf[start + 2], start + 3)
    frame_version, pos = _frame_int16(buf, start, end, "frame version")
    if frame_version not in (FRAME_VERSION, KIP631_FRAME_VERSION):
        raise UnknownFrameVersionError(frame_version, start)
    type_id, pos = _frame_int16(buf, pos, end, "type")
    version, pos = _frame_int16(buf, pos, end, "version")
    return Frame(frame_version, type_id, version, pos)


def _frame_int16(buf: bytes, start: int, end: int, name: str) -> tuple[int, int]:
    try:
        value, pos = read_uvarint(buf, start)
    except DecodeError:
        raise FrameError(f"Error while reading {name}", offset=start) from None
    if pos > end:
        raise FrameError(f"Error while reading {name}", offset=start)
    # Kafka compares the varint as a signed int32 with Short.MAX_VALUE and then casts it to a short. A value from 2^31 on is negative
    # there, so it passes.
    if 32767 < value < 1 << 31:
        raise FrameError(f"Value for {name} was too large.", offset=start)
    value &= 0xFFFF
    return value - (1 << 16) if value >= 1 << 15 else value, pos


def kafka_error(error: DecodeError, type_id: int) -> str:
    """Kafka's text for a body that does not decode."""
    if isinstance(error, FrameError):
        return str(error)
    if isinstance(error, TrailingBytesError):
        return f"Found {error.left_over} byte(s) of garbage after {type_id}"
    return f"Failed to deserialize record with type {type_id}"


def unknown_type_error(type_id: int) -> str:
    """Kafka's text for a record type that it does not know."""
    return f"{_UNSUPPORTED_VERSION}Unknown metadata id {type_id}"


KIP631_REFUSED = (
    "Could not deserialize metadata record with frame version 0. Note that upgrades from the preview release of KRaft "
    "in 2.8 to newer versions are not supported."
)
"""Kafka's message for frame version 0."""


def read_metadata_record(buf: bytes, start: int = 0, end: int | None = None) -> MetadataRecord:
    """The record that `buf[start:end]` holds, whatever its type and version.

    Errors: FrameError if the frame itself cannot be read. A body that does not decode is kept as an UnknownRecord
    with a fault.
    """
    end = len(buf) if end is None else end
    frame = read_frame(buf, start, end)
    family = frame.family
    message = metadata_message(frame.type_id, family)
    if message is None:
        return _kept(family, frame, buf, end, f"unknown record type {frame.type_id}")
    try:
        body = message.reader(frame.version)(buf, frame.body_start, end)
    except DecodeError as error:
        return _kept(family, frame, buf, end, str(error))
    return MetadataRecord(family, frame.type_id, frame.version, body, version_fault(message, frame.version))


def version_fault(message: MessageType, version: int) -> str | None:
    """The fault of a version that we do not know, or None."""
    low, high = message.versions
    if low <= version <= high:
        return None
    return f"{unknown_version(message, version)}, read as version {high}"


def unknown_type(type_id: int) -> str:
    """The fault of a record whose type has no schema, the same for every command."""
    return f"record type {type_id} is not known"


def unknown_version(message: MessageType, version: int) -> str:
    """The fault of a version that a message's schema does not have, the same for every command."""
    return f"{message.name} version {version} is not known"


def _kept(family: str, frame: Frame, buf: bytes, end: int, fault: str) -> MetadataRecord:
    unknown = UnknownRecord(frame.type_id, frame.version, buf[frame.body_start : end])
    return MetadataRecord(family, frame.type_id, frame.version, unknown, fault)


def write_metadata_record(body: Any, version: int = 0) -> bytes:
    """The framed bytes of a metadata record's object, or of an UnknownRecord as it was read.

    Errors: EncodeError if the object does not fit the version or is not a metadata record.
    """
    if isinstance(body, UnknownRecord):
        return b"\x01" + encode_uvarint(body.type_id & 0xFFFF) + encode_uvarint(body.version) + body.payload
    type_id = record_key(body)
    message = metadata_message(type_id)
    assert message is not None
    out = bytearray(b"\x01" + encode_uvarint(type_id) + encode_uvarint(version))
    message.writer(version)(body, out)
    return bytes(out)


_KEYS = {name: key for key, name in METADATA_TYPES.items()}


def record_key(body: Any) -> int:
    """The record type of a metadata record's object. Errors: EncodeError for other objects."""
    key = _KEYS.get(type(body).__name__)
    if key is None:
        raise EncodeError(f"{type(body).__name__} is not a metadata record")
    return key


GAVE_UP = -1

_TEMPLATE = """
def loop(buf, at, first, count{parameters}):
    # The header lists grow with the count, so a count is believed only if there are bytes for that many records, and up to a bound.
    if count > (len(buf) - at) // {record_size_min} or count > {headers_max}:
        return GAVE_UP
    headers, header_sizes, overheads = usual_headers(first, count)
    try:
        for {targets}header, header_size, overhead in zip({sources}headers, header_sizes, overheads):
            size = buf[at]
            at += 1
            if size > 127:
                size = size & 127 | buf[at] << 7
                at += 1
            if not buf.startswith(header, at):
                return GAVE_UP
            start = at + header_size
            value_size = buf[start]
            start += 1
            if value_size > 127:
                value_size = value_size & 127 | buf[start] << 7
                start += 1
                if size - value_size != overhead + 2:
                    return GAVE_UP
            elif size - value_size != overhead:
                return GAVE_UP
            at += size >> 1
            end = at - 1
            if value_size & 1 or buf[end]:
                return GAVE_UP
{body}
    except (IndexError, DecodeError):
        return GAVE_UP
    return at
"""

_RECORD_SIZE_MIN = 7
HEADERS_MAX = 1 << 18
"""The most headers that are kept, 20 MB. Kafka's largest batches of metadata are 8 MiB, which are some 200 000 records."""
_BLOCK = 64
"""The number of consecutive offset deltas whose varints differ in their first byte only."""
_FIRST_BYTES = [b"\0\0" + bytes((low,)) for low in range(0, 2 * _BLOCK, 2)]
_FIRST_BYTES_OF_MORE = [b"\0\0" + bytes((low | 128,)) for low in range(0, 2 * _BLOCK, 2)]

_headers: list[bytes] = []
_header_sizes: list[int] = []
_overheads: list[int] = []


def make_loop(body: str, *, parameters: str = "", each: Mapping[str, str] | None = None, names: Mapping[str, object] | None = None) -> Any:
    """Make the loop `(buf, at, first, count, ...) -> index after the last record, or GAVE_UP` that runs `body` for each record.

    It walks records `first` to `first + count` of a batch from index `at` on. In `body`, one or more statements, the value is
    `buf[start:end]`, and `value_size` is twice its size; it may return GAVE_UP. `parameters` are further parameters of the loop, `each`
    has further loop variables with their sequences (of `count` items), `names` are globals.
    """
    along = each or {"_": "range(count)"}
    source = _TEMPLATE.format(
        record_size_min=_RECORD_SIZE_MIN,
        headers_max=HEADERS_MAX,
        parameters="".join(f", {name}" for name in parameters.split()),
        targets="".join(f"{name}, " for name in along),
        sources="".join(f"{sequence}, " for sequence in along.values()),
        body=indent(body, " " * 12),
    )
    scope = {"usual_headers": usual_headers, "GAVE_UP": GAVE_UP, "DecodeError": DecodeError, **(names or {})}
    exec(compile(source, "<loop over usual records>", "exec"), scope)
    return scope["loop"]


def usual_headers(first: int, count: int) -> tuple[Sequence[bytes], Sequence[int], Sequence[int]]:
    """For records `first` to `first + count` of a batch: the bytes between length and value length, their number, and the difference
    between the length varints of record and value if the latter has one byte (both are twice the size).

    Example: record 0 is `len, 00 00 00 01, value len, value, 00`: 4 bytes between the lengths. Its size is that of its value plus 4, plus
    1 for the value's length and 1 for the header count: the difference is 2 * 6.
    Shape: if `first` is 0 there may be more than `count`.
    """
    last = first + count
    if last > HEADERS_MAX:
        made = headers_between(first, last)
        sizes = list(map(len, made))
        return made, sizes, [2 * (size + 2) for size in sizes]
    record_headers(last)
    for header in islice(_headers, len(_header_sizes), None):
        _header_sizes.append(len(header))
        _overheads.append(2 * (len(header) + 2))
    if first == 0:
        return _headers, _header_sizes, _overheads
    return _headers[first:last], _header_sizes[first:last], _overheads[first:last]


def record_headers(count: int) -> list[bytes]:
    """The start of the usual record at each index of a batch: attributes 0, timestamp delta 0, offset delta, null key.

    Shape: the shared list of at least `count` headers, which callers must not change.
    """
    while len(_headers) < count:
        _headers.extend(_headers_of_block(len(_headers) // _BLOCK))
    return _headers


def headers_between(first: int, last: int) -> list[bytes]:
    """What `record_headers` has from index `first` on up to `last`; those from `HEADERS_MAX` on are not kept."""
    if last <= HEADERS_MAX:
        return record_headers(last)[first:last]
    made: list[bytes] = []
    for block in range(first // _BLOCK, -(-last // _BLOCK)):
        made += _headers_of_block(block)
    start = first % _BLOCK
    return made[start : start + last - first]


def _headers_of_block(block: int) -> list[bytes]:
    rest = encode_uvarint(block) + b"\1" if block else b"\1"
    return [start + rest for start in (_FIRST_BYTES_OF_MORE if block else _FIRST_BYTES)]
