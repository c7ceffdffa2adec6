"""Bugs that the core really had until a seed found them, each as it was, with the options of its seed.

`needed.tsv` has the seeds: each holds now, and breaks a rule where the old code is put back.
"""

from __future__ import annotations

from typing import Any

from metashell.quorum.raft import fetch, polling, reconfiguration, snapshots, transitions
from metashell.quorum.raft.replica import Replica
from metashell.quorum.raft.roles import Follower
from tests.simulation.bugs import Bug, Patch


def a_snapshot_takes_any_epoch() -> list[Patch]:
    """A snapshot whose epoch is not that of its last record is made, also one of nothing."""

    def refusal(node: Replica, id: Any) -> str | None:
        log, epochs = node.log, node.epochs
        if id in log.snapshots() or id.offset < log.start_offset or node.high_watermark is None or id.offset > node.high_watermark:
            return "it is there, too old or not committed"
        epoch, end = epochs.end_offset_for(id.epoch, node.log_end, node.last_epoch)
        return None if epoch == id.epoch and id.offset <= end and log.is_batch_boundary(id.offset) else "not in the log"

    return [(snapshots, "snapshot_refusal", refusal)]


def an_observer_asks_a_silent_leader_to_join() -> list[Patch]:
    """With auto-join on, requests to a dead leader take the place of every fetch that would find the new one."""

    def act(node: Replica, role: Follower) -> int:
        now, due = node.now_ms, role.fetch_deadline_ms
        if now >= due and node.may_stand():
            transitions.become_prospective(node)
            return now
        if now >= role.update_deadline_ms and reconfiguration.maybe_send_update(node, role):
            return min(due, node.connections.in_flight_until(now))
        wait = fetch.fetch_as_follower(node, role)
        wait = due if now < due < wait else wait
        return min(wait, role.update_deadline_ms) if now < role.update_deadline_ms else wait

    return [(polling, "_POLLS", {**polling._POLLS, Follower: act})]


def a_removed_leader_never_stands() -> list[Patch]:
    """A leader that was stopped while it was removed has the longest log and no way to get the removal committed; nor has anybody else."""
    return [(Replica, "is_leaving", lambda node: False)]


def an_observer_keeps_faith_with_a_dead_leader() -> list[Patch]:
    """Who became a voter by a record that it does not have rejects every pre-vote, because it fetched from the leader once."""

    def act(node: Replica, role: Follower) -> int:
        has_fetched = role.has_fetched
        due = original(node, role)
        if not node.is_voter:
            role.has_fetched = has_fetched
        return due

    original = polling.poll_follower
    return [(polling, "_POLLS", {**polling._POLLS, Follower: act})]


JOINING: dict[str, object] = {
    "level": 1,
    "auto_join": True,
    "voters": 3,
    "observers": 2,
    "member_every": 800,
    "crash_every": 1_500,
    "election_timeout_ms": 250,
    "fetch_timeout_ms": 500,
    "generations": [],
    "down_ms": 2_000,
    "log_on_disk": False,
}
BUGS = (
    Bug(a_snapshot_takes_any_epoch, {"profile": ""}),
    Bug(an_observer_asks_a_silent_leader_to_join, {"profile": "", **JOINING}),
    Bug(a_removed_leader_never_stands, {"profile": ""}),
)
"""`test_scenarios` has the other one."""
