"""The law behind a rebuilt quorum-state, on random elections: a node that lost the file votes in no epoch in which it may have voted."""

from __future__ import annotations

from random import Random

import pytest

from metashell.inspect.repair.small_files import Election, election_after

VOTERS = (1, 2, 3, 4, 5)
LOST = 1


class Voter:
    """What a voter has on disk, and the votes that it gave: (epoch, for whom)."""

    def __init__(self, id: int) -> None:
        self.id = id
        self.epoch = 0
        self.voted: int | None = None
        self.leader: int | None = None
        self.log_epoch = 0
        self.votes: set[tuple[int, int]] = set()

    def stand(self) -> None:
        """Begin an election: the epoch and the own vote are on disk before anybody is asked."""
        self.epoch, self.voted, self.leader = self.epoch + 1, self.id, None
        self.votes.add((self.epoch, self.id))

    def grants(self, epoch: int, candidate: int) -> bool:
        if epoch > self.epoch:
            self.epoch, self.voted, self.leader = epoch, None, None
        if epoch < self.epoch or self.leader is not None or self.voted not in (None, candidate):
            return False
        self.voted = candidate
        self.votes.add((epoch, candidate))
        return True

    def follow(self, epoch: int, leader: int) -> None:
        if epoch >= self.epoch:
            self.epoch, self.leader = epoch, leader
            self.log_epoch = epoch


def history(chance: Random) -> dict[int, Voter]:
    """Voters after some elections in which messages are lost."""
    voters = {id: Voter(id) for id in VOTERS}
    for _ in range(chance.randrange(12)):
        candidate = voters[chance.choice(VOTERS)]
        candidate.stand()
        epoch = candidate.epoch
        asked = [voter for voter in voters.values() if voter is not candidate and chance.random() < 0.6]
        granted = 1 + sum(voter.grants(epoch, candidate.id) for voter in asked)
        if granted > len(VOTERS) // 2 and candidate.epoch == epoch:
            for voter in voters.values():
                if voter is candidate or chance.random() < 0.5:
                    voter.follow(epoch, candidate.id)
    return voters


def rebuilt(voters: dict[int, Voter]) -> Election:
    """What the repair writes for the lost one, from the files of all others and its own log."""
    others = [voter for voter in voters.values() if voter.id != LOST]
    highest = max(voters[LOST].log_epoch, *(max(voter.epoch, voter.log_epoch) for voter in others))
    leader = next((voter.leader for voter in others if voter.epoch == highest and voter.leader is not None), -1)
    return election_after(highest, leader, "")


def may_vote(state: Election, epoch: int) -> bool:
    return epoch > state.epoch or (epoch == state.epoch and state.leader < 0)


@pytest.mark.parametrize("seed", range(0, 3000, 500))
def test_no_vote_for_another_can_be_given_again(seed: int) -> None:
    needed = 0
    for number in range(seed, seed + 500):
        voters = history(Random(number))
        state = rebuilt(voters)
        lost = voters[LOST]
        again = [(epoch, whom) for epoch, whom in lost.votes if whom != LOST and may_vote(state, epoch)]
        assert again == [], (number, state, lost.votes)
        # A vote for itself that anybody answered is not given again either: others could have made it the leader with it.
        asked = max((voter.epoch for voter in voters.values() if voter.id != LOST), default=0)
        assert not [epoch for epoch, _ in lost.votes if epoch <= asked and may_vote(state, epoch)], number
        needed += any(may_vote(Election(lost.log_epoch, -1, ""), epoch) for epoch, whom in lost.votes if whom != LOST)
    assert needed > 50, "the log's epoch alone would let votes come back"
