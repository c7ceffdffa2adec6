"""The first state of a new cluster: feature levels, voters, SCRAM credentials, and the checkpoints that hold them.

Feature levels are parsed from the command line and completed: a release stands for levels, and features depend on each other. Voters of a
dynamic quorum are `id@host:port:directoryId`, separated by commas. SCRAM credentials are `MECHANISM=[name=...,password=...]`. No message
repeats what may be part of a password: where Kafka's message would, ours describes the error without it.
Source: org.apache.kafka.server.common.Feature, MetadataVersion, KRaftVersion; org.apache.kafka.raft.DynamicVoters, DynamicVoter;
org.apache.kafka.metadata.storage.ScramParser; BatchFileWriter of 4.3.1, RecordsSnapshotWriter; KIP-584, KIP-853, KIP-900, KIP-1022; RFC
5802."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.codec.batch_writer import (
    KRAFT_VERSION_RECORD,
    KRAFT_VOTERS,
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
    write_batch,
    write_control_bodies,
)
from metashell.codec.batches import Record
from metashell.codec.java import JAVA_BLANKS, java_int
from metashell.codec.messages import KRaftVersionRecord, SnapshotFooterRecord, SnapshotHeaderRecord, UserScramCredentialRecord, VotersRecord
from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.releases import (
    FEATURES,
    KRAFT_VERSION,
    METADATA_VERSION,
    NEWEST_LEVEL,
    NEWEST_RELEASE,
    SCRAM_LEVEL,
    metadata_version_name,
)
from metashell.codec.validation import scram_keys
from metashell.common.errors import ConfigError, StorageError
from metashell.common.values import uuid_from_text, uuid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


OLDEST_RELEASE_LEVEL: Final = NEWEST_RELEASE.oldest_level
NEWEST_RELEASE_LEVEL: Final = NEWEST_RELEASE.newest_level
"""The newest metadata.version that production clusters may use."""
NEWEST_TESTING_LEVEL: Final = NEWEST_LEVEL
"""The newest metadata.version of all, which needs unstable.feature.versions.enable."""


def default_level(feature: str, metadata_version: int) -> int:
    """The level of a feature in a new cluster of that metadata.version."""
    levels = FEATURES[feature]
    return max(level for level, step in enumerate(levels) if step.default_from <= metadata_version)


def release_level(text: str, *, unstable: bool) -> int:
    """The metadata.version of a release text: `4.3-IV0`, or `3.7` for the last one of 3.7.

    Errors: StorageError in Kafka's words, which list the valid texts.
    """
    newest = NEWEST_TESTING_LEVEL if unstable else NEWEST_RELEASE_LEVEL
    names = {metadata_version_name(level): level for level in range(OLDEST_RELEASE_LEVEL, newest + 1)}
    by_release = {name.partition("-")[0]: level for name, level in names.items() if level <= NEWEST_RELEASE_LEVEL}
    # A patch release has the levels of its release: only the first two numbers of `4.3.1` count.
    key = ".".join(text.split(".")[:2]) if len(_java_split(text)) > 2 else text
    level = names.get(key) or by_release.get(key)
    if level is None:
        message = f"Unknown metadata.version '{text}'. Supported metadata.version are: {', '.join(names)}"
        raise StorageError(message, text, (*by_release, *names))
    return level


def _java_split(text: str) -> list[str]:
    parts = text.split(".")
    while parts and not parts[-1]:
        parts.pop()
    return parts


def parse_feature_levels(texts: Iterable[str]) -> dict[str, int]:
    """`feature=level` words as levels by name; of a repeated feature the last one counts.

    Errors: ConfigError in Kafka's words.
    """
    levels = {}
    for text in texts:
        name, equals, number = text.partition("=")
        if not equals:
            raise ConfigError(f"Can't parse feature=level string {text}: equals sign not found.")
        level = java_int(number.strip(), 16)
        if level is None:
            raise ConfigError(f"Can't parse feature=level string {text}: unable to parse {number.strip()} as a short.")
        levels[name.strip()] = level
    return levels


def effective_metadata_version(release: int | None, asked: Mapping[str, int], *, unstable: bool) -> int:
    """The metadata.version of a new cluster: the requested release or feature level, else the newest.

    Errors: StorageError and ConfigError in Kafka's words.
    """
    if METADATA_VERSION in asked:
        if release is not None:
            raise StorageError("Use --release-version instead of --feature metadata.version=X to avoid ambiguity.")
        return _known_stable(asked[METADATA_VERSION], unstable=unstable)
    if release is not None:
        return release
    return NEWEST_TESTING_LEVEL if unstable else NEWEST_RELEASE_LEVEL


def _known_stable(level: int, *, unstable: bool) -> int:
    if not OLDEST_RELEASE_LEVEL <= level <= NEWEST_TESTING_LEVEL:
        raise ConfigError(
            f"No MetadataVersion with feature level {level}. "
            f"Valid feature levels are from {OLDEST_RELEASE_LEVEL} to {NEWEST_TESTING_LEVEL}."
        )
    if level > NEWEST_RELEASE_LEVEL and not unstable:
        raise StorageError(f"metadata.version {metadata_version_name(level)} is not yet stable.")
    return level


def effective_levels(metadata_version: int, asked: Mapping[str, int], *, dynamic_quorum: bool) -> dict[str, int]:
    """The level of every feature in a new cluster by name, including metadata.version.

    Errors: StorageError and ConfigError in Kafka's words.
    """
    for name in sorted(asked):
        if name not in FEATURES and name != METADATA_VERSION:
            raise StorageError(f"Unsupported feature: {name}. Supported features are: {', '.join(sorted(FEATURES))}", name, FEATURES)
    levels = {METADATA_VERSION: metadata_version}
    for name in FEATURES:
        if name == KRAFT_VERSION:
            levels[name] = _kraft_version(asked.get(name), dynamic_quorum=dynamic_quorum)
        else:
            levels[name] = asked.get(name, default_level(name, metadata_version))
    for name in sorted(FEATURES):
        _check_level(name, levels[name], metadata_version)
    return levels


def _kraft_version(asked: int | None, *, dynamic_quorum: bool) -> int:
    flags = "one of the flags --standalone, --initial-controllers, or --no-initial-controllers is used"
    if asked is None:
        return 1 if dynamic_quorum else 0
    if asked == 0 and dynamic_quorum:
        raise StorageError(
            f"Cannot set kraft.version to 0 if controller.quorum.voters is empty and {flags}. "
            "For dynamic controllers support, try removing the --feature flag for kraft.version."
        )
    if asked != 0 and not dynamic_quorum:
        raise StorageError(
            f"Cannot set kraft.version to {asked} unless controller.quorum.voters is empty and {flags}. "
            "For dynamic controllers support, try using one of --standalone, --initial-controllers, or "
            "--no-initial-controllers and removing controller.quorum.voters."
        )
    return asked


def _check_level(name: str, level: int, metadata_version: int) -> None:
    if not 0 <= level < len(FEATURES[name]):
        raise ConfigError(f"No feature:{name} with feature level {level}")
    needs = FEATURES[name][level].needs
    if metadata_version < needs:
        raise ConfigError(f"{name} could not be set to {level} because it depends on {METADATA_VERSION} level {needs}")


def check_scram_allowed(metadata_version: int) -> None:
    """Refuse SCRAM records that the metadata.version does not know. Errors: StorageError."""
    if metadata_version < SCRAM_LEVEL:
        raise StorageError(f"SCRAM is only supported in metadata.version {metadata_version_name(SCRAM_LEVEL)} or later.")


class Dependencies(NamedTuple):
    """A feature's level and the other levels that it needs, by feature."""

    feature: str
    level: int
    needs: dict[str, int]


def dependencies(text: str) -> Dependencies:
    """The dependencies of the level in a `feature=level` word.

    Errors: StorageError in Kafka's words.
    """
    name, equals, number = text.partition("=")
    if not equals or "=" in number:
        raise StorageError(f"Invalid feature format: {text}. Expected format: 'feature=version' (e.g. 'group.version=1')")
    level = java_int(number, 16)
    if level is None:
        raise StorageError(f"Invalid version format: {number} for feature {name}")
    if name == METADATA_VERSION:
        if not OLDEST_RELEASE_LEVEL <= level <= NEWEST_TESTING_LEVEL:
            raise StorageError(f"Unknown metadata.version {level}")
        return Dependencies(name, level, {})
    if name not in FEATURES:
        raise StorageError(f"Unknown feature: {name}", name, (*FEATURES, METADATA_VERSION))
    if not 0 <= level < len(FEATURES[name]):
        raise StorageError(f"No feature:{name} with feature level {level}")
    needs = FEATURES[name][level].needs
    return Dependencies(name, level, {METADATA_VERSION: needs} if needs else {})


_KRAFT_VERSION_MAX = 1
_FOOTER = ((SNAPSHOT_FOOTER, SnapshotFooterRecord(version=0)),)


def first_checkpoint(header_ms: int, now_ms: int, controls: Sequence[tuple[int, Any]], records: Sequence[Any]) -> bytes:
    """A checkpoint before offset 0, with control records and the records that the first leader writes into the log.

    Units: `header_ms` is the last contained timestamp in its header, in Unix ms.
    """
    head = [(SNAPSHOT_HEADER, SnapshotHeaderRecord(version=0, last_contained_log_timestamp=header_ms)), *controls]
    data = [Record(offset, now_ms, None, write_metadata_record(body, 0)) for offset, body in enumerate(records, len(head))]
    return (
        write_control_bodies(0, head, now_ms, leader_epoch=0)
        + (write_batch(len(head), data, leader_epoch=0) if data else b"")
        + write_control_bodies(len(head) + len(data), _FOOTER, now_ms, leader_epoch=0)
    )


def quorum_controls(kraft_version: int, voters: Sequence[Voter], listener: str) -> list[tuple[int, Any]]:
    """The control records with a quorum's first voters; none for a static quorum."""
    if not kraft_version:
        return []
    found: list[tuple[int, Any]] = [(KRAFT_VERSION_RECORD, KRaftVersionRecord(version=0, k_raft_version=kraft_version))]
    return [*found, (KRAFT_VOTERS, _voters_record(voters, listener))] if voters else found


def _voters_record(voters: Sequence[Voter], listener: str) -> VotersRecord:
    return VotersRecord(
        version=0,
        voters=tuple(
            VotersRecord.Voter(
                voter_id=voter.node_id,
                voter_directory_id=voter.directory_id,
                endpoints=(VotersRecord.Endpoint(name=listener, host=voter.host, port=voter.port),),
                k_raft_version_feature=VotersRecord.KRaftVersionFeature(min_supported_version=0, max_supported_version=_KRAFT_VERSION_MAX),
            )
            for voter in voters
        ),
    )


class Voter(NamedTuple):
    """A member of the first quorum; `host` has its stored form, in which addresses are as Java prints them."""

    node_id: int
    host: str
    port: int
    directory_id: bytes

    @property
    def text(self) -> str:
        """The form on a command line, with brackets around hosts that have colons."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.node_id}@{host}:{self.port}:{uuid_text(self.directory_id)}"


def parse_voters(text: str) -> tuple[Voter, ...]:
    """The voters of a list, sorted by id.

    Errors: ConfigError in Kafka's words.
    """
    voters: dict[int, Voter] = {}
    for part in text.split(","):
        entry = part.strip(JAVA_BLANKS)
        if not entry:
            continue
        voter = _parse_voter(entry)
        if voter.node_id in voters:
            raise ConfigError(f"Node id {voter.node_id} was specified more than once.")
        voters[voter.node_id] = voter
    if not voters:
        raise ConfigError("No voters given.")
    return tuple(voters[node_id] for node_id in sorted(voters))


def _parse_voter(entry: str) -> Voter:
    id_text, at, rest = entry.partition("@")
    if not at:
        raise ConfigError("No @ found in dynamic voter string.")
    if not id_text:
        raise ConfigError("Invalid @ at beginning of dynamic voter string.")
    node_id = _voter_number(id_text, "Failed to parse node id in dynamic voter string.")
    if node_id < 0:
        raise ConfigError(f"Invalid negative node id {node_id} in dynamic voter string.")
    if not rest:
        raise ConfigError("No hostname found after node id.")
    host, rest = _split_host(rest)
    if not rest.startswith(":"):
        raise ConfigError("Port section must start with a colon.")
    port_text, colon, directory = rest[1:].partition(":")
    if not colon:
        raise ConfigError("No colon following port could be found.")
    port = _voter_number(port_text, "Failed to parse port in dynamic voter string.")
    if not 0 <= port <= 0xFFFF:
        raise ConfigError(f"Invalid port {port} in dynamic voter string.")
    try:
        directory_id = uuid_from_text(directory)
    except ValueError:
        raise ConfigError("Failed to parse directory ID in dynamic voter string.") from None
    return Voter(node_id, stored_host(host), port, directory_id)


def _split_host(rest: str) -> tuple[str, str]:
    """The host, without brackets, and the text after it."""
    if rest.startswith("["):
        host, bracket, after = rest[1:].partition("]")
        if not bracket:
            raise ConfigError("Hostname began with left bracket, but no right bracket was found.")
        return host, after
    host, colon, after = rest.partition(":")
    if not colon:
        raise ConfigError("No colon following hostname could be found.")
    return host, colon + after


def _voter_number(text: str, complaint: str) -> int:
    number = java_int(text)
    if number is None:
        raise ConfigError(complaint)
    return number


def stored_host(host: str) -> str:
    """A host as Kafka stores it: a name unchanged, an address as Java prints it (`::1` is `0:0:0:0:0:0:0:1`, `127.1` is `127.0.0.1`)."""
    if not host:
        return "localhost"
    if ":" not in host:
        return _ipv4_text(host) or host
    from ipaddress import AddressValueError, IPv4Address, IPv6Address

    try:
        address = IPv6Address(host)
    except AddressValueError:
        return host
    mapped = address.ipv4_mapped
    if mapped is not None:
        return str(IPv4Address(mapped))
    return ":".join(f"{int(group, 16):x}" for group in address.exploded.split(":"))


def _ipv4_text(host: str) -> str | None:
    """The dotted form of an IPv4 address of one to four numbers, of which the last fills the remaining bytes; None for a name."""
    parts = host.split(".")
    if len(parts) > 4 or not all(part.isascii() and part.isdigit() and len(part) <= 10 for part in parts):
        return None
    *head, last = map(int, parts)
    left = 4 - len(head)
    if any(number > 255 for number in head) or last >= 1 << 8 * left:
        return None
    return ".".join(map(str, [*head, *last.to_bytes(left, "big")]))


_MECHANISMS: Final = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}
_KEYS: Final = ("name", "password", "salt", "saltedpassword", "iterations")
_ITERATIONS_MIN, _ITERATIONS_MAX = 4096, 16384


def parse_scram(text: str, make_salt: Callable[[], bytes]) -> UserScramCredentialRecord:
    """The UserScramCredentialRecord for an --add-scram word.

    Shape: `make_salt` gives a fresh salt for a credential without one.
    Errors: StorageError, in Kafka's words without possible secrets.
    """
    mechanism, equals, config = text.strip(JAVA_BLANKS).partition("=")
    if not equals:
        raise StorageError("Failed to find equals sign in SCRAM argument")
    if mechanism not in _MECHANISMS:
        shown = mechanism if re.fullmatch(r"[A-Z0-9-]{1,32}", mechanism) else "[hidden]"
        raise StorageError(f"The add-scram mechanism {shown} is not supported.")
    number, algorithm = _MECHANISMS[mechanism]
    settings = _settings(config)
    name = settings.pop("name", None)
    if name is None:
        raise StorageError("You must supply 'name' to add-scram")
    salt_given = "salt" in settings
    salt = _base64(settings.pop("salt"), "salt") if salt_given else make_salt()
    iterations = _iterations(settings.pop("iterations", str(_ITERATIONS_MIN)))
    salted = _salted_password(settings, algorithm, salt, iterations, salt_given=salt_given)
    if settings:
        raise StorageError(f"Unknown SCRAM configurations ({len(settings)}); known are {', '.join(_KEYS)}")
    _check_iterations(iterations, mechanism.replace("-", "_"))
    stored_key, server_key = scram_keys(algorithm, salted)
    return UserScramCredentialRecord(
        name=name, mechanism=number, salt=salt, stored_key=stored_key, server_key=server_key, iterations=iterations
    )


def _settings(config: str) -> dict[str, str]:
    if not config.startswith("["):
        raise StorageError("Expected configuration string to start with [")
    if not config.endswith("]"):
        raise StorageError("Expected configuration string to end with ]")
    settings = {}
    parts = config[1:-1].split(",")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    for index, part in enumerate(parts, 1):
        key, equals, value = part.partition("=")
        if not equals:
            raise StorageError(f"No equals sign found in SCRAM component: number {index} (a comma cannot be part of a value)")
        quoted = len(value) >= 2 and value[0] == value[-1] == '"'
        settings[key] = value[1:-1] if quoted else value
    return settings


def _base64(text: str, what: str) -> bytes:
    try:
        return b64decode(text + "=" * (-len(text) % 4 if "=" not in text else 0), validate=True)
    except (Base64Error, ValueError):
        raise StorageError(f"Failed to decode given {what}") from None


def _iterations(text: str) -> int:
    iterations = java_int(text)
    if iterations is None:
        raise StorageError("Failed to parse iterations count")
    return iterations


def _salted_password(settings: dict[str, str], algorithm: str, salt: bytes, iterations: int, *, salt_given: bool) -> bytes:
    # Imported late: it loads OpenSSL, and only a format with --add-scram hashes a password.
    import hashlib

    password = settings.pop("password", None)
    salted = settings.pop("saltedpassword", None)
    if password == "":
        raise StorageError("Empty key: the password is empty")
    if password is not None:
        # If both are given, Kafka ignores the salted password.
        return hashlib.pbkdf2_hmac(algorithm, password.encode(), salt, max(1, min(iterations, _ITERATIONS_MAX)))
    if salted is None:
        raise StorageError("You must supply one of 'password' or 'saltedpassword' to add-scram")
    if not salt_given:
        raise StorageError("You must supply 'salt' with 'saltedpassword' to add-scram")
    return _base64(salted, "saltedPassword")


def _check_iterations(iterations: int, mechanism: str) -> None:
    if iterations < _ITERATIONS_MIN:
        raise StorageError(f"The 'iterations' value must be >= {_ITERATIONS_MIN} for add-scram using {mechanism}")
    if iterations > _ITERATIONS_MAX:
        raise StorageError(f"The 'iterations' value must be <= {_ITERATIONS_MAX} for add-scram using {mechanism}")
