"""A voter that is being added or removed, from the request until its record is committed."""

from __future__ import annotations

from typing import TypeAlias

from metashell.raft.messages import AddRaftVoterResponse, Endpoints, RemoveRaftVoterResponse
from metashell.values import ReplicaKey


class ChangeInProgress:
    """`offset` is that of the record with the new voters, None while there is none; `token` is the request that waits for the answer."""

    __slots__ = ("deadline_ms", "is_answered", "key", "offset", "token")

    def __init__(self, token: object, key: ReplicaKey, offset: int | None, deadline_ms: int) -> None:
        self.token = token
        self.key = key
        self.offset = offset
        self.deadline_ms = deadline_ms
        self.is_answered = False


class AddVoter(ChangeInProgress):
    """A voter that is being added: first it is asked for its levels, then its record waits for the commit."""

    __slots__ = ("endpoints", "waits_for_commit")
    make_response = AddRaftVoterResponse

    def __init__(self, token: object, key: ReplicaKey, endpoints: Endpoints, waits_for_commit: bool, deadline_ms: int) -> None:
        super().__init__(token, key, None, deadline_ms)
        self.endpoints = endpoints
        self.waits_for_commit = waits_for_commit


class RemoveVoter(ChangeInProgress):
    """A voter that is being removed, by the record at `offset`."""

    __slots__ = ()
    make_response = RemoveRaftVoterResponse


VoterChange: TypeAlias = AddVoter | RemoveVoter
