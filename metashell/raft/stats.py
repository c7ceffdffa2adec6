"""Figures of one replica since it started."""

from __future__ import annotations


class Stats:
    """Counts and sums since the replica started; differences give rates.

    Units: latencies are ms; a batch's commit latency is shared among its records, as Kafka's.
    """

    __slots__ = ("appended", "commit_count", "commit_max", "commit_sum", "election_count", "election_max", "election_sum", "fetched")

    def __init__(self) -> None:
        self.commit_count = 0
        self.commit_sum = 0.0
        self.commit_max = 0.0
        self.election_count = 0
        self.election_sum = 0.0
        self.election_max = 0.0
        self.appended = 0
        self.fetched = 0

    def committed(self, latency_ms: int, records: int) -> None:
        """A batch of `records` records was committed `latency_ms` after it was appended."""
        each = latency_ms / records
        self.commit_count += 1
        self.commit_sum += each
        self.commit_max = max(self.commit_max, each)

    def elected(self, latency_ms: int) -> None:
        """An election that this replica took part in ended, with it as leader or as follower."""
        self.election_count += 1
        self.election_sum += latency_ms
        self.election_max = max(self.election_max, latency_ms)
