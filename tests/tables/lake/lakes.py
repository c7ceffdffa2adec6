"""Dumps of nodes that grow, and what a lake made of them holds."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from time import time_ns
from typing import Any

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.registry import message_type
from metashell.tables.lake.append import AppendOptions, AppendReport, append
from metashell.tables.lake.appends import APPENDS
from metashell.tables.lake.delta import active_files, open_table
from metashell.tables.stores import open_store

DAY = 86_400_000
START = 1_790_000_000_000
SEGMENT = "00000000000000000000.log"
CLUSTER = "quokka-cluster-1234567"


def topics(first: int, count: int, *, epoch: int = 1, time: int = START, name: str = "t", step: int = 1) -> bytes:
    """Batches of two records, one topic each, with offsets from `first` on; `step` is the time between two records."""
    cls = message_type("metadata", "TopicRecord").cls
    data = b""
    for start in range(first, first + count, 2):
        records = [
            Record(
                offset, time + offset * step, None, write_metadata_record(cls(name=f"{name}{offset}", topic_id=offset.to_bytes(16, "big")))
            )
            for offset in range(start, min(start + 2, first + count))
        ]
        data += write_batch(start, records, leader_epoch=epoch)
    return data


def commits(first: int, count: int, *, time: int = START, epoch: int = 3, offsets: range | None = None) -> bytes:
    """Batches of one committed offset each, as __consumer_offsets has them."""
    key, value = message_type("offsets", "OffsetCommitKey").cls, message_type("offsets", "OffsetCommitValue").cls
    data = b""
    for offset in offsets or range(first, first + count):
        made = b"\0\1" + message_type("offsets", "OffsetCommitKey").write(key(group="g", topic="t", partition=offset), 0)
        body = b"\0\3" + message_type("offsets", "OffsetCommitValue").write(value(offset=offset), 3)
        data += write_batch(offset, [Record(offset, time + offset, made, body)], leader_epoch=epoch)
    return data


def segment(base: int) -> str:
    return f"{base:020d}.log"


def node(folder: Path, node_id: int = 1, cluster: str = CLUSTER, directory: str = "") -> Path:
    """The log directory of a node; gives that of its metadata log."""
    log = folder / "__cluster_metadata-0"
    log.mkdir(parents=True, exist_ok=True)
    text = f"version=1\ncluster.id={cluster}\nnode.id={node_id}\n" + (f"directory.id={directory}\n" if directory else "")
    (folder / "meta.properties").write_text(text, "utf-8")
    return log


SOAKS = bool(os.environ.get("METASHELL_SOAK"))
"""Then every step is tried, and seeds are new ones."""


def some_of(count: int, every: int) -> list[int]:
    """The first and the last of some steps, and each `every`-th between them; all of them in a soak run."""
    return sorted({*range(0, count, 1 if SOAKS else every), count - 1})


def some_seeds(count: int) -> list[int]:
    """The seeds of a property; new ones in a soak run, ten times as many."""
    if not SOAKS:
        return list(range(count))
    begin = int(os.environ.get("METASHELL_SEED") or time_ns() // 1_000_000)
    return list(range(begin, begin + 10 * count))


TOPIC = {"tables": ("topic",)}
"""Options of an append that is quick."""


def grown(place: Path, count: int) -> Path:
    """A node below a folder whose log has so many topics by now, eight a day; gives the node's log directory."""
    (node(place / "node") / SEGMENT).write_bytes(topics(0, count, step=DAY // 8))
    return place / "node"


def copied(lake: Path, to: Path) -> Path:
    """A copy of a lake, if there is one yet."""
    if lake.exists():
        shutil.copytree(lake, to)
    return to


def run(out: Path | str, *paths: Path, **options: Any) -> AppendReport:
    return append(AppendOptions(**{"paths": tuple(map(str, paths)), "out": str(out), "jobs": 1, **options}))


def rows(out: Path | str, table: str = "topic") -> list[dict[str, Any]]:
    """The rows of a table, by cluster, file and offset; of one that is not there, none."""
    found = open_table(open_store(str(out)), table)
    made = [] if found is None else found.to_pyarrow_dataset().to_table().to_pylist()
    return sorted(made, key=lambda row: (row["cluster_id"] or "", row["file"], row["offset"] if row["offset"] is not None else -1))


def names(out: Path | str) -> list[str]:
    """The topics of a lake, in order of offsets: one twice shows."""
    return [row["name"] for row in sorted(rows(out), key=lambda row: (row["offset"], row["file"]))]


def expected(first: int, count: int, name: str = "t") -> list[str]:
    return [f"{name}{offset}" for offset in range(first, first + count)]


def left_over(out: Path) -> list[str]:
    """The files of rows that no table names."""
    store = open_store(str(out))
    found = [str(path.relative_to(out)) for path in out.rglob("*.parquet") if "_delta_log" not in path.parts]
    tables = {name.partition("/")[0] for name in found} | {APPENDS}
    opened = {name: open_table(store, name) for name in tables}
    named = {file.name for name, table in opened.items() if table is not None for file in active_files(table, name)}
    return sorted(set(found) - named)
