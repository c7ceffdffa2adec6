"""Logs that hold something newer than a release knows, each made byte by byte; what real servers do on them is in tests/golden/unknown.

A row is a name and the batches that follow a sound beginning: an epoch of controller 1, metadata.version 30, and topic-1. Every record
that a reader can take in says topic-2, or a feature level, so that one can see whether it did. Some rows are new directories.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from metashell.codec.batch_writer import KRAFT_VERSION_RECORD, write_batch
from metashell.codec.batches import Record
from metashell.codec.primitives import encode_uvarint
from metashell.codec.registry import message_type
from tests.inspect.verify.making import NO_OP, checkpoint_bytes, data_batch, leader_change, metadata_value, topic_value
from tests.interop.start_bases import ELECTION

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
DIRECTORY_ID = "JEXY6aqzQY-32P5TStzaFg"
LEVEL = 30
FIRST_OFFSET = 3
"""The offset of the first record of a row."""
GOLDEN = Path(__file__).parent / "golden" / "unknown" / "servers.jsonl"

_UNKNOWN_TYPE = 40
_UNKNOWN_TAG = b"\x01\x09\x02\xab\xcd"
"""One tagged field: number 9, two bytes."""


def level(name: str, number: int) -> bytes:
    return metadata_value("FeatureLevelRecord", name=name, feature_level=number)


def framed(type_id: int, version: int, body: bytes, frame_version: int = 1) -> bytes:
    return encode_uvarint(frame_version) + encode_uvarint(type_id) + encode_uvarint(version) + body


def _changed(value: bytes, version: int, *, tags: bytes = b"\0", field: bytes = b"") -> bytes:
    """A record of version 0 under another version, with fields of its own before the tags, and tags."""
    assert value.endswith(b"\0"), "no tagged fields"
    return value[:2] + encode_uvarint(version) + value[3:-1] + field + tags


_TOPIC = topic_value(2)
_CONTROLLER = metadata_value(
    "RegisterControllerRecord",
    controller_id=2,
    incarnation_id=b"\2" * 16,
    end_points=(message_type("metadata", "RegisterControllerRecord").structs["ControllerEndpoint"](name="C", host="h", port=1),),
)
_CONTROLLER_ALONE = metadata_value("RegisterControllerRecord", controller_id=2, incarnation_id=b"\2" * 16)
_BEGIN = metadata_value("BeginTransactionRecord", name="t")
_ABORT = metadata_value("AbortTransactionRecord", reason="r")

DATA_ROWS: dict[str, tuple[bytes, ...]] = {
    "nothing unknown": (_TOPIC,),
    "unknown type": (framed(_UNKNOWN_TYPE, 0, b"\0"),),
    "unknown type in an aborted transaction": (_BEGIN, framed(_UNKNOWN_TYPE, 0, b"\0"), _ABORT),
    "known version with unknown tag": (_changed(_TOPIC, 0, tags=_UNKNOWN_TAG),),
    "newer version": (_changed(_TOPIC, 9),),
    "newer version with tag": (_changed(_TOPIC, 9, tags=_UNKNOWN_TAG),),
    "newer version with field": (_changed(_TOPIC, 9, field=b"\0\0\0\7"),),
    "newer version with field that reads as tags": (_changed(_TOPIC, 9, field=b"\1\0", tags=b"\0"),),
    "newer version of a record with structs": (_changed(_CONTROLLER, 9, tags=_UNKNOWN_TAG),),
    "newer version of a record with structs that has none": (_changed(_CONTROLLER_ALONE, 9, tags=_UNKNOWN_TAG),),
    "known version with field": (_changed(_TOPIC, 0, field=b"\0\0\0\7"),),
    "unknown feature": (level("future.version", 1),),
    "unknown feature at 0": (level("future.version", 0), _TOPIC),
    "unknown feature in an aborted transaction": (_BEGIN, level("future.version", 1), _ABORT),
    "unknown feature that was removed again": (level("future.version", 1), level("future.version", 0)),
    "share.version 2": (level("share.version", 2),),
    "share.version 3": (level("share.version", 3),),
    "metadata.version 33": (level("metadata.version", 33),),
    "metadata.version 34": (level("metadata.version", 34),),
    "metadata.version 99": (level("metadata.version", 99),),
    "metadata.version 6": (level("metadata.version", 6),),
    "UnregisterControllerRecord": (_CONTROLLER_ALONE, framed(29, 0, b"\0\0\0\2\0")),
    "frame version 0": (framed(2, 0, _TOPIC[3:], frame_version=0),),
    "frame version 2": (framed(2, 0, _TOPIC[3:], frame_version=2),),
    "no value": (b"",),
}
"""The values of one data batch."""


def _control(offset: int, key: bytes, value: bytes) -> bytes:
    return write_batch(offset, [Record(offset, 1_760_000_000_000 + offset, key, value)], leader_epoch=1, is_control=True)


def _kraft_version(number: int, tags: bytes = b"\0", version: int = 0) -> Callable[[int], bytes]:
    body = version.to_bytes(2, "big") + number.to_bytes(2, "big") + tags
    return lambda offset: _control(offset, b"\0\0" + KRAFT_VERSION_RECORD.to_bytes(2, "big"), body)


CONTROL_ROWS: dict[str, Callable[[int], bytes]] = {
    "kraft.version 2": _kraft_version(2),
    "kraft.version record with unknown tag": _kraft_version(0, _UNKNOWN_TAG),
    "newer version of a kraft.version record with tag": _kraft_version(0, _UNKNOWN_TAG, 1),
    "unknown control record": lambda offset: _control(offset, b"\0\0\0\x09", b"\0\0\0"),
    "newer version of a control record's key": lambda offset: _control(offset, b"\0\1\0\x05", b"\0\0\0\0\0"),
}


class Beginning(NamedTuple):
    """The records of a new directory's checkpoint 0-0, of its bootstrap.checkpoint, and of its log; None for no file."""

    bootstrap_snapshot: tuple[bytes, ...] | None = None
    bootstrap_file: tuple[bytes, ...] | None = None
    log: tuple[bytes, ...] | None = None


_OLD, _NEW = level("metadata.version", LEVEL), level("metadata.version", 33)
_USER = metadata_value(
    "UserScramCredentialRecord", name="a", mechanism=1, salt=b"s" * 8, stored_key=b"k" * 32, server_key=b"v" * 32, iterations=4096
)
BEGINNINGS: dict[str, Beginning] = {
    "nothing": Beginning(),
    "a log without a level": Beginning(log=(NO_OP,)),
    "a log with a topic and no level": Beginning(log=(topic_value(1),)),
    "the same with bootstrap.checkpoint": Beginning(bootstrap_file=(_OLD,), log=(topic_value(1),)),
    "the same with a bootstrap snapshot": Beginning(bootstrap_snapshot=(_NEW,), log=(topic_value(1),)),
    "bootstrap.checkpoint": Beginning(bootstrap_file=(_OLD,)),
    "bootstrap.checkpoint with no record": Beginning(bootstrap_file=()),
    "bootstrap.checkpoint without a level": Beginning(bootstrap_file=(_USER,)),
    "bootstrap.checkpoint with metadata.version 34": Beginning(bootstrap_file=(level("metadata.version", 34),)),
    "bootstrap.checkpoint with share.version 3": Beginning(bootstrap_file=(_OLD, level("share.version", 3))),
    "bootstrap.checkpoint with an unknown type": Beginning(bootstrap_file=(_OLD, framed(_UNKNOWN_TYPE, 0, b"\0"))),
    "bootstrap snapshot": Beginning(bootstrap_snapshot=(_NEW, level("share.version", 2), _USER)),
    "bootstrap snapshot with no record": Beginning(bootstrap_snapshot=()),
    "bootstrap snapshot without a level": Beginning(bootstrap_snapshot=(_USER,)),
    "bootstrap snapshot with metadata.version 99": Beginning(bootstrap_snapshot=(level("metadata.version", 99),)),
    "bootstrap snapshot with share.version 3": Beginning(bootstrap_snapshot=(_NEW, level("share.version", 3))),
    "bootstrap snapshot with an unknown type": Beginning(bootstrap_snapshot=(_NEW, framed(_UNKNOWN_TYPE, 0, b"\0"))),
    "both": Beginning((_NEW,), (_OLD,)),
    "both, no record in the snapshot": Beginning((), (_OLD,)),
    "both, no level in the snapshot": Beginning((_USER,), (_OLD,)),
}
"""New directories: with what records does a controller begin?"""


class Place(NamedTuple):
    """A made log directory, and the offset at which its log ends."""

    directory: Path
    end_offset: int


def make_directory(folder: Path, row: str) -> Place:
    """The log directory of a row, of controller 1, which is to be its only voter."""
    log = folder / "__cluster_metadata-0"
    log.mkdir(parents=True)
    identity = f"version=1\ncluster.id={CLUSTER_ID}\nnode.id=1\ndirectory.id={DIRECTORY_ID}\n"
    (folder / "meta.properties").write_text(identity)
    if row in BEGINNINGS:
        return _make_beginning(folder, log, BEGINNINGS[row])
    parts = [leader_change(0), data_batch(1, [level("metadata.version", LEVEL), topic_value(1)])]
    if row in CONTROL_ROWS:
        parts += [CONTROL_ROWS[row](FIRST_OFFSET), data_batch(FIRST_OFFSET + 1, [_TOPIC])]
        end = FIRST_OFFSET + 2
    else:
        values = DATA_ROWS[row]
        parts.append(data_batch(FIRST_OFFSET, [value or None for value in values]))
        end = FIRST_OFFSET + len(values)
    _write_log(log, parts)
    return Place(folder, end)


def _make_beginning(folder: Path, log: Path, row: Beginning) -> Place:
    if row.bootstrap_snapshot is not None:
        (log / f"{0:020d}-{0:010d}.checkpoint").write_bytes(checkpoint_bytes(row.bootstrap_snapshot, epoch=0, timestamp=0))
    if row.bootstrap_file is not None:
        (folder / "bootstrap.checkpoint").write_bytes(checkpoint_bytes(row.bootstrap_file, epoch=0, timestamp=0))
    if row.log is not None:
        _write_log(log, [leader_change(0), data_batch(1, row.log)])
    return Place(folder, 0 if row.log is None else 1 + len(row.log))


def _write_log(log: Path, batches: Sequence[bytes]) -> None:
    (log / f"{0:020d}.log").write_bytes(b"".join(batches))
    (log / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
    (log / "leader-epoch-checkpoint").write_text("0\n1\n1 0\n")
    (log / "quorum-state").write_text(ELECTION % (1, 1, -1))


ROWS = (*DATA_ROWS, *CONTROL_ROWS, *BEGINNINGS)


def servers() -> list[dict[str, Any]]:
    """What real servers did: row, release, did (serves or ends), what they served, or the first line of why they ended."""
    return [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
