"""SCRAM credentials, by mechanism and user."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from immutables import Map

from metashell.codec.metadata_version import SCRAM_LEVEL
from metashell.codec.registry import message_type
from metashell.image.faults import ReplayError
from metashell.image.loss import LossHandler, VersionedRecord
from metashell.image.nested import NestedDelta


class ScramCredential(NamedTuple):
    """What a server keeps of a user's password."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


ScramImage = Map[int, Map[str, ScramCredential]]
"""Mechanism (1: SCRAM-SHA-256, 2: SCRAM-SHA-512) to user to credential; a mechanism without users is absent."""


class ScramDelta(NestedDelta[int, str, ScramCredential]):
    """Gathers credentials that come and go."""

    def replay_user_scram_credential(self, record: Any) -> None:
        credential = ScramCredential(record.salt, record.stored_key, record.server_key, record.iterations)
        self._put(record.mechanism, record.name, credential)

    def replay_remove_user_scram_credential(self, record: Any) -> None:
        """Errors: ReplayError for a user without a credential of that mechanism."""
        if not self._drop(record.mechanism, record.name):
            raise ReplayError(f"user {record.name!r} has no credential of SCRAM mechanism {record.mechanism}")


def write_scram(image: ScramImage, level: int, loss: LossHandler) -> Iterator[VersionedRecord]:
    """The records of all credentials, ordered by mechanism and user."""
    if image and level < SCRAM_LEVEL:
        loss("the SCRAM credentials of users")
        return
    make = message_type("metadata", "UserScramCredentialRecord").cls
    for mechanism, users in sorted(image.items()):
        for name, credential in sorted(users.items()):
            yield make(name=name, mechanism=mechanism, **credential._asdict()), 0
