"""Where the image comes from and how far it is certain; the voter set; what replay could not apply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.nodes.java_text import utc_time_text
from metashell.nodes.node import JsonValue, Leaf
from metashell.values import uuid_text

if TYPE_CHECKING:
    from metashell.image import Fault, MetadataImage, VoterSet


class ProvenanceNode(Leaf):
    """/image/provenance: in our voice the image's own position, in Kafka's that of the file it was read from."""

    __slots__ = ("_image",)

    def __init__(self, name: str, image: MetadataImage) -> None:
        super().__init__(name, "provenance")
        self._image = image

    def kafka_text(self, redact: bool = False) -> str:
        provenance = self._image.provenance
        return f"offset {provenance.file_offset}, epoch {provenance.file_epoch}, time {utc_time_text(provenance.file_timestamp_ms)}"

    def value(self, redact: bool = True) -> JsonValue:
        """Units: `timestamp` is Unix milliseconds; `certain_to` and `end_offset` are exclusive ends."""
        provenance = self._image.provenance
        return {
            "offset": provenance.offset,
            "epoch": provenance.epoch,
            "timestamp": provenance.timestamp_ms,
            "source_kind": provenance.source_kind,
            "source": provenance.source,
            "certain_to": provenance.certain_to,
            "end_offset": provenance.end_offset,
            "faults": len(self._image.faults),
        }


class VotersNode(Leaf):
    """/image/voters: the voter set of the control records, null where the log has none (static quorum)."""

    __slots__ = ("_voters",)

    def __init__(self, name: str, voters: VoterSet | None) -> None:
        super().__init__(name, "voters")
        self._voters = voters

    def kafka_text(self, redact: bool = False) -> str:
        return _compact(self.value())

    def value(self, redact: bool = True) -> JsonValue:
        return None if self._voters is None else voters_value(self._voters)


class FaultsNode(Leaf):
    """/image/faults: what could not be applied, with the place of each."""

    __slots__ = ("_image",)

    def __init__(self, name: str, image: MetadataImage) -> None:
        super().__init__(name, "faults")
        self._image = image

    def kafka_text(self, redact: bool = False) -> str:
        return _compact(self.value())

    def value(self, redact: bool = True) -> JsonValue:
        return [fault_value(fault) for fault in self._image.faults]


def _compact(value: JsonValue) -> str:
    # Kafka has no such leaves, so no text of its own for them.
    from json import dumps

    return dumps(value, separators=(",", ":"), ensure_ascii=False)


def voters_value(voters: VoterSet) -> dict[str, Any]:
    """The voters under the field names of VotersRecord, ordered by id, with the offset of that record."""
    return {
        "offset": voters.offset,
        "voters": [
            {
                "voterId": voter.id,
                "voterDirectoryId": uuid_text(voter.directory_id),
                "endpoints": [{"name": endpoint.name, "host": endpoint.host, "port": endpoint.port} for endpoint in voter.endpoints],
                "kRaftVersionFeature": {
                    "minSupportedVersion": voter.min_supported_version,
                    "maxSupportedVersion": voter.max_supported_version,
                },
            }
            for voter in sorted(voters.voters, key=lambda voter: voter.id)
        ],
    }


def fault_value(fault: Fault) -> dict[str, Any]:
    """One fault as JSON, in our own snake_case."""
    return {
        "file": fault.file,
        "offset": fault.offset,
        "position": fault.position,
        "record_type": fault.record_type,
        "reason": fault.reason,
    }
