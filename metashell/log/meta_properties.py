"""`meta.properties`: which cluster and node a log directory belongs to."""

from __future__ import annotations

import re
from dataclasses import dataclass

from metashell.errors import LogCorruptError
from metashell.log.properties import parse_properties
from metashell.log.text_files import read_text_file
from metashell.values import uuid_from_text

_NUMBER = re.compile(r"[+-]?\d{1,10}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    """What the file says; `directory_id` came with 3.7, so it may be absent, as may anything else before 1."""

    version: int
    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: bytes | None = None


def read_meta_properties(path: str) -> MetaProperties:
    """The meta.properties at `path`.

    Errors: FileNotFoundError; LogCorruptError for a version, id or uuid that is none.
    Source: org.apache.kafka.metadata.properties.MetaProperties; version 0 wrote `broker.id`.
    """
    try:
        values = parse_properties(read_text_file(path))
        version = _integer(values, "version")
        if version is None:
            raise ValueError("no version in it")
        directory_id = values.get("directory.id")
        return MetaProperties(
            version=version,
            cluster_id=values.get("cluster.id"),
            node_id=_integer(values, "node.id" if version else "broker.id"),
            directory_id=None if directory_id is None else uuid_from_text(directory_id),
        )
    except ValueError as error:
        raise LogCorruptError(path, 0, str(error)) from error


def _integer(values: dict[str, str], key: str) -> int | None:
    text = values.get(key)
    if text is not None and not _NUMBER.fullmatch(text):
        raise ValueError(f"{key} {text!r} is not a number")
    return None if text is None else int(text)
