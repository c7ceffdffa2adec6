"""The tables of some clusters' state; partitions come straight from the bytes that they lie in.

Spans of many topics are read at once by the column reader of PartitionRecord. Rows that it does not understand, and partitions that later
records changed, are read as objects, by the same functions that every other reader of an image uses. Columns whose values repeat are
stored as dictionaries, which DuckDB reads; `plain` makes batches of the types that SCHEMAS has.

The newest committed offsets of all groups are a table too, as `metashell groups offsets` has them: from one fold of each log. A commit of
a transaction counts once its marker is in the log, and a deleted one does not. Of several copies of a log the newest counts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from metashell.codec.codes import RECOVERY_STATES, code_name
from metashell.codec.primitives import kafka_text
from metashell.codec.registry import message_type
from metashell.common.errors import MetashellError, PathError
from metashell.common.values import ZERO_UUID, directory_text, uuid_text
from metashell.disk.directory import is_marked
from metashell.disk.inputs import find_logs, named_file, paths_of
from metashell.disk.names import OFFSETS
from metashell.groups.log.queries import LoadedLog, load_logs
from metashell.metadata.image import MetadataImage, PartitionRegistration, TopicImage
from metashell.metadata.image.partitions import read_partition
from metashell.tables.columns import typed_arrays
from metashell.tables.columns.chunk_records import distinct
from metashell.tables.columns.column_reader import ColumnReader, RangeCells
from metashell.tables.columns.record_walk import record_starts
from metashell.tables.columns.typed_arrays import shaped_batch, shaped_schema, spark_type, times, with_children
from metashell.tables.columns.typed_tables import sql_batch
from metashell.tables.columns.vectors import Buffer, Ints, offsets_of
from metashell.tables.input_files import fetch_logs
from metashell.tables.read_options import Form
from metashell.tables.splits import absent_log
from metashell.tables.state.clusters import MAKERS, Cluster, Row, config_rows, source_row
from metashell.tables.state.schemas import GROUP_OFFSETS, IDS, OLD_SCHEMAS, PARTITIONS, SCHEMAS, old_batch

if TYPE_CHECKING:
    from metashell.tables.read_options import OnError


_SMALL_ROWS = 1 << 16
_TEXT_OF = "_text"


def state_schemas(columns: Form = "typed") -> dict[str, pa.Schema]:
    """Return the schemas of the tables in one form, "raw" for the one of before."""
    return OLD_SCHEMAS if columns == "raw" else SCHEMAS


def spark_state_schema(name: str, columns: Form = "typed") -> pa.Schema:
    """Return the schema of a table as Spark takes it."""
    return shaped_schema(state_schemas(columns)[name], spark_type)


def state_table(name: str, clusters: Sequence[Cluster], *, show_secrets: bool = False, columns: Form = "typed") -> pa.Table:
    """Return one table with the rows of all clusters, as DuckDB takes it."""
    made = (batch for cluster in clusters for batch in state_batches(name, cluster, show_secrets=show_secrets, columns=columns))
    batches = list(map(sql_batch, made))
    return pa.Table.from_batches(batches, None if batches else state_schemas(columns)[name])


def state_batches(name: str, cluster: Cluster, *, show_secrets: bool = False, columns: Form = "typed") -> Iterator[pa.RecordBatch]:
    """Yield the rows of one cluster."""
    made = _batches(name, cluster, show_secrets)
    return made if columns == "typed" else (old_batch(name, batch) for batch in made)


def _batches(name: str, cluster: Cluster, show_secrets: bool) -> Iterator[pa.RecordBatch]:
    if name == PARTITIONS:
        yield from partition_batches(cluster.image, cluster.cluster_id)
    elif name == "topics":
        yield topic_batch(cluster.image, cluster.cluster_id)
    else:
        rows = list(_rows(name, cluster, show_secrets))
        for start in range(0, len(rows), _SMALL_ROWS):
            yield rows_batch(name, rows[start : start + _SMALL_ROWS], cluster.cluster_id)


def rows_batch(name: str, rows: Sequence[Row], cluster_id: str) -> pa.RecordBatch:
    """Return some rows of a table, all of one cluster."""
    arrays = [_column(field, rows) for field in list(SCHEMAS[name])[:-1]]
    return pa.RecordBatch.from_arrays([*arrays, same_text(cluster_id, len(rows))], SCHEMAS[name].names)


def _rows(name: str, cluster: Cluster, show_secrets: bool) -> Iterator[Row]:
    if name == "sources":
        return iter((source_row(cluster),))
    if name == "configs":
        return config_rows(cluster.image, show_secrets=show_secrets)
    return MAKERS[name](cluster.image)


def _column(field: pa.Field, rows: Sequence[Row]) -> pa.Array:
    """Return a column of some rows; the text of an id is made from the id."""
    name, kind = field.name, field.type
    if name.endswith(_TEXT_OF):
        found = [row.get(name.removesuffix(_TEXT_OF)) for row in rows]
        return pa.array([_id_text(value) for value in found], kind)
    values = [row.get(name) for row in rows]
    if kind == typed_arrays.UUID:
        return typed_arrays.as_uuids(pa.array(values, pa.binary(typed_arrays.SIZE)))
    if pa.types.is_timestamp(kind):
        return times(pa.array(values, pa.int64()))
    if pa.types.is_map(kind):
        return pa.array([None if value is None else list(value.items()) for value in values], kind)
    if pa.types.is_list(kind) and kind.value_type == typed_arrays.UUID:
        lists = pa.array(values, pa.list_(pa.binary(typed_arrays.SIZE)))
        return with_children(kind, lists, [typed_arrays.as_uuids(lists.values)])
    return pa.array(values, kind)


def _id_text(value: Any) -> Any:
    if value is None:
        return None
    return uuid_text(value) if isinstance(value, bytes) else list(map(directory_text, value))


def spark_state_batch(name: str, batch: pa.RecordBatch, columns: Form = "typed") -> pa.RecordBatch:
    """Return a batch as Spark takes it: without dictionaries, ids as their bytes, times in microseconds."""
    return shaped_batch(batch, spark_state_schema(name, columns))


def plain(name: str, batch: pa.RecordBatch, columns: Form = "typed") -> pa.RecordBatch:
    """Return the batch with the types of its schema, for what knows no dictionaries."""
    return shaped_batch(batch, state_schemas(columns)[name])


# ---- partitions, from the bytes that hold them

CHUNK_ROWS: Final = 1 << 15
_FRAME_SIZE: Final = 3
_ONE_BYTE_MAX: Final = 127
_RAW: Final = pa.schema(
    [
        ("number", pa.int32()),
        ("partition_id", pa.int32()),
        ("leader", pa.int32()),
        ("leader_epoch", pa.int32()),
        ("leader_recovery_state", pa.int8()),
        ("partition_epoch", pa.int32()),
        ("replicas", IDS),
        ("isr", IDS),
        ("eligible_leader_replicas", IDS),
        ("last_known_elr", IDS),
        ("adding_replicas", IDS),
        ("removing_replicas", IDS),
        ("directories", pa.list_(pa.binary())),
    ]
)
"""Before names are joined in: `number` is that of the topic."""
_INTERNAL_TOPICS: Final = frozenset(("__consumer_offsets", "__transaction_state", "__share_group_state"))
_ATTRIBUTES: Final = {"eligible_leader_replicas": "elr"}
"""Fields that PartitionRegistration calls otherwise."""


def partition_batches(image: MetadataImage, cluster_id: str) -> Iterator[pa.RecordBatch]:
    """Yield all partitions, ordered by topic and id."""
    topics = _in_order(image)
    naming = _Naming(cluster_id, topics)
    return map(naming.finished, _raw_batches(topics))


def topic_batch(image: MetadataImage, cluster_id: str) -> pa.RecordBatch:
    """Return all topics by name. The replication factor is that of the first partition, as in `kafka-topics --describe`."""
    topics = _in_order(image)
    counts = np.zeros(len(topics), np.int32)
    factors = np.zeros(len(topics), np.int32)
    for raw in _raw_batches(topics):
        numbers = raw["number"].to_numpy()
        counts += np.bincount(numbers, minlength=len(topics)).astype(np.int32)
        found, first = np.unique(numbers, return_index=True)
        factors[found] = list_sizes(raw["replicas"])[first]
    names = [topic.name for topic in topics]
    columns = {
        "cluster_id": same_text(cluster_id, len(topics)),
        "topic": pa.array(names, pa.string()),
        "topic_id": typed_arrays.as_uuids(_topic_ids(topics)),
        "topic_id_text": pa.array([uuid_text(topic.id) for topic in topics], pa.string()),
        "partition_count": pa.array(counts),
        "replication_factor": pa.array(factors),
        "is_internal": pa.array([name in _INTERNAL_TOPICS for name in names], pa.bool_()),
    }
    order = SCHEMAS["topics"].names
    return pa.RecordBatch.from_arrays([columns[name] for name in order], order)


def _topic_ids(topics: Sequence[TopicImage]) -> pa.Array:
    return pa.array([topic.id for topic in topics], pa.binary(typed_arrays.SIZE))


def _in_order(image: MetadataImage) -> list[TopicImage]:
    return sorted(image.topics, key=lambda topic: topic.name)


def _raw_batches(topics: Sequence[TopicImage]) -> Iterator[pa.RecordBatch]:
    """Yield the partitions of topics in the order of these, as `_RAW`; those of one topic are in one batch."""
    chunk = _Chunk()
    for number, topic in enumerate(topics):
        chunk.add(number, topic)
        if chunk.row_count >= CHUNK_ROWS:
            yield chunk.read()
            chunk = _Chunk()
    if chunk.row_count:
        yield chunk.read()


class _Chunk:
    """Partitions that are read together: spans of topics whose bytes `pieces` are, and partitions that are read as objects."""

    def __init__(self) -> None:
        self.row_count = 0
        self._topics: list[tuple[int, TopicImage]] = []
        self._pieces: list[bytes] = []
        self._spans: list[tuple[int, int, int]] = []
        """For each span the place of its topic in `_topics`, the size of its piece and the number of its records."""
        self._objects: list[tuple[int, int, PartitionRegistration]] = []

    def add(self, number: int, topic: TopicImage) -> None:
        """Add all partitions of a topic."""
        if topic.overlay:
            self._add_objects(number, topic)
            return
        for buf, start, end, count in topic.spans:
            self._pieces.append(buf[start:end])
            self._spans.append((len(self._topics), end - start, count))
            self.row_count += count
        self._topics.append((number, topic))

    def _add_objects(self, number: int, topic: TopicImage) -> None:
        for id, partition in topic.partitions.pairs():
            self._objects.append((number, id, partition))
            self.row_count += 1

    def read(self) -> pa.RecordBatch:
        """Return all rows, ordered by topic and id."""
        batches = list(self._read_spans()) if self._spans else []
        if self._objects or not batches:
            batches.append(_object_batch(self._objects))
        if len(batches) == 1 and not self._objects:
            return batches[0]
        table = pa.Table.from_batches(batches, schema=_RAW).combine_chunks()
        order = np.lexsort((table["partition_id"].to_numpy(), table["number"].to_numpy()))
        (batch,) = table.take(pa.array(order)).combine_chunks().to_batches() or [_object_batch([])]
        return batch

    def _read_spans(self) -> Iterator[pa.RecordBatch]:
        buffer = Buffer(self._pieces)
        owner, size, count = np.array(self._spans, np.int64).T
        end = np.cumsum(size)
        starts, good = record_starts(buffer, end - size, end, count)
        assert good.all(), "a span is whole records"
        starts, ends = _value_places(buffer, starts, end, count)
        owners = np.repeat(owner, count)
        starts, ends, owners = self._without_repeated(buffer, starts, ends, owners)
        numbers = np.array([number for number, _ in self._topics], np.int32)[owners]
        versions = buffer.bytes[starts + _FRAME_SIZE - 1].astype(np.int64)
        for version in distinct(versions):
            rows = np.flatnonzero(versions == version)
            yield from self._read_version(version, buffer, numbers[rows], starts[rows], ends[rows])

    def _without_repeated(self, buffer: Buffer, starts: Ints, ends: Ints, owners: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the records of topics whose partitions are 0, 1, 2, ... in order; the others, perhaps repeated, become objects."""
        counts = np.bincount(owners, minlength=len(self._topics))
        expected = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        unusual = np.unique(owners[buffer.take("int32", starts + _FRAME_SIZE) != expected])
        if not len(unusual):
            return starts, ends, owners
        for place in unusual.tolist():
            self._add_objects(*self._topics[place])
        usual = ~np.isin(owners, unusual)
        return starts[usual], ends[usual], owners[usual]

    def _read_version(self, version: int, buffer: Buffer, numbers: Any, starts: Ints, ends: Ints) -> Iterator[pa.RecordBatch]:
        decoded = ColumnReader(message_type("metadata", "PartitionRecord"), version).read(buffer, starts + _FRAME_SIZE, ends)
        good = None
        if decoded.odd is not None:
            good = np.flatnonzero(~decoded.odd)
            ids = buffer.take("int32", starts + _FRAME_SIZE)
            for row in np.flatnonzero(decoded.odd).tolist():
                partition = read_partition(buffer.data, int(starts[row]), int(ends[row]))
                self._objects.append((int(numbers[row]), int(ids[row]), partition))
            numbers = numbers[good]
        if not len(numbers):
            return
        for cells in decoded.cells.values():
            if isinstance(cells, RangeCells):
                cells.take_null_for_none()  # as in an image
        arrays = [pa.array(numbers), *(decoded.cells[name].arrow(buffer, good) for name in _RAW.names[1:])]
        yield pa.RecordBatch.from_arrays(arrays, schema=_RAW)


def _value_places(buffer: Buffer, starts: Ints, span_ends: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Yield where the values of records in spans start and end; `metadata.image.spans` says what may be relied on."""
    ends = np.empty_like(starts)
    ends[:-1] = starts[1:]
    ends[np.cumsum(counts)[counts > 0] - 1] = span_ends[counts > 0]
    at = starts + 3 + (buffer.bytes[starts] > _ONE_BYTE_MAX)  # behind the size, attributes and timestamp delta
    _, at, _ = buffer.uvarints(at)
    at += 1  # the null key
    at += 1 + (buffer.bytes[at] > _ONE_BYTE_MAX)
    return at, ends - 1


def _object_batch(objects: Sequence[tuple[int, int, PartitionRegistration]]) -> pa.RecordBatch:
    arrays = [pa.array([number for number, _, _ in objects], pa.int32()), pa.array([id for _, id, _ in objects], pa.int32())]
    arrays += [
        pa.array([getattr(partition, _ATTRIBUTES.get(item.name, item.name)) for _, _, partition in objects], item.type)
        for item in list(_RAW)[2:]
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=_RAW)


class _Naming:
    """Makes rows as they are shown: with the names of topics, and words for codes."""

    def __init__(self, cluster_id: str, topics: Sequence[TopicImage]) -> None:
        self._cluster_id = cluster_id
        self._names = pa.array([topic.name for topic in topics], pa.string())
        self._ids = _topic_ids(topics)
        self._texts = pa.array([uuid_text(topic.id) for topic in topics], pa.string())

    def finished(self, raw: pa.RecordBatch) -> pa.RecordBatch:
        replica_counts = list_sizes(raw["replicas"])
        directories = _directories(raw["directories"], replica_counts)
        made = {
            "cluster_id": same_text(self._cluster_id, raw.num_rows),
            "topic": self._names.take(raw["number"]),
            "topic_id": typed_arrays.as_uuids(self._ids.take(raw["number"])),
            "topic_id_text": self._texts.take(raw["number"]),
            "leader_recovery_state": _recovery_words(raw["leader_recovery_state"]),
            "directories": directories,
            "directories_text": _directory_texts(directories),
            # As `health.is_under_replicated` says; a test holds both together.
            "is_under_replicated": pa.array(list_sizes(raw["isr"]) < replica_counts - list_sizes(raw["adding_replicas"])),
        }
        names = SCHEMAS[PARTITIONS].names
        return pa.RecordBatch.from_arrays([made[name] if name in made else raw[name] for name in names], names)


def same_text(text: str, count: int) -> pa.DictionaryArray:
    """Return one text for all rows, stored once."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([text], pa.string()))


def list_sizes(lists: pa.ListArray) -> Ints:
    """Return the number of elements of each list."""
    sizes: Ints = np.diff(lists.offsets.to_numpy()).astype(np.int64)
    return sizes


def _directories(lists: pa.ListArray, replica_counts: Ints) -> pa.ListArray:
    """Return the ids of directories; a record that names none means MIGRATING, once for each replica."""
    counts = list_sizes(lists)
    given = typed_arrays.stored(lists.flatten())
    nameless = counts == 0
    if nameless.any():
        counts = np.where(nameless, replica_counts, counts)
        named = np.repeat(~nameless, counts)
        filled = np.zeros(len(named), "V16")
        filled[named] = np.frombuffer(given.buffers()[1] or b"", "V16", len(given))
        given = pa.Array.from_buffers(pa.binary(typed_arrays.SIZE), len(filled), [None, pa.py_buffer(filled)], 0)
    return pa.ListArray.from_arrays(pa.array(offsets_of(counts)), typed_arrays.as_uuids(given))


def _directory_texts(directories: pa.ListArray) -> pa.ListArray:
    """Their texts, each stored once."""
    return pa.ListArray.from_arrays(directories.offsets, typed_arrays.id_texts(directories.values.storage, directory_text))


def _recovery_words(codes: pa.Array) -> pa.Array:
    found = codes.dictionary_encode()
    words = pa.array([code_name(RECOVERY_STATES, code) for code in found.dictionary.to_pylist()], pa.string())
    return words.take(found.indices)


_BATCH_ROWS: Final = 1 << 16


class GroupOffsets(NamedTuple):
    """The rows of the table, in batches, and the number of places that could not be read."""

    batches: list[pa.RecordBatch]
    fault_count: int

    def table(self, columns: Form = "typed") -> pa.Table:
        """Return all rows."""
        return pa.Table.from_batches(self.in_form(columns))

    def in_form(self, columns: Form) -> list[pa.RecordBatch]:
        """Return the rows in one form, in at least one batch."""
        batches = self.batches or [rows_batch(GROUP_OFFSETS, [], "")]
        return [old_batch(GROUP_OFFSETS, batch) for batch in batches] if columns == "raw" else batches


def read_group_offsets(paths: Sequence[str], *, on_error: OnError = "fail") -> GroupOffsets:
    """Return the offsets of all groups of the logs at `paths`, by cluster, group, topic and partition.

    Logs at URIs are fetched to this machine first.
    Errors: UsageError for a path that cannot be opened, and where no path has a log of groups; MetashellError for a log with damage, unless
    that is skipped.
    """
    with fetch_logs(paths, OFFSETS) as copies:
        try:
            found = _read_local(copies.paths, on_error)
        except MetashellError as error:
            if not copies.uris:
                raise
            raise MetashellError(copies.shown(str(error))) from error
    return found


def _read_local(paths: Sequence[str], on_error: OnError) -> GroupOffsets:
    batches: list[pa.RecordBatch] = []
    fault_count = 0
    for cluster_id, places in sorted(_by_cluster(paths).items()):
        loaded = load_logs(places)
        troubles = [str(fault) for fault in loaded.faults if not fault.is_tail]
        for log in loaded.logs:
            for finding in log.fold.state.findings:
                troubles.append(f"{log.log.file_of(finding.place.offset)}: offset {finding.place.offset}: {finding.text}")
        if troubles and on_error == "fail":
            raise MetashellError(f"{troubles[0]} (1 of {len(troubles)} faults; --on-error skip shows the state without them)")
        fault_count += len(troubles)
        rows = [row for log in loaded.logs for row in _offset_rows(log)]
        rows.sort(key=lambda row: (row["group_id"], row["topic"], row["partition_id"]))
        for start in range(0, len(rows), _BATCH_ROWS):
            batches.append(rows_batch(GROUP_OFFSETS, rows[start : start + _BATCH_ROWS], cluster_id))
    return GroupOffsets(batches, fault_count)


def _by_cluster(paths: Sequence[str]) -> dict[str, list[str]]:
    """Return the directories and named files of logs of groups by the id of their cluster. Errors: UsageError if there is none."""
    found: dict[str, list[str]] = {}
    for path in (place for named in paths for place in paths_of(named)):
        if not os.path.isdir(path):
            file = named_file(path)
            if file.log in (OFFSETS, None):
                found.setdefault(file.cluster_id, []).append(path)
            continue
        try:
            for log in find_logs(path):
                is_left = is_marked(os.path.basename(log.directory)) and os.path.abspath(log.directory) != os.path.abspath(path)
                if log.kind == OFFSETS and not is_left:
                    found.setdefault(log.cluster_id, []).append(log.directory)
        except OSError as error:
            raise PathError.of(path, error) from error
    if not found:
        raise absent_log(paths, GROUP_OFFSETS)
    return found


def _offset_rows(log: LoadedLog) -> Iterator[dict[str, Any]]:
    fold = log.fold
    for raw in fold.groups():
        group_id = kafka_text(raw)
        group = fold.state.groups.get(group_id)
        if group is None and not fold.is_simple(raw):
            continue
        for (topic, partition), committed in fold.committed(raw):
            yield {
                "group_id": group_id,
                "topic": topic,
                "topic_id": None if committed.topic_id == ZERO_UUID else committed.topic_id,
                "partition_id": partition,
                "committed_offset": committed.offset,
                "leader_epoch": None if committed.leader_epoch < 0 else committed.leader_epoch,
                "metadata": committed.metadata,
                "commit_timestamp": committed.commit_ms,
                "expire_timestamp": None if committed.expire_ms < 0 else committed.expire_ms,
                "offset": committed.record_offset,
            }
