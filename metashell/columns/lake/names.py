"""The names of a lake's files and folders."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from metashell.errors import UsageError
from metashell.escape import writable

OWN: Final = "_metashell"
"""What no reader of tables looks into: the ledger, and what is being written."""
FORMAT: Final = f"{OWN}/format.json"
COMMITS: Final = f"{OWN}/commits"
PENDINGS: Final = f"{OWN}/pending"
WORK: Final = f"{OWN}/work"
SPOOL: Final = "metashell-lake-"
"""How the names of folders for temporary files begin."""
NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
FILES_MAX: Final = 100_000
"""Of one commit: each has a line in the ledger, and is moved."""
_SIZE_MAX: Final = 200
_QUOTED = re.compile(r"[\x00-\x1f\x7f\"#%'*/:=?\\{\[\]^]")
"""What Hive quotes in the name of a partition. Everything else stands as it is: Spark would read quoted UTF-8 byte by byte."""
_CODE = re.compile("%([0-9A-F]{2})")
_COMMIT: Final = re.compile(rf"{COMMITS}/(\d{{8,}})(\.checkpoint)?\.json", re.ASCII)
_PENDING: Final = re.compile(rf"{PENDINGS}/\d{{8,}}-[^/]+\.json", re.ASCII)


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


def partition_of(name: str) -> tuple[str, str]:
    """The cluster and the day of a file's rows, each empty where they have none."""
    values = [part.partition("=")[2] for part in name.split("/")[1:3]]
    cluster_id, date = ("" if value == NO_VALUE else _CODE.sub(lambda found: chr(int(found[1], 16)), value) for value in values)
    return cluster_id, date


def require_few_files(shown: str, count: int) -> None:
    """Errors: UsageError where a commit has so many files that it cannot be made; `shown` is what messages call the lake."""
    if count > FILES_MAX:
        raise UsageError(
            f"{shown}: what is new needs more than {FILES_MAX:,} files, one for each table, cluster and day, and nothing was added: give "
            "fewer logs at a time (the next export adds the rest), or begin a lake of fewer tables with --tables",
            "--out",
        )


def part_name(folder: str, commit: int, number: int, commit_id: str) -> str:
    """No two writers have the same: one that slept while another made the commit of that number moves nothing onto the other's files."""
    return f"{folder}/part-{commit:08d}-{number:05d}-{commit_id[:8]}.parquet"


def work_of(commit_id: str) -> str:
    """The folder in which the parts of a commit are written."""
    return f"{WORK}/{commit_id}"


def pending_name(commit: int, commit_id: str) -> str:
    return f"{PENDINGS}/{commit:08d}-{commit_id}.json"


def commit_name(number: int) -> str:
    return f"{COMMITS}/{number:08d}.json"


def checkpoint_name(number: int) -> str:
    return f"{COMMITS}/{number:08d}.checkpoint.json"


def numbers_of(names: Iterable[str]) -> tuple[list[int], list[int]]:
    """The numbers of commits among the names of files, and those of checkpoints. Other files may lie beside them: copies leave some."""
    found = [match for name in names if (match := _COMMIT.fullmatch(name))]
    return [int(match[1]) for match in found if not match[2]], [int(match[1]) for match in found if match[2]]


def is_pending(name: str) -> bool:
    """Whether a file is a commit that is being made, by its name."""
    return _PENDING.fullmatch(name) is not None


def is_commit(name: str) -> bool:
    """Whether a file is a commit or a checkpoint, by its name."""
    return _COMMIT.fullmatch(name) is not None
