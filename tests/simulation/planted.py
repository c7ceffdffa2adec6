"""Bugs that the checkers must find: each replaces one decision of the core by a wrong one, as a person might have written it.

Assertions of the core that guard the same place are switched off with a bug, since it is the checkers that have to bite.
"""

from __future__ import annotations

from typing import Any

from metashell.codec.error_codes import NONE
from metashell.disk import properties
from metashell.quorum.raft import (
    appending,
    elections,
    epoch_guard,
    fetch,
    polling,
    progress,
    reconfiguration,
    roles,
    snapshots,
    transitions,
)
from metashell.quorum.raft import appending as append_check
from metashell.quorum.raft import node as node_module
from metashell.quorum.raft import polling as startup
from metashell.quorum.raft import transitions as common
from metashell.quorum.raft.messages import VoteRequest, VoteResponse
from metashell.quorum.raft.partition_state import EpochCache, PartitionState
from metashell.quorum.raft.ready import NEVER, DurableEnd, ElectionState
from metashell.quorum.raft.replica import Replica
from metashell.quorum.raft.roles import Leader, Unattached
from tests.simulation import found
from tests.simulation.bugs import Bug, Patch, patched, table_of


def answer_before_fsync() -> list[Patch]:
    """A follower says that it has what is not durable yet."""
    return [(Replica, "durable_log_end", lambda node: DurableEnd(node.log_end, node.last_epoch))]


def count_own_log_before_fsync() -> list[Patch]:
    """The leader counts all of its log, as Kafka does."""

    def candidate(node: Replica, leader: Leader) -> int:
        offsets = sorted((node.log_end if id == node.local_id else entry.end_offset for id, entry in leader.voters.items()), reverse=True)
        return offsets[len(offsets) // 2]

    return [(progress, "high_watermark_candidate", candidate)]


def commit_an_old_epoch_by_count() -> list[Patch]:
    """What a majority has is committed, also without a record of the leader's own epoch."""
    return [(progress, "may_commit", lambda candidate, epoch_start, known: candidate > (known or 0))]


def forget_to_persist_the_vote() -> list[Patch]:
    """quorum-state gets the epoch and no vote, unless it is the own one."""

    def persist(node: Replica, role: Any) -> None:
        voted = role.voted if role.voted is None or role.voted.id == node.local_id else None
        node.election, node.election_version = ElectionState(role.epoch, role.leader_id, voted), node.partition.kraft_version
        node.ready.require(node.election, node.election_version)

    return [(Replica, "persist", persist)]


def vote_twice_after_restart() -> list[Patch]:
    """The vote on disk is not looked at."""
    first_role = startup.first_role

    def forgetful(node: Replica, election: ElectionState) -> Any:
        return first_role(node, ElectionState(election.epoch, election.leader_id))

    return [(startup, "first_role", forgetful)]


def truncate_below_the_high_watermark() -> list[Patch]:
    """A follower that diverged goes back to the begin of the epoch, whatever is committed."""

    def truncate(node: Replica, role: Any, diverging: Any) -> bool:
        offset = min(fetch.truncation_offset(node, diverging), dict(node.epochs.entries).get(node.epochs.latest_epoch or 0, 0))
        node.committed = min(node.committed, offset)
        appending.truncate(node, max(offset, node.log.start_offset))
        return True

    return [(fetch, "truncate_to_leader", truncate)]


def ignore_an_uncommitted_voter_set() -> list[Patch]:
    """Voters count from their commit on, as in other protocols."""

    def refresh(node: Replica) -> None:
        node.voters = node.partition.committed_voters(node.committed) if node.partition.kraft_version else node.partition.voters
        node.is_voter = node.voters.is_voter(node.local_key)

    return [(Replica, "refresh_voters", refresh)]


def answer_fetch_as_a_stale_leader() -> list[Patch]:
    """A leader serves whoever asks, of whatever epoch."""

    def check(node: Replica, epoch: int) -> int:
        return NONE if node.role.__class__ is Leader else original(node, epoch)

    original = common.check_leader_request
    return [(common, "check_leader_request", check)]


# Membership


def change_voters_while_one_change_waits() -> list[Patch]:
    """A second voter set is written while the first is not committed."""

    def idle(node: Replica) -> tuple[int, str]:
        return (7, "no high watermark") if node.high_watermark is None else (NONE, "")

    return [(reconfiguration, "check_idle", idle), (reconfiguration, "voters_are_committed", lambda node: True)]


def half_is_a_majority() -> list[Patch]:
    """With an even number of voters, half of them elect a leader."""
    return [(roles.Tally, "is_won", lambda tally: tally.granted * 2 >= tally.count)]


def removed_leader_counts_itself() -> list[Patch]:
    """A leader outside of its voter set still counts its own log."""

    def candidate(node: Replica, leader: Leader) -> int:
        offsets = [entry.end_offset for id, entry in leader.voters.items() if id != node.local_id]
        offsets.append(node.durable_end)
        offsets.sort(reverse=True)
        return offsets[len(leader.voters) // 2]

    return [(progress, "high_watermark_candidate", candidate)]


# Snapshots


def snapshot_of_what_is_not_committed() -> list[Patch]:
    """A snapshot may be made of anything in the log."""

    def refusal(node: Replica, id: Any) -> str | None:
        boundary = node.log.is_batch_boundary(id.offset) and id.offset > node.log.start_offset and id not in node.log.snapshots()
        return None if boundary and node.epochs.epoch_at(id.offset - 1) == id.epoch else "no"

    return [(snapshots, "snapshot_refusal", refusal)]


def snapshot_loaded_without_its_voters() -> list[Patch]:
    """The voters stay those of before when a snapshot replaces the log."""

    def load(state: PartitionState, end_offset: int, kraft_version: int | None, voters: Any) -> None:
        if not state._sets.offsets:
            original(state, end_offset, kraft_version, voters)

    original = PartitionState.load_snapshot
    return [(PartitionState, "load_snapshot", load)]


# Pre-vote


def stand_without_a_pre_vote() -> list[Patch]:
    """A prospective whose time is over stands anyway."""
    return [(elections, "lose_pre_vote", lambda node, role, deadline_ms: transitions.become_candidate(node))]


def pre_votes_count_as_votes() -> list[Patch]:
    """What was granted in the pre-vote counts in the election."""

    def stand(node: Replica) -> None:
        tally = node.role.tally  # type: ignore[union-attr]
        original(node)
        if node.role.__class__ is roles.Candidate and tally.is_won():
            node.role.tally = tally
            transitions.become_leader(node)

    original = transitions.become_candidate
    return [(transitions, "become_candidate", stand)]


# Recovery


def lead_again_after_a_restart() -> list[Patch]:
    """Who led its epoch starts as who may vote in it."""

    def first_role(node: Replica, election: ElectionState) -> Any:
        if election.leader_id != node.local_id:
            return original(node, election)
        deadline = node.election_timeout() if node.is_voter else NEVER
        return Unattached(max(election.epoch, node.last_epoch), -1, None, deadline)

    original = startup.first_role
    return [(startup, "first_role", first_role)]


def truncation_keeps_the_voters() -> list[Patch]:
    """A truncated voter set stays in force."""
    return [(PartitionState, "truncate_new", lambda state, offset: False)]


def truncation_keeps_the_epochs() -> list[Patch]:
    """The epochs of what was truncated stay in the cache."""
    return [(EpochCache, "truncate_from_end", lambda cache, offset: False)]


def append_what_a_later_leader_wrote() -> list[Patch]:
    """Batches of an epoch after the own one are appended (KAFKA-18723)."""

    def check(data: bytes, log_end: int, last_epoch: int, local_epoch: int) -> Any:
        return original(data, log_end, last_epoch, 1 << 30)

    original = append_check.check_fetched
    return [(fetch, "check_fetched", check)]


# What mutations of single lines once left alive


def who_fetched_once_counts_for_ever() -> list[Patch]:
    """Check-quorum is met by one follower's fetches once all others have fetched one time: nobody is forgotten."""

    def count(node: Replica, leader: Leader, id: int) -> None:
        leader.fetched.add(id)
        if len(leader.fetched) >= node.voters.majority_size - (node.local_id in leader.voters):
            leader.check_deadline_ms = progress.check_quorum_deadline(node)

    return [(progress, "count_for_quorum", count)]


def a_change_is_answered_when_all_before_it_is_committed() -> list[Patch]:
    """AddRaftVoter and RemoveRaftVoter succeed one record too early."""

    def advanced(node: Replica, leader: Leader) -> None:
        change, high_watermark = leader.change, node.high_watermark
        if change is not None and change.offset is not None and high_watermark is not None and change.offset <= high_watermark:
            reconfiguration.finish_change(node, leader, NONE, None)
        original(node, leader)

    original = reconfiguration.watermark_advanced
    return [(reconfiguration, "watermark_advanced", advanced)]


def a_leader_that_is_removed_resigns_at_once() -> list[Patch]:
    """The first commit after its removal was appended ends a leader, not that of the removal."""

    def advanced(node: Replica, leader: Leader) -> None:
        original(node, leader)
        if not node.is_voter:
            leader.resign_requested = True

    original = reconfiguration.watermark_advanced
    return [(reconfiguration, "watermark_advanced", advanced)]


def an_outsider_votes_for_itself() -> list[Patch]:
    """Who stands although the last voter set removed it counts its own vote."""

    def tally(self: roles.Tally, voters: Any, local_id: int) -> None:
        original(self, voters, local_id)
        self.answers[local_id] = True
        self.granted = len(self.answers)

    original = roles.Tally.__init__
    return [(roles.Tally, "__init__", tally)]


def a_position_of_an_unknown_epoch_is_valid() -> list[Patch]:
    """A leader compares a follower's offset with its log, and not the epoch of what is before it."""

    def check(node: Replica, offset: int, last_epoch: int) -> Any:
        position = original(node, offset, last_epoch)
        diverging = position.diverging
        return fetch.VALID_POSITION if diverging is not None and diverging.offset >= offset else position

    original = fetch.check_fetch_position
    return [(fetch, "check_fetch_position", check)]


# Before what is said of the log was made from a proof


def ask_with_a_log_that_is_not_durable() -> list[Patch]:
    """Votes are asked for with the log's end, on disk or not."""

    def request_votes(node: Replica, role: Any) -> int:
        with patched([(Replica, "durable_log_end", lambda node: DurableEnd(node.log_end, node.last_epoch))]):
            return original(node, role)

    original = elections.request_votes
    return [(elections, "request_votes", request_votes)]


def a_candidacy_goes_on_after_a_restart() -> list[Patch]:
    """Who voted for itself asks again in the same epoch, with what is left of its log; and who voted for it does so again."""

    def first_role(node: Replica, election: ElectionState) -> Any:
        role = original(node, election)
        local, voted = node.local_key, role.voted
        is_own = local is not None and voted is not None and elections.is_voted_key(voted, local)
        if not is_own or role.leader_id >= 0 or not node.is_voter or local is None:
            return role
        return roles.Candidate(role.epoch, local, roles.Tally(node.voters, local.id), node.election_timeout(), node.now_ms)

    def grants(role: Any, candidate: Any, up_to_date: bool) -> bool:
        return original_grants(role, candidate, up_to_date or (role.voted is not None and elections.is_voted_key(role.voted, candidate)))

    original, original_grants = startup.first_role, elections.grants_vote
    return [(startup, "first_role", first_role), (elections, "grants_vote", grants)]


def who_has_batches_of_its_epoch_led_it() -> list[Patch]:
    """A replica that voted for itself, knows no leader and has batches of that epoch starts as one that led it."""

    def first_role(node: Replica, election: ElectionState) -> Any:
        local, voted, epoch = node.local_key, election.voted, election.epoch
        is_own = local is not None and voted is not None and elections.is_voted_key(voted, local)
        if is_own and local is not None and election.leader_id < 0 and 0 < epoch == node.last_epoch:
            return roles.Resigned(epoch, local.id, node.own_endpoints, (), node.election_timeout())
        return original(node, election)

    original = startup.first_role
    return [(startup, "first_role", first_role)]


def a_candidate_outside_of_the_voters_waits_for_ever() -> list[Patch]:
    """A candidate that is no voter any more asks nobody and looks for nobody."""

    def act(node: Replica, role: roles.Candidate) -> int:
        if not (node.is_voter or node.is_leaving()) and node.now_ms >= role.election_deadline_ms:
            return NEVER
        if not (node.is_voter or node.is_leaving()):
            return role.election_deadline_ms
        return original(node, role)

    original = polling.poll_candidate
    return [(polling, "_POLLS", {**polling._POLLS, roles.Candidate: act})]


def any_epoch_is_taken() -> list[Patch]:
    """Whoever asks for something may name the last epoch there is."""
    return [(epoch_guard, "check_request_epoch", lambda *named, **others: NONE)]


def voters_are_where_the_set_says() -> list[Patch]:
    """A voter is asked at its address in the voter set, whoever put it there, and nowhere else."""

    def address_of(node: Replica, id: int, missed: int) -> Any:
        return node.voters.endpoint(id, node.config.default_listener)

    return [(Replica, "address_of", address_of)]


def a_vote_counts_only_from_who_believes_in_the_same_leader() -> list[Patch]:
    """A pre-vote of a replica that takes another one for the leader is refused, though neither hears of its own."""

    def handle(node: Replica, source: int, response: Any) -> bool:
        if not common.is_consistent(node, response.leader_id, response.epoch):
            return False
        return original(node, source, response)

    original = elections.handle_vote_response
    return [(node_module, "_RESPONSES", {**node_module._RESPONSES, VoteRequest: (VoteResponse, handle)})]


def who_lost_the_directory_votes() -> list[Patch]:
    """Nobody looks at the proof beside meta.properties: an empty directory is that of a new node."""
    return [(properties, "find_loss", lambda *found: None)]


def a_log_that_lost_batches_votes() -> list[Patch]:
    """Damage in the middle of the log is a torn tail: it is cut, and the replica votes with the rest."""
    return [(Replica, "recovering", ForgetfulSlot())]


class ForgetfulSlot:
    """An attribute that is None whatever is stored in it."""

    def __get__(self, instance: object, owner: type) -> None:
        return None

    def __set__(self, instance: object, value: object) -> None:
        """It is not kept."""


BUGS = table_of(
    answer_before_fsync,
    count_own_log_before_fsync,
    commit_an_old_epoch_by_count,
    forget_to_persist_the_vote,
    vote_twice_after_restart,
    truncate_below_the_high_watermark,
    ignore_an_uncommitted_voter_set,
    answer_fetch_as_a_stale_leader,
    change_voters_while_one_change_waits,
    half_is_a_majority,
    removed_leader_counts_itself,
    snapshot_of_what_is_not_committed,
    snapshot_loaded_without_its_voters,
    stand_without_a_pre_vote,
    pre_votes_count_as_votes,
    lead_again_after_a_restart,
    truncation_keeps_the_voters,
    truncation_keeps_the_epochs,
    append_what_a_later_leader_wrote,
    who_fetched_once_counts_for_ever,
    a_change_is_answered_when_all_before_it_is_committed,
    a_leader_that_is_removed_resigns_at_once,
    an_outsider_votes_for_itself,
    a_position_of_an_unknown_epoch_is_valid,
    ask_with_a_log_that_is_not_durable,
    a_candidacy_goes_on_after_a_restart,
    Bug(who_has_batches_of_its_epoch_led_it, {"profile": "forgetful-disks"}),
    Bug(a_candidate_outside_of_the_voters_waits_for_ever, {"profile": "late-downloads-among-old-peers"}),
    Bug(any_epoch_is_taken, {"profile": "strange-epochs"}),
    Bug(voters_are_where_the_set_says, {"profile": "strange-epochs"}),
    Bug(a_vote_counts_only_from_who_believes_in_the_same_leader, {"profile": "strange-epochs"}),
    a_log_that_lost_batches_votes,
    Bug(who_lost_the_directory_votes, {"profile": "lost-directories"}),
    *found.BUGS,
)
