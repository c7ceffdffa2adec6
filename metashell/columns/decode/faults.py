"""Faults of a file as rows: where, why, and the bytes there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from metashell.codec.batches import HEADER_SIZE
from metashell.codec.redaction import shown_head
from metashell.columns.decode.headers import Headers
from metashell.log.files import OpenFile
from metashell.log.segment import BatchFault
from metashell.log.source_fault import SourceFault

UNKNOWN_RECORD: Final = "unknown-record"
"""The kind of a fault that a newer release explains."""
BYTES_MAX: Final = 1 << 20
"""The bytes of a fault that are kept; `size` counts all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One place that could not be read. `data` are the bytes there, up to a limit, `harmless` what can hold no secret.

    A fault that is not serious ends no export: a newer release wrote a record, or a field of it, that is not known.
    """

    kind: str
    offset: int | None
    position: int
    size: int
    reason: str
    harmless: bytes | None = None
    data: bytes | None = None
    is_serious: bool = True

    def __str__(self) -> str:
        offset = "" if self.offset is None else f"offset {self.offset}: "
        return f"{offset}byte {self.position}: {self.reason}"


def fault_of_item(item: BatchFault, file: OpenFile) -> Fault:
    """The fault of a batch, or of bytes that hold none, which are read from the file again if that is possible."""
    data = item.batch.data if item.batch is not None else b""
    if not data and file.size() is not None:
        data = file.read_at(item.position, min(item.size, BYTES_MAX))
    return Fault(
        kind=item.kind,
        offset=item.offset,
        position=item.position,
        size=item.size,
        reason=item.reason,
        harmless=shown_head(data) if item.batch is not None else None,
        data=data[:BYTES_MAX],
    )


def fault_of_file(fault: SourceFault) -> Fault:
    """The fault of a checkpoint that is not used."""
    return Fault(
        kind="bad-checkpoint", offset=fault.offset if fault.offset >= 0 else None, position=fault.position, size=0, reason=fault.reason
    )


def fault_of_records(headers: Headers, number: int, reason: str) -> Fault:
    """A batch of the right checksum whose records cannot be read from some place on."""
    return Fault(
        kind="bad-records",
        offset=int(headers.base_offset[number]),
        position=int(headers.position[number]),
        size=int(headers.size[number]),
        reason=reason,
        harmless=shown_head(headers.bytes_of(number, HEADER_SIZE)),
        data=headers.bytes_of(number, BYTES_MAX),
    )
