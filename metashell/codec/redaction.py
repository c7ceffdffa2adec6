"""Decides what is secret, for every command: shell, dump-log, export, SQL, reports, verify, Spark.

The schemas show which messages hold secrets: fields whose names say salt, SCRAM key, password, HMAC or authentication bytes; fields that
carry whole requests or record batches; and pairs of `Name` and `Value`, or of `Key` and `Value` in `TopicConfigs`, which are
configurations. A configuration is secret if its key is of Kafka's type PASSWORD (with or without a `listener.name.NAME.` prefix), or if
Kafka does not know the key for its type of resource: plug-ins define keys of their own, and Kafka treats those as sensitive too.

Two kinds of keys are shown that Kafka 4.4.0 calls unknown: those that an older release knew, and for brokers those with the prefix of a
listener or a SASL mechanism.

Redaction happens on JSON values, before any rendering, so filters and searches see the redacted text. Bytes that could not be decoded are
judged by what they could be (`shown_bytes`), regardless of the requested decoder: a record of the metadata log is secret in a log of
users' data too, where somebody may have copied it.
Source: org.apache.kafka.metadata.KafkaConfigSchema.isSensitive; KafkaConfig of 3.9.2 and 4.3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import listdir
from os.path import join
from typing import Any, NamedTuple

from metashell.codec.batches import HEADER_SIZE, unpack_header
from metashell.codec.codes import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from metashell.codec.metadata_records import FRAME_VERSION, KIP631_FRAME_VERSION, Frame, FrameError, metadata_message, read_frame
from metashell.codec.registry import SCHEMA_FOLDER, MessageType, message_type
from metashell.codec.schema import FieldSchema, StructSchema
from metashell.common.errors import DecodeError
from metashell.common.values import REDACTED as REDACTED

_LISTENER_PREFIX = "listener.name."

# ---- which fields are secret -----------------------------------------------------------------------------------------

_SECRET_WORDS = ("salt", "storedkey", "serverkey", "password", "secret", "hmac", "authbytes")
"""A text or bytes field is secret if its name contains one of these words."""
_WHOLE_REQUESTS = frozenset(("requestdata", "responsedata"))
"""Fields of an envelope: a request or response of any kind as bytes."""

_SECRET_SUBJECTS = ("Credential", "Token", "Sasl", "Scram")


class Secrets(NamedTuple):
    """The secrets of a message, at any depth: the JSON names of fields, whether pairs of Name and Value are configurations, and whether
    there are settings of topics as pairs of Key and Value.
    """

    fields: frozenset[str]
    has_configs: bool
    has_topic_configs: bool = False


_NOTHING = Secrets(frozenset(), False)
_known_secrets: dict[tuple[str, str], Secrets] = {}
_known_names: dict[str, Secrets] = {}


def secrets_of(message: MessageType) -> Secrets:
    """The secrets of a message, by its schema."""
    found = _known_secrets.get((message.family, message.name))
    if found is None:
        structs = (message.schema, *message.schema.structs.values())
        fields = frozenset(field.json_name for struct in structs for field in struct.fields if _is_secret(field))
        found = _known_secrets[message.family, message.name] = Secrets(
            fields, any(map(_is_config, structs)), any(field.name == "TopicConfigs" for struct in structs for field in struct.fields)
        )
    return found


def holds_secrets(message: MessageType) -> bool:
    """Whether messages of this type can hold a secret."""
    return secrets_of(message) != _NOTHING


def _is_about_secrets(message: MessageType) -> bool:
    """Whether bytes of this type that do not decode may hold a secret: a newer release would add secrets to messages about credentials."""
    return holds_secrets(message) or any(word in message.name for word in _SECRET_SUBJECTS)


def _is_secret(field: FieldSchema) -> bool:
    name = field.name.lower()
    if field.type == "records":
        return True  # batches of any log, the metadata log's too
    return field.type in ("string", "bytes") and (name in _WHOLE_REQUESTS or any(word in name for word in _SECRET_WORDS))


def _is_config(struct: StructSchema) -> bool:
    return {"Name", "Value"} <= {field.name for field in struct.fields if field.type == "string" and not field.is_array}


def _secrets_by_name(name: str) -> Secrets:
    """The secrets of all messages of a name: KIP-631 and Kafka share some names."""
    found = _known_names.get(name)
    if found is None:
        all_secrets = [secrets_of(message) for message in _messages_called(name)]
        fields = frozenset[str]().union(*(secrets.fields for secrets in all_secrets))
        found = _known_names[name] = Secrets(
            fields,
            any(secrets.has_configs for secrets in all_secrets),
            any(secrets.has_topic_configs for secrets in all_secrets),
        )
    return found


def _messages_called(name: str) -> Iterator[MessageType]:
    for family in sorted(listdir(SCHEMA_FOLDER)):
        try:
            yield message_type(family, name)
        except KeyError:
            continue


# ---- configurations --------------------------------------------------------------------------------------------------

_known_keys: dict[str, bool] = {}
_resource_keys: dict[int, frozenset[str]] = {}
_KINDS = {TOPIC_RESOURCE: "topic", GROUP_RESOURCE: "group", CLIENT_METRICS_RESOURCE: "client_metrics"}


def broker_config_keys() -> dict[str, bool]:
    """Every configuration key of a broker, and whether its value is a password."""
    if not _known_keys:
        with open(join(SCHEMA_FOLDER, "broker-configs.txt"), encoding="utf-8") as file:
            for line in file:
                if not line.startswith("#"):
                    key, _, mark = line.strip().partition(" ")
                    _known_keys[key] = mark == "password"
    return _known_keys


def resource_config_keys(resource_type: int) -> frozenset[str]:
    """Every configuration key of topics, groups or client metrics; none for any other type of resource."""
    if not _resource_keys:
        with open(join(SCHEMA_FOLDER, "resource-configs.txt"), encoding="utf-8") as file:
            rows = [line.split() for line in file if not line.startswith("#")]
        _resource_keys.update({type: frozenset(key for kind, key in rows if kind == name) for type, name in _KINDS.items()})
    return _resource_keys.get(resource_type, frozenset())


def is_sensitive_config(resource_type: int, key: str) -> bool:
    """Whether the value of a configuration key must not be shown. Units: `resource_type` as in ConfigResource.Type."""
    return bool(secret_reason(resource_type, key))


def secret_reason(resource_type: int, key: str) -> str:
    """The reason to hide the value of a configuration key: it is `a password`, or may be one. Empty if it may be shown."""
    if key in resource_config_keys(resource_type):
        return ""
    keys = broker_config_keys()
    spellings = [key]
    if key.startswith(_LISTENER_PREFIX):
        rest = key[len(_LISTENER_PREFIX) :].partition(".")[2]
        # A SASL mechanism may stand between the listener's name and the key.
        spellings += [rest, rest.partition(".")[2]]
    if any(keys.get(spelling) for spelling in spellings):
        return A_PASSWORD
    if resource_type == BROKER_RESOURCE and any(spelling in keys for spelling in spellings):
        return ""
    what = _RESOURCE_WORDS.get(resource_type, "such a resource")
    return f"an unknown key of {what}: it may be a password of a plug-in"


def is_password_key(key: str) -> bool:
    """Whether a configuration key is one of Kafka's passwords, whatever it is set on."""
    return secret_reason(BROKER_RESOURCE, key) == A_PASSWORD


A_PASSWORD = "a password"
_RESOURCE_WORDS = {
    BROKER_RESOURCE: "a broker",
    TOPIC_RESOURCE: "a topic",
    GROUP_RESOURCE: "a group",
    CLIENT_METRICS_RESOURCE: "client metrics",
}


# ---- messages --------------------------------------------------------------------------------------------------------


def redact(message_name: str, value: dict[str, Any]) -> dict[str, Any]:
    """A message's JSON value with its secrets replaced by `[redacted]`; the value itself where it has none."""
    secrets = _secrets_by_name(message_name)
    return value if secrets == _NOTHING else _hidden(value, secrets, TOPIC_RESOURCE)


def _hidden(value: dict[str, Any], secrets: Secrets, resource_type: int) -> dict[str, Any]:
    """`resource_type` comes from the enclosing value: a request names it once for many configurations; CreateTopics never names it."""
    resource_type = value.get("resourceType", resource_type)
    hides_value = secrets.has_configs and "name" in value and _hides_config(value, resource_type)
    shown: dict[str, Any] = {}
    for name, item in value.items():
        if item is not None and (name in secrets.fields or (hides_value and name == "value")):
            item = REDACTED
        elif isinstance(item, dict):
            item = _hidden(item, secrets, resource_type)
        elif isinstance(item, list) and name == "topicConfigs":
            item = [_hidden_pair(one) for one in item]
        elif isinstance(item, list):
            item = [_hidden(one, secrets, resource_type) if isinstance(one, dict) else one for one in item]
        shown[name] = item
    return shown


def _hidden_pair(value: dict[str, Any]) -> dict[str, Any]:
    """A setting of a topic that a Streams group needs."""
    key = value.get("key", value.get("name"))
    return {**value, "value": REDACTED} if isinstance(key, str) and is_sensitive_config(TOPIC_RESOURCE, key) else value


def _hides_config(value: dict[str, Any], resource_type: int) -> bool:
    return bool(value.get("isSensitive")) or is_sensitive_config(resource_type, value["name"])


JsonText = Callable[[bytes, int, int], str]
"""`(buf, start, end) -> str`. Errors: DecodeError."""


def json_writer(message: MessageType, version: int, *, show_secrets: bool) -> JsonText:
    """The writer of a message's JSON text straight from bytes; secrets are redacted unless `show_secrets`."""
    plain = message.json_reader(version)
    if show_secrets or not holds_secrets(message):
        return plain
    read = message.reader(version)
    judged: dict[tuple[int, str], bool] = {}

    def redacted(buf: bytes, start: int, end: int) -> str:
        body = read(buf, start, end)
        if message.name == "ConfigRecord":
            # Nearly all configurations are harmless and their keys repeat, so most take the fast writer.
            key = (body.resource_type, body.name)
            if key not in judged:
                if len(judged) >= _JUDGED_MAX:
                    judged.clear()
                judged[key] = is_sensitive_config(*key)
            if not judged[key]:
                return plain(buf, start, end)
        from json import dumps

        value = redact(message.name, message.to_json_value(body, version))
        return dumps(value, ensure_ascii=False, separators=(",", ":"))

    return redacted


_JUDGED_MAX = 1 << 14

# ---- bytes -----------------------------------------------------------------------------------------------------------

HARMLESS_SIZE_MAX = 8
"""So few bytes are always shown: a record of the metadata log has six or more bytes before its first secret."""
_NEWER_VERSION_MAX = 15
"""No record has ever had a version near this one: bytes that claim a higher one are users' data."""

_COORDINATOR_TYPE_MAX = 63
"""Far above the types and versions of coordinators' records, which are below 25."""


def shown_bytes(raw: bytes, *, show_secrets: bool = False, is_user_data: bool = False) -> bytes | None:
    """`raw` if it cannot hold a secret, else None. Every command shows bytes that it could not decode through this function.

    Shape: `raw` is a whole key or value of a record, even if only a part of it is shown.
    Bytes that begin like a record of the metadata log are shown if records of that type never hold a secret, or this one does not. Bytes
    of no known record are hidden, because nobody can say what they hold. `is_user_data` marks bytes of a log that is not known to be one
    of Kafka's own: they are shown unless they could be a record with secrets, or one of a type that is newer than ours.
    """
    return raw if show_secrets or len(raw) <= HARMLESS_SIZE_MAX or not _could_be_secret(raw, is_user_data) else None


def _could_be_secret(raw: bytes, is_user_data: bool) -> bool:
    if raw[0] not in (FRAME_VERSION, KIP631_FRAME_VERSION):
        return not is_user_data
    try:
        frame = read_frame(raw, 0, len(raw))
    except FrameError:
        return not is_user_data
    is_kip631 = frame.frame_version == KIP631_FRAME_VERSION
    message = metadata_message(frame.type_id, "kip631" if is_kip631 else "metadata")
    if message is not None:
        # KIP-631's frame version is 0, and so is the first byte of coordinators' keys and of much other data. Users' data counts as such
        # a record only if it decodes.
        return _is_about_secrets(message) and _is_secret_body(message, frame, raw, if_undecoded=not (is_kip631 and is_user_data))
    if is_kip631:
        # KIP-631 has no other types. A small type number may be a coordinator's key or value, which holds no secret.
        return not is_user_data and frame.type_id > _COORDINATOR_TYPE_MAX
    return not is_user_data or 0 <= frame.version <= _NEWER_VERSION_MAX


def _is_secret_body(message: MessageType, frame: Frame, raw: bytes, *, if_undecoded: bool) -> bool:
    try:
        body = message.read(raw, frame.version, frame.body_start)
    except DecodeError:
        return if_undecoded
    value = message.to_json_value(body, frame.version)
    return bool(body.unknown_tags) or redact(message.name, value) != value


def hex_text(raw: bytes, start: int = 0, *, show_secrets: bool) -> str:
    """JSON text for bytes that could not be decoded, from `start` on: hex, or `"[redacted]"` if `raw` could hold a secret."""
    shown = shown_bytes(raw, show_secrets=show_secrets)
    return f'"{REDACTED}"' if shown is None else f'"{shown[start:].hex()}"'


def shown_text(text: str) -> str:
    """A malformed line of a text file, in quotes, or `[redacted]`: after damage it may be bytes of a log."""
    return REDACTED if shown_bytes(text.encode("utf-8", "surrogateescape")) is None else repr(text)


def shown_head(batch: bytes) -> bytes | None:
    """The header of a damaged batch, which holds no record; None if these bytes do not begin with a header.

    A wrong length before them may lead into the middle of a batch, and messages of magic 0 and 1 have key and value within the first
    61 bytes. So the header's numbers must fit each other.
    """
    if len(batch) < HEADER_SIZE:
        return None
    header = unpack_header(batch, 0)
    magic, attributes, last_offset_delta, count = header[3], header[5], header[6], header[12]
    is_header = magic == 2 and not attributes & ~0x7F and 0 <= count <= last_offset_delta + 1
    return batch[:HEADER_SIZE] if is_header else None
