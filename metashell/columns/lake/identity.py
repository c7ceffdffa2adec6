"""Which log a file belongs to, wherever a copy of it lies."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from metashell.codec.uris import below, folder_of, is_uri, place_and_query, shown_uri
from metashell.columns.inputs.files import open_input
from metashell.columns.lake.headers import anchor_of, first_timestamp
from metashell.columns.lake.ledger import LogKey
from metashell.errors import UsageError
from metashell.escape import writable
from metashell.log.files import OpenFile
from metashell.log.inputs import InputFile
from metashell.log.kinds import METADATA
from metashell.log.names import METADATA_DIRECTORY, PARTITION_METADATA, parse_name
from metashell.log.packing import COMPRESSED_SUFFIXES
from metashell.stores.retrying import may_pass
from metashell.values import uuid_text

_HEAD = 61
_HEAD_OF_TEXT = 256
_TOPIC_ID = re.compile(rb"^topic_id: *([\w-]{22})$", re.MULTILINE | re.ASCII)


def names_of(path: str) -> tuple[str, str]:
    """The name of a file's folder, and its own; a compressed file has the name of what it holds."""
    place = place_and_query(path)[0] if is_uri(path) else os.path.abspath(path)
    folder, _, name = place.rpartition("/")
    stem, _, suffix = name.rpartition(".")
    return folder.rpartition("/")[2], stem if stem and suffix in COMPRESSED_SUFFIXES else name


def shown_path(path: str) -> str:
    """A path or URI as the column `file` has it."""
    return writable(shown_uri(path))


def known_log(file: InputFile) -> LogKey | None:
    """The log of a file whose meta.properties names cluster and node; None without them, or where its folder is not that of a log."""
    node = file.node
    if node is None or not node.cluster_id or node.node_id is None:
        return None
    folder, name = names_of(file.path)
    if file.log == METADATA:
        return LogKey(node.cluster_id, str(node.node_id), METADATA_DIRECTORY)
    topic, _, partition = folder.rpartition("-")
    if not topic or not partition.isdigit() or parse_name(name) is None:
        return None
    return LogKey(node.cluster_id, str(node.node_id), folder)


def log_of_file(file: InputFile, opened: Callable[[], OpenFile]) -> LogKey:
    """The log of a file; one that is not known otherwise is known by its name and its first batch."""
    found = known_log(file)
    if found is not None:
        return found
    with opened() as content:
        first, time = anchor_of(content.peek(_HEAD)[:_HEAD]), first_timestamp(content)
    _, name = names_of(file.path)
    mark = "empty" if first is None else f"{first.base}-{first.epoch}-{first.crc:08x}-{time}"
    return LogKey("", "", f"{name}@{mark}")


def directory_of(file: InputFile) -> str:
    """The id of the disk's directory that a metadata log lies in; empty where nothing says it."""
    if file.log != METADATA or file.node is None or file.node.directory_id is None:
        return ""
    return uuid_text(file.node.directory_id)


def topic_of(file: InputFile) -> str:
    """The id of the topic whose partition a file is of, from the partition.metadata beside it; empty where nothing says it."""
    try:
        with open_input(below(folder_of(file.path), PARTITION_METADATA), strict=True) as beside:
            found = _TOPIC_ID.search(beside.peek(_HEAD_OF_TEXT)[:_HEAD_OF_TEXT])
    except UsageError as error:
        if may_pass(str(error)):
            raise
        return ""
    return found[1].decode() if found is not None else ""
