"""Log directories made for tests: sound ones, which a test then breaks in one place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from struct import pack
from typing import Any

from metashell.codec.batch_writer import LEADER_CHANGE, SNAPSHOT_FOOTER, SNAPSHOT_HEADER, write_batch, write_control_record
from metashell.codec.batches import Record, read_batch_header
from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.primitives import crc32c
from metashell.codec.registry import message_type
from metashell.common.values import uuid_text
from metashell.inspect.verify import Finding, Report, VerifyOptions
from metashell.inspect.verify.output import report_verdict
from metashell.inspect.verify.run import check_directory, check_file
from metashell.metadata.checks import judge_disks
from metashell.metadata.facts import gather_facts

T0 = 1_760_000_000_000


def metadata_value(name: str, version: int = 0, /, **fields: Any) -> bytes:
    return write_metadata_record(message_type("metadata", name).cls(**fields), version)


NO_OP = metadata_value("NoOpRecord")


def topic_value(number: int) -> bytes:
    return metadata_value("TopicRecord", name=f"topic-{number}", topic_id=number.to_bytes(16, "big"))


def data_batch(base: int, values: Sequence[bytes | None], *, epoch: int = 1, timestamp: int | None = None, **options: Any) -> bytes:
    time = T0 + base if timestamp is None else timestamp
    records = [Record(base + i, time, None, value) for i, value in enumerate(values)]
    return write_batch(base, records, leader_epoch=epoch, base_timestamp=time, **options)


def control(base: int, *items: tuple[int, Any], epoch: int = 1, timestamp: int | None = None, **options: Any) -> bytes:
    time = T0 + base if timestamp is None else timestamp
    records = [Record(base + i, time, *write_control_record(type, body)) for i, (type, body) in enumerate(items)]
    return write_batch(base, records, leader_epoch=epoch, base_timestamp=time, is_control=True, **options)


def leader_change(base: int, epoch: int = 1) -> bytes:
    return control(base, (LEADER_CHANGE, message_type("control", "LeaderChangeMessage").cls(leader_id=1)), epoch=epoch)


def checkpoint_bytes(values: Sequence[bytes], *, epoch: int = 1, timestamp: int = T0) -> bytes:
    header = message_type("control", "SnapshotHeaderRecord").cls(last_contained_log_timestamp=timestamp)
    footer = message_type("control", "SnapshotFooterRecord").cls()
    parts = [control(0, (SNAPSHOT_HEADER, header), epoch=epoch)]
    if values:
        parts.append(data_batch(1, values, epoch=epoch))
    parts.append(control(1 + len(values), (SNAPSHOT_FOOTER, footer), epoch=epoch))
    return b"".join(parts)


def sealed(data: bytes) -> bytes:
    """A batch that was changed, with the checksum of what it is now."""
    return data[:17] + crc32c(data, 21).to_bytes(4, "big") + data[21:]


class MetadataLog:
    """A sound metadata directory: epoch 1 from offset 0, epoch 2 from 6; segments at 0 and 8, a checkpoint that ends at 5."""

    def __init__(self, folder: Path, *, node: int = 1, cluster: str = "c") -> None:
        self.log_directory = folder
        self.path = folder / "__cluster_metadata-0"
        self.path.mkdir(parents=True)
        (folder / "meta.properties").write_text(
            f"version=1\ncluster.id={cluster}\nnode.id={node}\ndirectory.id={uuid_text((122 + node).to_bytes(16, 'big'))}\n"
        )
        self.first = [
            leader_change(0),
            data_batch(1, [topic_value(1), topic_value(2)]),
            data_batch(3, [NO_OP, NO_OP]),
            data_batch(5, [topic_value(3)]),
            leader_change(6, epoch=2),
            data_batch(7, [NO_OP], epoch=2),
        ]
        self.second = [data_batch(8, [topic_value(4)], epoch=2), data_batch(9, [NO_OP] * 3, epoch=2)]
        self.write("00000000000000000005-0000000001.checkpoint", checkpoint_bytes([topic_value(1), topic_value(2)], timestamp=T0 + 3))
        self.write("leader-epoch-checkpoint", b"0\n2\n1 0\n2 6\n")
        self.write("partition.metadata", b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
        self.write("quorum-state", b'{"leaderId":1,"leaderEpoch":2,"votedId":-1,"data_version":1}')
        self.write_segments()

    def write(self, name: str, data: bytes) -> Path:
        place = self.path / name
        place.write_bytes(data)
        return place

    def write_segments(self) -> None:
        """Write both segments and the indexes that belong to them."""
        for base, batches in ((0, self.first), (8, self.second)):
            self.write(f"{base:020d}.log", b"".join(batches))
            index, time = indexes_of(base, batches)
            self.write(f"{base:020d}.index", index)
            self.write(f"{base:020d}.timeindex", time)

    def findings(self, **options: Any) -> list[Finding]:
        return findings_in(self.log_directory, **options)


def indexes_of(base: int, batches: Sequence[bytes]) -> tuple[bytes, bytes]:
    """An offset index and a time index with an entry for every batch but the first."""
    index = time = b""
    position = 0
    for data in batches:
        header = read_batch_header(data)
        if position:
            index += pack(">ii", header.last_offset - base, position)
            time += pack(">qi", header.max_timestamp, header.last_offset - base)
        position += len(data)
    return index, time


def findings_in(path: Path, **options: Any) -> list[Finding]:
    """What verify finds at a path, information included."""
    found: list[Finding] = []
    report = Report(found.append)
    (check_directory if path.is_dir() else check_file)(str(path), report, VerifyOptions(paths=(), **options))
    if path.is_dir():
        report_verdict(judge_disks(gather_facts([str(path)])), report)
    return found


def told(found: Sequence[Finding]) -> list[tuple[str, int, int, str, str]]:
    """Findings with the file's name alone, for comparing."""
    return [(Path(finding.file).name, finding.position, finding.offset, finding.severity, finding.what) for finding in found]


def only(found: Sequence[Finding]) -> Finding:
    """The one finding there is."""
    assert len(found) == 1, [str(finding) for finding in found]
    return found[0]
