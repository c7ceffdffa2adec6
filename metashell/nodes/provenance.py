"""Where the image comes from and how far it is certain; the voter set; what replay could not apply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from metashell.forms import compact_json
from metashell.nodes.java_text import utc_time_text
from metashell.nodes.node import JsonValue, Leaf, LeafKind, SubjectLeaf
from metashell.nodes.tree import Tree
from metashell.values import uuid_text

if TYPE_CHECKING:
    from metashell.image import Fault, MetadataImage, VoterSet


def provenance_node(name: str, tree: Tree) -> Leaf:
    """/image/provenance: in our voice the image's own position, in Kafka's that of the file it was read from."""
    return SubjectLeaf(name, PROVENANCE, tree.image)


def voters_node(name: str, tree: Tree) -> Leaf:
    """/image/voters: the voter set of the control records, null where the log has none (static quorum)."""
    return SubjectLeaf(name, VOTERS, tree.image.voters)


def faults_node(name: str, tree: Tree) -> Leaf:
    """/image/faults: what could not be applied, with the place of each."""
    return SubjectLeaf(name, FAULTS, tree.image.faults)


def provenance_text(image: MetadataImage) -> str:
    provenance = image.provenance
    return f"offset {provenance.file_offset}, epoch {provenance.file_epoch}, time {utc_time_text(provenance.file_timestamp_ms)}"


def provenance_value(image: MetadataImage) -> dict[str, Any]:
    """Units: `timestamp` is Unix milliseconds; `certain_to` and `end_offset` are exclusive ends."""
    provenance = image.provenance
    return {
        "offset": provenance.offset,
        "epoch": provenance.epoch,
        "timestamp": provenance.timestamp_ms,
        "source_kind": provenance.source_kind,
        "source": provenance.source,
        "certain_to": provenance.certain_to,
        "end_offset": provenance.end_offset,
        "faults": len(image.faults),
    }


def voters_value(voters: VoterSet | None) -> JsonValue:
    """The voters under the field names of VotersRecord, with the offset of that record."""
    return None if voters is None else {"offset": voters.offset, "voters": voter_values(voters)}


def voter_values(voters: VoterSet) -> list[dict[str, Any]]:
    """Each voter, ordered by id."""
    return [
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
    ]


def faults_value(faults: Sequence[Fault]) -> list[dict[str, Any]]:
    """All faults in the order in which they were met."""
    return [fault_value(fault) for fault in faults]


def fault_value(fault: Fault) -> dict[str, Any]:
    """One fault as JSON, in our own snake_case."""
    return {
        "file": fault.file,
        "offset": fault.offset,
        "position": fault.position,
        "record_type": fault.record_type,
        "reason": fault.reason,
    }


PROVENANCE = LeafKind("provenance", provenance_text, provenance_value)
# Kafka has no such leaves, so no text of its own for them.
VOTERS = LeafKind("voters", lambda voters: compact_json(voters_value(voters)), voters_value)
FAULTS = LeafKind("faults", lambda faults: compact_json(faults_value(faults)), faults_value)
