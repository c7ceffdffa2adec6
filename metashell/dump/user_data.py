"""Whether a log without a decoder holds users' data. Of the metadata log fewer bytes are shown, since they may be secrets.

A log is the metadata log where `log/inputs` says so of its file, by content and place; also by its folder's name alone, or a checkpoint's
own; also where its first data record has no key and a value that decodes. The last two ask for less than `log/identity` does, which
takes messages of magic 0 and 1, and a few odd records among many, for a user's: what is hidden in vain costs less than a secret shown.
"""

from __future__ import annotations

import os
from contextlib import suppress

from metashell.codec.batches import RecordBatch
from metashell.codec.frame import FrameError, read_metadata_record
from metashell.errors import DecodeError, UsageError
from metashell.log.files import OpenFile
from metashell.log.inputs import content_of_file, named_file
from metashell.log.kinds import METADATA
from metashell.log.names import METADATA_DIRECTORY, parse_name
from metashell.log.segment import read_batches

_LOOK_BYTES = 1 << 20
_LOOKED_AT_MAX = 16


def holds_user_data(file: OpenFile, label: str, key: bytes | None, value: bytes | None) -> bool:
    """Whether it does. A stream cannot be looked into once it is being read: there the first record, `key` and `value`, decides."""
    with suppress(UsageError):  # a stream, or a file that is gone by now
        if named_file(label).log == METADATA:
            return False
    name = parse_name(os.path.basename(label))
    folder = os.path.basename(os.path.dirname(os.path.abspath(label)))
    if (name is not None and name.kind != "segment") or folder.rpartition("-")[0] == METADATA_DIRECTORY.rpartition("-")[0]:
        return False
    if file.size() is None:
        return _is_user_record(key, value)
    for item, _ in zip(read_batches(file, max_bytes=_LOOK_BYTES), range(_LOOKED_AT_MAX), strict=False):
        if isinstance(item, RecordBatch) and not item.header.is_control:
            with suppress(DecodeError):
                for record in item.records():
                    return _is_user_record(record.key, record.value)
    return True


def begins_as_metadata(file: OpenFile) -> bool:
    """Whether a stream that nothing was read from begins as only the metadata log does, such as with a leader's record."""
    return file.size() is None and content_of_file(file).kind == METADATA


def _is_user_record(key: bytes | None, value: bytes | None) -> bool:
    """Whether the first record of a log shows that it is not the metadata log."""
    if key is not None or not value:
        return True
    try:
        return read_metadata_record(value).message is None
    except FrameError:
        return True
