"""Properties files: Java's format, and `meta.properties`, which names the cluster and node of a log directory.

A directory with a meta.properties is formatted. `Ensemble` groups the log directories of one node: formatted, empty, or unreadable.

`AcknowledgedFile` is the proof that a node has acknowledged records: the file `acknowledged` beside meta.properties. Who loses the metadata
directory, or gets an older copy of it back, has forgotten its votes and its records, and does not know that: an empty log and no
quorum-state are what a new node has. Elected by its vote, a leader may lack what was committed. So a lower bound of what this directory id
has done is kept outside of it:

- `epoch`: it has voted or acknowledged in no later epoch. It is exact: each epoch is on disk here, too, before any message of it leaves
  (`reach_epoch`, after the write of quorum-state). So it is never ahead of a sound quorum-state.
- `hasRecords`: it has said that it has records. It is on disk before the first such message (`reach_end`).
- `offset`: all before it was committed, and is in this log. No leader may ever truncate that, whoever ran on the directory.

A loss is certain where the log is empty and has had records, where it ends before `offset`, or where quorum-state is of an epoch before
`epoch` (`find_loss`). A healthy log is never taken for one that lost something. Not after Kafka has run on the directory, which ignores the
file: epochs and committed offsets only grow. Not after a truncation: what a leader cuts was not committed. One case is not certain, and
counts as a loss: the log is empty because a leader has cut all of it, which is possible only while nothing was ever committed here. When we
run, `hasRecords` is taken back before such a cut.

How often it is written: once an epoch, once for the first record, and then when the committed offset has doubled or grown by
`OFFSET_STEP`, at the end, and at most once a minute. Each is a file that is replaced, with two syncs. Nobody waits for an offset.

Shape: one line of JSON, for one directory id. Of another id, it speaks of a former life of the directory, and says nothing.

Source: java.util.Properties; org.apache.kafka.metadata.properties.MetaPropertiesEnsemble."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from metashell.common.errors import ConfigError, LogCorruptError
from metashell.common.values import ZERO_UUID, uuid_from_text, uuid_text
from metashell.disk.file_system import ASIDE_SUFFIX, Disk, replace_file
from metashell.disk.names import ACKNOWLEDGED, META_PROPERTIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")

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


def read_json_file(path: str, parse: "Callable[[dict[str, Any]], T]") -> "T | None":
    """What `parse` makes of the JSON object in a small file, None without the file.

    Errors: OSError; LogCorruptError for other content, and where `parse` raises ValueError.
    """
    try:
        data = read_text_file(path)
    except FileNotFoundError:
        return None
    try:
        return parse(json_object(data))
    except ValueError as error:
        raise LogCorruptError(path, 0, str(error)) from error


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


OFFSET_STEP: Final = 1024
_PROOF_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What a directory id has done at least; see the module."""

    directory_id: bytes
    epoch: int = 0
    offset: int = 0
    has_records: bool = False


def read_acknowledged(log_directory: str) -> Acknowledged | None:
    """The proof in a log directory; None without one. Errors: LogCorruptError for one that cannot be read; OSError."""
    return read_json_file(os.path.join(log_directory, ACKNOWLEDGED), _acknowledged_of)


def _acknowledged_of(fields: dict[str, Any]) -> Acknowledged:
    version, epoch, offset, has_records = (fields.get(name) for name in ("version", "epoch", "offset", "hasRecords"))
    if version != _PROOF_VERSION or type(epoch) is not int or type(offset) is not int or type(has_records) is not bool:
        raise ValueError(f"is no proof of version {_PROOF_VERSION}")
    return Acknowledged(uuid_from_text(str(fields.get("directoryId"))), epoch, offset, has_records)


def write_acknowledged(disk: Disk, log_directory: str, proof: Acknowledged) -> None:
    """Replace the proof; durable on return."""
    fields = {
        "version": _PROOF_VERSION,
        "directoryId": uuid_text(proof.directory_id),
        "epoch": proof.epoch,
        "offset": proof.offset,
        "hasRecords": proof.has_records,
    }
    replace_file(disk, os.path.join(log_directory, ACKNOWLEDGED), json.dumps(fields, separators=(",", ":")).encode() + b"\n")


def directory_id_of(log_directory: str) -> bytes | None:
    """The id of a formatted directory; None where meta.properties does not name one."""
    try:
        found = read_meta_properties(os.path.join(log_directory, META_PROPERTIES)).directory_id
    except (OSError, LogCorruptError):
        return None
    return None if found == ZERO_UUID else found


def find_loss(proof: Acknowledged, end_offset: int, last_epoch: int, quorum_epoch: int | None) -> str | None:
    """The reason why a log that ends so has lost something; None if nothing shows that.

    `last_epoch` is that of its last batch or snapshot, `quorum_epoch` that of quorum-state, None without a readable one.
    """
    if end_offset == 0 and proof.has_records:
        return f"the metadata log is empty; {ACKNOWLEDGED} says that this directory has acknowledged records, up to epoch {proof.epoch}"
    if end_offset == 0 and quorum_epoch is None and proof.epoch > 0:
        return f"quorum-state and the metadata log are gone; {ACKNOWLEDGED} says that this directory took part in epoch {proof.epoch}"
    if end_offset < proof.offset:
        return f"the log ends at offset {end_offset}; {ACKNOWLEDGED} says that it had all before offset {proof.offset}, which is committed"
    if quorum_epoch is not None and last_epoch <= quorum_epoch < proof.epoch:
        return f"quorum-state is of epoch {quorum_epoch}; {ACKNOWLEDGED} says that this directory took part in epoch {proof.epoch}"
    return None


class AcknowledgedFile:
    """The proof of a directory that is in use. Any thread may call it. Errors of all writes: OSError, after which the caller stops.

    `found` is the proof as the start found it, None for none or another id's; `trouble` says why there was one that cannot be read. Of a
    directory without an id nothing is written.
    """

    def __init__(self, disk: Disk, log_directory: str, directory_id: bytes | None) -> None:
        self._disk = disk
        self._log_directory = log_directory
        self._has_id = directory_id is not None
        self._lock = Lock()
        self.trouble = ""
        found: Acknowledged | None = None
        try:
            found = read_acknowledged(log_directory) if self._has_id else None
        except LogCorruptError as error:
            self.trouble = error.reason
        self.found = found if found is not None and found.directory_id == directory_id else None
        self._known = self.found or Acknowledged(directory_id or ZERO_UUID)
        self._is_on_disk = self.found is not None
        self._committed = self._known.offset

    @property
    def epoch(self) -> int:
        return self._known.epoch

    def find_loss(self, end_offset: int, last_epoch: int, quorum_epoch: int | None) -> str | None:
        """As the function; a proof that cannot be read is one of an empty log."""
        if self.trouble and end_offset == 0:
            return f"the metadata log is empty, and {ACKNOWLEDGED} cannot be read: {self.trouble}"
        return None if self.found is None else find_loss(self.found, end_offset, last_epoch, quorum_epoch)

    def begin(self, epoch: int, offset: int, end_offset: int, *, is_reset: bool) -> None:
        """Take in what the start has found: the epoch, an offset that is committed, and where the log ends.

        With `is_reset` that is all there is: what is missing was accepted as lost.
        """
        known = Acknowledged(self._known.directory_id, self._known.epoch) if is_reset else self._known
        self._committed = max(known.offset, offset)
        self._write(
            replace(
                known,
                epoch=max(known.epoch, epoch),
                offset=max(known.offset, offset),
                has_records=known.has_records or end_offset > 0,
            )
        )

    def reach_epoch(self, epoch: int) -> None:
        """An epoch is in quorum-state; durable on return."""
        if epoch > self._known.epoch:
            self._write(epoch=epoch)

    def reach_end(self, end_offset: int) -> None:
        """The log is durable up to an offset, and others are about to hear that; durable on return, the first time."""
        if end_offset > 0 and not self._known.has_records:
            self._write(has_records=True)
        elif self._committed >= min(2 * self._known.offset, self._known.offset + OFFSET_STEP) and self._committed > self._known.offset:
            self._write()

    def note_committed(self, offset: int) -> None:
        """All before an offset is committed and in this log. It is written with a flush that finds it far enough, and now and then."""
        if offset > self._committed:
            self._committed = offset

    def write_committed(self) -> None:
        """Write the committed offset, if it has grown."""
        if self._committed > self._known.offset:
            self._write()

    def empty(self) -> None:
        """A leader is about to cut all of a log that had lost nothing: it was never committed. Durable on return."""
        if self._known.has_records and not self._known.offset:
            self._write(has_records=False)

    def _write(self, proof: Acknowledged | None = None, *, epoch: int = 0, has_records: bool | None = None) -> None:
        with self._lock:
            known = self._known if proof is None else proof
            new = replace(
                known,
                epoch=max(known.epoch, epoch),
                offset=max(known.offset, min(self._committed, 1 << 62) if proof is None else known.offset),
                has_records=known.has_records if has_records is None else has_records,
            )
            if self._has_id and (new != self._known or not self._is_on_disk):
                write_acknowledged(self._disk, self._log_directory, new)
            self._known = new
            self._is_on_disk = True
