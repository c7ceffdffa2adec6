"""Small logs for the tests of dump-log, and short ways to run it."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metashell.codec.batch_writer import SNAPSHOT_FOOTER, SNAPSHOT_HEADER, control_message, write_batch, write_control_record
from metashell.codec.batches import Record
from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.registry import message_type
from metashell.inspect.dump import DumpOptions, run_dump

LOG_NAME = "00000000000000000000.log"
T0 = 1_700_000_000_000


def metadata(message: str, version: int = 0, /, **fields: Any) -> bytes:
    """The framed bytes of a metadata record."""
    return write_metadata_record(message_type("metadata", message).cls(**fields), version)


def topic(name: str, number: int = 1) -> bytes:
    return metadata("TopicRecord", name=name, topic_id=number.to_bytes(16, "big"))


def change(partition: int, leader: int) -> bytes:
    return metadata("PartitionChangeRecord", partition_id=partition, topic_id=(1).to_bytes(16, "big"), leader=leader)


def batch(values: Sequence[bytes | None], base_offset: int = 0, **more: Any) -> bytes:
    """A batch of records without keys, all of one time."""
    records = [Record(base_offset + index, T0 + base_offset, None, value) for index, value in enumerate(values)]
    return write_batch(base_offset, records, **{"leader_epoch": 3, **more})


def control_batch(base_offset: int, type: int, **fields: Any) -> bytes:
    message = control_message(type)
    assert message is not None
    key, value = write_control_record(type, message.cls(**fields))
    return write_batch(base_offset, [Record(base_offset, T0, key, value)], leader_epoch=3, is_control=True)


def log(count: int, per_batch: int = 7) -> bytes:
    """A log of topics and changes of partitions."""
    values = [topic(f"topic-{number}", number) if number % 5 == 0 else change(number, number % 3) for number in range(count)]
    return b"".join(batch(values[first : first + per_batch], first) for first in range(0, count, per_batch))


def checkpoint(values: Sequence[bytes], footer: bool = True) -> bytes:
    head = control_batch(0, SNAPSHOT_HEADER, last_contained_log_timestamp=T0)
    tail = control_batch(1 + len(values), SNAPSHOT_FOOTER) if footer else b""
    return head + batch(values, 1) + tail


def dump(*paths: Path | str, **options: Any) -> tuple[int, bytes, str]:
    """Status, standard output and standard error of a run; decodes metadata unless told otherwise."""
    chosen = {"cluster_metadata_decoder": True, **options}
    out, err = io.BytesIO(), io.StringIO()
    status = run_dump(DumpOptions(files=tuple(str(path) for path in paths), **chosen), out, err)
    return status, out.getvalue(), err.getvalue()


def rows(text: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def dumped_rows(*paths: Path | str, **options: Any) -> list[dict[str, Any]]:
    return rows(dump(*paths, **options)[1])


def kafka_dump(*paths: Path | str, **options: Any) -> tuple[int, bytes, str]:
    return dump(*paths, **{"voice": "kafka", "output": "kafka", "program": "kafka-dump-log", **options})


def write(folder: Path, data: bytes, name: str = LOG_NAME) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path
