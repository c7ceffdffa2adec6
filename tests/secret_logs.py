"""Logs that are full of known secrets, and functions that look for them in everything a command prints or writes."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from metashell.codec.batch_writer import SNAPSHOT_FOOTER, SNAPSHOT_HEADER, write_batch
from metashell.codec.batches import CRC_START, HEADER_SIZE, Record
from metashell.codec.coordinator import COORDINATOR_LOGS
from metashell.codec.dispatch import METADATA_TYPES
from metashell.codec.messages import GroupMetadataKey, GroupMetadataValue
from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.primitives import CODEC_NAMES, crc32c, encode_uvarint
from metashell.codec.registry import message_type
from metashell.disk.names import TOPICS
from tests.inspect.dump.making import LOG_NAME, T0, batch, control_batch, topic

SIZE = 24
WINDOW = 8
"""Any fifteen bytes of a secret hold a whole window."""


def _binary(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()[:SIZE]


def _text(name: str) -> bytes:
    return base64.b32encode(hashlib.sha256(name.encode()).digest())[:SIZE]


SECRETS: dict[str, bytes] = {
    **{name: _binary(name) for name in ("salt", "stored key", "server key", "old salt", "salted password")},
    **{name: _text(name) for name in ("password", "unknown key", "listener password", "jaas", "topic jaas", "old password")},
}
"""What must not be shown, by what it is; some of these are text, the others are no UTF-8."""


# ---- finding ---------------------------------------------------------------------------------------------------------


def _forms(window: bytes) -> Iterator[bytes]:
    """How these bytes may be written."""
    yield window
    yield from (window.hex().encode(), window.hex().upper().encode())
    for shift, skipped in enumerate((0, 2, 3)):
        text = base64.b64encode(bytes(shift) + window)[skipped : (shift + len(window)) * 8 // 6]
        yield from (text, text.replace(b"+", b"-").replace(b"/", b"_"))
    signed = [byte - 256 if byte > 127 else byte for byte in window]
    yield from (", ".join(map(str, signed)).encode(), ", ".join(map(str, window)).encode())
    yield from (window.decode("latin-1").encode(), repr(window)[2:-1].encode(), window.decode("utf-8", "backslashreplace").encode())


@cache
def needles() -> tuple[tuple[str, bytes], ...]:
    found = {form: name for name, secret in SECRETS.items() for at in range(0, SIZE, WINDOW) for form in _forms(secret[at : at + WINDOW])}
    return tuple((name, form) for form, name in found.items())


def found_in(data: bytes) -> set[str]:
    """The names of the secrets of which a part stands in `data`, in any form."""
    return {name for name, needle in needles() if needle in data}


def found_in_files(folder: Path) -> set[str]:
    """The same for all files below a folder, tables row by row."""
    return {name for path in folder.rglob("*") if path.is_file() for name in found_in(content_of(path))}


def content_of(path: Path) -> bytes:
    """The bytes of a file, and those that it holds in columns."""
    raw = path.read_bytes()
    table: Any = None
    with suppress(pa.ArrowException):
        table = pyarrow.parquet.read_table(path, partitioning=None)
    with suppress(pa.ArrowException):
        table = pa.ipc.open_file(path).read_all()
    return raw if table is None else raw + content_of_table(table)


def content_of_table(table: pa.Table) -> bytes:
    out = io.BytesIO()
    out.write(repr(table.schema.metadata).encode())
    for column in table.columns:
        _write_values(out, column.to_pylist())
    return out.getvalue()


def _write_values(out: io.BytesIO, value: Any) -> None:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            _write_values(out, one)
        return
    out.write(value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape"))
    out.write(b"\n")


# ---- records ---------------------------------------------------------------------------------------------------------


def _config(resource_type: int, key: str, secret: str, form: str = "{}") -> bytes:
    value = form.format(SECRETS[secret].decode())
    body = message_type("metadata", "ConfigRecord").cls(resource_type=resource_type, resource_name="1", name=key, value=value)
    return write_metadata_record(body)


def _kip631(message_name: str, /, **fields: Any) -> bytes:
    message = message_type("kip631", message_name)
    assert message.key is not None
    return b"\0" + encode_uvarint(message.key) + b"\0" + message.write(message.cls(**fields), 0)


def _scram(**more: Any) -> bytes:
    fields = {"salt": SECRETS["salt"], "stored_key": SECRETS["stored key"], "server_key": SECRETS["server key"], **more}
    return write_metadata_record(
        message_type("metadata", "UserScramCredentialRecord").cls(name="a", mechanism=1, iterations=4096, **fields)
    )


def secret_values() -> list[bytes]:
    """Metadata records that hold each of the secrets of Kafka's own logs, and decode."""
    return [
        _scram(),
        _config(4, "ssl.keystore.password", "password"),
        _config(4, "no.such.key", "unknown key"),
        _config(4, "listener.name.internal.ssl.key.password", "listener password"),
        _config(4, "listener.name.x.plain.sasl.jaas.config", "jaas", 'Login required password="{}";'),
        _config(2, "sasl.jaas.config", "topic jaas"),
    ]


def old_values() -> list[bytes]:
    """The same of KIP-631's text."""
    scram = message_type("kip631", "UserScramCredentialRecord")
    info = scram.make_struct("CredentialInfo")
    info.salt, info.salted_password = SECRETS["old salt"], SECRETS["salted password"]
    config = _kip631("ConfigRecord", resource_type=4, resource_name="1", name="ssl.key.password", value=SECRETS["old password"].decode())
    return [_kip631(scram.name, user_name="a", credential_infos=(info,)), config]


def harmless_values() -> list[bytes]:
    plain = message_type("metadata", "ConfigRecord").cls(resource_type=4, resource_name="1", name="num.io.threads", value="8")
    level = message_type("metadata", "FeatureLevelRecord").cls(name="metadata.version", feature_level=25)
    return [write_metadata_record(level), topic("orders"), write_metadata_record(plain)]


def undecodable(value: bytes) -> Iterator[bytes]:
    """What a record becomes when it is cut, is newer than we are, or was hit: its frame can still be read."""
    frame, body = value[:1], value[3:]
    for cut in (len(value) - 1, len(value) * 3 // 4, len(value) // 2):
        yield value[:cut]
    yield value + b"!"
    for version in (b"\1", b"\x0e", encode_uvarint(300)):
        yield value[:2] + version + body
        yield value[:2] + version + body + b"!"
    if frame == b"\1":
        for type_id in (max(METADATA_TYPES) + 1, 99, 300, 32767):
            yield frame + encode_uvarint(type_id) + b"\0" + body
            yield frame + encode_uvarint(type_id) + b"\2" + body


def unframed(value: bytes) -> Iterator[bytes]:
    """What has no frame that we know."""
    for start in (b"\2", b"\5", encode_uvarint(200), b"\1" + b"\xff" * 6, b"\0\x63"):
        yield start + value[1:]


def odd_values() -> list[bytes]:
    values = [*secret_values(), *old_values()]
    return [odd for value in values for odd in undecodable(value)] + [_scram(unknown_tags=((7, SECRETS["password"]),))]


# ---- logs ------------------------------------------------------------------------------------------------------------


class LogMaker:
    """Batches one after another, at offsets without gaps."""

    def __init__(self) -> None:
        self.data = b""
        self.offset = 0

    def records(self, *pairs: tuple[bytes | None, bytes | None], **more: Any) -> bytes:
        headers = more.pop("headers", ())
        records = [Record(self.offset + at, T0, key, value, headers) for at, (key, value) in enumerate(pairs)]
        return self.take(write_batch(self.offset, records, **{"leader_epoch": 3, **more}), len(records))

    def values(self, *values: bytes, **more: Any) -> bytes:
        return self.records(*((None, value) for value in values), **more)

    def take(self, made: bytes, count: int) -> bytes:
        self.data += made
        self.offset += count
        return made


def with_crc(made: bytes) -> bytes:
    return made[:17] + crc32c(made[CRC_START:]).to_bytes(4, "big") + made[CRC_START:]


def legacy_message(offset: int, magic: int, value: bytes, key: bytes | None = None) -> bytes:
    from zlib import crc32

    def field(raw: bytes | None) -> bytes:
        return (-1 if raw is None else len(raw)).to_bytes(4, "big", signed=True) + (raw or b"")

    body = bytes((magic, 0)) + (T0.to_bytes(8, "big") if magic else b"") + field(key) + field(value)
    message = crc32(body).to_bytes(4, "big") + body
    return offset.to_bytes(8, "big") + len(message).to_bytes(4, "big") + message


def sound_log() -> bytes:
    """Secrets in records that decode, in batches of each codec."""
    made = LogMaker()
    made.values(*harmless_values())
    for codec_id in range(len(CODEC_NAMES)):
        made.values(*secret_values(), codec_id=codec_id)
    made.values(*harmless_values()[1:] * 2, *secret_values() * 5)
    return made.data


def coordinator_key(log: str) -> bytes:
    """A key that decodes in a coordinator's log."""
    coordinator = COORDINATOR_LOGS[log]
    type_id = min(type for type in coordinator.keys if type in coordinator.values)
    key = coordinator.key_message(type_id)
    assert key is not None
    return type_id.to_bytes(2, "big") + key.write(key.cls(), 0)


def odd_log() -> bytes:
    """Records that do not decode, each in sound batches; keys and headers that hold secrets too."""
    made = LogMaker()
    made.values(*harmless_values())
    made.values(*odd_values())
    made.values(*old_values())
    for codec_id in range(1, len(CODEC_NAMES)):
        made.values(*odd_values()[codec_id :: len(CODEC_NAMES)], codec_id=codec_id)
    made.values(*(odd for value in secret_values() for odd in unframed(value)))
    for value in secret_values():
        made.records((b"key", value), (value, None), (value, b"x"), (value + b"!", value[:-1]))
        made.records((None, topic("x")), headers=(("secret", value), ("cut", value[:-1])))
        made.records((None, value), producer_id=7, producer_epoch=1, base_sequence=0, is_transactional=True)
        for log in COORDINATOR_LOGS:
            key = coordinator_key(log)
            made.records((key, value), (key, value[:-1]), (key[:2] + b"\x7f", value))
        for key in (b"\0\0\0\1", b"\0\0\0\x63", b"\0\0\0\2", b"\0", value):
            made.records((key, value), is_control=True)
    made.values(*harmless_values()[1:])
    return made.data


def legacy_log() -> bytes:
    """Messages of magic 0 and 1: sound, and with a checksum that does not hold."""
    messages = [legacy_message(at, at % 2, value) for at, value in enumerate([topic("old"), *secret_values(), *odd_values()])]
    return b"".join(messages) + b"".join(message[:-1] + bytes((message[-1] ^ 1,)) for message in messages)


def damaged_log() -> bytes:
    """Batches that are hit, and bytes that are none; the file ends in the middle of a secret."""
    made = LogMaker()
    made.values(*harmless_values())
    for codec_id in range(len(CODEC_NAMES)):
        made.values(*secret_values(), codec_id=codec_id)
        made.data = made.data[:-1] + bytes((made.data[-1] ^ 1,))
        # Compressed, it says, and is not: the checksum holds.
        lie = bytearray(LogMaker().values(*secret_values()))
        lie[7], lie[22] = made.offset, codec_id
        made.take(with_crc(bytes(lie)), 6)
    for count in (5, 9):
        # One record less than there are, and more than there are.
        many = bytearray(LogMaker().values(*secret_values()))
        many[7] = made.offset
        many[57:61] = count.to_bytes(4, "big")
        made.take(with_crc(bytes(many)), 6)
    for magic in (0, 1, 3, 9):
        other = bytearray(LogMaker().values(*secret_values()))
        other[16] = magic
        made.take(bytes(other), 6)
    made.values(*harmless_values()[1:])
    made.data += b"".join(SECRETS.values()) + b"".join(secret_values())
    made.values(*harmless_values()[1:])
    short = bytearray(made.values(*secret_values()))
    short[8:12] = (HEADER_SIZE + 40).to_bytes(4, "big")
    made.data = made.data[: -len(short)] + bytes(short)
    made.values(*harmless_values()[1:])
    return made.data + LogMaker().values(*secret_values())[:-9]


def checkpoint() -> bytes:
    """A whole checkpoint with secrets in it, some of them in records that do not decode."""
    values = [*harmless_values(), *secret_values(), *odd_values()]
    head = control_batch(0, SNAPSHOT_HEADER, last_contained_log_timestamp=T0)
    return head + batch(values, 1) + control_batch(1 + len(values), SNAPSHOT_FOOTER)


def hidden(data: bytes) -> bytes:
    """A log behind records that keep it from being known for what it is: it is read with any decoder that is asked for."""
    made = LogMaker()
    made.values(*[b"junk"] * 5, *harmless_values()[:3])
    return made.data + data


LOGS = {"sound": sound_log, "odd": odd_log, "damaged": damaged_log, "legacy": legacy_log}
CHECKPOINT_NAME = f"{500:020d}-{3:010d}.checkpoint"


def write_logs(root: Path) -> None:
    """Each log as a file by itself, and in a folder named as each of the topics of Kafka's own, a user's, and none, and `hidden`."""
    for log, make in LOGS.items():
        data = make()
        for folder in (*(f"{name}-3" for name in TOPICS), "__cluster_metadata-0", "orders-0", "somewhere"):
            place = root / log / folder
            place.mkdir(parents=True)
            (place / LOG_NAME).write_bytes(data)
        place = root / log / "hidden"
        place.mkdir()
        (place / LOG_NAME).write_bytes(hidden(data))
    place = root / "checkpoint" / "__cluster_metadata-0"
    place.mkdir(parents=True)
    (place / CHECKPOINT_NAME).write_bytes(checkpoint())


# ---- groups ----------------------------------------------------------------------------------------------------------

CONNECT_GROUPS = ("connect-sound", "connect-old-allocation", "connect-broken")
"""Groups of Kafka Connect whose workers have urls with passwords: what decodes, what holds a blob that does not, and what does not."""


def write_group_log(folder: Path) -> None:
    """A log of groups of Connect, of two generations each."""
    url = f"http://{SECRETS['jaas'].decode()}:{SECRETS['password'].decode()}@{{}}:8083/"
    worker, leader = url.format("worker"), url.format("leader")
    given = b"\0\2" + message_type("blobs", "ConnectAssignment").write(
        message_type("blobs", "ConnectAssignment").cls(leader="a", leader_url=leader, assignment=()), 2
    )
    metadata = message_type("blobs", "ConnectWorkerMetadata")

    def told(allocation: bytes | None) -> bytes:
        return b"\0\2" + metadata.write(metadata.cls(url=worker, config_offset=1, allocation=allocation), 2)

    blobs = ((told(given), given), (told(b"\0\x09" + leader.encode()), given), (b"\0\x09" + worker.encode(), b"\xff" + leader.encode()))
    value, key = message_type("offsets", "GroupMetadataValue"), message_type("offsets", "GroupMetadataKey")
    records = []
    for generation in (1, 2):
        for group, (subscription, assignment) in zip(CONNECT_GROUPS, blobs, strict=True):
            member = GroupMetadataValue.MemberMetadata(
                member_id=f"a{generation}", client_id="c", client_host="/h", subscription=subscription, assignment=assignment
            )
            body = GroupMetadataValue(
                protocol_type="connect", generation=generation, protocol="sessioned", leader=member.member_id, members=(member,)
            )
            written = b"\0\2" + key.write(GroupMetadataKey(group=group), 0), b"\0\3" + value.write(body, 3)
            records.append(Record(len(records), T0, *written))
    place = folder / "__consumer_offsets-0"
    place.mkdir()
    (place / LOG_NAME).write_bytes(write_batch(0, records, leader_epoch=0))
