"""Delegation tokens, by id. Their HMAC is not in the log."""

from collections.abc import Iterator
from operator import attrgetter
from typing import Any, NamedTuple

from immutables import Map

from metashell.codec.metadata_version import DELEGATION_TOKEN_LEVEL
from metashell.codec.registry import message_type
from metashell.image.faults import ReplayError
from metashell.image.loss import LossHandler, VersionedRecord


class DelegationToken(NamedTuple):
    """A token's public data; principals are `Type:Name`.

    Units: timestamps are Unix milliseconds.
    """

    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int
    token_id: str


_of_record = attrgetter(*DelegationToken._fields)

DelegationTokensImage = Map[str, DelegationToken]


class DelegationTokensDelta:
    """Gathers tokens that come, change and go."""

    def __init__(self, image: DelegationTokensImage) -> None:
        self._tokens = image.mutate()

    def replay_delegation_token(self, record: Any) -> None:
        token = DelegationToken._make(_of_record(record))
        self._tokens[record.token_id] = token._replace(renewers=tuple(token.renewers))

    def replay_remove_delegation_token(self, record: Any) -> None:
        """Errors: ReplayError for an id that has no token."""
        if self._tokens.pop(record.token_id, None) is None:
            raise ReplayError(f"no delegation token has the id {record.token_id!r}")

    def apply(self) -> DelegationTokensImage:
        return self._tokens.finish()


def write_delegation_tokens(image: DelegationTokensImage, level: int, loss: LossHandler) -> Iterator[VersionedRecord]:
    """The records of all tokens, ordered by id."""
    if image and level < DELEGATION_TOKEN_LEVEL:
        loss("the delegation tokens")
        return
    make = message_type("metadata", "DelegationTokenRecord").cls
    for _, token in sorted(image.items()):
        yield make(**token._asdict()), 0
