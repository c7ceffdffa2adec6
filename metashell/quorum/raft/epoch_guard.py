"""Which messages may raise the epoch of a replica, so that no messages stop the quorum for good.

The law: no finite number of messages that any credential below super user may send stops the quorum once the sender is gone.

A sender with CLUSTER_ACTION may send whatever replicas send each other, under any id and epoch: a connection shows the credential, not
the id. What it can do is bounded by time but for one thing. A leader that is unseated, a vote that is wasted, a leader that is not there:
each is over after a few timeouts, because the replicas elect anew in the next epoch. But epochs are int32, they never go down, and after
the last one nobody can stand. So only used up epochs stop a quorum for ever, and no messages of a stranger may use them up.

Who may raise the epoch:

1. A request never does unless it names, as its sender, a voter that this replica knows. Observers and strangers have no epoch to offer.
2. A pre-vote never does. It asks what would be, and nothing was decided.
3. Another request of a known voter (Vote, BeginQuorumEpoch, EndQuorumEpoch) raises it to `EPOCHS_PLENTY` at most, half of all there are,
   and only that of a replica that is a voter itself. Elections need that, for a vote is given in the candidate's epoch. An observer would
   be left behind by it: nobody follows an observer that is ahead.
4. An answer does, whatever the distance, where this replica asked at an address that its configuration or its voter set has. Nobody
   else can answer there.
5. An answer from another address, which a message of rule 3 may have named, is taken like a request: to `EPOCHS_PLENTY` at most.
6. Where rule 2 or 3 refuses a known voter, that voter is asked itself (`ask_voter`), at its address in the voter set, which makes it a case
   of rule 4. If it is ahead, it is followed one round trip later; it asks again by then, for the refusal does not count as an answer. If it
   is not, then somebody else used its name.

Why the law follows. By rules 1, 2, 3 and 5 no message of the sender leaves a replica with an epoch above `EPOCHS_PLENTY`, unless an
honest voter had a higher one before. By rule 4 epochs spread among honest voters, and do not grow. They grow by candidacies, one each, and
each has a majority of pre-votes behind it. So once the sender is gone 2^30 elections are left, each of which takes some round trips and two
writes of quorum-state: ten a second would take three years.

Why nobody is left behind. Example: 2 voted in epoch 6 for a candidate that died; 1 leads epoch 5, and 3 follows it. 2 fetches from 1 and is
refused, for its epoch is higher; it asks for pre-votes. 1 and 3 refuse, and ask 2. It answers "epoch 6", they take that over, and a leader
of epoch 7 is elected, which 2 follows. Where 2 has no vote (`polling`), it asks for none, and is asked because of its fetch.

Another example: a replica lacks the record that made 4 a voter, so it refuses when 4 asks for its vote (rule 1). The voters that know 4
take over its epoch, and the replica finds one of them, or 4 itself, when it asks the voters or bootstrap servers that it knows, which it
does as soon as it hears of no leader (rule 4). Then its epoch is that of 4, which may have its vote: rule 1 is about raising the epoch,
not about votes.

A restart changes nothing: the epoch is in quorum-state, and the rules are the same.

What does not hold: a sender that also serves. UpdateRaftVoter moves a voter to an address of the sender's, which is in the voter set then,
so that rule 4 believes the answers from there, up to the last epoch. To believe addresses of the configuration alone would close that, but
a replica whose bootstrap servers are down, or are itself, would then be left behind by an epoch above `EPOCHS_PLENTY`, to which rule 3 lets
a sender of requests come. Nor does the law speak of what is committed: a Fetch in a voter's name says what that voter has (`progress`).

What is asked is a Fetch of nobody (replica id -1) in epoch 0, from offset 0. No epoch 0 has a leader, so nobody answers it with records:
ours, and Kafka's of every release since 3.3, answer at once with an error, their epoch and their leader. It claims no log, and a leader
counts a replica id below 0 for nothing. (A FetchSnapshot would be as harmless, but Kafka fails at one that it answers by an error of a
partition: it finds no records whose size it could tell.) Who was asked in vain is asked again after a quarter of an election timeout at the
earliest, so that a sender that uses a voter's name does not make us ask at its own rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.codec.error_codes import NONE, UNKNOWN_LEADER_EPOCH
from metashell.common.values import ZERO_UUID
from metashell.quorum.raft.replica import INQUIRIES_BELOW

if TYPE_CHECKING:
    from metashell.quorum.raft.messages import Endpoint
    from metashell.quorum.raft.replica import Replica

EPOCHS_PLENTY: Final = 1 << 30
"""Up to here requests may raise the epoch: half of all epochs are left for elections."""


def check_request_epoch(node: Replica, sender: int, directory_id: bytes, epoch: int, *, binds: bool) -> int:
    """NONE where a request of `epoch` may be taken, UNKNOWN_LEADER_EPOCH where it may not, and then the epoch stays.

    `sender` is the candidate or leader that the request names, `binds` whether it is none that only asks what would be.
    """
    own = node.role.epoch
    if epoch <= own:
        return NONE
    if not knows_voter(node, sender, directory_id):
        node.complain(f"{sender}, which is no voter here, speaks of epoch {epoch}, here it is {own}")
        return UNKNOWN_LEADER_EPOCH
    if binds and epoch <= EPOCHS_PLENTY and node.is_voter:
        return NONE
    if epoch > EPOCHS_PLENTY:
        node.complain(f"epoch {epoch} is named by a request of voter {sender}, here it is {own}: the voter is asked itself")
    ask_voter(node, sender)
    return UNKNOWN_LEADER_EPOCH


def is_answer_believed(node: Replica, epoch: int) -> bool:
    """Whether the epoch of the answer that is being handled may be taken over; one that may not is counted as a complaint."""
    own = node.role.epoch
    if epoch <= own or epoch <= EPOCHS_PLENTY or is_known_address(node, node.answering):
        return True
    node.complain(f"an answer from an address that no voter has speaks of epoch {epoch}, here it is {own}")
    return False


def knows_voter(node: Replica, id: int, directory_id: bytes = ZERO_UUID) -> bool:
    """Whether an id is that of a voter, by the latest set or the one before, which may still be in force for others.

    A directory id counts where the set and the sender name one.
    """
    for voters in (node.voters, node.partition.voters_before()):
        voter = None if voters is None else voters.voters.get(id)
        if voter is not None and (ZERO_UUID in (directory_id, voter.key.directory_id) or voter.key.directory_id == directory_id):
            return True
    return False


def is_known_address(node: Replica, endpoint: Endpoint | None) -> bool:
    """Whether the configuration or the voter set has an address, rather than a message."""
    config = node.config
    if endpoint in config.bootstrap_servers or endpoint in config.static_voters.values():
        return True
    return any(endpoint in voter.endpoints.values() for voter in node.voters.voters.values())


def ask_voter(node: Replica, id: int) -> None:
    """Ask a known voter for its epoch, unless it was asked a moment ago."""
    destination = INQUIRIES_BELOW - 1 - id
    if node.inquiries.has_timed_out(destination, node.now_ms):
        node.miss(destination)
    endpoint = node.address_of(id, node.misses.get(destination, 0))
    if endpoint is None or id == node.local_id or not node.inquiries.is_ready(destination, node.now_ms):
        return
    node.send_inquiry(destination, endpoint)
