"""Frames of Kafka's protocol: an int32 length, a header, a message.

Source: the protocol guide; org.apache.kafka.common.network.NetworkReceive, org.apache.kafka.common.requests.RequestHeader.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from struct import Struct
from typing import Any, Final, NamedTuple

from metashell.codec.codes import API_VERSIONS
from metashell.codec.dispatch import REQUESTS, RESPONSES
from metashell.codec.primitives import read_uvarint
from metashell.codec.registry import MessageType, message_type
from metashell.codec.schema import TrailingBytesError
from metashell.common.errors import DecodeError, EncodeError

HANDSHAKE_LIMIT: Final = 512 * 1024
"""Bytes of a frame from a server that has not yet said what it talks."""
FRAME_LIMIT: Final = 100 * 1024 * 1024
"""Bytes of any other frame; the default of socket.request.max.bytes."""
JUDGED_SIZE: Final = 64 * 1024
GATHERED_SIZE: Final = 8 * 1024
"""A frame above this that is not complete gets a buffer of its own."""
COUNTED_SIZE: Final = 8 * 1024
"""A response up to this size is too small to hold many values: it is read by the reader that names a fault."""
VALUE_BYTES: Final = 4
"""Bytes of a small response that count as one value."""
TAGS_MAX: Final = 64
"""Tagged fields of a header that are skipped; none is defined, so more are no header."""

_TLS_ALERT = 0x1503
"""How a TLS listener's answer to plain text begins: an alert of version 3.x."""
_LENGTH = Struct(">i")
_REQUEST_HEADER = Struct(">hhih")
_KEY_AND_VERSION = Struct(">hh")
_NO_TAGS = b"\0"


class RequestHeader(NamedTuple):
    """The header of a request; `client_id` is None where the peer sent a null."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None = None


class FrameReader:
    """Cuts a stream of bytes into frames.

    A frame whose length is negative or above `limit` sets `fault`, one line, before anything is kept of it; from then on there
    are no more frames. `limit` may be changed between frames. `judge` looks at the api key, version and length of a frame above
    `JUDGED_SIZE` as soon as its header has begun, and gives what is wrong with it, or nothing.

    A large frame is gathered as it comes, in one buffer that becomes the frame: what is promised costs nothing, what came is kept once.
    """

    __slots__ = ("_at", "_body", "_chunk", "_judge", "_size", "fault", "limit")

    def __init__(self, limit: int, judge: Callable[[int, int, int], str] | None = None) -> None:
        self.limit = limit
        self.fault = ""
        self._judge = judge
        self._chunk = b""
        self._at = 0
        self._body: BytesIO | None = None
        self._size = 0

    def feed(self, data: bytes | memoryview) -> None:
        """Add bytes of the stream; a view need not stay."""
        if self.fault:
            return
        if self._body is not None:
            wanted = self._size - self._body.tell()
            if wanted:
                self._body.write(data if len(data) <= wanted else memoryview(data)[:wanted])
            if len(data) <= wanted:
                return
            data = memoryview(data)[wanted:]
        self._chunk = self._chunk[self._at :] + data if self._at < len(self._chunk) else bytes(data)
        self._at = 0

    def next_frame(self) -> bytes | None:
        """The bytes of the next frame without its length, or None until more has come (or when there is a `fault`)."""
        if self._body is not None:
            return self._take_body(self._body)
        chunk, start = self._chunk, self._at + 4
        if self.fault or len(chunk) < start:
            return None
        size: int = _LENGTH.unpack_from(chunk, self._at)[0]
        if not 0 <= size <= self.limit:
            is_tls = size >> 16 == _TLS_ALERT
            self._fail("a TLS alert, so it talks TLS" if is_tls else f"a frame of {size} bytes, the limit is {self.limit}")
            return None
        if size > JUDGED_SIZE and self._judge is not None:
            if len(chunk) < start + 4:
                return None
            key, version = _KEY_AND_VERSION.unpack_from(chunk, start)
            if fault := self._judge(key, version, size):
                self._fail(fault)
                return None
        end = start + size
        if end <= len(chunk):
            self._at = end
            if end == len(chunk):
                self._chunk, self._at = b"", 0
            return chunk[start:end]
        if size > GATHERED_SIZE:
            self._size = size
            self._body = BytesIO()
            self._body.write(memoryview(chunk)[start:])
            self._chunk, self._at = b"", 0
        return None

    def _take_body(self, body: BytesIO) -> bytes | None:
        if body.tell() < self._size:
            return None
        self._body = None
        return body.getvalue()  # the buffer itself, not a copy

    def _fail(self, fault: str) -> None:
        self.fault = fault
        self._chunk, self._at = b"", 0

    @property
    def is_ready(self) -> bool:
        """Whether `next_frame` gives one, or finds a fault."""
        if self._body is not None:
            return self._body.tell() == self._size
        left = len(self._chunk) - self._at
        if left < 4:
            return False
        size: int = _LENGTH.unpack_from(self._chunk, self._at)[0]
        return size <= left - 4 or size > self.limit

    @property
    def buffered_size(self) -> int:
        """Bytes that were fed and not yet given as a frame."""
        return len(self._chunk) - self._at + (0 if self._body is None else self._body.tell())


def frame(payload: bytes) -> bytes:
    """`payload` behind its length."""
    return _LENGTH.pack(len(payload)) + payload


def request_type(api_key: int) -> MessageType:
    """The request message of an api key. Errors: KeyError."""
    return message_type("request", REQUESTS[api_key])


def response_type(api_key: int) -> MessageType:
    """The response message of an api key. Errors: KeyError."""
    return message_type("response", RESPONSES[api_key])


def api_key_of(message: Any) -> int:
    """The api key of a request object. Errors: KeyError where its class is no request's."""
    key = message_type("request", type(message).__name__).key
    assert key is not None
    return key


def encode_request(message: Any, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """A whole frame: length, request header 1 or (for flexible versions) 2, the message.

    Errors: EncodeError for a client id or message that does not fit.
    """
    kind = message_type("request", type(message).__name__)
    name = None if client_id is None else client_id.encode("utf-8", "surrogateescape")
    if name is not None and len(name) > 0x7FFF:
        raise EncodeError(f"client id of {len(name)} bytes, at most {0x7FFF} fit")
    assert kind.key is not None
    out = bytearray(4)
    out += _REQUEST_HEADER.pack(kind.key, version, correlation_id, -1 if name is None else len(name))
    out += name or b""
    if kind.flexible(version):
        out += _NO_TAGS
    kind.writer(version)(message, out)
    _LENGTH.pack_into(out, 0, len(out) - 4)
    return bytes(out)


def decode_request_header(data: bytes) -> tuple[RequestHeader, int]:
    """The header at the start of a request frame, and the index of the message behind it.

    A key that is not known, or a version outside of what the schema has, is read as far as the client id: the caller decides.
    Errors: DecodeError.
    """
    if len(data) < _REQUEST_HEADER.size:
        raise DecodeError(f"a request of {len(data)} bytes has no header", offset=0)
    key, version, correlation_id, size = _REQUEST_HEADER.unpack_from(data)
    position = _REQUEST_HEADER.size
    client_id = None
    if size >= 0:
        end = position + size
        if end > len(data):
            raise DecodeError(f"a client id of {size} bytes, {len(data) - position} are left", "ClientId", position)
        try:
            client_id = data[position:end].decode("utf-8")
        except UnicodeDecodeError:
            raise DecodeError("the client id is not UTF-8", "ClientId", position) from None
        position = end
    elif size != -1:
        raise DecodeError(f"a client id of {size} bytes", "ClientId", position)
    if key in REQUESTS and _is_flexible_request(key, version):
        position = _skip_tags(data, position)
    return RequestHeader(key, version, correlation_id, client_id), position


def _is_flexible_request(key: int, version: int) -> bool:
    kind = request_type(key)
    low, high = kind.versions
    return low <= version <= high and kind.flexible(version)


def decode_request(data: bytes) -> tuple[RequestHeader, Any]:
    """A request frame (without its length) as its header and its message.

    Errors: DecodeError, also for a key or a version that no schema has.
    """
    header, position = decode_request_header(data)
    return header, decode_request_body(data, position, header)


def decode_request_body(data: bytes, position: int, header: RequestHeader) -> Any:
    """The message behind a request header. Errors: DecodeError, also for a key or a version that no schema has."""
    if header.api_key not in REQUESTS:
        raise DecodeError(f"unknown api key {header.api_key}", "RequestApiKey", 0)
    kind = request_type(header.api_key)
    low, high = kind.versions
    if not low <= header.api_version <= high:
        raise DecodeError(f"{kind.name} version {header.api_version}, known are {low} to {high}", "RequestApiVersion", 2)
    return _read(kind, header.api_version, data, position)


def encode_response(api_key: int, version: int, correlation_id: int, message: Any) -> bytes:
    """A whole frame: length, response header 0 or 1, the message. An ApiVersions response always has header 0.

    Errors: EncodeError.
    """
    kind = response_type(api_key)
    out = _response_start(kind, api_key, version, correlation_id)
    kind.writer(version)(message, out)
    _LENGTH.pack_into(out, 0, len(out) - 4)
    return bytes(out)


def response_frame(api_key: int, version: int, correlation_id: int, body: bytes | bytearray) -> bytes:
    """A whole frame, as `encode_response` makes it, around a message that is encoded."""
    out = _response_start(response_type(api_key), api_key, version, correlation_id)
    out += body
    _LENGTH.pack_into(out, 0, len(out) - 4)
    return bytes(out)


def _response_start(kind: MessageType, api_key: int, version: int, correlation_id: int) -> bytearray:
    """Room for the length, and the header."""
    out = bytearray(4)
    out += _LENGTH.pack(correlation_id)
    if kind.flexible(version) and api_key != API_VERSIONS:
        out += _NO_TAGS
    return out


def decode_response(data: bytes, api_key: int, version: int, left: list[int] | None = None) -> tuple[int, Any]:
    """A response frame (without its length) as its correlation id and its message.

    `left[0]` is the number of values that may still be made, and goes down by those of this response; None does not bound them: tiny
    entries take 25 times their bytes in memory. Errors: TooManyValuesError, before the values are made; DecodeError.
    """
    correlation_id = response_correlation_id(data)
    kind = response_type(api_key)
    position = 4
    if kind.flexible(version) and api_key != API_VERSIONS:
        position = _skip_tags(data, position)
    if left is None or len(data) <= COUNTED_SIZE:
        if left is not None:
            left[0] -= len(data) // VALUE_BYTES
        return correlation_id, _read(kind, version, data, position)
    return correlation_id, kind.bounded_reader(version)(data, position, len(data), left)[0]


def _read(kind: MessageType, version: int, data: bytes, position: int) -> Any:
    """The message at `position`. What follows it is ignored, as Kafka does: librdkafka's Metadata requests leave three bytes over."""
    reader = kind.reader(version)
    try:
        return reader(data, position, len(data))
    except TrailingBytesError as error:
        return reader(data, position, error.offset)


def response_correlation_id(data: bytes) -> int:
    """The correlation id of a response frame. Errors: DecodeError for fewer than four bytes."""
    if len(data) < 4:
        raise DecodeError(f"a response of {len(data)} bytes has no correlation id", offset=0)
    found: int = _LENGTH.unpack_from(data)[0]
    return found


def _skip_tags(data: bytes, position: int) -> int:
    count, position = read_uvarint(data, position)
    if count > TAGS_MAX:
        raise DecodeError(f"a header with {count} tagged fields", offset=position)
    for _ in range(count):
        _, position = read_uvarint(data, position)
        size, position = read_uvarint(data, position)
        position += size
        if position > len(data):
            raise DecodeError(f"a tagged field of {size} bytes ends behind the frame", offset=position - size)
    return position
