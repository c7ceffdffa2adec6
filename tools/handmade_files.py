"""The bytes of the hand-made golden files: a dictionary from path to content, the same every time."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.dispatch import OFFSETS_KEYS, REMOTE_LOG_TYPES
from metashell.codec.primitives import crc32c, encode_uvarint
from metashell.codec.registry import message_type

NAME = "00000000000000000000"
LOG = f"{NAME}.log"
TIME_MS = 1_700_000_000_000
ID = bytes(range(1, 17))
LEGACY = Path(__file__).resolve().parents[1] / "tests" / "golden" / "legacy" / LOG

Pair = tuple[bytes | None, bytes | None]


def log(pairs: list[Pair], per_batch: int = 4, **options: Any) -> bytes:
    """A log of these keys and values."""
    out = b""
    for first in range(0, len(pairs), per_batch):
        part = pairs[first : first + per_batch]
        records = [Record(first + number, TIME_MS + first, key, value) for number, (key, value) in enumerate(part)]
        out += write_batch(first, records, leader_epoch=5, **options)
    return out


def int16(number: int) -> bytes:
    return struct.pack(">h", number)


def key_of(family: str, type: int, name: str, **fields: Any) -> bytes:
    message = message_type(family, name)
    return int16(type) + message.write(message.cls(**fields), 0)


def value_of(family: str, name: str, version: int, told: int | None = None, **fields: Any) -> bytes:
    message = message_type(family, name)
    return int16(version if told is None else told) + message.write(message.cls(**fields), version)


# ---- groups ---------------------------------------------------------------------------------------------------------


def commit_key(partition: int) -> bytes:
    return key_of("offsets", 1, "OffsetCommitKey", group="g", topic="t", partition=partition)


def offset_commits() -> list[Pair]:
    """Commits in every version, and what is wrong with some."""
    pairs: list[Pair] = []
    for version in range(5):
        fields: dict[str, Any] = {"offset": 42 + version, "metadata": "m\u00e9\n", "commit_timestamp": TIME_MS}
        if version == 1:
            fields["expire_timestamp"] = TIME_MS + 5
        if version >= 3:
            fields["leader_epoch"] = 7
        if version == 4:
            fields["topic_id"] = ID
        pairs.append((commit_key(version), value_of("offsets", "OffsetCommitValue", version, **fields)))
    whole = value_of("offsets", "OffsetCommitValue", 3, offset=1, leader_epoch=2, metadata="x", commit_timestamp=3)
    flexible = value_of("offsets", "OffsetCommitValue", 4, offset=1, leader_epoch=2, metadata="x", commit_timestamp=3)
    legacy = key_of("offsets", 0, "LegacyOffsetCommitKey", group="g", topic="t", partition=1)
    pairs += [
        (legacy, value_of("offsets", "LegacyOffsetCommitValue", 0, offset=9, metadata="", commit_timestamp=TIME_MS)),
        (commit_key(9), None),
        (commit_key(9), b""),
        (commit_key(9), b"\0"),
        (commit_key(9), int16(99) + whole[2:]),
        (commit_key(9), int16(-1) + whole[2:]),
        (commit_key(9), whole + b"left over"),
        (commit_key(9) + b"left over", whole),
        (commit_key(9)[:-1], whole),
        (commit_key(9)[:4], whole),
        (commit_key(9)[:1], whole),
        (b"", whole),
        (int16(1) + b"\xff\xff" + commit_key(9)[5:], whole),
        (int16(9) + b"\0\1g", whole),
        (int16(18) + b"\0\1g", None),
        (int16(24) + b"\0\1g", whole),
        (int16(-3) + b"\0\1g", whole),
        (commit_key(9), flexible[:14] + b"\0" + flexible[15:]),
        (commit_key(9), flexible[:14] + b"\x30" + flexible[15:]),
        (commit_key(9), flexible[:14] + b"\xff\xff\xff\xff\xff\xff"),
        (commit_key(9), flexible[:14] + b"\xff\xff\xff\x0f" + flexible[15:]),
        (commit_key(9), flexible[:-1] + b"\1\5\2ab"),
    ]
    pairs += [(commit_key(9), whole[:cut]) for cut in (3, 9, 13, 15, 16, 20)]
    return pairs


def subscription(version: int, told: int | None = None, **fields: Any) -> bytes:
    message = message_type("data", "ConsumerProtocolSubscription")
    return int16(version if told is None else told) + message.write(message.cls(**fields), version)


def assignment(version: int, told: int | None = None, topics: tuple[str, ...] = ("t",)) -> bytes:
    message = message_type("data", "ConsumerProtocolAssignment")
    partition = message.structs["TopicPartition"]
    body = message.cls(assigned_partitions=tuple(partition(topic=topic, partitions=(0, 1)) for topic in topics), user_data=b"\1\2")
    return int16(version if told is None else told) + message.write(body, version)


def classic_groups() -> list[Pair]:
    """Classic groups in every version, with every kind of blob."""
    owned = message_type("data", "ConsumerProtocolSubscription").structs["TopicPartition"](topic="t", partitions=(3,))
    blobs = [
        (subscription(0, topics=("t",), user_data=None), assignment(0)),
        (subscription(1, topics=("t", "u"), owned_partitions=(owned,)), assignment(1, topics=("t", "u"))),
        (subscription(2, topics=(), generation_id=5), assignment(2, topics=())),
        (subscription(3, topics=("t",), rack_id="r", owned_partitions=(owned,)), assignment(3)),
        (subscription(3, 4, topics=("t",)) + b"new", assignment(3, 9)),
        (subscription(3, 4, topics=("t",), owned_partitions=(owned,)), assignment(3, 9, topics=())),
        (subscription(0, -1, topics=("t",)), b""),
        (b"", b"\0"),
        (b"\0\0\0\0\0\5", assignment(0)[:-3]),
    ]
    message = message_type("offsets", "GroupMetadataValue")
    member = message.structs["MemberMetadata"]
    pairs: list[Pair] = []
    for number, (protocol_type, version) in enumerate(
        [("consumer", 0), ("consumer", 1), ("consumer", 2), ("consumer", 3), ("consumer", 4), ("connect", 3), ("", 3)]
    ):
        members = [
            member(member_id=f"m{at}", client_id="c", client_host="/h", session_timeout=9, subscription=sub, assignment=given)
            for at, (sub, given) in enumerate(blobs)
        ]
        if version >= 3:
            members[0].group_instance_id = "static"
        fields: dict[str, Any] = {
            "protocol_type": protocol_type,
            "generation": number,
            "protocol": "range" if protocol_type else None,
            "leader": "m0" if protocol_type else None,
            "members": tuple(members) if protocol_type else (),
        }
        key = key_of("offsets", 2, "GroupMetadataKey", group=f"group-{number}")
        pairs.append((key, value_of("offsets", "GroupMetadataValue", version, **fields)))
    return pairs


def other_groups() -> list[Pair]:
    """A record of defaults, and a tombstone, of every other type."""
    pairs: list[Pair] = []
    for type, name in OFFSETS_KEYS.items():
        if type > 2:
            key = int16(type) + message_type("offsets", name).write(message_type("offsets", name).cls(), 0)
            pairs += [(key, value_of("offsets", name.removesuffix("Key") + "Value", 0)), (key, None)]
    return pairs


def dialects() -> list[Pair]:
    """The layouts of 3.7, 4.0 and of a release after 4.3."""
    pairs: list[Pair] = []
    for family in ("offsets_4_0", "offsets_3_7", "offsets_later"):
        from metashell.codec.registry import message_names

        for name in message_names(family):
            message = message_type(family, name)
            if name.endswith("Value"):
                assert message.key is not None
                member = b"\0\1m" if message.key in (5, 7, 8) else b""
                pairs.append((int16(message.key) + b"\0\1g" + member, int16(0) + message.write(message.cls(), 0)))
    return pairs


# ---- transactions, share groups, remote log -------------------------------------------------------------------------


def transactions() -> list[Pair]:
    message = message_type("transactions", "TransactionLogValue")
    partitions = message.structs["PartitionsSchema"](topic="t", partition_ids=(0, 2))
    key = key_of("transactions", 0, "TransactionLogKey", transactional_id="tx")
    pairs: list[Pair] = []
    for version in (0, 1):
        for status in (0, 1, 2, 3, 4, 5, 6, 7, 9):
            fields: dict[str, Any] = {
                "producer_id": 9,
                "producer_epoch": 1,
                "transaction_timeout_ms": 60000,
                "transaction_status": status,
                "transaction_partitions": (partitions,) if status in (1, 2, 3) else None,
                "transaction_last_update_timestamp_ms": 1000,
                "transaction_start_timestamp_ms": -1,
            }
            if version and status == 2:
                fields.update(next_producer_id=10, previous_producer_id=8, client_transaction_version=2, next_producer_epoch=3)
            pairs.append((key, value_of("transactions", "TransactionLogValue", version, **fields)))
    whole = pairs[0][1]
    assert whole is not None
    pairs += [
        (key, None),
        (key, int16(2) + whole[2:]),
        (key, whole[:20]),
        (int16(1) + key[2:], whole),
        (key[:3], whole),
        (key, whole + b"x"),
    ]
    # Tags of version 1 in the bytes of one that has none of them, and the other way round.
    pairs.append((key, int16(0) + (pairs[9][1] or b"")[2:]))
    return pairs


def share_states() -> list[Pair]:
    snapshot = message_type("share", "ShareSnapshotValue")
    update = message_type("share", "ShareUpdateValue")
    batch = {"first_offset": 3, "last_offset": 5, "delivery_state": 2, "delivery_count": 1}
    keys = [int16(type) + b"\0\1g" + ID + b"\0\0\0\3" for type in (0, 1, 2)]
    old = message_type("share_4_0", "ShareSnapshotValue")
    return [
        (keys[0], value_of("share", "ShareSnapshotValue", 0, snapshot_epoch=1, state_batches=(snapshot.structs["StateBatch"](**batch),))),
        (
            keys[1],
            value_of(
                "share",
                "ShareUpdateValue",
                0,
                start_offset=4,
                delivery_complete_count=6,
                state_batches=(update.structs["StateBatch"](**batch),),
            ),
        ),
        (keys[0], None),
        (keys[1], None),
        (keys[2], None),
        (keys[0], int16(1) + b"\0"),
        (keys[0], int16(0) + old.write(old.cls(snapshot_epoch=7, start_offset=2), 0)),
        (keys[0][:9], None),
    ]


def remote_log() -> list[Pair]:
    """Every type in every state, and what Kafka's objects refuse."""
    segment = message_type("remote_log", "RemoteLogSegmentMetadataRecord")
    snapshot = message_type("remote_log", "RemoteLogSegmentMetadataSnapshotRecord")
    update = message_type("remote_log", "RemoteLogSegmentMetadataUpdateRecord")
    delete = message_type("remote_log", "RemotePartitionDeleteMetadataRecord")
    where = {"name": "orders", "id": ID, "partition": 3}

    def place(message: Any) -> Any:
        partition = message.structs["TopicIdPartitionEntry"](**where)
        return message.structs["RemoteLogSegmentIdEntry"](topic_id_partition=partition, id=ID[::-1])

    def epochs(message: Any, *pairs: tuple[int, int]) -> Any:
        return tuple(message.structs["SegmentLeaderEpochEntry"](leader_epoch=epoch, offset=offset) for epoch, offset in pairs)

    def framed(message: Any, version: int = 0, type: int | None = None, **fields: Any) -> bytes:
        assert message.key is not None
        return bytes(
            b"\1"
            + encode_uvarint(message.key if type is None else type)
            + encode_uvarint(version)
            + message.write(message.cls(**fields), version)
        )

    base = {"start_offset": 10, "end_offset": 99, "broker_id": 2, "max_timestamp_ms": TIME_MS, "event_timestamp_ms": TIME_MS + 1}
    base["segment_size_in_bytes"] = 1024
    values: list[bytes | None] = []
    for state in (0, 1, 2, 3, 4, -1):
        more: dict[str, Any] = {"remote_log_segment_state": state, "txn_index_empty": state == 1}
        if state == 2:
            more["custom_metadata"] = b"abc"
        values.append(
            framed(
                segment,
                remote_log_segment_id=place(segment),
                segment_leader_epochs=epochs(segment, (5, 60), (1, 10), (5, 61)),
                **base,
                **more,
            )
        )
        values.append(framed(snapshot, segment_id=ID, segment_leader_epochs=epochs(snapshot, (0, 10)), **base, **more))
        values.append(
            framed(
                update,
                remote_log_segment_id=place(update),
                broker_id=1,
                event_timestamp_ms=7,
                remote_log_segment_state=state,
                custom_metadata=b"" if state == 3 else None,
            )
        )
        topic = delete.structs["TopicIdPartitionEntry"](**where)
        values.append(framed(delete, topic_id_partition=topic, broker_id=4, event_timestamp_ms=8, remote_partition_delete_state=state))
    good = values[0]
    assert good is not None
    none = {"remote_log_segment_id": place(segment), "segment_leader_epochs": ()}
    values += [
        framed(segment, **none, **base),
        framed(snapshot, segment_id=ID, segment_leader_epochs=(), **base),
        framed(segment, **{**none, "segment_leader_epochs": epochs(segment, (1, 1))}, **{**base, "start_offset": -1}),
        framed(segment, **{**none, "segment_leader_epochs": epochs(segment, (1, 1))}, **{**base, "end_offset": 3}),
        framed(snapshot, segment_id=ID, segment_leader_epochs=epochs(snapshot, (1, 1)), **{**base, "end_offset": 3}),
        None,
        b"",
        b"\0" + good[1:],
        b"\2" + good[1:],
        b"\1\x09\0",
        good + b"xy",
        good[:30],
        good[:2] + b"\3" + good[3:],
        b"\1",
        b"\1\0",
    ]
    assert len(REMOTE_LOG_TYPES) == 4
    return [(None, value) for value in values]


# ---- indexes --------------------------------------------------------------------------------------------------------


def plain_log() -> tuple[bytes, list[int]]:
    """A log of five batches of three records each, and where they begin."""
    out, places = b"", []
    for number in range(5):
        places.append(len(out))
        records = [Record(3 * number + at, TIME_MS + 10 * number + at, b"k", b"value") for at in range(3)]
        out += write_batch(3 * number, records, leader_epoch=1, codec_id=1 if number == 2 else 0)
    return out, places


def index_of(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">ii", *entry) for entry in entries)


def times_of(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">qi", *entry) for entry in entries)


def producers(*entries: tuple[int, ...], crc: int | None = None, count: int | None = None, version: int = 1) -> bytes:
    body = struct.pack(">i", len(entries) if count is None else count) + b"".join(struct.pack(">qhiqiqiq", *entry) for entry in entries)
    return struct.pack(">hI", version, crc32c(body) if crc is None else crc) + body


def index_files() -> dict[str, bytes]:
    """Indexes, right and wrong, each with its log."""
    data, places = plain_log()
    right = index_of((5, places[1]), (8, places[2]), (14, places[4]))
    times = times_of((TIME_MS + 12, 5), (TIME_MS + 22, 8), (TIME_MS + 42, 14))
    pairs = {
        "index": (right, times),
        "index-zero-tail": (right + bytes(64), times + bytes(36)),
        "index-empty": (b"", b""),
        "index-short": (b"\0\0\0", b"\0\0\0"),
        "index-odd": (right + b"\0", times + b"\0"),
        "index-mismatch": (
            index_of((4, places[1]), (9, places[2]), (4, places[3])),
            times_of((TIME_MS + 12, 4), (TIME_MS + 21, 8), (TIME_MS + 12, 11)),
        ),
        "index-beyond": (index_of((5, places[1]), (8, 100000)), times_of((TIME_MS + 12, 5), (TIME_MS + 99, 99))),
        "index-inside": (index_of((5, places[1] + 3)), times_of((TIME_MS + 12, 5))),
        "index-negative": (index_of((5, -1)), times_of((TIME_MS + 12, 5))),
        "index-below-base": (index_of((5, places[1]), (-2, places[2])), times_of((TIME_MS + 12, 5), (3, -2))),
        "index-end": (index_of((5, places[1]), (14, len(data))), times_of((TIME_MS + 12, 5), (TIME_MS + 12, 14), (TIME_MS + 42, 14))),
        "index-all-zero": (bytes(24), bytes(24)),
    }
    files: dict[str, bytes] = {}
    for name, (offsets, stamps) in pairs.items():
        files |= {f"{name}/{LOG}": data, f"{name}/{NAME}.index": offsets, f"{name}/{NAME}.timeindex": stamps}
    files[f"index-no-log/{NAME}.index"] = right
    files[f"timeindex-no-index/{LOG}"] = data
    files[f"timeindex-no-index/{NAME}.timeindex"] = times
    files[f"index-torn-log/{LOG}"] = data[:-20]
    files[f"index-torn-log/{NAME}.index"] = right
    files[f"index-torn-log/{NAME}.timeindex"] = times
    files[f"index-zero-log/{LOG}"] = data + bytes(40)
    files[f"index-zero-log/{NAME}.index"] = right
    files[f"index-zero-log/{NAME}.timeindex"] = times
    files[f"index-legacy/{LOG}"] = LEGACY.read_bytes()
    files[f"index-legacy/{NAME}.index"] = index_of((0, 0), (1, 26))
    files[f"index-legacy/{NAME}.timeindex"] = times_of((-1, 1), (TIME_MS, 14))
    return files


def other_files() -> dict[str, bytes]:
    """Transaction indexes, producer snapshots and text files."""
    entries = b"".join(struct.pack(">hqqqq", 0, 7 + at, 10 * at, 10 * at + 5, 10 * at + 1) for at in range(3))
    entry = (5, 1, 9, 104, 4, TIME_MS, 2, 101)
    idle = (6, 0, -1, -1, 0, -1, 0, -1)
    wrapped = (7, 3, 2, 50, 4, TIME_MS, -1, -1)
    whole = producers(entry, idle, wrapped)
    return {
        f"txnindex/{NAME}.txnindex": entries,
        f"txnindex-partial/{NAME}.txnindex": entries + entries[:20],
        f"txnindex-empty/{NAME}.txnindex": b"",
        f"txnindex-low-version/{NAME}.txnindex": entries + b"\0\7" + entries[2:34],
        f"txnindex-version/{NAME}.txnindex": entries + b"\1\0" + entries[2:34],
        f"txnindex-negative/{NAME}.txnindex": b"\xff\0" + entries[2:34],
        "txnindex-name/x.txnindex": entries,
        f"producers/{NAME}.snapshot": whole,
        f"producers-none/{NAME}.snapshot": producers(),
        f"producers-crc/{NAME}.snapshot": producers(entry, crc=1),
        f"producers-version/{NAME}.snapshot": producers(entry, version=2),
        f"producers-cut/{NAME}.snapshot": whole[:-10],
        f"producers-short/{NAME}.snapshot": whole[:5],
        f"producers-void/{NAME}.snapshot": b"",
        f"producers-many/{NAME}.snapshot": producers(entry, count=100000),
        f"producers-negative/{NAME}.snapshot": producers(entry, count=-1),
        f"producers-more/{NAME}.snapshot": producers(entry, count=0),
        "text/leader-epoch-checkpoint": b"0\n2\n1 0\n2 458\n",
        "text/recovery-point-offset-checkpoint": b"0\n1\nt 0 12\n",
        "text/partition.metadata": b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ",
        "text/x.log.deleted": b"",
    }


FILES: dict[str, bytes] = {
    f"offsets/{LOG}": log([*offset_commits(), *classic_groups(), *other_groups()]),
    f"offsets-dialects/{LOG}": log(dialects()),
    f"offsets-no-key/{LOG}": log([(commit_key(1), None), (None, b"value"), (commit_key(2), None)]),
    f"transactions/{LOG}": log(transactions(), per_batch=1),
    f"share/{LOG}": log(share_states()),
    f"remote-log/{LOG}": log(remote_log(), per_batch=8, codec_id=1),
    f"legacy/{LOG}": LEGACY.read_bytes(),
    f"classes/{LOG}": log(
        [(b"\0\0\0\7", bytes(7) + b"\x09"), (bytes(8), b"12345678"), (None, None), (b"abcde", b"longer than that"), (b"\1", b"\2")]
    ),
    **index_files(),
    **other_files(),
}
