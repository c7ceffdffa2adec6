"""Progress of the replicas that fetch from a leader: high watermark, check-quorum, and what listeners, DescribeQuorum and metrics show.

A fetch for offset 40 says that its sender has all before 40. Of three voters, the leader durable to 50, one at 40 and one at 30, two have
all before 40: the high watermark is 40, and what lies before it is committed. Of five at 50, 45, 40, 30 and 10 it is 40 as well: the
third highest. It rises only with a record of the leader's own epoch (`may_commit`), and never falls.

Offsets of the own log count only as far as they are durable, which is stricter than Kafka.

A listener of the application hears who leads and what is committed, each at its own pace: it gets one range at a time and says with
`consumed` how far it came; only then the next one is handed out.

Source: KIP-595, KIP-836, KIP-853; org.apache.kafka.raft.LeaderState, LeaderState.describeQuorum, KafkaRaftClient.ListenerContext,
org.apache.kafka.raft.internals.KafkaRaftMetrics."""

from __future__ import annotations

from typing import Final, TypeAlias

from metashell.codec.error_codes import NOT_LEADER_OR_FOLLOWER
from metashell.common.values import BOOTSTRAP_SNAPSHOT_ID, NO_LEADER, ZERO_UUID, Epoch, NodeId, ReplicaKey, uuid_text
from metashell.quorum.raft.messages import UNKNOWN_HIGH_WATERMARK, DescribeQuorumRequest, DescribeQuorumResponse, ReplicaState
from metashell.quorum.raft.ready import Committed, LeaderChanged, Listener, SnapshotToLoad
from metashell.quorum.raft.replica import Replica
from metashell.quorum.raft.roles import Candidate, Leader, Progress, Prospective, Resigned, Unattached

CHECK_QUORUM_FACTOR = 3, 2
"""Check-quorum allows three halves of a fetch timeout."""

OBSERVERS_MAX = 1_000
"""Observers that are remembered; ids are what a peer says, so there could be any number. Who fetched longest ago is forgotten first."""


def adopt_voters(node: Replica, leader: Leader) -> None:
    """Take over changed voters: replicas that became voters, or ceased to be, keep their progress."""
    old, observers = leader.voters, leader.observers
    if len(old) == 1:
        # A sole voter's check-quorum was over long ago, and nobody minded.
        leader.check_deadline_ms = check_quorum_deadline(node)
    leader.voters = {}
    for id, voter in node.voters.voters.items():
        key = voter.key
        entry = old.pop(id, None)
        if entry is not None and not is_same_replica(entry.key, key):
            observers[(id, entry.key.directory_id)] = entry
            entry = None
        if entry is None:
            entry = observers.pop((id, key.directory_id), None) or Progress(key)
        entry.key = key
        leader.voters[id] = entry
    for id, entry in old.items():
        if id != node.local_id:
            observers[(id, entry.key.directory_id)] = entry
    leader.fetched.intersection_update(leader.voters)


def is_same_replica(entry: ReplicaKey, key: ReplicaKey) -> bool:
    """Whether a key is that of an entry; an entry without directory id is of whoever has the id."""
    return entry.id == key.id and (not any(entry.directory_id) or entry.directory_id == key.directory_id)


def find_progress(leader: Leader, id: int, directory_id: bytes) -> tuple[Progress, bool]:
    """The progress of a replica that fetches, and whether it counts as a voter; observers are remembered by their whole key."""
    entry = leader.voters.get(id)
    if entry is not None:
        known = entry.key.directory_id
        if known == directory_id or not any(known):
            return entry, True
    entry = leader.observers.get((id, directory_id))
    if entry is None:
        if len(leader.observers) >= OBSERVERS_MAX:
            del leader.observers[min(leader.observers, key=lambda key: leader.observers[key].last_fetch_ms)]
        entry = leader.observers[(id, directory_id)] = Progress(ReplicaKey(id, directory_id))
    return entry, False


def record_fetch(node: Replica, leader: Leader, id: int, directory_id: bytes, fetch_offset: int) -> None:
    """Note a valid fetch at `fetch_offset`: the replica has all before that."""
    if id < 0:
        return
    entry, is_voter = find_progress(leader, id, directory_id)
    now, end = node.now_ms, node.log_end
    note_caught_up(entry, fetch_offset, end, now)
    entry.leader_end = end
    if now > entry.last_fetch_ms:
        entry.last_fetch_ms = now
    moved = entry.end_offset != fetch_offset
    # It may go back: a replica that was restarted asks again for what it lost.
    entry.end_offset = fetch_offset
    if is_voter:
        count_for_quorum(node, leader, id)
        if moved:
            update_high_watermark(node, leader)


def note_caught_up(entry: Progress, fetch_offset: int, leader_end: int, now_ms: int) -> None:
    """Note when a replica was last at the leader's end: now, or at its previous fetch, if it now has all that was there then."""
    if fetch_offset >= leader_end:
        caught_up_ms = now_ms
    elif entry.leader_end > 0 and fetch_offset >= entry.leader_end:
        caught_up_ms = entry.last_fetch_ms
    else:
        return
    if caught_up_ms > entry.last_caught_up_ms:
        entry.last_caught_up_ms = caught_up_ms


def high_watermark_candidate(node: Replica, leader: Leader) -> int:
    """The offset that a majority of the latest voters has reached, -1 where fewer are known.

    Source: LeaderState.maybeUpdateHighWatermark.
    """
    own = node.local_id
    offsets = [entry.end_offset if id != own else node.durable_end for id, entry in leader.voters.items()]
    offsets.sort(reverse=True)
    return offsets[len(offsets) // 2] if offsets else -1


def update_high_watermark(node: Replica, leader: Leader) -> bool:
    """Raise the high watermark if a majority has more, and a record of this epoch among it; whether it rose."""
    candidate = high_watermark_candidate(node, leader)
    if not may_commit(candidate, leader.epoch_start, node.high_watermark):
        return False
    set_high_watermark(node, candidate)
    return True


def may_commit(candidate: int, epoch_start: int, high_watermark: int | None) -> bool:
    """A leader commits what predecessors wrote only along with a record of its own epoch (Raft 5.4.2), and never goes back."""
    return candidate > epoch_start and (high_watermark is None or candidate > high_watermark)


def set_high_watermark(node: Replica, offset: int) -> None:
    assert node.high_watermark is None or offset >= node.high_watermark, "the high watermark never goes back"
    assert offset <= node.log_end, "the high watermark lies in the log"
    node.high_watermark = offset
    if offset > node.committed:
        node.committed = offset
    node.has_new_watermark = node.has_news = True


# Check-quorum


def count_for_quorum(node: Replica, leader: Leader, id: int) -> None:
    """A voter was heard: with a majority of them (the leader counts if it is one) check-quorum starts anew."""
    fetched = leader.fetched
    fetched.add(id)
    needed = node.voters.majority_size - (node.local_id in leader.voters)
    if len(fetched) >= needed:
        fetched.clear()
        leader.check_deadline_ms = check_quorum_deadline(node)


def check_quorum_deadline(node: Replica) -> int:
    """Return the time when a leader has to resign unless a majority fetches from it."""
    numerator, denominator = CHECK_QUORUM_FACTOR
    return node.now_ms + node.config.fetch_timeout_ms * numerator // denominator


def has_lost_quorum(node: Replica, leader: Leader) -> bool:
    """Whether check-quorum is over; a sole voter needs nobody."""
    return node.now_ms >= leader.check_deadline_ms and (len(leader.voters) > 1 or not node.is_voter)


# Listeners of the application


def progress_listeners(node: Replica) -> None:
    """Hand out whatever may be handed out now.

    Before a leader says how much is committed, all of a snapshot is: a replica that loads it at once may stand the sooner.
    """
    committed = node.committed if node.high_watermark is None else node.high_watermark
    for listener in node.listeners.values():
        if not listener.is_busy:
            deliver_committed(node, listener, committed)
        announce_leader(node, listener)


def deliver_committed(node: Replica, listener: Listener, high_watermark: int) -> None:
    """Give a listener that is not busy the next committed range, or the snapshot that it has to begin with."""
    position = listener.next_offset
    if high_watermark <= position:
        return
    start = node.log.start_offset
    if position < start:
        latest = node.latest_snapshot()
        # The bootstrap snapshot is no state: what it says, the first leader writes into the log.
        if latest is not None and latest != BOOTSTRAP_SNAPSHOT_ID:
            listener.is_busy = True
            node.notify(SnapshotToLoad(listener.id, latest))
            return
        assert start == 0, "the log begins after 0 and there is no snapshot"
        position = listener.next_offset = 0
    if position < high_watermark:
        listener.is_busy = True
        node.notify(Committed(listener.id, position, high_watermark))


def announce_leader(node: Replica, listener: Listener) -> None:
    """Announce the leader, at most twice in an epoch: unknown, then known."""
    role = node.role
    is_newer = role.epoch > listener.epoch or (role.leader_id != NO_LEADER and listener.leader_id == NO_LEADER)
    if not is_newer or role.__class__ is Resigned:
        return
    # A new leader acts on all that its predecessors committed, so it learns of its leadership after that.
    if role.__class__ is Leader and listener.next_offset <= role.epoch_start:
        return
    listener.epoch, listener.leader_id = role.epoch, role.leader_id
    node.notify(LeaderChanged(listener.id, NodeId(role.leader_id), Epoch(role.epoch)))


# DescribeQuorum and metrics


OBSERVER_EXPIRY_MS: Final = 300_000
"""An observer that did not fetch for so long is forgotten."""

METADATA_PARTITION: Final = (("__cluster_metadata", 0),)


def describe_quorum(node: Replica, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    """The answer of this replica: the state of all if it leads, an error otherwise. Timestamps are Unix ms."""
    if request.partitions != METADATA_PARTITION:
        return DescribeQuorumResponse(unknown=request.partitions)
    leader = node.role
    if not isinstance(leader, Leader):
        return DescribeQuorumResponse(error=NOT_LEADER_OR_FOLLOWER)
    forget_silent_observers(node, leader)
    observers = [replica_state(node, progress) for progress in leader.observers.values()]
    if node.local_id not in leader.voters and node.local_key is not None:
        observers.append(replica_state(node, Progress(node.local_key)))
    return DescribeQuorumResponse(
        0,
        0,
        leader.leader_id,
        leader.epoch,
        UNKNOWN_HIGH_WATERMARK if node.high_watermark is None else node.high_watermark,
        tuple(replica_state(node, progress) for progress in leader.voters.values()),
        tuple(observers),
        tuple((id, voter.endpoints) for id, voter in node.voters.voters.items()),
    )


def forget_silent_observers(node: Replica, leader: Leader) -> None:
    """Drop the observers that did not fetch for five minutes."""
    since = node.now_ms - OBSERVER_EXPIRY_MS
    for key in [key for key, progress in leader.observers.items() if progress.last_fetch_ms <= since]:
        del leader.observers[key]


def replica_state(node: Replica, progress: Progress) -> ReplicaState:
    """Return the state of one replica; this one is at its log's end, now."""
    key = progress.key
    if key.id == node.local_id:
        now = node.wall_ms()
        return ReplicaState(key.id, key.directory_id, node.log_end, now, now)
    return ReplicaState(
        key.id,
        key.directory_id,
        progress.end_offset,
        _timestamp(node, progress.last_fetch_ms),
        _timestamp(node, progress.last_caught_up_ms),
    )


def _timestamp(node: Replica, monotonic_ms: int) -> int:
    return monotonic_ms + node.wall_offset_ms if monotonic_ms >= 0 else -1


Metrics: TypeAlias = dict[str, int | float | str]


def state_text(node: Replica) -> str:
    """The state as the metric `current-state` has it."""
    role = node.role
    if isinstance(role, Resigned):
        return "unattached"
    if not node.is_voter and not isinstance(role, Leader):
        return "unattached" if isinstance(role, Unattached) else "observer"
    if isinstance(role, Unattached | Prospective) and role.voted is not None:
        return f"{role.name}-voted"
    return role.name


def metrics(node: Replica) -> Metrics:
    """The group raft-metrics; -1 where a number is not known. Totals take the place of rates."""
    role, stats = node.role, node.stats
    voted = node.local_key if isinstance(role, Candidate) else role.voted
    found: Metrics = {
        "current-state": state_text(node),
        "current-leader": role.leader_id,
        "current-vote": -1 if voted is None else voted.id,
        "current-vote-directory-id": uuid_text(ZERO_UUID if voted is None else voted.directory_id),
        "current-epoch": role.epoch,
        "high-watermark": -1 if node.high_watermark is None else node.high_watermark,
        "log-end-offset": node.log_end,
        "log-end-epoch": node.last_epoch,
        "number-unknown-voter-connections": 0,
        "number-of-voters": len(node.voters),
        "commit-latency-avg": stats.commit_sum / stats.commit_count if stats.commit_count else 0.0,
        "commit-latency-max": stats.commit_max,
        "election-latency-avg": stats.election_sum / stats.election_count if stats.election_count else 0.0,
        "election-latency-max": stats.election_max,
        "fetch-records-total": stats.fetched,
        "append-records-total": stats.appended,
        "ignored-static-voters": int(node.partition.static_is_ignored),
        "complaints": node.complaints,
    }
    if isinstance(role, Leader):
        found["number-of-observers"] = len(role.observers)
        found["uncommitted-voter-change"] = int(role.change is not None)
    return found
