"""The records that formatting left for the first leader of a cluster, which writes them into the log.

From 4.4 on they lie in the bootstrap snapshot of the metadata directory, before that in the bootstrap.checkpoint of the log directory.
Where both are there the bootstrap snapshot counts. Servers before 4.4 read a bootstrap.checkpoint only: without one they start, in silence,
at the newest metadata.version that they know, without other features and users. All of that was seen on real 4.3.1 and 4.4.0.
Source: org.apache.kafka.metadata.bootstrap.BootstrapDirectory; the listeners of org.apache.kafka.raft.KafkaRaftClient.
"""

from __future__ import annotations

import os

from metashell.codec.batches import RecordBatch
from metashell.log.files import open_file
from metashell.log.names import BOOTSTRAP_CHECKPOINT, BOOTSTRAP_SNAPSHOT, METADATA_DIRECTORY, parse_name
from metashell.log.segment import read_batches


def first_records_file(log_directory: str) -> str:
    """The file that has them; where none is there, the one in which servers of every release would look. Errors: OSError."""
    snapshot = os.path.join(log_directory, METADATA_DIRECTORY, BOOTSTRAP_SNAPSHOT)
    return snapshot if _has_records(snapshot) else os.path.join(log_directory, BOOTSTRAP_CHECKPOINT)


def are_hidden_before_4_4(log_directory: str) -> bool:
    """Whether a server before 4.4 would begin a cluster without them: they lie in the bootstrap snapshot alone, and nothing is in the log.

    Errors: OSError.
    """
    return (
        os.path.basename(first_records_file(log_directory)) == BOOTSTRAP_SNAPSHOT
        and not os.path.exists(os.path.join(log_directory, BOOTSTRAP_CHECKPOINT))
        and not has_begun(os.path.join(log_directory, METADATA_DIRECTORY))
    )


def has_begun(metadata_directory: str) -> bool:
    """Whether a metadata directory holds more than what formatting left. Errors: OSError."""
    with os.scandir(metadata_directory) as entries:
        for entry in entries:
            parsed = parse_name(entry.name)
            if parsed is None or not parsed.is_in_use or entry.name == BOOTSTRAP_SNAPSHOT:
                continue
            if parsed.kind == "checkpoint" or entry.stat().st_size:
                return True
    return False


def _has_records(path: str) -> bool:
    """Whether a checkpoint has records besides its control records; one that is not there has none."""
    if not os.path.isfile(path):
        return False
    with open_file(path) as file:
        return any(isinstance(batch, RecordBatch) and not batch.header.is_control for batch in read_batches(file))
