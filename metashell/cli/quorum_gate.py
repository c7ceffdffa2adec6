"""Who of a quorum is there right now: what the gates of `metashell quorum` go by before voters come and go.

DescribeQuorum has the time of each replica's last fetch, which stays when a replica dies. So the leader is asked twice: a replica that runs
fetches at least every half second (org.apache.kafka.raft.KafkaRaftClient.MAX_FETCH_WAIT_MS), and has then done so in between.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.admin.quorum import describe_quorum
from metashell.checks.rules.probes import majority
from metashell.errors import MetashellError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metashell.admin.quorum import QuorumDescription, Replica
    from metashell.cli.administering import Work

SAMPLE_S: Final = 1.0
"""Between two questions: twice as long as a replica waits between two fetches."""
SAMPLES_MAX: Final = 3
"""Who has not fetched until the last one is dead: so a pause of one second of a voter that runs stops nobody."""
CAUGHT_UP_MS: Final = 10_000
"""How long ago a voter that fetches may have had everything, under load."""
_TRIES: Final = 3


class FreshQuorum(NamedTuple):
    """A quorum as its leader tells it, and which of its replicas fetched while it was looked at; the leader is one of them.

    `unreached` are the voters that are not reached where the voter set says: no voter can elect them, or be elected by them.
    """

    quorum: QuorumDescription
    present: frozenset[tuple[int, bytes | None]]
    unreached: frozenset[int] = frozenset()

    def is_present(self, replica: Replica) -> bool:
        """Whether it runs and fetches."""
        return (replica.id, replica.directory_id) in self.present

    def counts(self, replica: Replica) -> bool:
        """Whether a voter has everything, fetches, and can be elected: what is written next needs a majority of such voters."""
        return self.is_present(replica) and replica.id not in self.unreached and has_caught_up(self.quorum, replica)

    def spare(self, voters: Iterable[Replica]) -> int:
        """How many more of these voters may fail; below 0 where those that are there are no majority."""
        chosen = tuple(voters)
        return sum(map(self.counts, chosen)) - majority(len(chosen))

    def lacking(self, voters: Iterable[Replica]) -> str:
        """Who of these voters is not there, in words; empty where all are."""
        silent = [str(voter.id) for voter in voters if not self.is_present(voter)]
        unreached = [str(voter.id) for voter in voters if self.is_present(voter) and voter.id in self.unreached]
        parts = [f"{', '.join(silent)} did not fetch while this was looked at"] if silent else []
        return "; ".join(parts + ([f"{', '.join(unreached)} cannot be reached where the voter set says"] if unreached else []))


def has_caught_up(quorum: QuorumDescription, replica: Replica) -> bool:
    """Whether a replica has had everything a moment ago, by the leader's clock, which its own entry has."""
    now_ms = None if quorum.leader is None else quorum.leader.last_fetch_ms
    caught_up_ms = replica.last_caught_up_ms
    return replica.id == quorum.leader_id or (caught_up_ms is not None and (now_ms is None or now_ms - caught_up_ms <= CAUGHT_UP_MS))


def fresh_quorum(work: Work) -> FreshQuorum:
    """Look at the quorum for a second, or two where somebody keeps silent; through controllers, each voter is tried too.

    Errors: MetashellError; also where its leader changes.
    """
    unreached = _unreached(work)
    for _ in range(_TRIES):
        first = describe_quorum(work.admin)
        before = {(one.id, one.directory_id): one.last_fetch_ms or -1 for one in (*first.voters, *first.observers)}
        for number in range(1, SAMPLES_MAX):
            time.sleep(SAMPLE_S)
            now = describe_quorum(work.admin)
            if (now.leader_id, now.leader_epoch) != (first.leader_id, first.leader_epoch):
                break
            present = frozenset(
                (one.id, one.directory_id)
                for one in (*now.voters, *now.observers)
                if one.id == now.leader_id or (one.last_fetch_ms or -1) > before.get((one.id, one.directory_id), -1)
            )
            if len(present) == len(now.voters) + len(now.observers) or number == SAMPLES_MAX - 1:
                return FreshQuorum(now, present, unreached)
    raise MetashellError("the leader of the quorum changes all the time: nothing was changed; look with `metashell quorum describe`")


def _unreached(work: Work) -> frozenset[int]:
    """The voters that are not where the voter set says, as far as that can be seen from here."""
    from metashell.checks.rules.probes import sees_as_they_do, unreached
    from metashell.cli.live_facts import ask_quorum
    from metashell.cli.named_cluster import cluster_of

    if not work.asks_controllers:
        return frozenset()
    answers = ask_quorum(cluster_of(work.values))
    return frozenset(unreached(answers) if sees_as_they_do(answers) else ())
