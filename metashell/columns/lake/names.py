"""The names of a lake's files and folders."""

from __future__ import annotations

import re
from typing import Final

from metashell.errors import UsageError
from metashell.escape import writable

OWN: Final = "_metashell"
"""What no reader of tables looks into: the ledger, and what is being written."""
FORMAT: Final = f"{OWN}/format.json"
COMMITS: Final = f"{OWN}/commits"
PENDING: Final = f"{OWN}/pending.json"
WORK: Final = f"{OWN}/work"
NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
_SIZE_MAX: Final = 200
_QUOTED = re.compile(r"[\x00-\x1f\x7f\"#%'*/:=?\\{\[\]^]")
"""What Hive quotes in the name of a partition. Everything else stands as it is: Spark would read quoted UTF-8 byte by byte."""


def quoted(value: str) -> str:
    """A value as part of a folder's name. Errors: UsageError where no file system takes it."""
    text = _QUOTED.sub(lambda found: f"%{ord(found[0]):02X}", writable(value))
    if text == NO_VALUE:
        text = f"%5F{text[1:]}"
    if len(text.encode()) > _SIZE_MAX:
        raise UsageError(f"{writable(value)[:40]}...: too long for the name of a folder, as the cluster of a lake's rows", value)
    return text or NO_VALUE


def folder_of(table: str, cluster_id: str, date: str) -> str:
    """The folder of a table's rows of one cluster and day; `date` is empty where a row has none."""
    return f"table={table}/cluster_id={quoted(cluster_id)}/date={date or NO_VALUE}"


def part_name(folder: str, commit: int, number: int) -> str:
    return f"{folder}/part-{commit:08d}-{number:05d}.parquet"


def commit_name(number: int) -> str:
    return f"{COMMITS}/{number:08d}.json"


def checkpoint_name(number: int) -> str:
    return f"{COMMITS}/{number:08d}.checkpoint.json"
