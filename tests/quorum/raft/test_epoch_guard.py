"""Who may raise the epoch of a replica: known voters by requests, within bounds, and answers of addresses that are known."""

from __future__ import annotations

import pytest

from metashell.codec.error_codes import (
    BROKER_NOT_AVAILABLE,
    FENCED_LEADER_EPOCH,
    INVALID_REQUEST,
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    UNKNOWN_LEADER_EPOCH,
)
from metashell.common.values import BOOTSTRAP_SNAPSHOT_ID
from metashell.quorum.raft.epoch_guard import EPOCHS_PLENTY
from metashell.quorum.raft.messages import (
    Endpoint,
    FetchRequest,
    FetchResponse,
    Request,
    UpdateRaftVoterRequest,
    VoteRequest,
    VoteResponse,
)
from metashell.quorum.raft.ready import ElectionState, Send
from metashell.quorum.raft.replicated_log import MemoryLog
from metashell.quorum.raft.voters import KRaftVersion, Voter, VoterSet, write_control_batch
from tests.quorum.raft.pump import CLUSTER, LISTENER, directory, endpoint, key
from tests.quorum.raft.solo import Solo, begin, end, fetch, fetched, log_of, page, vote

EPOCH = 5
LAST = 0x7FFFFFFF
PLENTY = EPOCHS_PLENTY
STRANGER = 9


def solo_of(epoch: int = EPOCH, leader: int = -1) -> Solo:
    return Solo(ElectionState(epoch, leader), log_of(3, 4))


def binding(sender: int, epoch: int) -> list[Request]:
    """The requests by which a sender says that it stands, leads, or led."""
    return [vote(sender, epoch, 4, 2), begin(sender, epoch), end(sender, epoch, [key(1)])]


def inquiries(solo: Solo) -> list[Send]:
    """The questions of rule 6, which claim no log and ask for no records."""
    asked = [send for send in solo.sent if isinstance(send.message, FetchRequest) and send.message.replica_id < 0]
    solo.sent = [send for send in solo.sent if send not in asked]
    return asked


@pytest.mark.parametrize("epoch", [EPOCH + 1, EPOCH + 1_000_000, PLENTY])
def test_a_request_of_a_known_voter_is_followed_while_epochs_are_plenty(epoch: int) -> None:
    for request in binding(2, epoch):
        solo = solo_of()
        assert solo.ask(request).error == NONE
        assert solo.node.epoch == solo.election.epoch == epoch and not solo.node.complaints


@pytest.mark.parametrize(("known", "heard"), [(EPOCH, PLENTY + 1), (EPOCH, LAST), (PLENTY, PLENTY + 1), (PLENTY + 7, PLENTY + 8)])
def test_beyond_that_the_voter_is_asked_itself_and_followed_whatever_the_distance(known: int, heard: int) -> None:
    for request in binding(2, heard):
        solo = solo_of(known)
        response = solo.ask(request)
        assert (response.error, response.epoch) == (UNKNOWN_LEADER_EPOCH, known)
        assert solo.node.epoch == solo.election.epoch == known
        (asked,) = inquiries(solo)
        assert asked.endpoint == endpoint(2)
        if heard < LAST:
            solo.answer(asked, FetchResponse(0, FENCED_LEADER_EPOCH, -1, heard))
            assert solo.node.epoch == solo.election.epoch == heard
            assert solo.ask(request).error == NONE


@pytest.mark.parametrize("epoch", [EPOCH + 1, PLENTY + 1, LAST])
def test_a_voter_that_is_not_there_is_not_believed_because_another_used_its_name(epoch: int) -> None:
    solo = solo_of()
    for _ in range(3):
        solo.ask(vote(2, epoch, 4, 2, pre_vote=True))
        for asked in inquiries(solo):
            solo.answer(asked, FetchResponse(0, NOT_LEADER_OR_FOLLOWER, -1, EPOCH))
        solo.wait(100)
    assert solo.node.epoch == EPOCH


@pytest.mark.parametrize("heard", [EPOCH + 1, PLENTY, LAST])
def test_a_pre_vote_never_raises_the_epoch_and_its_voter_is_asked(heard: int) -> None:
    solo = solo_of(leader=3)
    response = solo.ask(vote(2, heard, 4, 2, pre_vote=True))
    assert (response.error, response.epoch, response.granted) == (UNKNOWN_LEADER_EPOCH, EPOCH, False)
    assert solo.node.state_name == "follower" and solo.election == ElectionState(EPOCH, 3)
    (asked,) = inquiries(solo)
    solo.answer(asked, FetchResponse(0, FENCED_LEADER_EPOCH, -1, EPOCH + 1))
    assert solo.node.epoch == EPOCH + 1


@pytest.mark.parametrize("epoch", [EPOCH + 1, PLENTY, LAST])
def test_nothing_that_is_no_voter_says_raises_the_epoch_or_unseats_a_leader(epoch: int) -> None:
    for request in (*binding(STRANGER, epoch), vote(STRANGER, epoch, 4, 2, pre_vote=True)):
        for solo in (solo_of(), solo_of(leader=3), solo_of().lead()):
            before = solo.node.role
            known = solo.node.epoch
            response = solo.ask(request)
            assert response.epoch == known and solo.node.role is before and not inquiries(solo)
            if epoch > known:
                assert response.error == UNKNOWN_LEADER_EPOCH


def test_who_has_the_id_of_a_voter_and_another_directory_is_no_voter() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(3, 4), voters=(1, 2, 3))
    request = vote(2, EPOCH + 1, 4, 2, candidate_directory_id=directory(8))
    # Static voters have no directory ids, and whoever has the id is the voter.
    assert solo.ask(request).error == NONE


def test_an_observer_follows_answers_only() -> None:
    """It would be left behind with a higher epoch than the voters have: theirs does not rise for it."""
    for request in binding(2, EPOCH + 1):
        solo = Solo(ElectionState(EPOCH, 3), log_of(3, 4), voters=(2, 3), is_controller=False)
        assert solo.ask(request).error == UNKNOWN_LEADER_EPOCH and solo.election == ElectionState(EPOCH, 3)
        (asked,) = inquiries(solo)
        solo.answer(asked, FetchResponse(0, FENCED_LEADER_EPOCH, 2, EPOCH + 1, endpoint(2)))
        assert solo.node.state_name == "follower" and solo.election == ElectionState(EPOCH + 1, 2)


def test_a_voter_that_is_not_where_the_voter_set_says_is_asked_where_the_configuration_says() -> None:
    """Somebody told the leader a wrong address in its name, and is gone; without its vote there is no leader to put that right."""
    elsewhere = ("elsewhere", 7)
    solo = Solo(ElectionState(EPOCH), log_of_voters(), bootstrap_servers=(endpoint(1), elsewhere)).stand()
    asked: dict[Endpoint, Send] = {}
    for _ in range(3):
        for send, request in solo.take(VoteRequest):
            if request.voter_id == 2:
                asked[send.endpoint] = send
                if send.endpoint != elsewhere:
                    solo.fail(send, BROKER_NOT_AVAILABLE)
        solo.wait(30)
    assert set(asked) == {endpoint(2), elsewhere}
    solo.answer(asked[elsewhere], VoteResponse(0, 0, -1, EPOCH, granted=True))
    assert solo.node.state_name == "candidate"


def test_voters_that_were_told_of_different_leaders_elect_one() -> None:
    solo = solo_of()
    assert solo.ask(begin(3, EPOCH)).error == NONE
    solo.stand()
    (send,) = [send for send, request in solo.take(VoteRequest) if request.voter_id == 3]
    solo.answer(send, VoteResponse(0, 0, 2, EPOCH, endpoint(2), granted=True))
    assert solo.node.state_name == "candidate" and solo.node.epoch == EPOCH + 1


@pytest.mark.parametrize("state", ["unattached", "prospective"])
def test_a_voter_that_forgot_that_it_led_comes_to_that_epoch_without_a_vote_in_it(state: str) -> None:
    """It was formatted anew. A Kafka voter that follows it says so in each answer, and its pre-votes raise no epoch: both would wait."""
    solo = Solo(ElectionState(0), voters=(1, 2))
    solo.wait_for(state)
    solo.answer(solo.next_fetch() if state == "unattached" else solo.take(VoteRequest)[-1][0], told(state, EPOCH))
    assert solo.node.state_name == "unattached" and solo.node.complaints == 1
    assert solo.election == ElectionState(EPOCH, -1, key(1))
    answer = solo.ask(vote(2, EPOCH, 3, 2))
    assert (answer.error, answer.granted, answer.leader_id, answer.epoch) == (NONE, False, -1, EPOCH)
    assert solo.ask(vote(2, EPOCH, 3, 2, pre_vote=True)).granted
    assert solo.ask(vote(2, EPOCH + 1, 3, 2)).granted


def told(state: str, epoch: int) -> FetchResponse | VoteResponse:
    """The answer that node 1, which asked, leads an epoch: Kafka's name the leader whoever asks."""
    if state == "unattached":
        return FetchResponse(0, FENCED_LEADER_EPOCH, 1, epoch, endpoint(1))
    return VoteResponse(0, FENCED_LEADER_EPOCH, 1, epoch, endpoint(1))


def log_of_voters() -> MemoryLog:
    """A log whose first batch has kraft.version 1 and the voters 1, 2 and 3."""
    voters = VoterSet(Voter(key(id), {LISTENER: endpoint(id)}, 0, 1) for id in (1, 2, 3))
    log = MemoryLog()
    log.append(write_control_batch(0, 4, 1, [KRaftVersion(1), voters]), 2)
    log.write_leader_epochs([(4, 0)])
    log.flush_to(2)
    return log


def test_who_is_no_voter_does_not_lead_the_epoch_either_that_is_known() -> None:
    solo = solo_of()
    for request in (begin(STRANGER, EPOCH), end(STRANGER, EPOCH)):
        assert solo.ask(request).error == UNKNOWN_LEADER_EPOCH
    assert solo.node.state_name == "unattached" and solo.election == ElectionState(EPOCH)
    assert solo.ask(begin(2, EPOCH)).error == NONE
    assert solo.node.leader_id == 2


def test_a_flood_asks_the_voter_once_at_a_time() -> None:
    solo = solo_of(leader=3)
    for step in range(200):
        solo.ask(vote(2, PLENTY + 1 + step, 4, 2, pre_vote=True))
    (asked,) = inquiries(solo)
    solo.answer(asked, FetchResponse(0, NOT_LEADER_OR_FOLLOWER, 3, EPOCH, endpoint(3)))
    solo.ask(vote(2, LAST, 4, 2, pre_vote=True))
    assert not inquiries(solo)
    # However often its name is used: Kafka writes a line into its log for each question that it fails at.
    for _ in range(40):
        solo.wait(5)
        solo.ask(vote(2, LAST, 4, 2, pre_vote=True))
    assert not inquiries(solo)
    # Fetches from the leader go on beside it, even while the voter does not answer.
    solo.wait(50)
    solo.ask(vote(2, LAST, 4, 2, pre_vote=True))
    assert len(inquiries(solo)) == 1
    solo.answer(solo.next_fetch(), fetched(3, EPOCH))
    assert solo.take(FetchRequest) and solo.node.state_name == "follower"


def test_an_answer_is_believed_from_an_address_that_is_known() -> None:
    for response in (FetchResponse(0, FENCED_LEADER_EPOCH, -1, LAST - 1), FetchResponse(0, FENCED_LEADER_EPOCH, 3, LAST - 1, endpoint(3))):
        solo = solo_of()
        solo.answer(solo.next_fetch(), response)
        assert solo.node.epoch == LAST - 1 and not solo.node.complaints


def test_an_answer_from_an_address_that_a_message_named_is_believed_while_epochs_are_plenty() -> None:
    for epoch, is_taken in ((PLENTY, True), (PLENTY + 1, False), (LAST, False)):
        solo = solo_of()
        assert solo.ask(begin(3, EPOCH + 1, endpoints={LISTENER: ("elsewhere", 1)})).error == NONE
        send = solo.next_fetch()
        assert send.endpoint == ("elsewhere", 1)
        solo.answer(send, FetchResponse(0, FENCED_LEADER_EPOCH, -1, epoch))
        assert solo.node.epoch == (epoch if is_taken else EPOCH + 1)
        assert solo.node.complaints == (not is_taken)


def test_a_leader_is_not_told_by_others_where_it_is() -> None:
    """The last message of somebody who is gone would leave it unreachable for as long as it leads."""
    solo = solo_of().lead()
    request = UpdateRaftVoterRequest(CLUSTER, solo.node.epoch, 1, directory(1), {LISTENER: ("nowhere", 1)}, 0, 1)
    assert solo.ask(request).error == INVALID_REQUEST


def test_no_requests_keep_a_replica_from_standing_and_leading() -> None:
    """All that a sender can say, of many epochs and under all ids, and then it is gone; also with a restart in between."""
    solo = solo_of()
    for round, epoch in enumerate((EPOCH + 1, PLENTY, PLENTY + 1, PLENTY + 65_536, LAST - 1, LAST)):
        for sender in (2, 3, STRANGER):
            for request in (*binding(sender, epoch), vote(sender, epoch, 4, 2, pre_vote=True), update(sender, epoch)):
                solo.ask(request)
            solo.ask(fetch(sender, epoch, 2, 4))
            solo.ask(page(sender, epoch, BOOTSTRAP_SNAPSHOT_ID, 0))
        if round == 3:
            solo = Solo(solo.election, solo.log)
    solo.sent.clear()
    assert solo.node.epoch <= PLENTY
    solo.run_for_office()
    solo.vote_from(2)
    assert solo.node.state_name == "leader" and solo.node.epoch <= PLENTY + 1


def update(sender: int, epoch: int) -> UpdateRaftVoterRequest:
    return UpdateRaftVoterRequest(CLUSTER, epoch, sender, directory(sender), {LISTENER: ("nowhere", 1)}, 0, 1)
