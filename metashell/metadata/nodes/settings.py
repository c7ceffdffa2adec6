"""Configs, client quotas, ACLs, SCRAM credentials and delegation tokens. Our own voice redacts sensitive values.

Kafka's name of a quota entity has only its named parts: an entity of only defaults has the empty name, one with a default part has the
name of another entity, and neither can be resolved. Our own voice writes `<default>` for a default part and percent-escapes special
characters, so that each name belongs to one entity."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from metashell.codec.codes import (
    ACL_OPERATIONS,
    ACL_PATTERN_TYPES,
    ACL_PERMISSION_TYPES,
    ACL_RESOURCE_TYPES,
    CONFIG_TYPES,
    SCRAM_MECHANISMS,
    code_name,
)
from metashell.codec.redaction import REDACTED, is_sensitive_config, redact
from metashell.common.values import uuid_text
from metashell.metadata.nodes.names import (
    DEFAULT_ENTITY,
    EMPTY_NAME,
    double_text,
    entity_escape,
    entity_unescape,
    name_unescape,
    part_escape,
)
from metashell.metadata.nodes.node import (
    FixedDirectory,
    JsonValue,
    KeyedDirectory,
    LeafKind,
    Node,
    SubjectLeaf,
    Tree,
    text_directory,
    uuid_directory,
)

if TYPE_CHECKING:
    from metashell.metadata.image import Acl, DelegationToken, ScramCredential

    AclEntry = tuple[bytes, Acl]
    """An id and its entry."""

    ScramEntry = tuple[str, int, ScramCredential]
    """A user, a mechanism's code and the credential."""

Resource = tuple[int, str]
"""The code of a type and a name, empty for the default resource."""

Setting = tuple[Resource, str, str]
"""A resource, a key and its value."""

_TYPE_CODES = {name: code for code, name in CONFIG_TYPES.items()}
_OWN_UNKNOWN = "UNKNOWN-"
"""In our own voice an unknown resource type is `UNKNOWN-99`, so that two of them differ."""


def configs_node(name: str, tree: Tree) -> KeyedDirectory:
    """/image/configs: a directory for each resource, `TYPE` for the default one, else `TYPE:name`."""
    configs = tree.image.configs
    return KeyedDirectory(
        name,
        configs,
        lambda name, resource, settings: settings_node(name, resource, settings, tree),
        show=resource_name if tree.is_own else _kafka_name,
        read=own_resources if tree.is_own else lambda name: _kafka_resources(name, configs),
        keeps_typed=not tree.is_own,
    )


def resource_name(resource: Resource) -> str:
    """Our own name of a resource's directory: `TYPE` for the default one, else `TYPE:name`."""
    type, name = resource
    type_name = CONFIG_TYPES.get(type) or f"{_OWN_UNKNOWN}{type}"
    # The default resource has no name here; a resource that is really called `<default>` is escaped.
    return f"{type_name}:{entity_escape(name)}" if name else type_name


def own_resources(name: str) -> list[Resource]:
    """The resource of a name of ours in a list, which is empty for any other text."""
    type_name, colon, rest = name.partition(":")
    code = _TYPE_CODES.get(type_name)
    if code is None and type_name.startswith(_OWN_UNKNOWN) and type_name[len(_OWN_UNKNOWN) :].isdecimal():
        code = int(type_name[len(_OWN_UNKNOWN) :])
    return [] if code is None else [(code, entity_unescape(rest) or "" if colon else "")]


def _kafka_name(resource: Resource) -> str:
    type, name = resource
    type_name = CONFIG_TYPES.get(type) or "UNKNOWN"
    return f"{type_name}:{name}" if name else type_name


def _kafka_resources(name: str, known: Iterable[Resource]) -> list[Resource]:
    type_name, _, rest = name.partition(":")
    if type_name == "UNKNOWN":
        return [(type, name) for type, name in known if (type not in CONFIG_TYPES or type == 0) and name == rest]
    return [(_TYPE_CODES[type_name], rest)] if type_name in _TYPE_CODES else []


def settings_node(name: str, resource: Resource, settings: Mapping[str, str], tree: Tree) -> KeyedDirectory:
    """The directory of one resource, with a leaf for each of its keys."""
    return text_directory(name, settings, lambda name, key, value: SubjectLeaf(name, CONFIG, (resource, key, value)), tree.names)


def config_words(setting: Setting) -> dict[str, Any]:
    """The resource of a setting, and whether its value is a secret."""
    (type, resource), key, _ = setting
    return {
        "resource_type": CONFIG_TYPES.get(type, f"{_OWN_UNKNOWN}{type}"),
        "resource_name": resource or DEFAULT_ENTITY,
        "sensitive": is_sensitive_config(type, key),
    }


def config_text(setting: Setting) -> str:
    """The value, which is always text."""
    return setting[2]


def safe_config_text(setting: Setting) -> str:
    """The value, hidden if it is a secret."""
    (type, _), key, value = setting
    return REDACTED if is_sensitive_config(type, key) else value


CONFIG = LeafKind("config", config_text, config_text, config_words, safe_config_text, safe_config_text)


# ---- client quotas


Part = tuple[str, str | None]
Entity = Iterable[Part]

_LABELS = {"client-id": "clientId", "ip": "ip", "user": "user"}
"""Kafka's words for the types, in the order in which parts are joined."""

_TYPES = {label: type for type, label in _LABELS.items()}
_KAFKA_PART = r"(?s:(clientId|ip|user)\(((?:[^\\)]|\\.)*)\))"
_OWN_PART = r"([^()\\]*)\(([^()\\]*)\)"


def quotas_node(name: str, tree: Tree) -> KeyedDirectory:
    """/image/clientQuotas: a directory for each entity."""
    quotas = tree.image.client_quotas

    @cache
    def by_parts() -> dict[frozenset[Part], Any]:
        return {frozenset(entity): entity for entity in quotas}

    def read(name: str) -> Iterator[Any]:
        # Our voice also accepts Kafka's name of an entity if it means one entity only.
        for parse in (parse_own_entity, parse_kafka_entity) if tree.is_own else (parse_kafka_entity,):
            parts = parse(name)
            if parts is not None and (entity := by_parts().get(frozenset(parts))) is not None:
                yield entity

    return KeyedDirectory(
        name,
        quotas,
        lambda name, entity, limits: limits_node(name, entity, limits, tree),
        show=own_entity_name if tree.is_own else kafka_entity_name,
        read=read,
        keeps_typed=not tree.is_own,
    )


def limits_node(name: str, entity: Entity, limits: Mapping[str, float], tree: Tree) -> KeyedDirectory:
    """The directory of one entity, with a leaf for each of its quotas."""
    return text_directory(name, limits, lambda name, _, limit: SubjectLeaf(name, QUOTA, (entity, limit)), tree.names)


def quota_words(quota: tuple[Entity, float]) -> dict[str, Any]:
    """The parts of a quota's entity."""
    entity, _ = quota
    return {"entity": [{"entityType": type, "entityName": name} for type, name in _ordered(entity)]}


def quota_value(quota: tuple[Entity, float]) -> JsonValue:
    """The number; NaN and the infinities, which JSON does not have, are text as in Kafka's JSON."""
    _, limit = quota
    return limit if abs(limit) < float("inf") else double_text(limit)


QUOTA = LeafKind("quota", lambda quota: double_text(quota[1]), quota_value, quota_words)


def _ordered(entity: Entity) -> list[Part]:
    return sorted(entity, key=lambda part: (part[0], part[1] or ""))


def kafka_entity_name(entity: Entity) -> str:
    """Kafka's name of an entity, without its default parts.

    Source: org.apache.kafka.image.node.ClientQuotasImageNode.clientQuotaEntityToString, which throws for other types.
    """
    return "_".join(f"{_LABELS.get(type, type)}({_kafka_escape(name)})" for type, name in _ordered(entity) if name is not None)


def _kafka_escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def parse_kafka_entity(name: str) -> list[Part] | None:
    """The parts that Kafka reads from a name, None if it is no entity; the later part of a repeated type counts."""
    parts: dict[str, str] = {}
    index = 0
    pattern = re.compile(_KAFKA_PART)
    while match := pattern.match(name, index):
        parts[_TYPES[match[1]]] = re.sub(r"(?s)\\(.)", r"\1", match[2])
        index = match.end()
        if index == len(name):
            return list(parts.items())
        if name[index] != "_":
            return None
        index += 1
    return None


def own_entity_name(entity: Entity) -> str:
    """Our own name of an entity, which `parse_own_entity` reads."""
    return "_".join(f"{_own_label(type)}({part_escape(name)})" for type, name in _ordered(entity)) or EMPTY_NAME


def _own_label(type: str) -> str:
    if type in _LABELS:
        return _LABELS[type]
    label = part_escape(type)
    # A type that is spelled like the label of another type would be read as that type, so its first letter is escaped.
    return f"%{ord(label[0]):02X}{label[1:]}" if label in _TYPES else label


def parse_own_entity(name: str) -> list[Part] | None:
    """The parts of a name of ours, None for any other text."""
    if name == EMPTY_NAME:
        return []
    parts: list[Part] = []
    index = 0
    pattern = re.compile(_OWN_PART)
    while match := pattern.match(name, index):
        label, value = match.groups()
        type = _TYPES.get(label) or name_unescape(label)
        parts.append((type, None if value == DEFAULT_ENTITY else name_unescape(value)))
        index = match.end()
        if index == len(name):
            return parts
        if name[index] != "_":
            return None
        index += 1
    return None


def parse_entity(name: str) -> list[Part] | None:
    """The parts of a name of ours or, where it is none, of Kafka's."""
    parts = parse_own_entity(name)
    return parse_kafka_entity(name) if parts is None else parts


# ---- ACLs


def acls_node(name: str, tree: Tree) -> FixedDirectory:
    """/image/acls, with all entries under `byId`."""
    return FixedDirectory(name, {"byId": lambda name: acls_by_id_node(name, tree)})


def acls_by_id_node(name: str, tree: Tree) -> KeyedDirectory:
    """All entries under the texts of their ids."""
    return uuid_directory(name, tree.image.acls.by_id, lambda name, id, acl: SubjectLeaf(name, ACL, (id, acl)))


def acl_words(entry: AclEntry) -> dict[str, Any]:
    """Words for the codes of an entry."""
    _, acl = entry
    return {
        "resource_type": code_name(ACL_RESOURCE_TYPES, acl.resource_type),
        "pattern_type": code_name(ACL_PATTERN_TYPES, acl.pattern_type),
        "operation": code_name(ACL_OPERATIONS, acl.operation),
        "permission_type": code_name(ACL_PERMISSION_TYPES, acl.permission_type),
    }


def acl_text(entry: AclEntry) -> str:
    """Java's text of an entry, a record type since 4.2.

    Source: org.apache.kafka.metadata.authorizer.StandardAcl.
    """
    _, acl = entry
    words = acl_words(entry)
    return (
        f"StandardAcl[resourceType={words['resource_type']}, resourceName={acl.resource_name}, patternType={words['pattern_type']}"
        f", principal={acl.principal}, host={acl.host}, operation={words['operation']}, permissionType={words['permission_type']}]"
    )


def acl_value(entry: AclEntry) -> dict[str, Any]:
    """The entry under the field names of AccessControlEntryRecord."""
    id, acl = entry
    return {
        "id": uuid_text(id),
        "resourceType": acl.resource_type,
        "resourceName": acl.resource_name,
        "patternType": acl.pattern_type,
        "principal": acl.principal,
        "host": acl.host,
        "operation": acl.operation,
        "permissionType": acl.permission_type,
    }


ACL = LeafKind("acl", acl_text, acl_value, acl_words)


# ---- credentials and tokens


def scram_node(name: str, tree: Tree) -> FixedDirectory:
    """/image/scram: a directory for each mechanism, even without users."""
    mechanisms = {words: code for code, words in SCRAM_MECHANISMS.items()}
    if tree.is_own:
        mechanisms |= {f"UNKNOWN-{code}": code for code in tree.image.scram if code not in SCRAM_MECHANISMS}

    def mechanism_node(name: str) -> Node:
        code = mechanisms[name]
        users: Mapping[str, ScramCredential] = tree.image.scram.get(code) or {}
        return text_directory(name, users, lambda name, user, one: SubjectLeaf(name, SCRAM, (user, code, one)), tree.names)

    return FixedDirectory(name, dict.fromkeys(mechanisms, mechanism_node))


def scram_words(entry: ScramEntry) -> dict[str, Any]:
    """The mechanism's name."""
    return {"mechanism": SCRAM_MECHANISMS.get(entry[1], f"UNKNOWN-{entry[1]}"), "sensitive": True}


def scram_text(entry: ScramEntry) -> str:
    """Java's text of a credential. Source: ScramCredentialDataNode."""
    credential = entry[2]
    fields = f"storedKey={credential.stored_key.hex()}, serverKey={credential.server_key.hex()}, iterations={credential.iterations}"
    return f"ScramCredentialData(salt={credential.salt.hex()}, {fields})"


def safe_scram_text(entry: ScramEntry) -> str:
    """The same redacted as Kafka does it, which hides the iterations too."""
    fields = ", ".join(f"{name}={REDACTED}" for name in ("salt", "storedKey", "serverKey", "iterations"))
    return f"ScramCredentialData({fields})"


def scram_value(entry: ScramEntry) -> dict[str, Any]:
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


def safe_scram_value(entry: ScramEntry) -> JsonValue:
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
