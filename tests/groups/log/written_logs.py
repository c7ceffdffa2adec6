"""Logs of groups made from golden conversations: the bytes that a real coordinator wrote, in batches as it wrote them."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

from metashell.codec.batch_writer import ABORT, COMMIT, write_batch, write_control_record
from metashell.codec.batches import Record
from metashell.codec.registry import message_type
from tests.groups.golden import BEGUN_MS, Scenario

NAME = "00000000000000000000.log"
Entry = tuple[int, dict[str, Any]]
"""The time of a record's step, and the record as the golden file has it."""


def golden_batches(scenario: Scenario) -> list[bytes]:
    """The batches of a conversation, each with the offsets that it had, and the time of its step."""
    entries = [(BEGUN_MS + step["at"], record) for step in scenario["steps"] for record in step.get("records", ())]
    entries.sort(key=lambda entry: int(entry[1]["offset"]))
    return [_batch(list(group)) for _, group in groupby(entries, key=lambda entry: entry[1]["batch"])]


def _batch(entries: list[Entry]) -> bytes:
    first = entries[0][1]
    producer = first.get("transactional") or {"producerId": -1, "producerEpoch": -1}
    return write_batch(
        first["batch"],
        [_record(*entry) for entry in entries],
        leader_epoch=0,
        producer_id=producer["producerId"],
        producer_epoch=producer["producerEpoch"],
        is_transactional=bool(first.get("transactional")),
        is_control="control" in first,
    )


def _record(time_ms: int, record: dict[str, Any]) -> Record:
    if "control" in record:
        marker = message_type("control", "EndTxnMarker").cls(coordinator_epoch=0)
        key, value = write_control_record(COMMIT if record["control"] == "COMMIT" else ABORT, marker)
        return Record(record["offset"], time_ms, key, value)
    value_hex = None if record["value"] is None else bytes.fromhex(record["valueHex"])
    return Record(record["offset"], time_ms, bytes.fromhex(record["keyHex"]), value_hex)


def write_log(folder: Path, batches: list[bytes], partition: int = 0) -> Path:
    """A partition's directory with these batches as its only segment."""
    directory = folder / f"__consumer_offsets-{partition}"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / NAME).write_bytes(b"".join(batches))
    return directory
