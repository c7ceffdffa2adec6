"""Copies a metadata log for other people: the same records at the same offsets, without secrets and, if wanted, without names.

Promises:
- No bytes are copied. Each batch is decoded and written again, with its offsets, epochs, times and control batches, but without
  compression, keys, headers and unknown tagged fields. A record that does not decode, or has an unknown type or version, may hold
  anything: a NoOpRecord replaces it, and `Left` counts it.
- Only `codec.redaction` decides what is secret.
- With `Names`, every field of text or bytes is replaced or known to be harmless. A field that a later release adds is hidden until
  `bundle_names` knows it. A name has one alias wherever it stands, and patterns match the aliases of the names that they matched.
- Random numbers are passed in. Files are only read; the caller says where to write.

The archive shows nothing about who made it, and is never left half written."""

from __future__ import annotations

import os
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from gzip import GzipFile
from typing import BinaryIO, Final

from metashell.codec.batches import RecordBatch
from metashell.codec.primitives import MAX_DECOMPRESSED
from metashell.common.errors import LogCorruptError, MetashellError, PathError, UsageError
from metashell.common.runtime import sync_file
from metashell.common.terminal import update_progress
from metashell.common.values import moment_text
from metashell.disk.directory import MetadataDirectory
from metashell.disk.files import STREAM_NAMES, OpenFile, open_file
from metashell.disk.inputs import find_metadata
from metashell.disk.names import (
    BOOTSTRAP_CHECKPOINT,
    LEADER_EPOCH_CHECKPOINT,
    META_PROPERTIES,
    METADATA_DIRECTORY,
    PARTITION_METADATA,
    QUORUM_STATE,
    checkpoint_name,
    parse_name,
    segment_name,
)
from metashell.disk.properties import format_meta_properties, read_meta_properties
from metashell.disk.segment import BadBatch, BatchFault, read_batches
from metashell.disk.state_files import (
    format_leader_epochs,
    format_quorum_state,
    format_topic_id,
    read_leader_epochs,
    read_quorum_state,
    read_topic_id,
)
from metashell.inspect.bundle_batches import Left, Rewriter, prefixed_patterns
from metashell.inspect.bundle_names import Names

_TAILS: Final = {
    "truncated": "the file ends in the middle of a batch",
    "zero-tail": "the file ends in zeros",
    "bad-size": "what follows is no batch",
    "bad-magic": "what follows is no batch of version 2",
    "unreadable": "the disk does not give the rest",
}


class _Item:
    """A file with batches: its place, its name in the copy, its size, and whether it is the last, whose tail may be torn."""

    __slots__ = ("directory", "is_last", "name", "path", "size")

    def __init__(self, directory: str, path: str, name: str, size: int | None, *, is_last: bool) -> None:
        self.directory, self.path, self.name, self.size, self.is_last = directory, path, name, size, is_last


@dataclass(slots=True)
class Copy:
    """The contents of a copy. `files` are relative names, `left` is left out, `tails` are files that ended in a torn or empty tail."""

    files: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    left: list[Left] = field(default_factory=list)
    tails: list[str] = field(default_factory=list)
    end_offset: int = 0
    first_timestamp: int = -1
    last_timestamp: int = -1
    node_id: int | None = None
    cluster_id: str | None = None
    """The cluster id in the copy."""
    source_cluster_id: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The files to copy, with their sizes when the plan was made: a running node goes on writing."""

    items: tuple[_Item, ...]
    metadata: str | None
    """The metadata directory, None if the source is a file or a bootstrap checkpoint."""
    log_directory: str | None
    """The directory with meta.properties."""

    @property
    def size(self) -> int:
        return sum(item.size or 0 for item in self.items)

    def prefixed_patterns(self, max_decompressed: int = MAX_DECOMPRESSED) -> set[tuple[str, str]]:
        """All prefixed patterns of ACLs, by kind. Errors: MetashellError for a file that was deleted."""
        found: set[tuple[str, str]] = set()
        for item in self.items:
            for batch in _batches(item):
                if isinstance(batch, RecordBatch):
                    found.update(prefixed_patterns(batch, max_decompressed))
        return found

    def write(self, into: str, names: Names | None, *, cluster_id: str | None, date: str, max_decompressed: int = MAX_DECOMPRESSED) -> Copy:
        """Write the copy into an empty directory; `cluster_id` replaces that of the source, None keeps it.

        Errors: OSError if it cannot be written; MetashellError for a file that was deleted.
        """
        copy = Copy()
        rewriter = Rewriter(names, copy.left.append, max_decompressed)
        done, total = 0, max(self.size, 1)
        for item in self.items:

            def at(position: int, name: str = item.name, before: int = done) -> None:
                update_progress(f"writing {name}, {min((before + position) * 100 // total, 100)} % done")

            _write_batches(item, into, rewriter, copy, at)
            done += item.size or 0
        copy.counts = rewriter.counts
        self._write_small_files(into, copy, cluster_id, date)
        copy.files.sort()
        return copy

    def _write_small_files(self, into: str, copy: Copy, cluster_id: str | None, date: str) -> None:
        """Write the small files from their known fields, and never copy other bytes."""

        def meta(path: str) -> bytes:
            found = read_meta_properties(path)
            copy.source_cluster_id = found.cluster_id
            if cluster_id is not None and found.cluster_id is not None:
                found = found._replace(cluster_id=cluster_id)
            copy.node_id, copy.cluster_id = found.node_id, found.cluster_id
            return format_meta_properties(found, date=date)

        made: list[tuple[str | None, str, Callable[[str], bytes]]] = [
            (self.log_directory, META_PROPERTIES, meta),
            (self.metadata, QUORUM_STATE, lambda path: format_quorum_state(read_quorum_state(path))),
            (self.metadata, PARTITION_METADATA, lambda path: format_topic_id(read_topic_id(path))),
            (
                self.metadata,
                LEADER_EPOCH_CHECKPOINT,
                lambda path: format_leader_epochs([(entry.epoch, entry.start_offset) for entry in read_leader_epochs(path)]),
            ),
        ]
        for folder, name, remake in made:
            path = None if folder is None else os.path.join(folder, name)
            if path is None or not os.path.lexists(path):
                continue
            relative = name if folder == self.log_directory else os.path.join(METADATA_DIRECTORY, name)
            try:
                data = remake(path)
            except (LogCorruptError, OSError):
                copy.left.append(Left(relative, -1, "the file cannot be read as what it is"))
                continue
            _write(os.path.join(into, relative), data)
            copy.files.append(relative)


def plan_copy(path: str) -> Plan:
    """Plan the copy of a path: a directory of a node or of its metadata, or one segment or checkpoint.

    Errors: MetashellError if there is no metadata log, or it has no file with batches.
    """
    if path in STREAM_NAMES:
        raise UsageError("standard input is no directory and no file: name one", path)
    if not os.path.isdir(path):
        return Plan((_named_file(path),), None, None)
    try:
        folder = find_metadata(path)
    except UsageError as error:
        raise MetashellError(str(error)) from None
    try:
        with MetadataDirectory(folder) as directory:
            listing = directory.list()
    except OSError as error:
        raise PathError.of(folder, error) from None
    items = [_item(folder, entry.name, checkpoint_name(entry.snapshot_id)) for entry in reversed(listing.checkpoints)]
    for number, segment in enumerate(listing.segments, 1):
        items.append(_item(folder, segment.name, segment_name(segment.base_offset), is_last=number == len(listing.segments)))
    is_usual = bool(listing) and os.path.basename(os.path.realpath(folder)) == METADATA_DIRECTORY
    above = os.path.dirname(os.path.realpath(folder)) if is_usual else None
    log_directory = above if listing else folder
    if log_directory is not None and os.path.lexists(os.path.join(log_directory, BOOTSTRAP_CHECKPOINT)):
        items.append(_item(log_directory, BOOTSTRAP_CHECKPOINT, BOOTSTRAP_CHECKPOINT, directory=""))
    return Plan(tuple(items), folder if listing else None, log_directory)


def _item(folder: str, name: str, called: str, *, directory: str = METADATA_DIRECTORY, is_last: bool = False) -> _Item:
    path = os.path.join(folder, name)
    try:
        size = os.stat(path).st_size
    except OSError:
        raise _deleted_error(path) from None
    # A compressed file has no limit: its size is not that of its contents, and no node appends to it.
    is_packed = name != called
    return _Item(directory, path, called, None if is_packed else size, is_last=is_last)


def _limit(item: _Item) -> int | None:
    """The bytes of a file that are read. Only the last segment grows, so in any other a torn end is a fault."""
    return item.size if item.is_last else None


def _named_file(path: str) -> _Item:
    try:
        os.stat(path)
    except OSError as error:
        raise PathError.of(path, error) from None
    name = os.path.basename(path)
    if name == BOOTSTRAP_CHECKPOINT:
        return _item(os.path.dirname(path), name, name, directory="")
    parsed = parse_name(name)
    if parsed is None or parsed.state or (parsed.base_offset is None and parsed.snapshot_id is None):
        raise PathError(f"{path}: its name is neither that of a segment nor of a checkpoint, such as {segment_name(0)}", path)
    if parsed.snapshot_id is not None:
        return _item(os.path.dirname(path), name, checkpoint_name(parsed.snapshot_id))
    assert parsed.base_offset is not None
    return _item(os.path.dirname(path), name, segment_name(parsed.base_offset))


def _deleted_error(path: str) -> MetashellError:
    return MetashellError(f"{path}: gone since it was listed (retention, or a new checkpoint); nothing was written, try again")


def _batches(item: _Item) -> Iterator[RecordBatch | BatchFault]:
    if not os.path.lexists(item.path):
        raise _deleted_error(item.path)
    file: OpenFile
    with open_file(item.path) as file:
        yield from read_batches(file, max_bytes=_limit(item))


def _write_batches(item: _Item, into: str, rewriter: Rewriter, copy: Copy, at: Callable[[int], None]) -> None:
    expected: int | None = None
    end = 0
    relative = os.path.join(item.directory, item.name)
    place = os.path.join(into, relative)
    os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
    with open(place, "xb") as out:
        for found in _batches(item):
            at(found.position)
            if isinstance(found, RecordBatch):
                out.writelines(rewriter.batch(found, relative))
                _note_place(copy, found, is_log=item.directory != "" and item.name.endswith(".log"))
                expected = found.header.last_offset + 1
                end = found.position + len(found.data)
            elif isinstance(found, BadBatch):
                if found.kind == "bad-crc":
                    out.writelines(rewriter.bad_batch(found.batch, relative, expected, "a batch whose checksum does not fit"))
                    expected = None if expected is None else found.batch.header.last_offset + 1
                else:
                    copy.left.append(Left(relative, -1 if expected is None else expected, "a batch that is not of version 2"))
                end = found.position + found.size
            else:
                end = found.position + found.size
                if item.is_last and found.may_be_tail:
                    copy.tails.append(relative)
                else:
                    copy.left.append(Left(relative, -1 if expected is None else expected, _TAILS[found.kind]))
    if item.is_last and item.size is not None and end < item.size:
        copy.tails.append(relative)  # The file was cut at its size when it was listed.
    copy.files.append(relative)


def _note_place(copy: Copy, batch: RecordBatch, *, is_log: bool) -> None:
    header = batch.header
    if is_log:
        copy.end_offset = max(copy.end_offset, header.last_offset + 1)
    if header.base_timestamp > 0:
        copy.first_timestamp = header.base_timestamp if copy.first_timestamp < 0 else min(copy.first_timestamp, header.base_timestamp)
        copy.last_timestamp = max(copy.last_timestamp, header.max_timestamp)


def _write(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(path, "xb") as file:
        file.write(data)


_MODE: Final = 0o600
_COMPRESSION: Final = 6


def pack_directory(folder: str, name: str, out: BinaryIO) -> None:
    """Write a folder as a gzipped tar archive whose top folder is `name`.

    Shape: it has no user, group, time or path of this machine, and not the archive's own name. Errors: OSError.
    """

    def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.uid = info.gid = info.mtime = 0
        info.uname = info.gname = ""
        info.mode = 0o755 if info.isdir() else 0o644
        return info

    with (
        GzipFile(filename="", mode="wb", compresslevel=_COMPRESSION, fileobj=out, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        archive.add(folder, arcname=name, filter=plain)


@contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """Open a file, readable by its owner only, that appears at `path` when the block succeeds. An existing file is never replaced.

    Errors: PathError if a file is there already or none can be made; MetashellError if the disk is full.
    """
    if os.path.lexists(path):
        raise PathError(f"{path}: is there already; nothing was written", path)
    folder, name = os.path.split(path)
    beside = os.path.join(folder, f".{name}.{os.getpid()}.partial")
    try:
        fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _MODE)
    except OSError as error:
        raise PathError.of(path, error) from None
    try:
        try:
            # Closing the file writes the rest of its buffer, so the disk can still be full here.
            with open(fd, "wb") as file:
                yield file
                file.flush()
                sync_file(fd)
        except OSError as error:
            raise MetashellError(f"{path}: {error.strerror or error}; nothing was written") from None
        _appear(beside, path)
    finally:
        with suppress(OSError):
            os.unlink(beside)


def _appear(beside: str, path: str) -> None:
    try:
        os.link(beside, path)
    except FileExistsError:
        raise PathError(f"{path}: is there already; nothing was written", path) from None
    except OSError:
        # On a file system without hard links, another process could make the file between this check and the rename.
        if os.path.lexists(path):
            raise PathError(f"{path}: is there already; nothing was written", path) from None
        os.rename(beside, path)


_LISTED_MAX: Final = 1000
_REMOVED: Final = {
    "secrets": "secrets taken out",
    "texts_replaced": "texts replaced",
    "unknown_tags": "tagged fields that are not known taken out",
    "record_keys": "records that lost a key or headers, which Kafka never writes here",
}


def removed(copy: Copy) -> dict[str, int]:
    """Return by kind the number of values that were removed or replaced."""
    return {what: copy.counts[what] for what in _REMOVED}


def removed_words(copy: Copy) -> list[str]:
    """The same in words, without zeros: `42 secrets taken out`."""
    return [f"{copy.counts[what]} {words}" for what, words in _REMOVED.items() if copy.counts[what]]


def readme(name: str, copy: Copy, *, made: str, is_anonymised: bool) -> str:
    """The text of README.md. From the source it has only numbers and what is in the copy too."""
    lines = [
        f"# {name}",
        "",
        "The metadata log of an Apache Kafka node (KRaft), written again record by record for somebody else to look at.",
        "",
        f"- made by {made}",
    ]
    if copy.cluster_id is not None:
        lines.append(f"- cluster {copy.cluster_id}{' (not its real id)' if is_anonymised else ''}, node {copy.node_id}")
    lines.append(f"- {copy.counts['records']} records, end offset {copy.end_offset or 'unknown: there is no segment'}")
    if copy.first_timestamp >= 0:
        lines.append(f"- batches from {moment_text(copy.first_timestamp)} to {moment_text(copy.last_timestamp)}")
    lines += [
        "",
        "## How to look at it",
        "",
        f"    kafka-shell -s {name} health",
        f"    kafka-shell -s {name}                  # a prompt; `help` lists the commands",
        f"    metashell sql {name}",
        f"    dump-log --cluster-metadata-decoder {name}",
        "",
        "Kafka's own kafka-dump-log and kafka-metadata-shell open its files too. Offsets, epochs and times are those of the source.",
        "",
        "## What is in it",
        "",
        *(f"- {file}" for file in copy.files),
        "- status.txt, status.json, health.txt, health.json, verify.txt: what metashell says of this copy",
        "- verify-source.txt: where metashell verify found something in the source (places only)",
        "",
        "## What is not in it",
        "",
        "- Secrets: SCRAM salts and keys are empty, values of passwords and of unknown settings of brokers are `[redacted]`.",
        "- Indexes, producer snapshots, compression, keys and headers of records, tagged fields that are not known.",
    ]
    if is_anonymised:
        lines += [
            "- Names: topics, groups, users, client ids, transactional ids, hosts, racks, listeners of one's own, tokens, unknown",
            "  settings and the cluster's id have other names, the same each time; free text is `[anonymised]`, and so are values of",
            "  settings that are not numbers or words of Kafka's. Ids of nodes, topics, directories and incarnations, ports, offsets",
            "  and times are the real ones: who has the cluster can tell by them which one it is.",
        ]
    lines += [f"- {words}" for words in removed_words(copy)]
    lines += [f"- the torn or empty tail of {file}, as a node leaves it that was stopped" for file in copy.tails]
    lines += ["", "## What could not be copied", ""]
    if not copy.left:
        lines.append("Nothing: every record of the source has its place here.")
    else:
        lines.append("A NoOpRecord stands at each of these offsets, unless the line says that the offsets are gone:")
        lines.append("")
        lines += [f"- {left}" for left in copy.left[:_LISTED_MAX]]
        if len(copy.left) > _LISTED_MAX:
            lines.append(f"- and {len(copy.left) - _LISTED_MAX} more")
    return "\n".join(lines) + "\n"
