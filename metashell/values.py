"""Small value types and text forms that every layer shares.

Uuids are 16 raw bytes everywhere; their text form (base64url without padding, 22 characters) is made
through one bounded memo, because the same topic and directory ids are rendered over and over.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error

ZERO_UUID = bytes(16)
METADATA_TOPIC_ID = bytes(15) + b"\x01"
"""Topic id of __cluster_metadata, `AAAAAAAAAAAAAAAAAAAAAQ`; the same bits are DirectoryId.UNASSIGNED."""

UNASSIGNED_DIRECTORY = METADATA_TOPIC_ID
LOST_DIRECTORY = bytes(15) + b"\x02"
MIGRATING_DIRECTORY = ZERO_UUID

_MEMO_LIMIT = 1 << 17


class UuidTexts(dict[bytes, str]):
    """A memo from 16 raw bytes to Kafka's text of a uuid; it forgets everything when it grows too large."""

    def __missing__(self, raw: bytes) -> str:
        if len(self) >= _MEMO_LIMIT:
            self.clear()
        text = urlsafe_b64encode(raw)[:22].decode("ascii")
        self[raw] = text
        return text


UUID_TEXTS = UuidTexts()


def uuid_text(raw: bytes) -> str:
    """The text that Kafka prints for a uuid: base64url, 22 characters, no padding.

    Shape: `raw` is 16 bytes.
    Source: org.apache.kafka.common.Uuid.
    """
    return UUID_TEXTS[raw]


_DIRECTORY_WORDS = {MIGRATING_DIRECTORY: "MIGRATING", UNASSIGNED_DIRECTORY: "UNASSIGNED", LOST_DIRECTORY: "LOST"}
_WORDS_OF_TEXTS = {uuid_text(id): word for id, word in _DIRECTORY_WORDS.items()}


def directory_text(directory: bytes) -> str:
    """A directory's id, or Kafka's word where it stands for none."""
    return _DIRECTORY_WORDS.get(directory) or uuid_text(directory)


def directory_word(text: str) -> str:
    """The text of `directory_text` for the directory whose id this text is."""
    return _WORDS_OF_TEXTS.get(text, text)


def uuid_from_text(text: str) -> bytes:
    """The 16 bytes that a uuid text stands for.

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
"""The snapshot that formatting leaves. It is no state at offset 0: it names the first voters and holds the records that the first leader
writes into the log. Source: org.apache.kafka.snapshot.Snapshots.BOOTSTRAP_SNAPSHOT_ID."""


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
    """Why a replica has no vote: its log lost records that it may have acknowledged.

    `until_offset` is where that log ended, None where nothing tells; `epoch` the newest that the replica knew then. `reason` names the file
    and the place, for whoever reads it.
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
