"""Messages of magic 0 and 1, as Kafka's own builder wrote them and its dump-log prints them."""

from __future__ import annotations

import re
from pathlib import Path
from struct import pack
from zlib import crc32

import pytest

from metashell.codec.framing import message_crc, read_message_header, read_messages
from metashell.codec.primitives import GZIP, LZ4, ZSTD, compress
from metashell.common.errors import DecodeError
from metashell.disk.files import open_file
from metashell.disk.segment import read_batches

GOLDEN = Path(__file__).parent.parent / "golden"
LOG = GOLDEN / "legacy" / "00000000000000000000.log"
LINE = re.compile(
    r"\| offset: (\d+) \w+: (-?\d+) keySize: (-?\d+) valueSize: (-?\d+) isValid: true crc: (\d+)(?: key: (\S+))?(?: payload: (\S+))?"
)


def message(offset: int, value: bytes | None, *, magic: int = 1, attributes: int = 0, key: bytes | None = None) -> bytes:
    def field(data: bytes | None) -> bytes:
        return pack(">i", -1) if data is None else pack(">i", len(data)) + data

    rest = pack(">bb", magic, attributes) + (pack(">q", 1000 + offset) if magic == 1 else b"") + field(key) + field(value)
    return pack(">qiI", offset, len(rest) + 4, crc32(rest)) + rest


def test_every_message_reads_as_kafka_prints_it() -> None:
    expected = LINE.findall((GOLDEN / "legacy" / "print.txt").read_text())
    assert len(expected) == 30
    found = []
    with open_file(str(LOG)) as file:
        for batch in read_batches(file):
            for record in read_messages(batch.data):
                assert record.crc_is_valid
                texts = ["" if field is None else field.decode() for field in (record.key, record.value)]
                numbers = (record.offset, record.timestamp, record.key_size, record.value_size, record.crc)
                found.append((*map(str, numbers), *texts))
    assert found == expected


def test_batches_of_messages_give_records_like_any_other() -> None:
    with open_file(str(LOG)) as file:
        batches = list(read_batches(file))
    assert all(batch.crc_fault() is None for batch in batches)
    assert [record.offset for batch in batches for record in batch.records()][:6] == [0, 1, 3, 4, 5, 7]
    assert [batch.header.timestamp_type for batch in batches[:1] + batches[6:7] + batches[-1:]] == [
        "NoTimestampType",
        "CreateTime",
        "LogAppendTime",
    ]


def test_the_broken_lz4_frame_of_magic_0_is_read() -> None:
    packed = (GOLDEN / "compression" / "lz4-magic-0.bin").read_bytes()
    inner = message(5, b"deep", magic=0)
    frame = compress(LZ4, inner)
    wrapper = message(5, frame[:6] + bytes((frame[6] ^ 0x55,)) + frame[7:], magic=0, attributes=LZ4)
    assert [record.value for record in read_messages(wrapper)] == [b"deep"]
    with pytest.raises(DecodeError, match="no batch"):  # the payload decompresses, and is no set of messages
        list(read_messages(message(0, packed, magic=0, attributes=LZ4)))


def test_every_truncation_of_a_wrapper_is_a_decode_error() -> None:
    wrapper = message(7, compress(GZIP, message(0, b"a") + message(1, b"b")), attributes=GZIP)
    assert [record.offset for record in read_messages(wrapper)] == [6, 7]
    for size in range(18, len(wrapper)):
        with pytest.raises(DecodeError):
            list(read_messages(wrapper[:size]))


@pytest.mark.parametrize(
    "wrapper",
    [
        message(0, compress(ZSTD, message(0, b"a")), attributes=ZSTD),
        message(0, compress(GZIP, message(0, compress(GZIP, b"x"), attributes=GZIP)), attributes=GZIP),
        message(0, compress(GZIP, message(0, b"a", magic=0)), attributes=GZIP),
        message(0, compress(GZIP, b""), attributes=GZIP),
        message(0, None, attributes=GZIP),
    ],
    ids=["zstd", "nested", "mixed magic", "empty", "null"],
)
def test_wrappers_that_never_were_legal_are_decode_errors(wrapper: bytes) -> None:
    with pytest.raises(DecodeError):
        list(read_messages(wrapper))


def test_a_size_that_runs_past_the_message_is_a_decode_error() -> None:
    whole = bytearray(message(0, b"value"))
    whole[26:30] = pack(">i", 200)  # the key's size
    with pytest.raises(DecodeError, match="key of"):
        list(read_messages(bytes(whole)))


def test_the_header_of_a_message_says_what_a_batch_would() -> None:
    header = read_message_header(message(42, b"v"))
    assert (header.base_offset, header.last_offset, header.magic, header.max_timestamp, header.count) == (42, 42, 1, 1042, 1)
    assert header.crc == message_crc(message(42, b"v"))
