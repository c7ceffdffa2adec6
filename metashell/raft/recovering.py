"""A replica whose log lost records that it may have acknowledged: it has no vote until its log holds them again.

A record is committed when a majority has it on disk. Each that is elected later has it, because the majority that votes shares a replica
with the one that stored, and nobody votes for a log that ends before its own. A replica that was one of those who stored a record, and
lost it, breaks this in two ways: it may give its vote to a log without the record, and it may be elected without it. Kafka's replica does
both: it cuts its log at the first damaged batch, deletes what lies behind, and votes with the rest.

Here such a replica grants neither vote nor pre-vote, not even one that it gave before, and does not stand. It follows and fetches, and its
positions count: they say only what is on its disk now. It votes again when one of these holds:

1. Its log is durable up to `until_offset`, where it ended before the damage. It can have grown there only by what a leader of its own or a
   later epoch sent, for quorum-state is sound: so it is that leader's log so far. The leader of the same epoch has not lost anything
   meanwhile, because a leader only appends. One of a later epoch was elected without this replica's vote, so by a majority of others; of
   those who stored a committed record at least one is among them, and not this one. Either has all that is committed, at the same
   offsets, and what this replica acknowledged lies below `until_offset`.
2. It has a durable batch of an epoch later than the newest that it knew, `epoch`. Then all before that batch is the later leader's log, by
   the same argument: however much was lost, this holds, so it is the only way where it is not known how far the log went.

A crash meanwhile changes nothing: the log's note of the damage is durable before anything is cut, and is removed only here. Where those
without damage are no majority, and no leader is left, nobody can be elected: no rule can find out then what was committed, so an operator
has to decide.
"""

from __future__ import annotations

from metashell.errors import LogCorruptError
from metashell.raft.replica import Replica


def check_start(node: Replica) -> None:
    """Errors: LogCorruptError where there is no other voter from whom to catch up.

    The voters are those of a log that was cut, so others may be voters by now: where servers are configured they are asked.
    """
    found = node.recovering
    if found is not None and node.voters.is_only_voter(node.local_key) and not node.connections.has_bootstrap:
        reason = f"{found.reason}; this is the only voter, so nobody else has what was lost; accept the loss (--accept-loss)"
        raise LogCorruptError("metadata log", node.log_end, reason)


def maybe_end(node: Replica) -> bool:
    """Give the replica its vote back, durably, where its log is whole again."""
    if not is_over(node):
        return False
    node.log.end_recovery()
    node.recovering = None
    return True


def is_over(node: Replica) -> bool:
    """Whether all that may have been acknowledged is here and durable."""
    found = node.recovering
    if found is None:
        return False
    if found.until_offset is not None and node.durable_end >= found.until_offset:
        return True
    return durable_epoch(node) > found.epoch


def durable_epoch(node: Replica) -> int:
    """The epoch of the last batch that is durable, of the snapshot where the log begins there; else 0."""
    if node.durable_end >= node.log_end:
        return node.last_epoch
    return node.epochs.epoch_at(node.durable_end - 1) or 0
