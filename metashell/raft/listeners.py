"""What the application hears: who leads, and what is committed, each listener at its own pace.

A listener gets one range at a time and says with `consumed` how far it came; only then the next one is handed out.
Source: KafkaRaftClient.ListenerContext.
"""

from __future__ import annotations

from metashell.ids import NO_LEADER, Epoch, NodeId
from metashell.raft.listener import Listener
from metashell.raft.ready import Committed, LeaderChanged, SnapshotToLoad
from metashell.raft.replica import Replica
from metashell.raft.roles import Leader, Resigned
from metashell.values import BOOTSTRAP_SNAPSHOT_ID


def progress_listeners(node: Replica) -> None:
    """Hand out whatever may be handed out now."""
    for listener in node.listeners.values():
        if not listener.is_busy and node.high_watermark is not None:
            deliver(node, listener, node.high_watermark)
        tell_leader(node, listener)


def deliver(node: Replica, listener: Listener, high_watermark: int) -> None:
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


def tell_leader(node: Replica, listener: Listener) -> None:
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
