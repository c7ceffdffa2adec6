"""How a replica starts: what its log and quorum-state say it is. The first line that fits decides:

    quorum-state is of an older epoch than the log      unattached in the log's epoch: what quorum-state says is out of date
    quorum-state says that this replica led             resigned: it does not lead that epoch again
    it names a leader that the voter set has            follower of it; a vote is kept
    else                                                unattached; a leader's id and a vote are kept

Nobody starts as leader: say it wrote offset 9 of epoch 6 and died before that was on disk. Leading epoch 6 again it would write another
offset 9 of epoch 6, and a follower that has the first one could not tell them apart.
Nobody starts as candidate: the vote for itself stands, but the votes of others were given to a log that may have been longer than the one
that is left, so none is asked for again in that epoch. (Kafka's candidates go on. Their logs cannot have become shorter, because they
sync before they fetch again.)
Source: org.apache.kafka.raft.QuorumState.initialize, KafkaRaftClient.initialize.
"""

from __future__ import annotations

from metashell.codec.batches import CONTROL, BatchHeader, unpack_header
from metashell.codec.framing import whole_frames
from metashell.errors import DecodeError, LogCorruptError, UnknownRecordError, UsageError
from metashell.ids import NO_LEADER
from metashell.raft import appending, recovering, snapshot_loading, transitions
from metashell.raft.connections import NEVER
from metashell.raft.control_batches import NewerControlError, read_control_batch
from metashell.raft.ready import ElectionState
from metashell.raft.replica import Replica
from metashell.raft.roles import Follower, Resigned, Role, Unattached

_READ_SIZE = 1024 * 1024


def start(node: Replica, election: ElectionState) -> None:
    """Read what the log says of voters, and take on the first state; a sole voter leads at once."""
    latest = node.latest_snapshot()
    if latest is not None and latest.offset > node.log_end:
        # The crash came after a download was complete and before the log began with it.
        snapshot_loading.restart_log(node, latest)
    # How much is committed is not known, but all of a snapshot is.
    node.committed = 0 if latest is None else latest.offset
    replay_log(node)
    node.refresh_voters()
    recovering.check_start(node)
    if node.epochs.truncate_from_end(node.log_end):
        node.log.write_leader_epochs(node.epochs.entries)
    node.last_epoch = appending.last_epoch_of(node)
    node.role = first_role(node, election)
    node.persist(node.role)
    # What is on disk may be of another version, or missing: it is written once, whatever it says.
    node.ready.require(node.election, node.election_version)
    if node.durable_end < node.log_end:
        node.ready.flush_to = node.log_end
    if node.voters.is_only_voter(node.local_key) and node.may_stand():
        transitions.become_prospective(node)


def replay_log(node: Replica) -> None:
    """Read voters and kraft.version: first those of the latest snapshot, then those of all control batches behind it.

    Errors: LogCorruptError.
    """
    latest = node.latest_snapshot()
    position = node.log.start_offset
    if latest is not None:
        snapshot_loading.load_controls(node, latest)
        position = max(position, latest.offset)
    while position < node.log_end:
        data = node.log.read(position, node.log_end, _READ_SIZE)
        position = replay_batches(node, data, position)


def replay_batches(node: Replica, data: bytes, start: int) -> int:
    """Apply the control batches among `data`, of those records that lie from `start` on; where they end."""
    end = start
    for at, size in whole_frames(data):
        header = BatchHeader(*unpack_header(data, at))
        if header.attributes & CONTROL:
            try:
                values = read_control_batch(data[at : at + size], header)
            except NewerControlError as error:
                raise UnknownRecordError("metadata log", error.log_offset, str(error)) from error
            except DecodeError as error:
                raise LogCorruptError("metadata log", header.base_offset, str(error)) from error
            for offset, value in enumerate(values, header.base_offset):
                if offset >= start:
                    node.partition.apply(offset, value)
        end = header.base_offset + header.last_offset_delta + 1
    assert end > start, "the log has a gap"
    return end


def first_role(node: Replica, election: ElectionState) -> Role:
    """The state that quorum-state and the end of the log ask for; the first rule that fits decides.

    Errors: UsageError for a vote of a replica that has no id.
    """
    epoch, leader_id, voted, local = election.epoch, election.leader_id, election.voted, node.local_key
    now, config = node.now_ms, node.config
    deadline_ms = node.election_timeout() if node.is_voter and config.may_stand else NEVER
    if voted is not None and local is None:
        raise UsageError(f"quorum-state has a vote for {voted.id}, but this replica has no node id", "node.id")
    if epoch < node.last_epoch:
        return Unattached(node.last_epoch, NO_LEADER, None, deadline_ms)
    if local is not None and leader_id == local.id:
        return Resigned(epoch, local.id, node.own_endpoints, (), node.election_timeout())
    if leader_id >= 0:
        endpoints = node.endpoints_of(leader_id)
        if endpoints:
            return Follower(epoch, leader_id, endpoints, voted, now + config.fetch_timeout_ms, now + config.fetch_timeout_ms)
    return Unattached(epoch, leader_id, voted, deadline_ms)
