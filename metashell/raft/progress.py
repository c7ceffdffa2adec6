"""What a leader knows of those who fetch, and what follows: the high watermark, and whether a majority is still there.

A fetch for offset 40 says that its sender has all before 40. Of three voters, the leader durable to 50, one at 40 and one at 30, two have
all before 40: the high watermark is 40, and what lies before it is committed. Of five at 50, 45, 40, 30 and 10 it is 40 as well: the
third highest. It rises only with a record of the leader's own epoch (`may_commit`), and never falls.

Offsets of the own log count only as far as they are durable, which is stricter than Kafka.
Source: org.apache.kafka.raft.LeaderState.
"""

from __future__ import annotations

from metashell.raft.replica import Replica
from metashell.raft.roles import Leader, Progress
from metashell.values import ReplicaKey

CHECK_QUORUM_FACTOR = 3, 2
"""Check-quorum allows three halves of a fetch timeout."""

OBSERVERS_MAX = 1_000
"""Observers that are remembered; ids are what a peer says, so there could be any number. Who fetched longest ago is forgotten first."""


def take_voters(node: Replica, leader: Leader) -> None:
    """The voters are others now: who became one or is none any more keeps its progress."""
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


def find(leader: Leader, id: int, directory_id: bytes) -> tuple[Progress, bool]:
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
    """A replica asked, validly, for what follows `fetch_offset`: it has all before that."""
    if id < 0:
        return
    entry, is_voter = find(leader, id, directory_id)
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
    """When it was last at the leader's end: now, or at its fetch before, if it now has all that was there then."""
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


def count_for_quorum(node: Replica, leader: Leader, id: int) -> None:
    """A voter was heard: with a majority of them (the leader counts if it is one) check-quorum starts anew."""
    fetched = leader.fetched
    fetched.add(id)
    needed = node.voters.majority_size - (node.local_id in leader.voters)
    if len(fetched) >= needed:
        fetched.clear()
        leader.check_deadline_ms = check_quorum_deadline(node)


def check_quorum_deadline(node: Replica) -> int:
    """When a leader that no majority fetches from has to resign."""
    numerator, denominator = CHECK_QUORUM_FACTOR
    return node.now_ms + node.config.fetch_timeout_ms * numerator // denominator


def has_lost_quorum(node: Replica, leader: Leader) -> bool:
    """Whether check-quorum is over; a sole voter needs nobody."""
    return node.now_ms >= leader.check_deadline_ms and (len(leader.voters) > 1 or not node.is_voter)
