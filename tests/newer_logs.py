"""Logs in which a newer release has written: one for each way in which a record can be newer than what is known here."""

from __future__ import annotations

from pathlib import Path

from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.registry import message_type
from metashell.disk.names import META_PROPERTIES, METADATA_DIRECTORY, segment_name
from tests.inspect.verify.making import data_batch, leader_change, metadata_value, topic_value

TYPE, VERSION = 1, 2
"""Where a record has them."""
TAG = 9
LEVEL = metadata_value("FeatureLevelRecord", name="metadata.version", feature_level=30)
TAGGED = message_type("metadata", "TopicRecord").cls(name="tagged", topic_id=bytes([9] * 16), unknown_tags=((TAG, b"new"),))


def feature(name: str, level: int) -> bytes:
    return metadata_value("FeatureLevelRecord", name=name, feature_level=level)


def changed(value: bytes, place: int, byte: int) -> bytes:
    return value[:place] + bytes([byte]) + value[place + 1 :]


NEWER: dict[str, list[bytes]] = {
    "record": [b"\x01\x3f\x00payload", b"\x01\x3f\x00again"],
    "frame": [changed(topic_value(1), 0, 2)],
    "field": [changed(topic_value(1), VERSION, 1) + b"\x07"],
    "tag": [write_metadata_record(TAGGED, 0)],
    "version_tag": [changed(write_metadata_record(TAGGED, 0), VERSION, 1)],
    "version": [changed(topic_value(1), VERSION, 1)],
    "feature": [feature("future.version", 3)],
    "share": [feature("share.version", 3)],
    "level": [feature("metadata.version", 40)],
    "named_level": [feature("metadata.version", 34)],
}
"""The records, by what is newer in them."""
APPLIED = ("version", "feature", "share", "level", "named_level")
"""Those of which everything is applied."""


def newer_directory(folder: Path, kind: str) -> Path:
    """A log directory with a level at offset 1, a topic at 2, and from 3 on the newer records; a topic ends it."""
    place = folder / METADATA_DIRECTORY
    place.mkdir(parents=True)
    (folder / META_PROPERTIES).write_text("version=1\ncluster.id=mXb2vwR7Sy6KvFJVyeTkMg\nnode.id=1\n")
    values = [LEVEL, topic_value(5), *NEWER[kind], topic_value(6)]
    (place / segment_name(0)).write_bytes(leader_change(0) + data_batch(1, values))
    return folder
