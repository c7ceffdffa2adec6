"""`quorum-state` on disk: the one place that can say that an election state survives a crash.

Source: org.apache.kafka.raft.FileQuorumStateStore.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from metashell.errors import LogCorruptError
from metashell.log.disk import Disk
from metashell.log.quorum_state import NO_NODE, QuorumState, read_quorum_state, write_quorum_state
from metashell.raft.protocols import ReplicatedLog
from metashell.raft.ready import Durable, ElectionState
from metashell.values import ZERO_UUID, ReplicaKey

FILE_NAME: Final = "quorum-state"
_WAYS_OUT: Final = "put the file back, or let this node join anew with an empty directory, or accept the loss (--accept-loss)"


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

    def read_for(self, log_epoch: int, *, accept_loss: bool = False) -> ElectionState:
        """What was written last, for a log whose newest batch or snapshot is of `log_epoch`.

        An epoch is on disk before anything of it is in the log, so a state of an older one is not the last that was written. That one is
        lost, and with it perhaps a vote that this replica gave, and its promise not to follow an older leader: neither can be known again.
        With `accept_loss` it starts in the log's epoch all the same, as Kafka's replicas do.
        Errors: LogCorruptError for a state that is older, missing or cannot be read; OSError.
        """
        try:
            election = self.read()
        except LogCorruptError as error:
            if accept_loss:
                return ElectionState(log_epoch)
            raise LogCorruptError(self._path, error.offset, f"{error.reason}; {_WAYS_OUT}") from error
        if election.epoch < log_epoch and not accept_loss:
            found = f"is of epoch {election.epoch}" if os.path.lexists(self._path) else "is missing"
            raise LogCorruptError(self._path, 0, f"{found}, but the log goes on to epoch {log_epoch}: a vote may be lost; {_WAYS_OUT}")
        return election

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


def newest_epoch(log: ReplicatedLog) -> int:
    """The latest epoch of which the log has a batch or a snapshot."""
    return max([0, *(epoch for epoch, _ in log.leader_epochs()), *(id.epoch for id in log.snapshots())])
