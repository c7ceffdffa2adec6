"""Requests that a broker hands on for its clients, with the client's principal.

Source: kafka.server.EnvelopeUtils, ControllerApis.handleEnvelopeRequest.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from metashell.codec import messages
from metashell.codec.error_codes import (
    INVALID_REQUEST,
    NONE,
    NOT_CONTROLLER,
    NOT_LEADER_OR_FOLLOWER,
    PRINCIPAL_DESERIALIZATION_FAILURE,
    UNSUPPORTED_VERSION,
)
from metashell.codec.java_text import host_address
from metashell.codec.primitives import kafka_text, read_uvarint
from metashell.codec.registry import message_type
from metashell.controller.apis import APIS
from metashell.controller.decision import ApiError
from metashell.controller.request import Request
from metashell.errors import DecodeError

_ADDRESS_SIZES = (4, 16)
VALUES_MAX: Final = 200_000
"""The fields and entries of a request that is handed on; those of 10 000 records are well below. So many are read in some 50 ms."""


class Inner(NamedTuple):
    """What an envelope holds."""

    name: str
    correlation_id: int
    request: Request


def open_envelope(envelope: Request) -> Inner:
    """The request inside.

    Errors: ApiError with the code that the envelope is answered with.
    """
    body = envelope.body
    if len(body.client_host_address) not in _ADDRESS_SIZES:
        raise ApiError(INVALID_REQUEST)
    principal, is_token = _principal(body.request_principal)
    try:
        name, header, start = _header(bytes(body.request_data))
        inner = _body(name, header.request_api_version, bytes(body.request_data), start)
    except DecodeError:
        raise ApiError(UNSUPPORTED_VERSION) from None
    made = envelope._replace(
        api_key=header.request_api_key,
        version=header.request_api_version,
        body=inner,
        principal=principal,
        client_id=header.client_id or "",
        host=host_address(bytes(body.client_host_address)),
        is_forwarded=True,
        is_token_authenticated=is_token,
    )
    return Inner(name, header.correlation_id, made)


def _body(name: str, version: int, data: bytes, start: int) -> Any:
    """The request's body. Errors: DecodeError, also for one that would hold the loop for long."""
    body, end = message_type("request", f"{name}Request").bounded_reader(version)(data, start, len(data), [VALUES_MAX])
    if end != len(data):
        raise DecodeError("bytes are left")
    return body


def _header(data: bytes) -> tuple[str, Any, int]:
    """The name of the API, the header, and where the body starts. Errors: DecodeError, ApiError."""
    if len(data) < 8:
        raise DecodeError("the header ends early")
    key, version = int.from_bytes(data[:2], "big", signed=True), int.from_bytes(data[2:4], "big", signed=True)
    api = APIS.get(key)
    if api is None:
        raise ApiError(UNSUPPORTED_VERSION)
    if not api.is_forwarded:
        raise ApiError(INVALID_REQUEST)
    if not api.has(version):
        raise ApiError(UNSUPPORTED_VERSION)
    name = api.name
    is_flexible = message_type("request", f"{name}Request").flexible(version)
    client_size = int.from_bytes(data[8:10], "big", signed=True)
    start = 10 + max(0, client_size)
    if start + is_flexible > len(data):
        raise DecodeError("the header ends early")
    if is_flexible:
        start = _after_tags(data, start)
    header = messages.RequestHeader(
        request_api_key=key,
        request_api_version=version,
        correlation_id=int.from_bytes(data[4:8], "big", signed=True),
        client_id=kafka_text(data[10 : 10 + client_size]) if client_size >= 0 else None,
    )
    return name, header, start


def _after_tags(data: bytes, at: int) -> int:
    """Where a section of tagged fields ends. Errors: DecodeError."""
    try:
        count, at = read_uvarint(data, at)
        for _ in range(count):
            _, at = read_uvarint(data, at)
            size, at = read_uvarint(data, at)
            at += size
    except IndexError:
        raise DecodeError("the header ends early") from None
    if at > len(data):
        raise DecodeError("the header ends early")
    return at


def _principal(data: bytes | None) -> tuple[str, bool]:
    """`Type:Name`, and whether it logged in by a token. Errors: ApiError for bytes that are no principal."""
    if not data:
        raise ApiError(PRINCIPAL_DESERIALIZATION_FAILURE)
    raw = bytes(data)
    try:
        if len(raw) < 2 or raw[:2] != b"\0\0":
            raise DecodeError("the version is not known")
        kind, at = _compact_text(raw, 2)
        name, at = _compact_text(raw, at)
        if at >= len(raw):
            raise DecodeError("the principal ends early")
        is_token = raw[at] != 0
        if _after_tags(raw, at + 1) != len(raw):
            raise DecodeError("bytes are left")
    except (DecodeError, IndexError):
        raise ApiError(PRINCIPAL_DESERIALIZATION_FAILURE) from None
    return f"{kind}:{name}", is_token


def _compact_text(data: bytes, at: int) -> tuple[str, int]:
    size, at = read_uvarint(data, at)
    end = at + size - 1
    if size == 0 or end > len(data):
        raise DecodeError("a text ends early")
    return kafka_text(data[at:end]), end


def close_envelope(inner: Inner, answer: Any) -> Any:
    """The answer of an envelope around the answer of what it held.

    Where that says that another controller leads, the envelope says NOT_CONTROLLER, without data: the broker asks again elsewhere.
    Source: kafka.network.RequestChannel.Request.shouldReturnNotController.
    """
    response = messages.EnvelopeResponse
    if _says(answer, NOT_LEADER_OR_FOLLOWER if inner.name == "DescribeQuorum" else NOT_CONTROLLER):
        return response(response_data=None, error_code=NOT_CONTROLLER)
    message = message_type("response", f"{inner.name}Response")
    tags = b"\0" if message.flexible(inner.request.version) else b""
    data = inner.correlation_id.to_bytes(4, "big", signed=True) + tags + message.write(answer, inner.request.version)
    return response(response_data=data, error_code=NONE)


def _says(value: Any, code: int) -> bool:
    """Whether an error code stands anywhere in an answer."""
    if isinstance(value, tuple):
        return any(_says(item, code) for item in value)
    names = getattr(type(value), "__slots__", ())
    return any(
        getattr(value, name) == code if name == "error_code" else _says(getattr(value, name), code)
        for name in names
        if name == "error_code" or isinstance(getattr(value, name), tuple)
    )
