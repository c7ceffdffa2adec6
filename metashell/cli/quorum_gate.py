"""Who of a quorum is there right now: what the gates of `metashell quorum` go by before voters come and go.

DescribeQuorum has the time of each replica's last fetch, which stays when a replica dies. So the leader is asked twice: a replica that runs
fetches at least every half second (org.apache.kafka.raft.KafkaRaftClient.MAX_FETCH_WAIT_MS), and has then done so in between.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.admin.quorum import describe_quorum
from metashell.errors import MetashellError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metashell.admin.admin import Admin
    from metashell.admin.quorum import QuorumDescription, Replica

SAMPLE_S: Final = 1.0
"""Between two questions: twice as long as a replica waits between two fetches."""
SAMPLES_MAX: Final = 3
"""Who has not fetched until the last one is dead: so a pause of one second of a voter that runs stops nobody."""
CAUGHT_UP_MS: Final = 10_000
"""How long ago a voter that fetches may have had everything, under load."""
_TRIES: Final = 3


class FreshQuorum(NamedTuple):
    """A quorum as its leader tells it, and which of its replicas fetched while it was looked at; the leader is one of them."""

    quorum: QuorumDescription
    present: frozenset[tuple[int, bytes | None]]

    def is_present(self, replica: Replica) -> bool:
        """Whether it runs and fetches."""
        return (replica.id, replica.directory_id) in self.present

    def counts(self, replica: Replica) -> bool:
        """Whether a voter has everything and fetches, so that it can vote what is written next."""
        if replica.id == self.quorum.leader_id:
            return True
        now_ms = None if self.quorum.leader is None else self.quorum.leader.last_fetch_ms
        caught_up_ms = replica.last_caught_up_ms
        is_near = caught_up_ms is not None and (now_ms is None or now_ms - caught_up_ms <= CAUGHT_UP_MS)
        return is_near and self.is_present(replica)

    def spare(self, voters: Iterable[Replica]) -> int:
        """How many more of these voters may fail; below 0 where those that are there are no majority."""
        chosen = tuple(voters)
        return sum(map(self.counts, chosen)) - majority(len(chosen))


def majority(count: int) -> int:
    """How many voters of so many decide."""
    return count // 2 + 1


def fresh_quorum(admin: Admin) -> FreshQuorum:
    """Look at the quorum for a second, or two where somebody keeps silent. Errors: MetashellError; also where its leader changes."""
    for _ in range(_TRIES):
        first = describe_quorum(admin)
        before = {(one.id, one.directory_id): one.last_fetch_ms or -1 for one in (*first.voters, *first.observers)}
        for number in range(1, SAMPLES_MAX):
            time.sleep(SAMPLE_S)
            now = describe_quorum(admin)
            if (now.leader_id, now.leader_epoch) != (first.leader_id, first.leader_epoch):
                break
            present = frozenset(
                (one.id, one.directory_id)
                for one in (*now.voters, *now.observers)
                if one.id == now.leader_id or (one.last_fetch_ms or -1) > before.get((one.id, one.directory_id), -1)
            )
            if len(present) == len(now.voters) + len(now.observers) or number == SAMPLES_MAX - 1:
                return FreshQuorum(now, present)
    raise MetashellError("the leader of the quorum changes all the time: nothing was changed; look with `metashell quorum describe`")
