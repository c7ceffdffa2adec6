"""Properties files: Java's format, and `meta.properties`, which names the cluster and node of a log directory.

A directory with a meta.properties is formatted. `Ensemble` groups the log directories of one node: formatted, empty, or unreadable.
Source: java.util.Properties; org.apache.kafka.metadata.properties.MetaPropertiesEnsemble."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.codec.java import string_hash_order
from metashell.common.errors import ConfigError, LogCorruptError
from metashell.common.values import uuid_from_text, uuid_text
from metashell.disk.names import META_PROPERTIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_KEY = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.|$)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "": ""}


def parse_properties(data: bytes) -> dict[str, str]:
    """The keys and values in a properties file; the last value of a repeated key counts.

    Shape: ISO 8859-1 with \\uXXXX escapes, `#` and `!` comments, lines continued by a backslash at their end.
    Errors: ValueError for a \\u without four hexadecimal digits.
    Source: java.util.Properties.load.
    """
    values = {}
    for line in _logical_lines(data.decode("latin-1")):
        match = _KEY.fullmatch(line)
        assert match is not None
        values[_unescape(match[1])] = _unescape(match[2])
    return values


def _logical_lines(text: str) -> Iterator[str]:
    """The lines without leading blanks and comments; continued lines are joined."""
    if text.endswith(("\r", "\n")) and not text.endswith("\r\n"):
        text = text[:-1]  # for Java, a line end after the last line makes no difference
    pending = ""
    goes_on = False
    for natural in _LINE_END.split(text):
        line = natural.lstrip(_BLANKS)
        goes_on = False
        if not pending and (not line or line[0] in "#!"):
            continue
        line = pending + line
        goes_on = _ends_in_odd_backslashes(line)
        pending = line[:-1] if goes_on else ""
        if line and not goes_on:
            yield line
    if goes_on:  # the file ends in a backslash: Java returns that line even if it is otherwise empty
        yield pending


def _ends_in_odd_backslashes(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    if len(escape) == 5:
        return chr(int(escape[1:], 16))
    if escape == "u":
        raise ValueError("malformed \\uxxxx encoding")
    return _CONTROLS.get(escape, escape)


_WRITTEN_ESCAPES = str.maketrans(
    {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f", "=": "\\=", ":": "\\:", "#": "\\#", "!": "\\!"}
)


def format_properties(values: Mapping[str, str], *, date: str) -> bytes:
    """The bytes of a properties file: an empty comment, one with the date, then the values in the given order.

    Shape: UTF-8; only characters with a meaning are escaped, as java.util.Properties.store does with a writer. Readers decode the bytes as
    ISO 8859-1, so other characters than ASCII change: Kafka's files do the same.
    """
    lines = ["#", f"#{date}", *(f"{_escaped(key, True)}={_escaped(value, False)}" for key, value in values.items())]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def _escaped(text: str, is_key: bool) -> str:
    escaped = text.translate(_WRITTEN_ESCAPES)
    if is_key:
        return escaped.replace(" ", "\\ ")
    return f"\\{escaped}" if escaped.startswith(" ") else escaped


SIZE_MAX = 16 * 1024 * 1024
"""No such file is larger: the largest one has a line for each partition of a broker."""


def read_text_file(path: str) -> bytes:
    """All of a small file.

    Errors: OSError; LogCorruptError for a file that is too large to be one of these.
    """
    with open(path, "rb") as file:
        data = file.read(SIZE_MAX + 1)
    if len(data) > SIZE_MAX:
        raise LogCorruptError(path, SIZE_MAX, f"is larger than {SIZE_MAX} bytes")
    return data


def json_object(data: bytes, *, ignores_rest: bool = False) -> dict[str, Any]:
    """The JSON object in a small file; with `ignores_rest`, anything may follow it, as in Kafka's own readers.

    Errors: ValueError with a message of one line.
    """
    import json

    try:
        value = json.JSONDecoder().raw_decode(data.decode("utf-8", "replace").lstrip())[0] if ignores_rest else json.loads(data)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        text = error.doc.rstrip()
        raise ValueError(
            ("the JSON is cut off" if text else "the file is empty") if error.pos >= len(text) else f"no JSON from character {error.pos} on"
        ) from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


NEWEST_VERSION = 1
_NUMBER = re.compile(r"[+-]?[0-9]{1,10}")


class MetaProperties(NamedTuple):
    """The content of the file. `directory_id` came with 3.7, so it may be absent; version 0 may lack all other fields too."""

    version: int
    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: bytes | None = None

    def as_properties(self) -> dict[str, str]:
        """The keys and values in the file; version 0 calls the node a broker."""
        values = {
            "version": str(self.version),
            "cluster.id": self.cluster_id,
            "node.id" if self.version else "broker.id": None if self.node_id is None else str(self.node_id),
            "directory.id": None if self.directory_id is None else uuid_text(self.directory_id),
        }
        return {key: value for key, value in values.items() if value is not None}


def read_meta_properties(path: str) -> MetaProperties:
    """The meta.properties at `path`.

    Errors: FileNotFoundError; LogCorruptError for an invalid version, id or uuid.
    Source: org.apache.kafka.metadata.properties.MetaProperties; version 0 wrote `broker.id`.
    """
    data = read_text_file(path)
    try:
        return meta_properties_of(parse_properties(data))
    except ValueError as error:
        raise LogCorruptError(path, 0, str(error)) from error


def meta_properties_of(values: Mapping[str, str]) -> MetaProperties:
    """The content of a meta.properties from its parsed properties.

    Errors: ValueError in Kafka's words.
    """
    version = _version(values.get("version", "0"))
    cluster_id = values.get("cluster.id")
    node_id = _integer(values, "node.id" if version else "broker.id")
    directory_id = _uuid(values.get("directory.id"))
    if version and cluster_id is None:
        raise ValueError("cluster.id was not found.")
    return MetaProperties(version=version, cluster_id=cluster_id, node_id=node_id, directory_id=directory_id)


def format_meta_properties(meta: MetaProperties, *, date: str) -> bytes:
    """The bytes of a meta.properties with that date (such as `Fri Nov 20 12:25:32 UTC 2026`)."""
    return format_properties(meta.as_properties(), date=date)


def _version(text: str) -> int:
    if not _NUMBER.fullmatch(text) or abs(int(text)) >= 1 << 31:
        raise ValueError(f"Invalid meta.properties version string '{text}'")
    if not 0 <= int(text) <= NEWEST_VERSION:
        raise ValueError(f"Unknown meta.properties version number {int(text)}")
    return int(text)


def _integer(values: Mapping[str, str], key: str) -> int | None:
    text = values.get(key)
    if text is None:
        if key == "node.id":
            raise ValueError("Failed to find node.id")
        return None
    if not _NUMBER.fullmatch(text) or not -(1 << 31) <= int(text) < 1 << 31:
        raise ValueError(f"Unable to read {key} as a base-10 number.")
    return int(text)


def _uuid(text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        return uuid_from_text(text)
    except ValueError as error:
        raise ValueError(f"Unable to read directory.id as a Uuid: {error}") from None


ASIDE_SUFFIX: Final = ".tmp"
"""The suffix of a file before it is complete and on disk."""
PREPARED: Final = META_PROPERTIES + ASIDE_SUFFIX
_RESERVED_IDS = 100


class Ensemble:
    """Directories by class; `errors` has the reasons, `prepared` the meta.properties that an interrupted format had ready."""

    def __init__(self) -> None:
        self.formatted: dict[str, MetaProperties] = {}
        self.empty: list[str] = []
        self.errors: dict[str, str] = {}
        self.prepared: dict[str, MetaProperties] = {}

    def is_unfinished(self, cluster_id: str, node_id: int) -> bool:
        """Whether a format of this node was interrupted after its first directory and before its last.

        Then every directory that is not formatted has the prepared file of the same run.
        """
        expected = (cluster_id, node_id)
        return bool(
            self.formatted
            and self.empty
            and all(path in self.prepared for path in self.empty)
            and all((m.cluster_id, m.node_id) == expected for m in (*self.formatted.values(), *self.prepared.values()))
        )


def load_ensemble(directories: "Iterable[str]") -> Ensemble:
    """Read the directories, each once; missing ones count as empty."""
    found = Ensemble()
    for path in directories:
        match read_meta(path):
            case None:
                found.empty.append(path)
                if isinstance(prepared := read_meta(path, PREPARED), MetaProperties):
                    found.prepared[path] = prepared
            case str(reason):
                found.errors[path] = reason
            case meta:
                found.formatted[path] = meta
    return found


def read_meta(path: str, name: str = META_PROPERTIES) -> MetaProperties | str | None:
    """The meta.properties of a directory; None if it has none, the reason if it cannot be read."""
    try:
        return read_meta_properties(os.path.join(path, name))
    except FileNotFoundError:
        return None
    except LogCorruptError as error:
        return error.reason
    except OSError as error:
        return error.strerror or str(error)


def verify_ensemble(ensemble: Ensemble, cluster_id: str, node_id: int) -> None:
    """Check that the formatted directories belong to the node and to the same cluster.

    Errors: ConfigError in Kafka's words.
    """
    seen: dict[bytes, str] = {}
    for path in sorted(ensemble.formatted):
        meta = ensemble.formatted[path]
        _verify_ids(os.path.join(path, META_PROPERTIES), meta, cluster_id, node_id)
        if meta.directory_id is not None:
            _verify_directory_id(path, meta.directory_id, seen)


def _verify_ids(file: str, meta: MetaProperties, cluster_id: str, node_id: int) -> None:
    if meta.cluster_id is not None and meta.cluster_id != cluster_id:
        raise ConfigError(f"Invalid cluster.id in: {file}. Expected {cluster_id}, but read {meta.cluster_id}")
    if meta.node_id is not None and meta.node_id != node_id:
        raise ConfigError(
            f"Stored node id {meta.node_id} doesn't match previous node id {node_id} in {file}. If you moved your data, make sure your "
            "configured node id matches. If you intend to create a new node, you should remove all data in your data directories."
        )


def _verify_directory_id(path: str, directory_id: bytes, seen: dict[bytes, str]) -> None:
    text = uuid_text(directory_id)
    if int.from_bytes(directory_id, "big") < _RESERVED_IDS:
        raise ConfigError(f"Invalid reserved directory ID {text} found in {path}")
    if directory_id in seen:
        raise ConfigError(f"Duplicate directory ID Optional[{text}] found. It was the ID of {seen[directory_id]}, but also of {path}")
    seen[directory_id] = path


def in_hash_order(paths: "Sequence[str]") -> list[str]:
    """The paths in the order of a Java HashMap, which is the order of Kafka's own output."""
    return list(string_hash_order(paths))
