"""SCRAM credentials by mechanism and user, and delegation tokens."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from metashell.codec.redaction import REDACTED
from metashell.codec.redaction import redact as redacted
from metashell.nodes.codes import SCRAM_MECHANISMS
from metashell.nodes.node import FixedDirectory, JsonValue, Leaf, MapDirectory, Node
from metashell.nodes.tree import Tree

if TYPE_CHECKING:
    from metashell.image import DelegationToken, ScramCredential

_SCRAM_RECORD = "UserScramCredentialRecord"


def scram_node(name: str, tree: Tree) -> FixedDirectory:
    """/image/scram: a directory for each mechanism, also without users."""
    mechanisms = {words: code for code, words in SCRAM_MECHANISMS.items()}
    if tree.is_own:
        mechanisms |= {f"UNKNOWN-{code}": code for code in tree.image.scram if code not in SCRAM_MECHANISMS}

    def mechanism_node(name: str) -> Node:
        code = mechanisms[name]
        users: Mapping[str, ScramCredential] = tree.image.scram.get(code) or {}
        return MapDirectory(name, users, lambda name, user: ScramNode(name, user, code, users[user]), tree.names)

    return FixedDirectory(name, dict.fromkeys(mechanisms, mechanism_node))


class ScramNode(Leaf):
    """A user's credential; salt and keys are redacted in our own voice."""

    __slots__ = ("_credential", "_mechanism", "_user")

    def __init__(self, name: str, user: str, mechanism: int, credential: ScramCredential) -> None:
        super().__init__(name, "scram")
        self._user = user
        self._mechanism = mechanism
        self._credential = credential

    @property
    def envelope_info(self) -> dict[str, Any]:
        return {"mechanism": SCRAM_MECHANISMS.get(self._mechanism, f"UNKNOWN-{self._mechanism}"), "sensitive": True}

    def kafka_text(self, redact: bool = False) -> str:
        credential = self._credential
        fields = {
            "salt": credential.salt.hex(),
            "storedKey": credential.stored_key.hex(),
            "serverKey": credential.server_key.hex(),
            "iterations": credential.iterations,
        }
        # Kafka's own redaction hides the iterations too: ScramCredentialDataNode.
        return f"ScramCredentialData({', '.join(f'{name}={REDACTED if redact else field}' for name, field in fields.items())})"

    def value(self, redact: bool = True) -> JsonValue:
        credential = self._credential
        value: dict[str, Any] = {
            "name": self._user,
            "mechanism": self._mechanism,
            "salt": b64encode(credential.salt).decode("ascii"),
            "storedKey": b64encode(credential.stored_key).decode("ascii"),
            "serverKey": b64encode(credential.server_key).decode("ascii"),
            "iterations": credential.iterations,
        }
        return redacted(_SCRAM_RECORD, value) if redact else value


def tokens_node(name: str, tree: Tree) -> MapDirectory:
    """/image/delegationToken: a leaf for each token id. Ids are public; the HMAC is not in the log."""
    tokens = tree.image.delegation_tokens
    return MapDirectory(name, tokens, lambda name, id: TokenNode(name, id, tokens[id]), tree.names)


class TokenNode(Leaf):
    """A delegation token's public data."""

    __slots__ = ("_id", "_token")

    def __init__(self, name: str, id: str, token: DelegationToken) -> None:
        super().__init__(name, "token")
        self._id = id
        self._token = token

    def kafka_text(self, redact: bool = False) -> str:
        # The parentheses do not balance in Kafka either: DelegationTokenDataNode.
        token = self._token
        return (
            f"DelegationTokenDatatokenId={self._id}(owner={token.owner}(tokenRequester={token.requester}"
            f"(renewers={' '.join(token.renewers)}, issueTimestamp={token.issue_timestamp}"
            f", maxTimestamp={token.max_timestamp}), expiryTimestamp={token.expiration_timestamp}"
        )

    def value(self, redact: bool = True) -> JsonValue:
        token = self._token
        return {
            "owner": token.owner,
            "requester": token.requester,
            "renewers": list(token.renewers),
            "issueTimestamp": token.issue_timestamp,
            "maxTimestamp": token.max_timestamp,
            "expirationTimestamp": token.expiration_timestamp,
            "tokenId": self._id,
        }
