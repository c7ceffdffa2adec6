"""SCRAM credentials by mechanism and user, and delegation tokens."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from metashell.codec.redaction import REDACTED
from metashell.codec.redaction import redact as redacted
from metashell.nodes.codes import SCRAM_MECHANISMS
from metashell.nodes.node import FixedDirectory, JsonValue, KeyedDirectory, Leaf, LeafKind, Node, SubjectLeaf, text_directory
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
        return text_directory(name, users, lambda name, user, credential: ScramNode(name, user, code, credential), tree.names)

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


def tokens_node(name: str, tree: Tree) -> KeyedDirectory:
    """/image/delegationToken: a leaf for each token id. Ids are public; the HMAC is not in the log."""
    return text_directory(name, tree.image.delegation_tokens, lambda name, id, token: SubjectLeaf(name, TOKEN, (id, token)), tree.names)


def token_text(entry: tuple[str, DelegationToken]) -> str:
    """Java's text of a token. Source: DelegationTokenDataNode, where the parentheses do not balance either."""
    id, token = entry
    return (
        f"DelegationTokenDatatokenId={id}(owner={token.owner}(tokenRequester={token.requester}"
        f"(renewers={' '.join(token.renewers)}, issueTimestamp={token.issue_timestamp}"
        f", maxTimestamp={token.max_timestamp}), expiryTimestamp={token.expiration_timestamp}"
    )


def token_value(entry: tuple[str, DelegationToken]) -> dict[str, Any]:
    """A token's public data under the field names of DelegationTokenRecord."""
    id, token = entry
    return {
        "owner": token.owner,
        "requester": token.requester,
        "renewers": list(token.renewers),
        "issueTimestamp": token.issue_timestamp,
        "maxTimestamp": token.max_timestamp,
        "expirationTimestamp": token.expiration_timestamp,
        "tokenId": id,
    }


TOKEN = LeafKind("token", token_text, token_value)
