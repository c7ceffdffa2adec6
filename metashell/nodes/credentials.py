"""SCRAM credentials by mechanism and user, and delegation tokens."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from metashell.codec.code_words import SCRAM_MECHANISMS
from metashell.codec.redaction import REDACTED, redact
from metashell.nodes.node import FixedDirectory, JsonValue, KeyedDirectory, LeafKind, Node, SubjectLeaf, text_directory
from metashell.nodes.tree import Tree

if TYPE_CHECKING:
    from metashell.image import DelegationToken, ScramCredential

    Entry = tuple[str, int, ScramCredential]
    """A user, a mechanism's code and the credential."""


def scram_node(name: str, tree: Tree) -> FixedDirectory:
    """/image/scram: a directory for each mechanism, also without users."""
    mechanisms = {words: code for code, words in SCRAM_MECHANISMS.items()}
    if tree.is_own:
        mechanisms |= {f"UNKNOWN-{code}": code for code in tree.image.scram if code not in SCRAM_MECHANISMS}

    def mechanism_node(name: str) -> Node:
        code = mechanisms[name]
        users: Mapping[str, ScramCredential] = tree.image.scram.get(code) or {}
        return text_directory(name, users, lambda name, user, one: SubjectLeaf(name, SCRAM, (user, code, one)), tree.names)

    return FixedDirectory(name, dict.fromkeys(mechanisms, mechanism_node))


def scram_words(entry: Entry) -> dict[str, Any]:
    """The mechanism's name."""
    return {"mechanism": SCRAM_MECHANISMS.get(entry[1], f"UNKNOWN-{entry[1]}"), "sensitive": True}


def scram_text(entry: Entry) -> str:
    """Java's text of a credential. Source: ScramCredentialDataNode."""
    credential = entry[2]
    fields = f"storedKey={credential.stored_key.hex()}, serverKey={credential.server_key.hex()}, iterations={credential.iterations}"
    return f"ScramCredentialData(salt={credential.salt.hex()}, {fields})"


def safe_scram_text(entry: Entry) -> str:
    """The same redacted as Kafka does it, which hides the iterations too."""
    fields = ", ".join(f"{name}={REDACTED}" for name in ("salt", "storedKey", "serverKey", "iterations"))
    return f"ScramCredentialData({fields})"


def scram_value(entry: Entry) -> dict[str, Any]:
    """The credential under the field names of UserScramCredentialRecord."""
    user, mechanism, credential = entry
    return {
        "name": user,
        "mechanism": mechanism,
        "salt": b64encode(credential.salt).decode("ascii"),
        "storedKey": b64encode(credential.stored_key).decode("ascii"),
        "serverKey": b64encode(credential.server_key).decode("ascii"),
        "iterations": credential.iterations,
    }


def safe_scram_value(entry: Entry) -> JsonValue:
    """The same without salt and keys."""
    return redact("UserScramCredentialRecord", scram_value(entry))


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


SCRAM = LeafKind("scram", scram_text, scram_value, scram_words, safe_scram_text, safe_scram_value)
TOKEN = LeafKind("token", token_text, token_value)
