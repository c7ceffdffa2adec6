"""Metadata logs of records that tests think up, and the answers of reports on them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.registry import message_type
from metashell.quorum.raft.voters import LeaderChange, SnapshotFooter, SnapshotHeader, write_control_batch
from metashell.tables.reports import REPORTS
from metashell.tables.reports.local import run_local

START_MS = 1_760_000_000_000
CLUSTER = "AAAAAAAAAAAAAAAAAAAAAQ"
SEGMENT = "00000000000000000000.log"


def value(kind: str, /, **fields: Any) -> bytes:
    """A record of the metadata log, in its newest version."""
    message = message_type("metadata", f"{kind}Record")
    return write_metadata_record(message.cls(**fields), message.versions[1])


def topic_id(number: int) -> bytes:
    return bytes([number]) * 16


def topic(name: str, number: int, *replicas: int, isr: Sequence[int] | None = None) -> list[bytes]:
    """A topic of one partition, whose leader is the first replica."""
    return [value("Topic", name=name, topic_id=topic_id(number)), partition(number, *replicas, isr=isr)]


def partition(number: int, *replicas: int, isr: Sequence[int] | None = None) -> bytes:
    own = {"partition_id": 0, "topic_id": topic_id(number), "directories": (topic_id(1),) * len(replicas)}
    return value("Partition", replicas=replicas, isr=tuple(replicas if isr is None else isr), leader=replicas[0], **own)


def config(name: str, setting: str, to: str | None) -> bytes:
    return value("Config", resource_type=2, resource_name=name, name=setting, value=to)


ABORTED = [
    value("BeginTransaction", name="Bootstrap records"),
    value("FeatureLevel", name="metadata.version", feature_level=20),
    *topic("ghost", 9, 1),
    config("ghost", "a", "b"),
    value("UserScramCredential", name="alice", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"k", iterations=4096),
    value("RegisterBroker", broker_id=9, broker_epoch=5),
    value("PartitionChange", topic_id=topic_id(1), partition_id=0, isr=(1,)),
    value("ClearElr", topic_name=""),
    value("AbortTransaction", reason="Controller failover"),
]
"""A transaction with records of many kinds."""


def node(top: Path, number: int = 1) -> Path:
    """The metadata directory of a new node."""
    folder = top / f"node-{number}" / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    (folder.parent / "meta.properties").write_text(f"version=1\ncluster.id={CLUSTER}\nnode.id={number}\n")
    return folder


def write_segment(folder: Path, records: Sequence[bytes], *, first: int = 0, epoch: int = 1) -> Path:
    """A segment of one batch for each record, a second apart; offset 0 says who leads."""
    data = b"" if first else write_control_batch(0, epoch, START_MS, [LeaderChange(leader_id=1, voters=(1,), granting=(1,))])
    begin = first or 1
    for offset, record in enumerate(records, begin):
        data += write_batch(offset, [Record(offset, START_MS + 1000 * offset, None, record)], leader_epoch=epoch)
    path = folder / f"{first:020}.log"
    path.write_bytes(data)
    return path


def write_checkpoint(folder: Path, end: int, records: Sequence[bytes]) -> Path:
    """A checkpoint of all before an offset."""
    at_ms = START_MS + 1000 * (end - 1)
    data = write_control_batch(0, 1, at_ms, [SnapshotHeader(at_ms)])
    data += write_batch(1, [Record(offset, at_ms, None, record) for offset, record in enumerate(records, 1)], leader_epoch=1)
    path = folder / f"{end:020}-0000000001.checkpoint"
    path.write_bytes(data + write_control_batch(1 + len(records), 1, at_ms, [SnapshotFooter()]))
    return path


def answer(name: str, *paths: Path) -> list[dict[str, Any]]:
    """The rows of a report."""
    rows: list[dict[str, Any]] = run_local([REPORTS[name]], [str(path) for path in paths]).tables[name].to_pylist()
    return rows
