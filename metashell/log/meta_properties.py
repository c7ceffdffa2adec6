"""`meta.properties`: which cluster and node a log directory belongs to. A directory that has one is formatted."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from metashell.errors import LogCorruptError
from metashell.log.names import META_PROPERTIES as META_PROPERTIES
from metashell.log.properties import format_properties, parse_properties
from metashell.log.text_files import read_text_file
from metashell.values import uuid_from_text, uuid_text

NEWEST_VERSION = 1
_NUMBER = re.compile(r"[+-]?[0-9]{1,10}")


class MetaProperties(NamedTuple):
    """The content of the file; `directory_id` came with 3.7, so it may be absent, as may anything else before version 1."""

    version: int
    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: bytes | None = None

    def as_properties(self) -> dict[str, str]:
        """The keys and values as they are written; version 0 calls the node a broker."""
        values = {
            "version": str(self.version),
            "cluster.id": self.cluster_id,
            "node.id" if self.version else "broker.id": None if self.node_id is None else str(self.node_id),
            "directory.id": None if self.directory_id is None else uuid_text(self.directory_id),
        }
        return {key: value for key, value in values.items() if value is not None}


def read_meta_properties(path: str) -> MetaProperties:
    """The meta.properties at `path`.

    Errors: FileNotFoundError; LogCorruptError for a version, id or uuid that is none.
    Source: org.apache.kafka.metadata.properties.MetaProperties; version 0 wrote `broker.id`.
    """
    data = read_text_file(path)
    try:
        return meta_properties_of(parse_properties(data))
    except ValueError as error:
        raise LogCorruptError(path, 0, str(error)) from error


def meta_properties_of(values: Mapping[str, str]) -> MetaProperties:
    """Read the content of parsed properties.

    Errors: ValueError in Kafka's words.
    """
    version = _version(values.get("version", "0"))
    cluster_id = values.get("cluster.id")
    node_id = _integer(values, "node.id" if version else "broker.id")
    directory_id = _uuid(values.get("directory.id"))
    if version and cluster_id is None:
        raise ValueError("cluster.id was not found.")
    return MetaProperties(version=version, cluster_id=cluster_id, node_id=node_id, directory_id=directory_id)


def format_meta_properties(meta: MetaProperties, *, date: str) -> bytes:
    """The bytes of a meta.properties, written at that date (as `Fri Nov 20 12:25:32 UTC 2026`)."""
    return format_properties(meta.as_properties(), date=date)


def _version(text: str) -> int:
    if not _NUMBER.fullmatch(text) or abs(int(text)) >= 1 << 31:
        raise ValueError(f"Invalid meta.properties version string '{text}'")
    if not 0 <= int(text) <= NEWEST_VERSION:
        raise ValueError(f"Unknown meta.properties version number {int(text)}")
    return int(text)


def _integer(values: Mapping[str, str], key: str) -> int | None:
    text = values.get(key)
    if text is None:
        if key == "node.id":
            raise ValueError("Failed to find node.id")
        return None
    if not _NUMBER.fullmatch(text) or not -(1 << 31) <= int(text) < 1 << 31:
        raise ValueError(f"Unable to read {key} as a base-10 number.")
    return int(text)


def _uuid(text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        return uuid_from_text(text)
    except ValueError as error:
        raise ValueError(f"Unable to read directory.id as a Uuid: {error}") from None
