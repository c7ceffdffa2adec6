"""The records that formatting left for the first leader of a cluster, which writes them into the log.

From 4.4 on they lie in the bootstrap snapshot of the metadata directory, before that in the bootstrap.checkpoint of the log directory.
Where both are there the bootstrap snapshot counts. 4.3 looks for a bootstrap.checkpoint only: without one it begins, in silence, at 4.3-IV0
without other features and users. Up to 4.2 the bootstrap snapshot is loaded like any other: its records count on that node, and no other
node gets them. Each was seen on a real server: 4.2.1, 4.3.1, 4.4.0.
Source: org.apache.kafka.metadata.bootstrap.BootstrapDirectory; the listeners of org.apache.kafka.raft.KafkaRaftClient.
"""

import os

from metashell.codec.batches import RecordBatch
from metashell.log.files import open_file
from metashell.log.names import BOOTSTRAP_CHECKPOINT, BOOTSTRAP_SNAPSHOT, METADATA_DIRECTORY
from metashell.log.segment import read_batches


def first_records_file(log_directory: str) -> str:
    """The file that has them; where none is there, the one in which servers of every release would look. Errors: OSError."""
    snapshot = os.path.join(log_directory, METADATA_DIRECTORY, BOOTSTRAP_SNAPSHOT)
    return snapshot if _has_records(snapshot) else os.path.join(log_directory, BOOTSTRAP_CHECKPOINT)


def _has_records(path: str) -> bool:
    """Whether a checkpoint has records besides its control records; one that is not there has none."""
    if not os.path.isfile(path):
        return False
    with open_file(path) as file:
        return any(isinstance(batch, RecordBatch) and not batch.header.is_control for batch in read_batches(file))
