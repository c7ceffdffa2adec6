"""Frames and headers: equal with the codec's own header messages, cut anywhere, bounded before anything is kept."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.messages import ApiVersionsResponse, DescribeClusterRequest, FetchRequest, MetadataRequest
from metashell.codec.registry import message_type
from metashell.common.errors import DecodeError, EncodeError
from metashell.net.frames import (
    FrameReader,
    RequestHeader,
    api_key_of,
    decode_request,
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
    frame,
    response_correlation_id,
)


def all_frames(reader: FrameReader) -> list[bytes]:
    found = []
    while (next_one := reader.next_frame()) is not None:
        found.append(next_one)
    return found


@given(st.lists(st.binary(max_size=40), max_size=6), st.lists(st.integers(1, 9), max_size=40))
def test_frames_come_out_as_they_went_in_wherever_the_stream_is_cut(payloads: list[bytes], sizes: list[int]) -> None:
    stream = b"".join(frame(payload) for payload in payloads)
    reader = FrameReader(64)
    found = []
    for size in [*sizes, len(stream)]:
        reader.feed(stream[:size])
        stream = stream[size:]
        found += all_frames(reader)
    assert found == payloads
    assert (reader.buffered_size, reader.fault) == (0, "")


@pytest.mark.parametrize("size", [-1, -(1 << 31), 65, (1 << 31) - 1])
def test_a_length_out_of_bounds_is_a_fault_and_nothing_is_kept(size: int) -> None:
    reader = FrameReader(64)
    reader.feed(struct.pack(">i", size) + b"x" * 60)
    assert reader.next_frame() is None
    assert str(size) in reader.fault
    reader.feed(frame(b"later"))
    assert reader.next_frame() is None
    assert reader.buffered_size == 0


def test_the_limit_may_rise_between_two_frames_of_one_piece() -> None:
    reader = FrameReader(4)
    reader.feed(frame(b"four") + frame(b"eight at"))
    assert reader.next_frame() == b"four"
    reader.limit = 8
    assert reader.next_frame() == b"eight at"


@pytest.mark.parametrize("client_id", [None, "", "a client", "ключ"])
@pytest.mark.parametrize("version", [0, 8, 9])
def test_a_request_has_the_header_that_the_codec_writes(client_id: str | None, version: int) -> None:
    request = MetadataRequest()
    header_version = 2 if version >= 9 else 1
    header_type = message_type("header", "RequestHeader")
    header = header_type.cls(request_api_key=3, request_api_version=version, correlation_id=77, client_id=client_id)
    written = header_type.write(header, header_version) + message_type("request", "MetadataRequest").write(request, version)
    assert encode_request(request, version, 77, client_id) == frame(written)
    assert decode_request(written)[0] == RequestHeader(3, version, 77, client_id)


def test_a_response_of_a_flexible_version_has_tags_but_not_that_of_api_versions() -> None:
    described = message_type("response", "DescribeClusterResponse").cls(cluster_id="c")
    assert encode_response(60, 0, 5, described)[4:9] == b"\0\0\0\5\0"
    assert decode_response(encode_response(60, 0, 5, described)[4:], 60, 0) == (5, described)
    versions = ApiVersionsResponse(error_code=7)
    assert encode_response(18, 3, 5, versions)[4:10] == b"\0\0\0\5\0\7"
    assert decode_response(encode_response(18, 3, 5, versions)[4:], 18, 3) == (5, versions)


def test_tagged_fields_of_headers_are_skipped() -> None:
    request = encode_request(DescribeClusterRequest(), 1, 9, "c")[4:]
    head = len(decode_head(request))
    tags = b"\x02" + b"\x00\x03abc" + b"\x05\x00"
    with_tags = request[: head - 1] + tags + request[head:]
    assert decode_request(with_tags) == decode_request(request)


def decode_head(request: bytes) -> bytes:
    return request[: decode_request_header(request)[1]]


@pytest.mark.parametrize(
    "tail",
    [b"\x41", b"\x01\x00\x7f", b"\x01", b"\xff\xff\xff\xff\xff\xff"],
    ids=["too many", "past the end", "cut off", "no varint"],
)
def test_malformed_tagged_fields_of_a_header_are_decode_errors(tail: bytes) -> None:
    request = encode_request(DescribeClusterRequest(), 1, 9, "c")[4:]
    head = decode_head(request)
    with pytest.raises(DecodeError):
        decode_request_header(head[:-1] + tail)


def test_every_truncation_of_a_request_is_a_decode_error() -> None:
    topic = FetchRequest.FetchTopic(partitions=(FetchRequest.FetchPartition(partition=3),))
    request = encode_request(FetchRequest(topics=(topic,)), 17, 1, "client")[4:]
    decode_request(request)
    for end in range(len(request)):
        with pytest.raises(DecodeError):
            decode_request(request[:end])


@pytest.mark.parametrize("rest", [b"\0", b"\0\0\0", b"\xff" * 50])
def test_what_follows_a_message_in_its_frame_is_ignored(rest: bytes) -> None:
    request = encode_request(DescribeClusterRequest(), 1, 9, "c")[4:]
    assert decode_request(request + rest) == decode_request(request)
    described = message_type("response", "DescribeClusterResponse").cls(cluster_id="c")
    response = encode_response(60, 1, 9, described)[4:]
    assert decode_response(response + rest, 60, 1) == (9, described)


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">hhih", 9999, 0, 1, -1),
        struct.pack(">hhih", 3, 99, 1, -1),
        struct.pack(">hhih", 3, -1, 1, -1),
        struct.pack(">hhih", 3, 0, 1, -2),
        struct.pack(">hhih", 3, 0, 1, 5),
        struct.pack(">hhih", 3, 0, 1, 1) + b"\xff",
    ],
    ids=["key", "version", "negative version", "negative size", "size past the end", "not UTF-8"],
)
def test_a_header_that_cannot_be_is_a_decode_error(data: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_request(data)


def test_a_client_id_that_does_not_fit_is_not_sent() -> None:
    with pytest.raises(EncodeError, match="client id of 40000 bytes"):
        encode_request(MetadataRequest(), 9, 1, "x" * 40000)


def test_a_response_needs_its_correlation_id() -> None:
    assert response_correlation_id(b"\0\0\1\0rest") == 256
    with pytest.raises(DecodeError, match="3 bytes"):
        response_correlation_id(b"\0\0\1")


def test_the_api_key_of_a_request_is_that_of_its_class() -> None:
    assert (api_key_of(MetadataRequest()), api_key_of(DescribeClusterRequest())) == (3, 60)
