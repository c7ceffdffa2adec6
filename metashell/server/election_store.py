"""`quorum-state` on disk: the one place that can say that an election state survives a crash.

Source: org.apache.kafka.raft.FileQuorumStateStore; kraft.md 2.2.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from metashell.log.disk import Disk
from metashell.log.quorum_state import NO_NODE, QuorumState, read_quorum_state, write_quorum_state
from metashell.raft.ready import Durable, ElectionState
from metashell.values import ZERO_UUID, ReplicaKey

FILE_NAME: Final = "quorum-state"


class ElectionStore:
    """The file in the directory of the metadata log.

    `static_voters` are the ids that version 0 of the file repeats; nobody reads them.
    """

    def __init__(self, directory: str, static_voters: Sequence[int] = (), disk: Disk | None = None) -> None:
        self._path = os.path.join(directory, FILE_NAME)
        self._static_voters = tuple(static_voters)
        self._disk = disk or Disk()

    def read(self) -> ElectionState:
        """What was written last; epoch 0 without a file. Errors: LogCorruptError, OSError."""
        state = read_quorum_state(self._path)
        voted = None if state.voted_id == NO_NODE else ReplicaKey(state.voted_id, state.voted_directory_id)
        return ElectionState(max(state.leader_epoch, 0), state.leader_id, voted)

    def write(self, election: ElectionState, kraft_version: int) -> Durable:
        """Replace the file, durably: version 0 of it, without directory ids, at kraft.version 0.

        May run in any thread, one at a time. Errors: OSError; the older state may then be on disk, or the new one.
        """
        voted = election.voted or ReplicaKey(NO_NODE, ZERO_UUID)
        has_keys = kraft_version > 0
        state = QuorumState(
            leader_epoch=election.epoch,
            leader_id=election.leader_id,
            voted_id=voted.id,
            voted_directory_id=voted.directory_id if has_keys else ZERO_UUID,
            current_voters=() if has_keys else self._static_voters,
            data_version=int(has_keys),
        )
        write_quorum_state(self._path, state, self._disk)
        return Durable(election, kraft_version)
