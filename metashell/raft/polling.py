"""What each state does on its own when time passes, and when it will next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metashell.ids import NO_LEADER
from metashell.raft import epochs, fetch_client, leading, self_update, transitions, votes
from metashell.raft.connections import NEVER
from metashell.raft.replica import Replica
from metashell.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached

ROUNDS_MAX = 8
"""States that may follow each other within one step: every chain of transitions without a message is shorter."""


def act(node: Replica) -> int:
    """Let the state do what is due, and the one that follows from it; when something will be due."""
    for _ in range(ROUNDS_MAX):
        role = node.role
        due = _ACTS[role.__class__](node, role)
        if node.role is role:
            return due
    raise AssertionError("the states do not settle")


def act_unattached(node: Replica, role: Unattached) -> int:
    """Stand when it is time; until then look for a leader."""
    if node.may_stand() and not node.is_shutting_down:
        if role.election_deadline_ms == NEVER:
            role.election_deadline_ms = node.election_timeout()
        if node.now_ms >= role.election_deadline_ms:
            transitions.become_prospective(node)
            return node.now_ms
        return min(role.election_deadline_ms, fetch_client.fetch_from_bootstrap(node))
    return fetch_client.fetch_from_bootstrap(node)


def act_prospective(node: Replica, role: Prospective) -> int:
    """Ask for pre-votes; without a majority in time, back to where it came from."""
    if not node.may_stand():
        # The latest voters do not have it any more.
        votes.lose_pre_vote(node, role, NEVER)
        return node.now_ms
    if node.now_ms >= role.election_deadline_ms:
        votes.lose_pre_vote(node, role, role.election_deadline_ms)
        return node.now_ms
    return votes.request_votes(node, role)


def act_candidate(node: Replica, role: Candidate) -> int:
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
    return votes.request_votes(node, role)


def act_follower(node: Replica, role: Follower) -> int:
    """Fetch; without a word of the leader for a fetch timeout, stand."""
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
    if due > now >= role.update_deadline_ms and self_update.maybe_send(node, role):
        return min(due, node.connections.in_flight_until(now))
    wait = fetch_client.fetch_as_follower(node, role)
    if now < due < wait:
        wait = due
    return min(wait, role.update_deadline_ms) if now < role.update_deadline_ms else wait


def act_resigned(node: Replica, role: Resigned) -> int:
    """Tell the voters; after an election timeout, leave the epoch that it led, unless it shuts down: then it waits for another leader."""
    if node.is_shutting_down:
        role.election_deadline_ms = NEVER
    if node.now_ms >= role.election_deadline_ms:
        if role.epoch == 0x7FFFFFFF:
            return NEVER
        transitions.become_unattached(node, role.epoch + 1, NO_LEADER, None)
        return node.now_ms
    return epochs.send_end(node, role)


def act_leader(node: Replica, role: Leader) -> int:
    return leading.act(node, role)


_ACTS: dict[type, Callable[[Replica, Any], int]] = {
    Unattached: act_unattached,
    Prospective: act_prospective,
    Candidate: act_candidate,
    Leader: act_leader,
    Follower: act_follower,
    Resigned: act_resigned,
}
