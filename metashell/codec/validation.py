"""Kafka's checks of input from operators and clients: settings, topic names, hosts of ACLs, client software names, SCRAM passwords.

Settings: the types and checks of ConfigDef, the parsing of values, and the check of a value. The definitions of the settings are data of
the callers (`disk`, `quorum.controller`), generated from Kafka's own; errors have Kafka's words.

The host of an ACL is `*`, one address as text, or, from metadata.version 4.4-IV1 on, a range of addresses (CIDR).

Source: org.apache.kafka.common.config.ConfigDef; org.apache.kafka.common.internals.Topic.validate;
org.apache.kafka.server.authorizer.internals.CidrUtils, which reads ranges with SubnetUtils and SubnetUtils6 of commons-net;
org.apache.kafka.common.requests.ApiVersionsRequest.isValid; KIP-511; RFC 5802."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol, assert_never

from metashell.codec.codes import ConfigType
from metashell.codec.java import JAVA_BLANKS, is_same_in_any_case, java_float, java_int, java_text
from metashell.common.errors import MetashellError

Value = str | int | float | bool | tuple[str, ...] | None

REQUIRED: Final = "(required)"
NULL: Final = "(null)"
"""The marks in the data for a setting without a default, and for one that is null by default."""
_COMMA = re.compile(r"[ \t\n\x0b\f\r]*,[ \t\n\x0b\f\r]*")
_BITS: Final = {"SHORT": 16, "INT": 32, "LONG": 64}
_DURATION = re.compile(r"-?P(?=.)(-?\d+D)?(T(?=.)(-?\d+H)?(-?\d+M)?(-?\d+(\.\d{0,9})?S)?)?", re.IGNORECASE)


class Definition(Protocol):
    """A setting: `check` is the name of its validator with the validator's parameters, empty for none."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> ConfigType: ...
    @property
    def check(self) -> str: ...


class ConfigValueError(MetashellError):
    """A value that its setting does not allow, in Kafka's words."""


def parse_value(key: Definition, text: str) -> Value:
    """Parse `text` by the setting's type. Errors: ConfigValueError."""
    trimmed = text.strip(JAVA_BLANKS)
    match key.type:
        case "BOOLEAN":
            if not (is_same_in_any_case(trimmed, "true") or is_same_in_any_case(trimmed, "false")):
                raise invalid_value(key, text, "Expected value to be either true or false")
            return len(trimmed) == len("true")
        case "SHORT" | "INT" | "LONG" | "DOUBLE":
            number = java_float(trimmed) if key.type == "DOUBLE" else java_int(trimmed, _BITS[key.type])
            if number is None:
                raise invalid_value(key, text, f"Not a number of type {key.type}")
            return number
        case "LIST":
            words = tuple(_COMMA.split(trimmed)) if trimmed else ()
            # Lists that must not repeat a value lose their duplicates: Kafka logs a warning and goes on.
            return tuple(dict.fromkeys(words)) if key.check.startswith("ValidList") else words
        case "STRING" | "CLASS" | "PASSWORD":
            # Class names are not checked: a class may be anywhere on the server's class path.
            return trimmed
        case _:
            assert_never(key.type)


def invalid_value(key: Definition, value: object, why: str) -> ConfigValueError:
    """Kafka's sentence about a bad value; a password is never repeated."""
    shown = "[hidden]" if key.type == "PASSWORD" else java_text(value)
    return ConfigValueError(f"Invalid value {shown} for configuration {key.name}: {why}")


Check = Callable[[Definition, Value, Mapping[str, str]], None]


def check_value(key: Definition, value: Value, others: Mapping[str, Check] = {}) -> None:
    """Check a value by its setting's validator; `others` are validators that only the caller knows.

    Errors: ConfigValueError.
    """
    name, _, rest = key.check.partition(" ")
    if name:
        check = others[name] if name in others else _CHECKS[name]
        check(key, value, dict(word.split("=", 1) for word in rest.split(" ") if "=" in word))


def _check_range(key: Definition, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, int | float)
    low, high = settings["min"], settings["max"]
    if low != NULL and value < float(low):
        raise invalid_value(key, value, f"Value must be at least {low}")
    if high != NULL and value > float(high):
        raise invalid_value(key, value, f"Value must be no more than {high}")


def _check_one_of(key: Definition, value: Value, settings: Mapping[str, str]) -> None:
    known = settings["validStrings"].split(",")
    any_case = key.check.startswith("CaseInsensitive")
    if (str(value).upper() if any_case else value) not in known:
        raise invalid_value(key, value, f"String must be one of{' (case insensitive)' if any_case else ''}: {', '.join(known)}")


def _check_list(key: Definition, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, tuple)
    known = [word for word in settings["validStrings"].split(",") if word]
    if not value and settings["isEmptyAllowed"] != "true":
        valid = f"[{', '.join(known)}]" if known else "any non-empty value"
        raise ConfigValueError(f"Configuration '{key.name}' must not be empty. Valid values include: {valid}")
    for word in value:
        if not word:
            raise ConfigValueError(f"Configuration '{key.name}' values must not be empty.")
        if known and word not in known:
            raise invalid_value(key, word, f"String must be one of: {', '.join(known)}")


def _check_not_empty(key: Definition, value: Value, settings: Mapping[str, str]) -> None:
    if value == "":
        raise invalid_value(key, value, "String must be non-empty")


def _check_gzip_level(key: Definition, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, int)
    if value != -1 and not 1 <= value <= 9:
        raise invalid_value(key, value, "Value must be between 1 and 9 or equal to -1")


def no_check(key: Definition, value: Value, settings: Mapping[str, str]) -> None:
    """Accept any value: a value that is set is never null."""


def _check_throttled(key: Definition, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, tuple)
    if value and not (value[0].strip(JAVA_BLANKS) == "*" or all(re.fullmatch(r"[0-9]+:[0-9]+", word) for word in value)):
        form = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
        raise invalid_value(key, value, f"{key.name} must be the literal '*' or a list of replicas in the following format: {form}")


def _check_offset_reset(key: Definition, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, str)
    start, _, duration = value.partition(":")
    if value in ("earliest", "latest") or (start == "by_duration" and _is_duration(duration)):
        return
    form = "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
    raise invalid_value(key, value, f"Invalid value `{value}` for configuration {key.name}. {form}")


def _is_duration(text: str) -> bool:
    return _DURATION.fullmatch(text) is not None and not text.startswith("-") and any(letter.isdigit() for letter in text)


_CHECKS: Final[Mapping[str, Check]] = {
    "Range": _check_range,
    "ValidString": _check_one_of,
    "CaseInsensitiveValidString": _check_one_of,
    "ValidList": _check_list,
    "NonEmptyString": _check_not_empty,
    "LambdaValidator": _check_gzip_level,
    "NonNullValidator": no_check,
    "ThrottledReplicaListValidator": _check_throttled,
    "Validator": _check_offset_reset,
}


NAME_LENGTH_MAX: Final = 249
METADATA_TOPIC: Final = "__cluster_metadata"
_LEGAL = re.compile(r"[a-zA-Z0-9._-]*")


def topic_name_fault(name: str) -> str | None:
    """The reason why a topic cannot have this name; None if it can."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > NAME_LENGTH_MAX:
        return f"Topic name is invalid: the length of '{name}' is longer than the max allowed length {NAME_LENGTH_MAX}"
    if not _LEGAL.fullmatch(name):
        return f"Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None


ANY_HOST: Final = "*"
_V4: Final = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})", re.ASCII)
_LEADING_ZEROS: Final = re.compile(r"(?<![0-9A-Fa-f])0+(?=[0-9A-Fa-f])")
_MAPPED: Final = 0xFFFF
"""The bits above the lowest 32 of an IPv6 address that Java converts to IPv4 (`::ffff:10.0.0.1`)."""


class HostRange(NamedTuple):
    """The first and the last address of a range, as 32-bit numbers, or 128-bit numbers for IPv6."""

    first: int
    last: int
    is_v6: bool

    def holds(self, address: str) -> bool:
        """Whether an address is in the range. A zone is ignored; an address of the other family, or another text, is in no range.

        0.0.0.0 is in no range, because SubnetUtils leaves it out.
        """
        try:
            number = _v6_number(address) if self.is_v6 else _v4_number(address)
        except ValueError:
            return False
        return self.first <= number <= self.last and (self.is_v6 or number != 0)


def is_range(host: str) -> bool:
    """Whether a host has the form of a range. Releases before 4.4 compare it as plain text, so it matches no client there."""
    return "/" in host


@functools.lru_cache(maxsize=4096)
def parse_host_range(host: str) -> HostRange:
    """The range that a host names; the address in it may be any of the range. Errors: ValueError with Kafka's words."""
    if ":" in host:
        text, _, prefix = host.partition("/")
        length = java_int(prefix)
        if length is None:
            raise ValueError(f"Could not parse [{host}] - invalid prefix length")
        if not 0 <= length <= 128:
            raise ValueError(f"Could not parse [{host}] - prefix length must be between 0 and 128")
        return _range(_v6_number(text), 128 - length, is_v6=True)
    text, _, prefix = host.rpartition("/")
    if _V4.fullmatch(text) is None or not re.fullmatch(r"\d{1,2}", prefix, re.ASCII):
        raise ValueError(f"Could not parse [{host}]")
    return _range(_v4_number(text), 32 - _checked(int(prefix), 32), is_v6=False)


def host_matches(host: str, address: str) -> bool:
    """Whether the host of an ACL matches a client's address, which has the form of `java.host_address`."""
    if host in (ANY_HOST, address):
        return True
    if not is_range(host):
        return False
    try:
        return parse_host_range(host).holds(address)
    except ValueError:
        return False


def _range(number: int, bits: int, *, is_v6: bool) -> HostRange:
    first = number >> bits << bits
    return HostRange(first, first | (1 << bits) - 1, is_v6)


def _checked(value: int, highest: int) -> int:
    if value > highest:
        raise ValueError(f"Value [{value}] not in range [0,{highest}]")
    return value


def _v4_number(text: str) -> int:
    """Errors: ValueError."""
    found = _V4.fullmatch(text)
    if found is None:
        raise ValueError(f"Could not parse [{text}]")
    number = 0
    for part in found.groups():
        number = number << 8 | _checked(int(part), 255)
    return number


def _v6_number(text: str) -> int:
    """An IPv6 address, perhaps in brackets and with a zone; Java allows leading zeros in each part. Errors: ValueError."""
    # Imported late: this import takes longer than the rest of a start that only checks settings.
    from ipaddress import AddressValueError, IPv6Address

    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    address, percent, zone = bare.partition("%")
    try:
        number = int(IPv6Address(_LEADING_ZEROS.sub("", address)))
    except AddressValueError:
        raise ValueError(f"Could not parse [{text}]") from None
    if number >> 32 == _MAPPED:
        raise ValueError(f"Could not parse [{text}] - not an IPv6 address")
    if percent and not zone:
        raise ValueError(f"Could not parse [{text}]")
    return number


_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")
_SOFTWARE_SINCE: Final = 3
_NODE_SINCE: Final = 5
_NO_NODE: Final = -1


def is_valid_api_versions(request: Any, version: int) -> bool:
    """Whether a request names its client's software as KIP-511 requires, and, from version 5 on, both cluster and node or neither."""
    if version >= _SOFTWARE_SINCE:
        names = request.client_software_name, request.client_software_version
        if not all(_SOFTWARE.fullmatch(name) for name in names):
            return False
    return version < _NODE_SINCE or (request.cluster_id is None) == (request.node_id == _NO_NODE)


def scram_keys(algorithm: str, salted_password: bytes) -> tuple[bytes, bytes]:
    """The stored key and the server key of a salted password. `algorithm` is sha256 or sha512."""
    # Imported late: it loads OpenSSL, and most starts hash no password.
    import hashlib
    import hmac

    client_key = hmac.digest(salted_password, b"Client Key", algorithm)
    return hashlib.new(algorithm, client_key).digest(), hmac.digest(salted_password, b"Server Key", algorithm)
