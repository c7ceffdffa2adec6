"""Which log bytes belong to: decided by their content where that is clear, else by the place where they lie.

Content: the metadata log is the only one with control records of the quorum, its records have no key and their frames decode; a
record of a coordinator's log has a key that is exactly one of that log's keys. Place: the name of a partition's directory, and the
files beside the segments. What somebody has copied under a wrong name is what its content says; a topic's directory within a node's
log directory holds users' data, whatever that looks like.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

from metashell.codec.batches import Record, RecordBatch
from metashell.codec.control import KRAFT_VERSION, KRAFT_VOTERS, LEADER_CHANGE, SNAPSHOT_FOOTER, SNAPSHOT_HEADER
from metashell.errors import DecodeError
from metashell.log.kinds import DATA, LOG_NAMES, METADATA, TOPICS, LogKind
from metashell.log.names import QUORUM_STATE, parse_name
from metashell.log.segment import BatchFault
from metashell.values import METADATA_TOPIC_ID, uuid_text

_QUORUM_CONTROLS: Final = frozenset((LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS))
_BATCHES_MAX: Final = 16
_RECORDS_MAX: Final = 8
_PARTITION_NAME: Final = re.compile(r"(.+)-(\d+)(?:[.-].*-(?:delete|future|stray))?", re.DOTALL)


class Content(NamedTuple):
    """The content of batches: the log they are of (None: not known), and whether there was any.

    `is_proven` means a control record that no other log has, `is_sure` that many records were looked at.
    """

    kind: LogKind | None
    has_batches: bool = True
    is_proven: bool = False
    is_sure: bool = False


NOTHING: Final = Content(None, has_batches=False)


def kind_of(place: LogKind | None, content: Content) -> LogKind | None:
    """The log that something belongs to by both, None where neither says."""
    if content.is_proven:
        return METADATA
    if place == DATA or (content.kind in (None, DATA) and place is not None):
        return place
    return content.kind


# ---- content


def content_of(items: Iterator[RecordBatch | BatchFault]) -> tuple[Content, Iterator[RecordBatch | BatchFault]]:
    """The content of the first batches, and an iterator over all of them."""
    looked_at: list[RecordBatch | BatchFault] = []

    def noted() -> Iterator[RecordBatch]:
        for item in items:
            looked_at.append(item)
            batch = item.batch if isinstance(item, BatchFault) else item
            if batch is not None:
                yield batch
            if len(looked_at) >= _BATCHES_MAX:
                return

    content = _content(noted())
    return content, chain(looked_at, items)


def _content(batches: Iterator[RecordBatch]) -> Content:
    records: list[tuple[RecordBatch, Record]] = []
    has_batches = False
    for batch in batches:
        has_batches = True
        if not batch.header.is_control:
            records += [(batch, record) for record in _records(batch)]
        elif batch.header.magic == 2 and batch.first_control_type() in _QUORUM_CONTROLS:
            return Content(METADATA, is_proven=True)
        if len(records) >= _RECORDS_MAX:
            break
    if not records:
        return Content(None, has_batches)
    # Most logs of metadata begin with what proves them; what reads records is not needed there.
    from metashell.log.record_kinds import kind_of_records

    return Content(kind_of_records(records[:_RECORDS_MAX]), is_sure=len(records) >= _RECORDS_MAX)


def _records(batch: RecordBatch) -> Iterator[Record]:
    """The first records of a batch, as far as they can be read."""
    try:
        for _, record in zip(range(_RECORDS_MAX), batch.records(), strict=False):
            yield record
    except DecodeError:
        return


# ---- place


def partition_name(directory: str) -> tuple[str, int] | None:
    """The topic and partition of a directory's name, without what marks it as one to be deleted or moved; None for other names."""
    match = _PARTITION_NAME.fullmatch(directory)
    return None if match is None else (match[1], int(match[2]))


def is_marked(directory: str) -> bool:
    """Whether a directory's name marks a partition that a broker deletes, moves between its disks, or found to be none of its own."""
    match = _PARTITION_NAME.fullmatch(directory)
    return match is not None and directory != f"{match[1]}-{match[2]}"


def kind_of_place(
    directory: str, names: Collection[str], topic_id: Callable[[], bytes | None], is_in_node: Callable[[], bool]
) -> LogKind | None:
    """The log that a directory holds by its name and the names of its files, None where they do not say.

    `topic_id` gives the bytes of its partition.metadata; `is_in_node` says whether a meta.properties lies beside the directory.
    """
    partition = partition_name(directory)
    if partition is not None and partition[0] in TOPICS:
        return TOPICS[partition[0]]
    if QUORUM_STATE in names or any(_is_checkpoint(name) for name in names):
        return METADATA
    if uuid_text(METADATA_TOPIC_ID).encode() in (topic_id() or b""):
        return METADATA
    return DATA if partition is not None and is_in_node() else None


def _is_checkpoint(name: str) -> bool:
    parsed = parse_name(name)
    return parsed is not None and parsed.kind == "checkpoint"


# ---- words


def name_of(kind: LogKind, directory: str = "") -> str:
    """The log in words; of a topic with its name, where the directory has it."""
    partition = partition_name(directory)
    return f"the log of topic {partition[0]}, partition {partition[1]}" if kind == DATA and partition is not None else LOG_NAMES[kind]


def known_names(kinds: Iterable[LogKind | None]) -> str:
    """Logs in words, each once."""
    return ", ".join(dict.fromkeys(LOG_NAMES[kind] for kind in kinds if kind is not None))
