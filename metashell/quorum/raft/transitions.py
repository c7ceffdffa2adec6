"""From one state to another: the only code that replaces a replica's role, and the checks of every message that may call for it.

An epoch is the number of an election. Each has at most one leader, because a replica votes once an epoch, and two majorities share a
replica. The usual way round, with the replicas 1, 2 and 3 in epoch 5, whose leader 3 has died:

    1  follower     epoch 5     hears nothing of 3 for a fetch timeout
    1  prospective  epoch 5     asks 2 for a pre-vote: "would you vote for me?"; nothing is written, the epoch stays
    2               epoch 5     hears nothing of 3 either, and its log does not reach further: it grants
    1  candidate    epoch 6     votes for itself, writes that down, then asks 2 for its vote
    2  unattached   epoch 6     writes down that 1 has its vote, then grants
    1  leader       epoch 6     with two of three votes; its first batch says so, and then it can commit
    2  follower     epoch 6     hears of 1 by BeginQuorumEpoch, and fetches from it
    3  resigned     epoch 5     comes back: it led epoch 5, so it does not lead it again; it hears of epoch 6 and follows 1

Why the steps between are there:
- Pre-vote. Replica 2 is cut off for an hour. Without pre-votes it would stand again and again, come back in epoch 900, and the healthy
  leader of epoch 5 would have to give up to it. With them it stays prospective in epoch 5: nobody who hears from a leader grants.
- What is entered is durable before any message of the step leaves (`enter`, `Replica.persist`). Were 2 to grant its vote to 1, crash
  before that is on disk, and come back, it would grant epoch 6 to 3 as well: two leaders of one epoch, each with a majority.
- A vote is kept as long as its epoch lasts, also by a follower, and is forgotten with a higher one.
- A replica that meets a higher epoch takes it over at once, also from one that cannot win: the old epoch can commit nothing more there.
  The time that was left until it would stand is kept, so that a replica which asks for votes in vain does not hold up the others.
- A leader leaves its epoch only for a higher one, by way of resigned: two batches of one epoch never have the same offset.
- Every transition forgets the outbound requests: a late answer to a pre-vote is never counted as a vote.

Every message names an epoch, and many a leader. With 5 as our own epoch and 1 as its leader:

    epoch 4, any leader         the sender is behind: a request gets FENCED_LEADER_EPOCH, an answer is not used
    epoch 5, leader 1 or none   nothing new: the message's own rules apply
    epoch 5, leader 2           cannot be: an epoch has one leader. A complaint, and the message is ignored (Kafka's replica would die)
    epoch 6, no leader          there was another election: unattached in epoch 6, and 1 is no longer believed
    epoch 6, leader 2           follow 2, if it is known where 2 listens; else remember it, and look for its endpoints
    epoch 6, leader is us       cannot be, or we lost what we wrote: a complaint. A voter that waits for a leader takes the epoch of such
                                an answer over, and gives no vote in it: a Kafka voter that follows us would else wait for ever

Requests that only a leader answers never move the epoch, however high theirs is (`check_leader_request`): the asker will hear of its
leader by other ways, and a stray replica with a large number must not unseat a leader by fetching. Nor do pre-votes. Votes,
BeginQuorumEpoch and EndQuorumEpoch of known voters do, within bounds, and answers; `epoch_guard` has the rules, and why.

An answer names a leader only together with an endpoint on the listener that was asked: a Kafka peer that hears of a leader it cannot reach
dies. No answer says that its asker leads. It may have led and been restarted, and then it is resigned; in any other state it dies of that.

Source: KIP-595, KIP-996; org.apache.kafka.raft.QuorumState, KafkaRaftClient.maybeHandleCommonResponse, maybeTransition,
validateLeaderOnlyRequest, LeaderState.appendStartOfEpochControlRecords."""

from __future__ import annotations

from typing import TypeAlias, TypeVar, assert_never

from metashell.codec.error_codes import (
    BROKER_NOT_AVAILABLE,
    FENCED_LEADER_EPOCH,
    INCONSISTENT_CLUSTER_ID,
    INVALID_REQUEST,
    INVALID_VOTER_KEY,
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    UNKNOWN_LEADER_EPOCH,
)
from metashell.common.values import NO_LEADER, ReplicaKey
from metashell.quorum.raft import epoch_guard, progress
from metashell.quorum.raft.accumulator import BatchAccumulator
from metashell.quorum.raft.messages import AboutPartition, Endpoint, Endpoints, FetchResponse, PartitionResponse, UpdateRaftVoterResponse
from metashell.quorum.raft.ready import NEVER
from metashell.quorum.raft.replica import Replica
from metashell.quorum.raft.roles import NO_ENDPOINTS, Candidate, Follower, Leader, Prospective, Resigned, Role, Tally, Unattached
from metashell.quorum.raft.voters import ControlValue, KRaftVersion, LeaderChange, Voter, VoterSet


def become_unattached(
    node: Replica, epoch: int, leader_id: int = NO_LEADER, voted: ReplicaKey | None = None, deadline_ms: int = -1
) -> None:
    """Become unattached: the epoch is known, but no leader to follow. A deadline below 0 lets `unattached_deadline` choose it."""
    role = node.role
    assert epoch > role.epoch or isinstance(role, Unattached | Prospective | Candidate), "the epoch must grow"
    if deadline_ms < 0:
        deadline_ms = unattached_deadline(node, role)
    enter(node, Unattached(epoch, leader_id, voted, deadline_ms))


def unattached_deadline(node: Replica, role: Role) -> int:
    """Return the time to stand after a higher epoch was met; observers never stand.

    A replica that was going to stand keeps the time that was left: a candidate that met epoch 7 with 300 ms to go stands in 300 ms. One
    that was not (a leader, a follower, a prospective that has lost) takes a new random time, so that not all stand at once.
    """
    if not node.may_stand():
        return NEVER
    match role:
        case Candidate() | Resigned():
            return role.election_deadline_ms
        case Unattached() if role.election_deadline_ms != NEVER:
            return role.election_deadline_ms
        case Prospective() if not role.tally.is_lost():
            return role.election_deadline_ms
        case Unattached() | Prospective() | Leader() | Follower():
            return node.election_timeout()
        case _:
            assert_never(role)


def become_follower(node: Replica, epoch: int, leader_id: int, endpoints: Endpoints) -> None:
    """Follow a leader of a higher epoch, of this one where none was known, or the same one under more endpoints.

    A vote of this epoch is kept: who voted for 1 in epoch 6 and hears that 3 leads it has still voted, and quorum-state says so.
    """
    role = node.role
    assert leader_id != node.local_id and leader_id >= 0 and endpoints, "a follower needs a leader with endpoints"
    assert epoch > role.epoch or (epoch == role.epoch and role.leader_id in (NO_LEADER, leader_id)), "one leader an epoch"
    voted = role.voted if epoch == role.epoch else None
    now, config = node.now_ms, node.config
    enter(node, Follower(epoch, leader_id, endpoints, voted, now, node.fetch_timeout(), now + config.fetch_timeout_ms))


def become_prospective(node: Replica) -> None:
    """Ask whether an election would be won; a sole voter goes on to lead at once.

    The epoch stays, and so does a leader that is known: if the round is lost because others still hear from it, this replica follows it
    again (`elections.lose_pre_vote`) as if nothing had happened.
    """
    role = node.role
    assert (node.is_voter or node.is_leaving()) and role.__class__ is not Leader, "only voters stand, or who is leaving them"
    tally = Tally(node.voters, node.local_id)
    since_ms = node.now_ms
    enter(node, Prospective(role.epoch, role.leader_id, role.endpoints, role.voted, tally, node.election_timeout(), since_ms))
    if tally.is_won():
        become_candidate(node)


def add_vote_as_prospective(node: Replica, voted: ReplicaKey) -> None:
    """Vote for another, and ask anew."""
    role = node.role
    assert role.__class__ is Prospective and role.voted is None, "one vote an epoch"
    tally = Tally(node.voters, node.local_id)
    deadline_ms = node.election_timeout()
    enter(node, Prospective(role.epoch, role.leader_id, role.endpoints, voted, tally, deadline_ms, role.since_ms))


def become_candidate(node: Replica) -> None:
    """Vote for itself in the next epoch."""
    role = node.role
    assert role.__class__ is Prospective and node.local_key is not None, "only a prospective becomes a candidate"
    tally = Tally(node.voters, node.local_id)
    enter(node, Candidate(role.epoch + 1, node.local_key, tally, node.election_timeout(), role.since_ms))
    if tally.is_won():
        become_leader(node)


def become_leader(node: Replica) -> None:
    """Lead: the first batch of the epoch is appended in the next step, when it is durable that this replica leads.

    The high watermark is unknown until a record of this epoch is committed. A majority may have a record of an earlier epoch and it is
    still not safe: of 1, 2, 3, leader 1 writes offset 9 in epoch 2 to itself alone and dies; 3 leads epoch 3, writes another offset 9 to
    itself alone and dies; 1 leads epoch 4 and copies its offset 9 to 2. Two of three have it, but 3, whose last epoch 3 is above 2, could
    win epoch 5 and replace it. Once 1 has a record of epoch 4 behind it on a majority, 3 cannot win any more (`progress.may_commit`).
    """
    role = node.role
    assert role.__class__ is Candidate and role.tally.is_won(), "only a candidate with a majority leads"
    epoch, now, config = role.epoch, node.now_ms, node.config
    granting = tuple(sorted(id for id, granted in role.tally.answers.items() if granted))
    accumulator = BatchAccumulator(epoch, node.log_end, config.append_linger_ms)
    leader = Leader(epoch, node.local_id, node.own_endpoints, node.log_end, granting, accumulator, node.step)
    progress.adopt_voters(node, leader)
    leader.check_deadline_ms = progress.check_quorum_deadline(node)
    leader.begin_deadline_ms = now
    enter(node, leader)
    node.high_watermark = None
    if node.epochs.assign(epoch, node.log_end):
        node.log.write_leader_epochs(node.epochs.entries)
    prepare_epoch_start(node, leader)


def become_resigned(node: Replica) -> None:
    """Give up leadership: the voters that have most of the log are named first, and stand first.

    It stays in its epoch, and grants no vote in it: after an election timeout it goes on to the next one, without a vote.
    """
    role = node.role
    assert role.__class__ is Leader, "only a leader resigns"
    successors = preferred_successors(node, role)
    node.high_watermark = None
    enter(node, Resigned(role.epoch, node.local_id, role.endpoints, successors, node.election_timeout()))


def preferred_successors(node: Replica, leader: Leader) -> tuple[ReplicaKey, ...]:
    """All voters but this one, by what they have fetched, the most first."""
    others = [entry for id, entry in leader.voters.items() if id != node.local_id]
    others.sort(key=lambda entry: (-entry.end_offset, entry.key.id, entry.key.directory_id))
    return tuple(entry.key for entry in others)


def enter(node: Replica, role: Role) -> None:
    """Take on a role, durably."""
    old = node.role
    assert role.epoch >= old.epoch, "epochs never go down"
    node.role = role
    if isinstance(old, Prospective | Candidate) and isinstance(role, Leader | Follower):
        node.stats.elected(node.now_ms - old.since_ms)
    node.forget_requests()
    node.persist(role)
    node.has_news = True
    if old.__class__ is Leader:
        for fetch in node.parked.take_all():
            node.reply(fetch.token, fetch_error_response(node, NOT_LEADER_OR_FOLLOWER, fetch.listener))
        node.ended = old
    elif old.__class__ is Follower and old.download is not None and not old.download.is_complete:
        old.download.part.close()


def prepare_epoch_start(node: Replica, leader: Leader) -> None:
    """Put the first batch of the epoch into the accumulator."""
    change = LeaderChange(leader_id=leader.leader_id, voters=node.voters.ids, granting=leader.granting)
    values: list[ControlValue] = [change]
    voters = voters_to_write(node)
    if voters is not None:
        values += [KRaftVersion(node.partition.kraft_version), voters]
    leader.accumulator.append_control(values, node.now_ms, node.wall_ms())


def voters_to_write(node: Replica) -> VoterSet | None:
    """The set that a new leader has to write: one from the bootstrap snapshot, which is not in the log, or one whose own entry is old."""
    if node.partition.kraft_version < 1:
        return None
    config, voters = node.config, node.voters
    if node.local_key is None or node.partition.voters_offset is None:
        # Kafka's leader dies of a level without voters in the log; the static ones go on.
        return None
    own = Voter(node.local_key, node.own_endpoints, config.min_kraft_version, config.max_kraft_version)
    updated = voters.updated(own)
    if updated is None:
        return None  # it is leaving the voters, or learnt while it stood that it had left: it resigns when this batch is committed
    return updated if node.partition.voters_offset < 0 or updated != voters else None


# The checks of every message


Answer: TypeAlias = PartitionResponse | UpdateRaftVoterResponse


def check_addressed(node: Replica, request: AboutPartition) -> int:
    """The error, or none, of a request for another cluster, or for anything but exactly the metadata partition."""
    if not node.is_cluster(request.cluster_id):
        return INCONSISTENT_CLUSTER_ID
    return NONE if request.shape_ok else INVALID_REQUEST


def check_leader_request(node: Replica, epoch: int) -> int:
    """The error of a request that only a leader of `epoch` answers. The epoch is never adopted from one."""
    role = node.role
    if epoch != role.epoch:
        return FENCED_LEADER_EPOCH if epoch < role.epoch else UNKNOWN_LEADER_EPOCH
    if role.__class__ is not Leader:
        return NOT_LEADER_OR_FOLLOWER
    return BROKER_NOT_AVAILABLE if node.is_shutting_down else NONE


def is_consistent(node: Replica, leader_id: int, epoch: int) -> bool:
    """Whether a message that names a leader (-1: none) of an epoch can be true."""
    role = node.role
    if leader_id == NO_LEADER or epoch < role.epoch:
        return True
    if leader_id < 0:
        return False
    if leader_id == node.local_id:
        # Leader or Resigned; any other state means that what this replica wrote was lost.
        return epoch == role.epoch and role.leader_id == leader_id
    return epoch > role.epoch or role.leader_id in (NO_LEADER, leader_id)


def handle_leader(node: Replica, leader_id: int, epoch: int, endpoints: Endpoints) -> bool:
    """Move to the epoch and leader that a consistent message names; whether the state changed.

    A leader that is named without endpoints is remembered, and followed when they become known: a Vote answer of an old version may say
    "epoch 6, leader 2" and no more, and the next Fetch answer of a bootstrap server "epoch 6, leader 2, at host2:9093".
    """
    role = node.role
    if epoch > role.epoch:
        if leader_id >= 0 and endpoints:
            become_follower(node, epoch, leader_id, endpoints)
        else:
            become_unattached(node, epoch, leader_id)
        return True
    if epoch == role.epoch and leader_id >= 0 and leader_id != node.local_id and len(endpoints) > len(role.endpoints):
        become_follower(node, epoch, leader_id, endpoints)
        return True
    return False


def response_endpoints(node: Replica, leader_id: int, endpoint: Endpoint | None) -> Endpoints:
    """Return the endpoints of a leader that a response names: the response's, else those of the voter set."""
    if leader_id < 0:
        return NO_ENDPOINTS
    if endpoint is not None:
        return {node.config.default_listener: endpoint}
    return node.endpoints_of(leader_id)


def handle_response(node: Replica, response: Answer) -> bool | None:
    """Apply the common rules of all responses; return whether the connection is fine, None where the answer's own rules apply."""
    role, error, leader_id, epoch = node.role, response.error, response.leader_id, response.epoch
    if epoch < role.epoch or error == UNKNOWN_LEADER_EPOCH:
        # Who is behind will say the same until it has caught up: Kafka asks again at once, here it is after the pause.
        return False
    if not epoch_guard.is_answer_believed(node, epoch):
        return False
    if leader_id == node.local_id and epoch > role.epoch and node.is_voter and isinstance(role, Unattached | Prospective):
        # Its directory was formatted anew since, or somebody used its name. If it led, then it voted for itself, and must not vote again.
        node.complain(f"a response says that this replica led epoch {epoch}, here it is {role.epoch}")
        become_unattached(node, epoch, NO_LEADER, node.local_key)
        return True
    if not is_consistent(node, leader_id, epoch):
        node.complain("a response names another leader of an epoch than the one that is known")
        return False
    if epoch > role.epoch or error in (FENCED_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER):
        # Without anything new the same question would have the same answer: better to wait than to ask at the speed of the network.
        moved = handle_leader(node, leader_id, epoch, response_endpoints(node, leader_id, response.leader_endpoint))
        return moved
    if leader_id >= 0 and not role.endpoints and leader_id != node.local_id:
        moved = handle_leader(node, leader_id, epoch, response_endpoints(node, leader_id, response.leader_endpoint))
        if moved and error != NONE:
            return True
    if error in (BROKER_NOT_AVAILABLE, INVALID_VOTER_KEY):
        return False
    if error == INVALID_REQUEST:
        node.complain("a response says that a request was malformed")
        return False
    return None


def handle_plain_response(node: Replica, response: Answer, what: str) -> bool | None:
    """As `handle_response`, for a response that has no other error: one that has is a complaint."""
    is_fine = handle_response(node, response)
    if is_fine is None and response.error != NONE:
        node.complain(f"{what} was answered by an error that it cannot have")
        return False
    return is_fine


# Answers that name the leader


R = TypeVar("R", bound=PartitionResponse)


def named_leader(node: Replica, listener: str, asker: int = NO_LEADER) -> tuple[int, Endpoint | None]:
    """The leader that an answer may name, and its endpoint; (-1, None) for none."""
    role = node.role
    endpoint = role.endpoints.get(listener)
    if endpoint is None or role.leader_id == asker:
        return NO_LEADER, None
    return role.leader_id, endpoint


def response_with_leader(node: Replica, make: type[R], error: int, listener: str, asker: int = NO_LEADER) -> R:
    """An answer with an error, or none, this replica's epoch and the leader."""
    leader_id, endpoint = named_leader(node, listener, asker)
    return make(0, error, leader_id, node.role.epoch, endpoint)


def fetch_error_response(node: Replica, error: int, listener: str, replica_id: int = NO_LEADER) -> FetchResponse:
    """Return a Fetch error as Kafka does: with the log's start, even of a replica that does not lead, and no high watermark."""
    response = response_with_leader(node, FetchResponse, error, listener, replica_id)
    response.log_start_offset = node.log.start_offset
    return response
