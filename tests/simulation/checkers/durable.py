"""No message speaks of more log than is durable (C4, L6): looked at for whatever names a position in the sender's log, or rests on one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.quorum.raft.messages import VoteRequest
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.host import Host


def check_asked_vote(host: Host, request: VoteRequest) -> None:
    """A vote or pre-vote is asked for: with the log's durable end, and the epoch of the batch before it."""
    if host.lost_end is not None:
        raise Violation("L6 AckedDurable", f"{host.name} asks for votes, and its log lost batches up to {host.lost_end}")
    log = host.log
    end = request.last_offset
    if end > log.flushed_offset:
        raise Violation("C4", f"{host.name} asks for votes with a log to {end}, and {log.flushed_offset} is durable")
    entry = log.entry_ending_at(end)
    if entry is None or entry.epoch != request.last_epoch:
        raise Violation("C4", f"{host.name} asks for votes with a log to {end} of epoch {request.last_epoch}, it has {entry} there")


def check_granted_vote(host: Host, request: VoteRequest) -> None:
    """A vote or pre-vote is granted: only to a log that holds all that is durable here, which may be committed."""
    if host.lost_end is not None:
        raise Violation("L6 AckedDurable", f"{host.name} votes, and its log lost batches up to {host.lost_end} that it had said to have")
    log = host.log
    entry = log.entry_ending_at(log.flushed_offset)
    own = (log.tail.epoch if entry is None else entry.epoch), log.flushed_offset
    if (request.last_epoch, request.last_offset) < own:
        raise Violation(
            "L3 LeaderCompleteness",
            f"{host.name} votes for {request.candidate_id} with a log to {request.last_offset} of epoch {request.last_epoch}, its own ends "
            f"durably at {own[1]} of epoch {own[0]}",
        )


def check_fetch_position(host: Host, offset: int) -> None:
    """A fetch says that all before it is here: it counts for the high watermark."""
    flushed = host.log.flushed_offset
    if offset > flushed and not host.is_broker:
        raise Violation("C4", f"{host.name} fetches from {offset}, and {flushed} is durable")
