"""SCRAM credentials of a live cluster: who has some, new ones from a password, and their deletion.

A password is salted and hashed here, and only the result is sent. Brokers describe credentials, controllers do not: they are asked for
changes only. No message repeats a password.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import urandom
from typing import TYPE_CHECKING, Final, Protocol

from metashell.admin.errors import AdminError
from metashell.codec import messages
from metashell.codec.code_words import SCRAM_MECHANISMS, code_of
from metashell.codec.error_codes import NONE, RESOURCE_NOT_FOUND

if TYPE_CHECKING:
    from metashell.admin.admin import Admin

MECHANISMS: Final = tuple(SCRAM_MECHANISMS.values())
ITERATIONS_MAX: Final = 16384
"""What a controller takes at most."""


class Credential(Protocol):
    """What the metadata holds of a credential."""

    @property
    def iterations(self) -> int: ...


@dataclass(frozen=True, slots=True, order=True)
class ScramUser:
    """A credential, of which a cluster tells only this much."""

    user: str
    mechanism: str
    iterations: int


def describe_scram(admin: Admin, users: Sequence[str] = ()) -> tuple[list[ScramUser], list[AdminError]]:
    """The credentials of these users, of all if none is named, sorted; and an error for each that has none. Errors: AdminError."""
    made = messages.DescribeUserScramCredentialsRequest
    # None means all users too, but a broker of Kafka fails over it and never answers somebody who may not ask (4.3.1).
    answer = admin.ask(made(users=tuple(made.UserName(name=user) for user in users)))
    if answer.error_code != NONE:
        raise AdminError(answer.error_code, answer.error_message, "SCRAM credentials")
    errors = [AdminError(one.error_code, one.error_message, one.user) for one in answer.results if one.error_code != NONE]
    found = [
        ScramUser(one.user, SCRAM_MECHANISMS.get(info.mechanism, f"UNKNOWN-{info.mechanism}"), info.iterations)
        for one in answer.results
        for info in one.credential_infos
    ]
    return sorted(found), errors


def set_scram(admin: Admin, credential: ScramUser, password: str) -> None:
    """Make or replace a credential, with a new salt. Errors: AdminError."""
    import hashlib

    from metashell.net.scram import HASHES, SALT_SIZE

    salt = urandom(SALT_SIZE)
    raw = password.encode("utf-8", "surrogateescape")
    upsertion = messages.AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        name=credential.user,
        mechanism=code_of(SCRAM_MECHANISMS, credential.mechanism),
        iterations=credential.iterations,
        salt=salt,
        salted_password=hashlib.pbkdf2_hmac(HASHES[credential.mechanism], raw, salt, credential.iterations),
    )
    _alter(admin, messages.AlterUserScramCredentialsRequest(upsertions=(upsertion,)))


def delete_scram(admin: Admin, user: str, mechanism: str) -> None:
    """Delete a credential. Errors: AdminError, RESOURCE_NOT_FOUND where there is none."""
    deletion = messages.AlterUserScramCredentialsRequest.ScramCredentialDeletion(name=user, mechanism=code_of(SCRAM_MECHANISMS, mechanism))
    _alter(admin, messages.AlterUserScramCredentialsRequest(deletions=(deletion,)))


def _alter(admin: Admin, request: messages.AlterUserScramCredentialsRequest) -> None:
    # One credential a request: a user that is named twice in one gets none of its changes.
    for result in admin.ask_active(request).results:
        if result.error_code != NONE:
            raise AdminError(result.error_code, result.error_message, result.user)


def scram_users(credentials: Mapping[int, Mapping[str, Credential]], users: Sequence[str] = ()) -> tuple[list[ScramUser], list[AdminError]]:
    """What a broker would answer that has these credentials, by mechanism and user, in its metadata."""
    found = sorted(
        ScramUser(user, SCRAM_MECHANISMS.get(mechanism, f"UNKNOWN-{mechanism}"), credential.iterations)
        for mechanism, by_user in credentials.items()
        for user, credential in by_user.items()
        if not users or user in users
    )
    present = {each.user for each in found}
    return found, [
        AdminError(RESOURCE_NOT_FOUND, f"Attempt to describe a user credential that does not exist: {user}", user)
        for user in users
        if user not in present
    ]
