"""What a leader does on its own: it drains what its clients appended, keeps its followers informed, and knows when to resign."""

from __future__ import annotations

from metashell.raft import appending, epochs, fetch_server, progress, reconfiguration, transitions
from metashell.raft.replica import Replica
from metashell.raft.roles import Leader


def act(node: Replica, leader: Leader) -> int:
    """Do what is due; when something will be."""
    now = node.now_ms
    if leader.since_step == node.step:
        # The first batch waits for the next step, so that the election is durable before anything of its epoch is written.
        return now
    if leader.resign_requested or progress.has_lost_quorum(node, leader):
        transitions.become_resigned(node)
        return now
    if leader.accumulator.next_due_ms is not None:
        drain(node, leader)
    due = leader.begin_deadline_ms
    if now >= due:
        due = epochs.send_begin(node, leader)
    if leader.check_deadline_ms < due and (len(leader.voters) > 1 or not node.is_voter):
        due = leader.check_deadline_ms
    if node.parked:
        due = min(due, fetch_server.expire(node))
    if leader.change is not None:
        due = min(due, reconfiguration.expire(node, leader))
    drain_due = leader.accumulator.next_due_ms
    return due if drain_due is None or drain_due > due else drain_due


def drain(node: Replica, leader: Leader) -> None:
    """Append what may leave the accumulator, and answer the fetches that wait for it; it counts for commit when it is durable."""
    batches = leader.accumulator.drain(node.now_ms)
    if not batches:
        return
    for batch in batches:
        appending.append_own(node, leader, batch)
        leader.waiting.append((batch.last_offset, batch.append_ms, batch.last_offset - batch.base_offset + 1))
    node.ready.appended = (*node.ready.appended, *batches)
    node.ready.flush_to = node.log_end
    fetch_server.release(node, node.log_end)


def watermark_advanced(node: Replica, leader: Leader) -> None:
    """More is committed: answer the followers that wait, and finish what waited for it."""
    node.has_new_watermark = False
    high_watermark = node.high_watermark
    assert high_watermark is not None, "it advanced"
    settle_waiting(node, leader, high_watermark)
    reconfiguration.watermark_advanced(node, leader)
    fetch_server.release(node, None)


def settle_waiting(node: Replica, leader: Leader, high_watermark: int) -> None:
    """Note the commit latency of the batches that are committed now."""
    waiting = leader.waiting
    count = 0
    for last_offset, append_ms, records in waiting:
        if last_offset >= high_watermark:
            break
        count += 1
        node.stats.committed(node.now_ms - append_ms, records)
    del waiting[:count]
