"""The storage tool's golden cases: how one is set up, run and compared."""

from __future__ import annotations

import base64
import json
import lzma
import re
from functools import cache
from pathlib import Path
from typing import Any

from metashell.codec.batch_writer import SNAPSHOT_HEADER, read_control_record
from metashell.codec.metadata_records import read_metadata_record
from metashell.disk.files import open_file
from metashell.disk.properties import parse_properties
from metashell.disk.segment import read_batches

CASES = Path(__file__).resolve().parents[1] / "golden" / "storage" / "cases.jsonl.xz"
SECRETS = re.compile(r"(salt|storedKey|serverKey)=\[[^\]]*\]")
DIRECTORY_ID = re.compile(r"directory\.id=[\w-]{22}")


@cache
def cases() -> list[dict[str, Any]]:
    """Every case, in the order in which they ran."""
    return [json.loads(line) for line in lzma.decompress(CASES.read_bytes()).splitlines()]


def set_up(case: dict[str, Any], folder: Path) -> None:
    """Write the files that were there before the command ran."""
    for name, content in (case.get("before") or {}).items():
        path = folder / name
        if content is None:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(base64.b64decode(content))


def comparable_stdout(text: str, case: dict[str, Any]) -> str:
    """An answer without what differs from run to run, and without the stack frames that Kafka's report follows."""
    if case["argv"][:1] == ["info"]:
        found = text.find("Found")
        text = text[found:] if found >= 0 else text
        return DIRECTORY_ID.sub("directory.id=*", text) if "cluster" in case else text
    return SECRETS.sub(r"\1=*", text)


def listing(folder: Path) -> dict[str, int | None]:
    """Every file below a folder with its size, every folder with None."""
    return {str(path.relative_to(folder)): None if path.is_dir() else path.stat().st_size for path in sorted(folder.rglob("*"))}


def content(path: Path, data: bytes) -> object:
    """What a file says, without the moment of its writing and what was chosen at random."""
    if path.name == "meta.properties":
        values = parse_properties(data)
        return {key: value for key, value in values.items() if key != "directory.id"}
    if path.suffix == ".checkpoint":
        return _checkpoint(path, data)
    return data


def _checkpoint(path: Path, data: bytes) -> list[object]:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    found: list[object] = []
    with open_file(str(path)) as file:
        for batch in read_batches(file):
            header = batch.header
            assert batch.crc_fault() is None
            found.append((header.base_offset, header.leader_epoch, header.attributes, header.count, header.last_offset_delta))
            found += [(record.offset, _meaning(record, header.attributes & 0x20)) for record in batch.records()]
    return found


def _meaning(record: Any, is_control: int) -> object:
    assert record.headers == ()
    if not is_control:
        body = read_metadata_record(record.value).body
        if type(body).__name__ == "UserScramCredentialRecord":
            return (body.name, body.mechanism, body.iterations, len(body.stored_key), len(body.server_key))
        return body
    control = read_control_record(record.key, record.value)
    if control.type == SNAPSHOT_HEADER:
        return ("header", control.body.last_contained_log_timestamp == 0)
    for voter in getattr(control.body, "voters", ()):
        voter.voter_directory_id = bytes(16)
    return (control.type, control.body)
