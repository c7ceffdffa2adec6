"""Where an image comes from and how far it is certain."""

from typing import NamedTuple


class Provenance(NamedTuple):
    """The position of an image in the log, in two voices.

    Shape: `offset` is the last offset that the image contains, `epoch` the leader epoch there; of a checkpoint they
    come from its name and its header. `file_*` are what Kafka's shell prints: the last data record's offset in the
    file's own numbering, its batch's epoch, and that batch's largest timestamp. All are -1 for nothing.
    `end_offset` is where reading ended; what lies before `certain_to` is committed for certain, None if nothing is
    known to be. `begins_at` is the offset of the first record where what came before it is neither there nor in a snapshot, else 0:
    then the image lacks what those records said. Units: timestamps are Unix milliseconds; ends are exclusive.
    Source: org.apache.kafka.image.MetadataProvenance.
    """

    offset: int = -1
    epoch: int = -1
    timestamp_ms: int = -1
    file_offset: int = -1
    file_epoch: int = -1
    file_timestamp_ms: int = -1
    source_kind: str = ""
    source: str = ""
    certain_to: int | None = None
    end_offset: int = 0
    begins_at: int = 0
