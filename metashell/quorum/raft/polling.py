"""The work of a replica that no message asks for: at its start, and in each state when time passes.

The first line that fits decides how it starts:

    quorum-state is of an older epoch than the log      unattached in the log's epoch: what quorum-state says is out of date
    quorum-state says that this replica led             resigned: it does not lead that epoch again
    it names a leader that the voter set has            follower of it; a vote is kept
    else                                                unattached; a leader's id and a vote are kept

Nobody starts as leader: say it wrote offset 9 of epoch 6 and died before that was on disk. Leading epoch 6 again it would write another
offset 9 of epoch 6, and a follower that has the first one could not tell them apart.
Nobody starts as candidate: the vote for itself stands, but the votes of others were given to a log that may have been longer than the one
that is left, so none is asked for again in that epoch. (Kafka's candidates go on. Their logs cannot have become shorter, because they
sync before they fetch again.)

A replica whose log lost records that it may have acknowledged has no vote until its log holds them again. A record is committed when a
majority has it on disk. Each that is elected later has it, because the majority that votes shares a replica with the one that stored, and
nobody votes for a log that ends before its own. A replica that was one of those who stored a record, and lost it, breaks this in two ways:
it may give its vote to a log without the record, and it may be elected without it. Kafka's replica does both: it cuts its log at the first
damaged batch, deletes what lies behind, and votes with the rest.

Here such a replica grants neither vote nor pre-vote, not even one that it gave before, and does not stand. It follows and fetches, and its
positions count: they say only what is on its disk now. It votes again when one of these holds:

1. Its log is durable up to `until_offset`, where it ended before the damage. It can have grown there only by what a leader of its own or a
   later epoch sent, for quorum-state is sound: so it is that leader's log so far. The leader of the same epoch has not lost anything
   meanwhile, because a leader only appends. One of a later epoch was elected without this replica's vote, so by a majority of others; of
   those who stored a committed record at least one is among them, and not this one. Either has all that is committed, at the same
   offsets, and what this replica acknowledged lies below `until_offset`.
2. It has a durable batch of an epoch later than the newest that it knew, `epoch`. Then all before that batch is the later leader's log, by
   the same argument: however much was lost, this holds.
3. A leader of `epoch` or a later one has answered it, since it started, that nothing follows the end of its log, all of which is durable.
   Then it has all of that leader's log as it was after the start, and the leader has all that was committed. Of `epoch`, by the argument of
   1; and what this replica had acknowledged to that leader before, the leader had sent, and has still.

`epoch` has to be the newest in which it voted or acknowledged. Quorum-state says that; where that is lost, or the whole directory, the
proof beside meta.properties does (`disk.properties`), and the replica starts in that epoch. It may have voted in it, so it gives no vote
there: when it votes again it knows who leads the epoch, or is in a later one.

A crash meanwhile changes nothing: the log's note of the damage is durable before anything is cut, and is removed only here. Where those
without damage are no majority, and no leader is left, nobody can be elected: no rule can find out then what was committed, so an operator
has to decide.

A leader by itself drains what its clients appended, keeps its followers informed, and knows when to resign (`poll_leader`).

Source: org.apache.kafka.raft.QuorumState.initialize, KafkaRaftClient.initialize, poll."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metashell.codec.batches import CONTROL, BatchHeader, unpack_header
from metashell.codec.framing import whole_frames
from metashell.common.errors import DecodeError, LogCorruptError, UnknownRecordError, UsageError
from metashell.common.values import NO_LEADER
from metashell.quorum.raft import appending, elections, fetch, progress, reconfiguration, transitions
from metashell.quorum.raft.ready import NEVER, ElectionState
from metashell.quorum.raft.replica import Replica
from metashell.quorum.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached
from metashell.quorum.raft.voters import NewerControlError, read_control_batch

_READ_SIZE = 1024 * 1024


def start_replica(node: Replica, election: ElectionState) -> None:
    """Read what the log says of voters, and take on the first state; a sole voter leads at once."""
    latest = node.latest_snapshot()
    if latest is not None and latest.offset > node.log_end:
        # The crash came after a download was complete and before the log began with it.
        appending.restart_log(node, latest)
    # How much is committed is not known, but all of a snapshot is.
    node.committed = 0 if latest is None else latest.offset
    replay_log(node)
    node.refresh_voters()
    check_recovery_start(node)
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
        appending.load_snapshot_controls(node, latest)
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
            return Follower(epoch, leader_id, endpoints, voted, now, node.fetch_timeout(), now + config.fetch_timeout_ms)
    return Unattached(epoch, leader_id, voted, deadline_ms)


# Recovery: a replica without a vote


def check_recovery_start(node: Replica) -> None:
    """Errors: LogCorruptError where there is no other voter from whom to catch up.

    The voters are those of a log that was cut, so others may be voters by now: where servers are configured they are asked.
    """
    found = node.recovering
    is_alone = node.voters.is_only_voter(node.local_key) or not len(node.voters)
    if found is not None and is_alone and not node.connections.has_bootstrap:
        if len(node.voters):
            way = "this is the only voter, so nobody else has what was lost; accept the loss (--accept-loss)"
        else:
            way = "its voters are lost too, and no other controller is configured; metashell quorum restore makes one of what brokers have"
        reason = f"{found.reason}; {way}"
        raise LogCorruptError("metadata log", node.log_end, reason)


def maybe_end_recovery(node: Replica) -> bool:
    """Give the replica its vote back, durably, where its log is whole again."""
    if not is_recovery_over(node):
        return False
    node.log.end_recovery()
    node.recovering = None
    return True


def is_recovery_over(node: Replica) -> bool:
    """Whether all that may have been acknowledged is here and durable."""
    found = node.recovering
    if found is None:
        return False
    if found.until_offset is not None and node.durable_end >= found.until_offset:
        return True
    role = node.role
    if isinstance(role, Follower) and role.has_all and role.epoch >= found.epoch:
        return True
    return durable_epoch(node) > found.epoch


def durable_epoch(node: Replica) -> int:
    """The epoch of the last batch that is durable, of the snapshot where the log begins there; else 0."""
    if node.durable_end >= node.log_end:
        return node.last_epoch
    return node.epochs.epoch_at(node.durable_end - 1) or 0


# Each state when time passes


ROUNDS_MAX = 8
"""States that may follow each other within one step: every chain of transitions without a message is shorter."""


def poll_role(node: Replica) -> int:
    """Let the state, and each that follows from it, do its due work; return when work will be due again."""
    for _ in range(ROUNDS_MAX):
        role = node.role
        due = _POLLS[role.__class__](node, role)
        if node.role is role:
            return due
    raise AssertionError("the states do not settle")


def poll_unattached(node: Replica, role: Unattached) -> int:
    """Stand when it is time; until then look for a leader."""
    if node.may_stand() and not node.is_shutting_down:
        if role.election_deadline_ms == NEVER:
            role.election_deadline_ms = node.election_timeout()
        if node.now_ms >= role.election_deadline_ms:
            transitions.become_prospective(node)
            return node.now_ms
        return min(role.election_deadline_ms, fetch.fetch_from_bootstrap(node))
    return fetch.fetch_from_bootstrap(node)


def poll_prospective(node: Replica, role: Prospective) -> int:
    """Ask for pre-votes; without a majority in time, back to where it came from."""
    if not node.may_stand():
        # The latest voters do not have it any more.
        elections.lose_pre_vote(node, role, NEVER)
        return node.now_ms
    if node.now_ms >= role.election_deadline_ms:
        elections.lose_pre_vote(node, role, role.election_deadline_ms)
        return node.now_ms
    return elections.request_votes(node, role)


def poll_candidate(node: Replica, role: Candidate) -> int:
    """Ask for votes while a majority can be had; after an election timeout, ask first whether to ask."""
    if not (node.is_voter or node.is_leaving()):
        # A snapshot that came late says so: the vote for itself stands, but it is an observer now.
        transitions.become_unattached(node, role.epoch, NO_LEADER, role.voted, NEVER)
        return node.now_ms
    if node.now_ms >= role.election_deadline_ms:
        if node.may_stand():
            transitions.become_prospective(node)
            return node.now_ms
        return NEVER
    if role.tally.is_lost():
        return role.election_deadline_ms
    return elections.request_votes(node, role)


def poll_follower(node: Replica, role: Follower) -> int:
    """Fetch; stand when the leader was silent for a fetch timeout."""
    now = node.now_ms
    due = role.fetch_deadline_ms
    if now >= due and node.may_stand():
        transitions.become_prospective(node)
        return now
    if now >= due:
        # It does not stand itself, but it no longer hears from the leader: others that ask for its pre-vote get it. An observer
        # may be a voter of the others by a record that it does not have yet.
        role.has_fetched = False
    # An observer that hears nothing of its leader looks for another one; to ask the old one to join would only keep it from that.
    if due > now >= role.update_deadline_ms and reconfiguration.maybe_send_update(node, role):
        return min(due, node.connections.in_flight_until(now))
    wait = fetch.fetch_as_follower(node, role)
    if now < due < wait:
        wait = due
    return min(wait, role.update_deadline_ms) if now < role.update_deadline_ms else wait


def poll_resigned(node: Replica, role: Resigned) -> int:
    """Tell the voters; after an election timeout, leave the epoch that it led, unless it shuts down: then it waits for another leader."""
    if node.is_shutting_down:
        role.election_deadline_ms = NEVER
    if node.now_ms >= role.election_deadline_ms:
        if role.epoch == 0x7FFFFFFF:
            return NEVER
        transitions.become_unattached(node, role.epoch + 1, NO_LEADER, None)
        return node.now_ms
    return elections.send_end_requests(node, role)


def poll_leader(node: Replica, leader: Leader) -> int:
    """Do a leader's due work; return when more will be due."""
    now = node.now_ms
    if leader.since_step == node.step:
        # The first batch waits for the next step, so that the election is durable before anything of its epoch is written.
        return now
    if leader.resign_requested or progress.has_lost_quorum(node, leader):
        transitions.become_resigned(node)
        return now
    if leader.accumulator.next_due_ms is not None:
        drain_accumulator(node, leader)
    due = leader.begin_deadline_ms
    if now >= due:
        due = elections.send_begin_requests(node, leader)
    if leader.check_deadline_ms < due and (len(leader.voters) > 1 or not node.is_voter):
        due = leader.check_deadline_ms
    if node.parked:
        due = min(due, fetch.expire_parked_fetches(node))
    if leader.change is not None:
        due = min(due, reconfiguration.expire_change(node, leader))
    drain_due = leader.accumulator.next_due_ms
    return due if drain_due is None or drain_due > due else drain_due


_POLLS: dict[type, Callable[[Replica, Any], int]] = {
    Unattached: poll_unattached,
    Prospective: poll_prospective,
    Candidate: poll_candidate,
    Leader: poll_leader,
    Follower: poll_follower,
    Resigned: poll_resigned,
}


def drain_accumulator(node: Replica, leader: Leader) -> None:
    """Append what may leave the accumulator, and answer the fetches that wait for it; it counts for commit when it is durable."""
    batches = leader.accumulator.drain(node.now_ms)
    if not batches:
        return
    for batch in batches:
        appending.append_own(node, leader, batch)
        leader.waiting.append((batch.last_offset, batch.append_ms, batch.last_offset - batch.base_offset + 1))
    node.ready.appended = (*node.ready.appended, *batches)
    node.ready.flush_to = node.log_end
    fetch.answer_parked_fetches(node, node.log_end)


def watermark_advanced(node: Replica, leader: Leader) -> None:
    """Answer the followers that wait, and finish the changes that waited: the high watermark rose."""
    node.has_new_watermark = False
    high_watermark = node.high_watermark
    assert high_watermark is not None, "it advanced"
    note_commit_latency(node, leader, high_watermark)
    reconfiguration.watermark_advanced(node, leader)
    fetch.answer_parked_fetches(node, None)


def note_commit_latency(node: Replica, leader: Leader, high_watermark: int) -> None:
    """Note the commit latency of the batches that are committed now."""
    waiting = leader.waiting
    count = 0
    for last_offset, append_ms, records in waiting:
        if last_offset >= high_watermark:
            break
        count += 1
        node.stats.committed(node.now_ms - append_ms, records)
    del waiting[:count]
