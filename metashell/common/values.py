"""Small value types and text forms that every layer shares: ids, uuids, times and sizes.

Uuids are 16 raw bytes everywhere. One bounded memo keeps their texts (base64url without padding, 22 characters), because the same topic
and directory ids are shown over and over. Ids that must not be mixed up (`NodeId`, `Epoch`, `Offset`) are types of their own. Times and
sizes have one form on command lines, in plans and in output."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from typing import Final, NewType

from metashell.common.errors import UsageError

REDACTED: Final = "[redacted]"
"""The text that is shown for a secret."""

ZERO_UUID = bytes(16)
METADATA_TOPIC_ID = bytes(15) + b"\x01"
"""Topic id of __cluster_metadata, `AAAAAAAAAAAAAAAAAAAAAQ`; the same bits are DirectoryId.UNASSIGNED."""

UNASSIGNED_DIRECTORY = METADATA_TOPIC_ID
LOST_DIRECTORY = bytes(15) + b"\x02"
MIGRATING_DIRECTORY = ZERO_UUID

_MEMO_LIMIT = 1 << 17


class UuidTexts(dict[bytes, str]):
    """A memo from 16 raw bytes to Kafka's text of a uuid. It is cleared when it grows too large."""

    def __missing__(self, raw: bytes) -> str:
        if len(self) >= _MEMO_LIMIT:
            self.clear()
        text = urlsafe_b64encode(raw)[:22].decode("ascii")
        self[raw] = text
        return text


UUID_TEXTS = UuidTexts()


def group_log_topic_id(cluster_id: str) -> bytes:
    """The topic id of `__consumer_offsets` in the directory of a controller that serves groups: no metadata record gives it one."""
    from hashlib import sha256

    return sha256(f"{cluster_id} __consumer_offsets".encode()).digest()[:16]


def uuid_text(raw: bytes) -> str:
    """The text that Kafka prints for a uuid: base64url, 22 characters, no padding.

    Shape: `raw` is 16 bytes.
    Source: org.apache.kafka.common.Uuid.
    """
    return UUID_TEXTS[raw]


_DIRECTORY_WORDS = {MIGRATING_DIRECTORY: "MIGRATING", UNASSIGNED_DIRECTORY: "UNASSIGNED", LOST_DIRECTORY: "LOST"}
_WORDS_OF_TEXTS = {uuid_text(id): word for id, word in _DIRECTORY_WORDS.items()}


def directory_text(directory: bytes) -> str:
    """A directory's id, or Kafka's word for a reserved id."""
    return _DIRECTORY_WORDS.get(directory) or uuid_text(directory)


def directory_word(text: str) -> str:
    """The same for a directory whose id is given as text."""
    return _WORDS_OF_TEXTS.get(text, text)


def uuid_from_text(text: str) -> bytes:
    """The 16 bytes of a uuid text.

    Errors: ValueError for more than 24 characters, other alphabets, or another decoded length than 16.
    Source: org.apache.kafka.common.Uuid.fromString.
    """
    if len(text) > 24:
        raise ValueError(f"uuid text {text!r} is longer than 24 characters")
    if text.endswith("=") and len(text) % 4:
        raise ValueError(f"uuid text {text!r} is not base64url")
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (Base64Error, ValueError) as error:
        raise ValueError(f"uuid text {text!r} is not base64url") from error
    if len(raw) != 16:
        raise ValueError(f"uuid text {text!r} has {len(raw)} bytes, not 16")
    return raw


class OffsetAndEpoch:
    """A log position together with the leader epoch it was written in, ordered by epoch, then offset.

    Shape: the id of a snapshot is one, with an exclusive end offset.
    Source: org.apache.kafka.server.common.OffsetAndEpoch.
    """

    __slots__ = ("epoch", "offset")

    def __init__(self, offset: int, epoch: int) -> None:
        self.offset = offset
        self.epoch = epoch

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OffsetAndEpoch) and (self.offset, self.epoch) == (other.offset, other.epoch)

    def __hash__(self) -> int:
        return hash((self.offset, self.epoch))

    def __lt__(self, other: OffsetAndEpoch) -> bool:
        return (self.epoch, self.offset) < (other.epoch, other.offset)

    def __repr__(self) -> str:
        return f"OffsetAndEpoch(offset={self.offset}, epoch={self.epoch})"


BOOTSTRAP_SNAPSHOT_ID = OffsetAndEpoch(0, 0)
"""The snapshot that formatting writes. It is not the state at offset 0: it names the first voters and holds the records that the first
leader writes into the log. Source: org.apache.kafka.snapshot.Snapshots.BOOTSTRAP_SNAPSHOT_ID."""


class ReplicaKey:
    """A member of a quorum: its node id and, where known, the id of its metadata directory."""

    __slots__ = ("directory_id", "id")

    def __init__(self, id: int, directory_id: bytes = ZERO_UUID) -> None:
        self.id = id
        self.directory_id = directory_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReplicaKey) and (self.id, self.directory_id) == (other.id, other.directory_id)

    def __hash__(self) -> int:
        return hash((self.id, self.directory_id))

    def __repr__(self) -> str:
        return f"ReplicaKey(id={self.id}, directory_id={uuid_text(self.directory_id)})"


class Recovering:
    """The state of a replica without a vote: its log lost records that it may have acknowledged.

    Were it to vote, it could elect a leader that lacks a committed record. `until_offset` is where its log ended, None if unknown; `epoch`
    is the newest epoch that it knew then. `reason` names the file and the place for a person.
    """

    __slots__ = ("epoch", "reason", "until_offset")

    def __init__(self, until_offset: int | None, epoch: int, reason: str) -> None:
        self.until_offset = until_offset
        self.epoch = epoch
        self.reason = reason

    def __eq__(self, other: object) -> bool:
        own = self.until_offset, self.epoch, self.reason
        return isinstance(other, Recovering) and own == (other.until_offset, other.epoch, other.reason)

    def __repr__(self) -> str:
        return f"Recovering(until_offset={self.until_offset}, epoch={self.epoch}, reason={self.reason!r})"


NodeId = NewType("NodeId", int)
"""The id of a broker or controller; -1 where none is known."""
NO_LEADER: Final = -1
"""The leader of a quorum or partition that has none, or whose leader is not known."""
Epoch = NewType("Epoch", int)
"""The number of an election."""
Offset = NewType("Offset", int)
"""A position in the log."""


_UNITS_MS: Final = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_DURATION: Final = (
    r"(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m(?!s))?"
    r"(?:([0-9]{1,9}(?:\.[0-9]{1,3})?)s)?(?:([0-9]{1,12})ms)?"
)
_YEAR_MS: Final = 366 * 86_400_000
_CALENDAR_MS: Final = 10_000 * _YEAR_MS
_STEPS: Final = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


def duration_ms(text: str, *, years_max: int = 1) -> int:
    """The milliseconds of `90s`, `1.5s`, `2m`, `1h30m`, `250ms` or `0`; at most `years_max` years.

    Errors: UsageError that begins with the text, also for a number without a unit, whose unit would be a guess.
    """
    word = text.strip().lower()
    found = re.fullmatch(_DURATION, word) if word else None
    if word == "0":
        return 0
    if found is None or not any(found.groups()):
        raise UsageError(f"{text!r} is not a time such as 90s, 2m, 1h30m or 250ms", text)
    days, hours, minutes, seconds, millis = found.groups()
    total = sum(int(count or 0) * _UNITS_MS[unit] for count, unit in ((days, "d"), (hours, "h"), (minutes, "m"), (millis, "ms")))
    total += round(float(seconds or 0) * 1000)
    if total > years_max * _YEAR_MS:
        raise UsageError(f"{text!r} is longer than {'a year' if years_max == 1 else f'{years_max} years'}", text)
    return total


def duration_text(ms: int) -> str:
    """`250 ms`, `9.3 s`, `4 min 10 s`, `2 h 5 min`, `3 d 4 h`: two units at most, for people.

    Times beyond any calendar, which a hostile log may claim, stay milliseconds.
    """
    if ms < 1000 or ms > _CALENDAR_MS:
        return f"{ms} ms" if ms else "0 s"
    if ms < 59_950:
        tenths = round(ms / 100)
        return f"{tenths / 10:g} s"
    seconds = round(ms / 1000)
    for size, large, part, small in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if seconds >= size:
            rest = seconds % size // part
            return f"{seconds // size} {large}" + (f" {rest} {small}" if rest else "")
    raise AssertionError(ms)


def duration_word(ms: int) -> str:
    """A time as `duration_ms` reads it: `1h30m`, `90s` as `1m30s`, `250ms`, `0s`."""
    parts = []
    for unit, size in _UNITS_MS.items():
        count, ms = divmod(ms, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def time_text(ms: int) -> str:
    """`2026-11-20T12:25:33.440Z`; the number itself if no calendar has that day. Units: ms since 1970."""
    from datetime import datetime, timedelta

    try:
        moment = datetime(1970, 1, 1) + timedelta(milliseconds=ms)
    except OverflowError:
        return str(ms)
    return f"{moment.isoformat(timespec='milliseconds')}Z"


def moment_text(ms: int | None) -> str:
    """`2026-11-20T03:12:09Z`, for people: milliseconds only if they are not zero; `no time` for None and for a log's negative times."""
    return "no time" if ms is None or ms < 0 else time_text(ms).replace(".000Z", "Z")


def clock_text(ms: int) -> str:
    """A moment of a rehearsal: `+0:09.3`, `+12:05.0`, `+1:02:03.4`."""
    tenths = round(ms / 100)
    minutes, tenths = divmod(tenths, 600)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{tenths / 10:04.1f}"
    return f"+{hours}:{minutes:02d}:{seconds}" if hours else f"+{minutes}:{seconds}"


def size_text(size: int) -> str:
    """`512 B`, `1.5 GB`: powers of ten, as disks and networks are sold."""
    for unit, step in _STEPS:
        if size >= step:
            return f"{size / step:.3g} {unit}" if size < 100 * step else f"{round(size / step)} {unit}"
    return f"{size} B"
