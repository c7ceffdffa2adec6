"""Options of reading a split: the wanted tables and form, the wanted rows, and notes of what is newer than this version knows.

Ranges of offsets, epochs and timestamps limit rows as far as the headers of batches tell. A batch that cannot hold a wanted row is
skipped: its checksum and records are not looked at, and where possible its bytes are not read. So damage there is not reported, and
neither is the order of batches.

The command line of spark-reports is declared here too, among the tables, so that help, man pages and completions need no Spark."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from metashell.codec.batches import LOG_APPEND_TIME, BatchHeader
from metashell.codec.primitives import MAX_DECOMPRESSED
from metashell.common import options
from metashell.common.options import ALL_REPORTS, ANSWER_FORMS, REPORT_SUMMARIES, Argument, CommandSpec, Option, choice, flag
from metashell.disk.names import LogKind
from metashell.metadata.image.image import ANYTHING, Newer, newer_levels

if TYPE_CHECKING:
    import pyarrow as pa


OnError = Literal["fail", "skip"]
Form = Literal["raw", "typed"]
OF_BODIES: Final = ("payload", "fault")
"""Columns of `records` for which the bodies of records are decoded: nearly all that the table costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """The wanted tables (None: all but `records`), their form, and the treatment of faults and secrets.

    `tables_by_log` names the tables for each kind of log instead; a log that it does not name is not read.

    `only` bounds the rows: those of records outside are left out, and batches that hold none are not read; of `batches` all that may
    hold one are given. What is damaged in what is passed over is not reported.

    `payload_types` names the types of records whose payload is wanted, None for all.

    `fields` names the raw columns of record tables whose values are wanted, None for all: others are null, but for those that the redaction
    of secrets needs. Their bytes are walked over and checked all the same, so that the rows and the faults are the same.

    `columns` is "raw" for what bytes hold, numbers and 16 bytes for ids, or "typed" for what they say (`columns.typed_tables`).

    `joins_files` lets small files be decoded together, which is 3 times as quick: then a batch may have rows of several files and clusters.

    With `fails_with_store` a store that fails ends the reading; else it is a fault of the file, as a bad disk is, which may be skipped.

    `payloads` off leaves the JSON text of `records` null, which is nearly all of its cost; bodies are not looked into then.
    """

    tables: Collection[str] | None = None
    tables_by_log: Mapping[LogKind, Collection[str]] | None = None
    on_error: OnError = "fail"
    show_secrets: bool = False
    payloads: bool = True
    only: Bounds | None = None
    payload_types: frozenset[str] | None = None
    fields: frozenset[str] | None = None
    columns: Form = "raw"
    max_decompressed: int = MAX_DECOMPRESSED
    joins_files: bool = False
    fails_with_store: bool = False

    def wants(self, table: str) -> bool:
        return table != "records" if self.tables is None else table in self.tables


# ---- bounds of the wanted rows

_LEAST: Final = -(1 << 63)


class Range(NamedTuple):
    """Numbers from `least` to `most`, both included; None where a side is open."""

    least: int | None = None
    most: int | None = None

    def meets(self, first: int, last: int) -> bool:
        """Return whether it has a number from `first` to `last`."""
        return (self.least is None or last >= self.least) and (self.most is None or first <= self.most)

    def within(self, other: Range) -> Range:
        """Return the numbers that both have."""
        least = [side for side in (self.least, other.least) if side is not None]
        most = [side for side in (self.most, other.most) if side is not None]
        return Range(max(least, default=None), min(most, default=None))

    @property
    def is_open(self) -> bool:
        return self.least is None and self.most is None

    @property
    def is_empty(self) -> bool:
        return self.least is not None and self.most is not None and self.least > self.most


OPEN: Final = Range()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The offsets, epochs and timestamps of the wanted rows. Units: timestamps are Unix milliseconds."""

    offset: Range = OPEN
    epoch: Range = OPEN
    timestamp: Range = OPEN

    def within(self, other: Bounds) -> Bounds:
        """Return the bounds of the rows that both want."""
        return Bounds(
            offset=self.offset.within(other.offset), epoch=self.epoch.within(other.epoch), timestamp=self.timestamp.within(other.timestamp)
        )

    def on(self, column: str, wanted: Range) -> Bounds:
        """These bounds, further limited in one column: `offset`, `epoch` or `timestamp`."""
        return self.within(replace(ANY, **{column: wanted}))

    def may_hold(self, header: BatchHeader) -> bool:
        """Return whether a batch may hold a wanted row, by its header of version 2.

        The base timestamp is not the least one: a later record may be older, and in a batch that was compacted another time stands there.
        """
        earliest = header.max_timestamp if header.attributes & LOG_APPEND_TIME else _LEAST
        return (
            self.offset.meets(header.base_offset, header.last_offset)
            and self.epoch.meets(header.leader_epoch, header.leader_epoch)
            and self.timestamp.meets(earliest, header.max_timestamp)
        )

    def precedes(self, header: BatchHeader) -> bool:
        """Return whether a batch lies before all wanted ones, by offset or epoch: these grow along a log, times need not."""
        return (self.offset.least is not None and header.last_offset < self.offset.least) or (
            self.epoch.least is not None and header.leader_epoch < self.epoch.least
        )

    def follows(self, header: BatchHeader) -> bool:
        """Return whether a batch lies behind all wanted ones, by offset or epoch."""
        return (self.offset.most is not None and header.base_offset > self.offset.most) or (
            self.epoch.most is not None and header.leader_epoch > self.epoch.most
        )

    @property
    def is_empty(self) -> bool:
        return self.offset.is_empty or self.epoch.is_empty or self.timestamp.is_empty

    @property
    def is_open(self) -> bool:
        return self.offset.is_open and self.epoch.is_open and self.timestamp.is_open


BOUNDED: Final = ("offset", "epoch", "timestamp")
"""The columns that bounds are about."""
ANY: Final = Bounds()


# ---- notes of what is newer

NewerNotes = dict[str, list[Any]]
"""By what is newer: how many records have it, the first offset and its file, and what an answer may lack."""
_LEVELS = "feature_level"


def note_newer(notes: NewerNotes, table: str, batch: pa.RecordBatch) -> None:
    """Note what a batch of a raw table says."""
    # Who only plans an export has not loaded pyarrow, and its workers are forks as long as that is so.
    from metashell.tables.columns.vectors import UNKNOWN_RECORD
    from metashell.tables.schemas import FAULTS

    if table == FAULTS:
        kinds, reasons, offsets, files = (batch.column(name).to_pylist() for name in ("kind", "reason", "offset", "file"))
        for kind, reason, offset, file in zip(kinds, reasons, offsets, files, strict=True):
            if kind == UNKNOWN_RECORD:
                add_notes(notes, {reason: [1, offset, file, ANYTHING]})
    elif table == _LEVELS:
        for name, level in set(zip(batch.column("name").to_pylist(), batch.column(_LEVELS).to_pylist(), strict=True)):
            add_notes(notes, {part.what: [0, -1, "", ""] for part in newer_levels({name: level})})


def add_notes(notes: NewerNotes, others: Mapping[str, list[Any]]) -> None:
    """Add other notes, of what was read later."""
    for what, (count, *place) in others.items():
        known = notes.setdefault(what, [0, *place])
        known[0] += count


def parts_of_notes(notes: NewerNotes) -> list[Newer]:
    """Return the notes as `Newer` parts, which every command words alike."""
    return [Newer(what, *values) for what, values in notes.items()]


EXPORT_MODES: tuple[Literal["error", "append", "overwrite"], ...] = ("error", "append", "overwrite")
JOBS = {
    "export": "tables as Parquet, a folder for each, or what is new into a lake",
    "stream": "what is appended to growing logs, into Delta tables, until stopped",
}

_FORMAT = choice(
    "--format",
    choices=(*ANSWER_FORMS, "delta"),
    multiple=True,
    help="form of a report's answer, one of the first four, which it has all by default; for export what the tables are: parquet (the "
    "default) or delta",
)

SPARK_REPORTS = CommandSpec(
    name="spark-reports",
    summary="the reports, exports and streams of Kafka's logs on Spark",
    description="""
        The same reports as `metashell report`, for inputs that outgrow one machine; an export writes Parquet, a stream Delta tables. With
        --mode append an export adds to a lake, to which `metashell export --append` adds as well. Without
        --master it uses all cores of this machine, or what spark-submit sets. Workers run the Python that PYSPARK_PYTHON names, by
        default this one.
        """,
    options=(
        options.OUT,
        Option(names=("--master",), metavar="URL", help="where Spark runs: local[2], spark://HOST:PORT, yarn, k8s://..."),
        _FORMAT,
        Option(
            names=("--table",),
            metavar="NAME",
            multiple=True,
            kind="table",
            help="for export and stream: only this table; by default all that occur",
        ),
        choice(
            "--mode",
            metavar="MODE",
            choices=EXPORT_MODES,
            help="for export where one is already: refuse (the default), append to a lake what it does not have yet, or replace what "
            "is there once the new files are written",
        ),
        flag("--dry-run", help="for export: show what the lake has of the logs, and what would be added"),
        flag("--replace", help="for export --mode append: remove what differs from the logs since one was cut and written anew"),
        options.ON_ERROR,
        options.SHOW_SECRETS,
        Option(
            names=("--split-size",),
            metavar="SIZE",
            type="size",
            default=0,
            help="how much of a file one task reads, roughly; 8 to 32 MiB by default",
        ),
        flag("--once", help="stream what is there, then end"),
        options.VERSION,
    ),
    arguments=(
        Argument(name="job", choices=(*REPORT_SUMMARIES, ALL_REPORTS, *JOBS), type="choice", help="a report, or one of the jobs below"),
        options.LOG_PATHS,
    ),
    examples=(
        (
            "spark-reports export hdfs:///dumps/today --mode append --out hdfs:///lake --master yarn",
            "what is new since yesterday, into a lake",
        ),
        ("spark-reports metadata_growth dumps/ --out answers", "a report, on all cores"),
        ("spark-reports export hdfs:///dumps --out hdfs:///tables --master yarn", "all tables of a fleet, on a cluster"),
    ),
    epilog=(options.REPORTS_TEXT, ("JOBS", options.listed(JOBS)), options.EXIT_STATUS),
    files=options.LOG_FILES,
    environment=(
        ("PYSPARK_PYTHON", "the Python that Spark's workers run"),
        ("JAVA_HOME", "the Java that Spark runs on, 17 or later"),
        *options.STORE_ENVIRONMENT,
    ),
)
