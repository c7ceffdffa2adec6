"""The tables of events of some logs, each read when a question scans it, and no more of the logs than its condition leaves.

What a scan wants is read into temporary files and kept: a whole table for all questions to come, a part of one until another is wanted.
Where all of a table is wanted, all others that the question names are read with it: one way through the logs serves them all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from metashell.columns.bounds import ANY, Bounds
from metashell.columns.decode.newer import NewerNotes
from metashell.columns.decode.options import OF_BODIES, Form, ReadOptions
from metashell.columns.inputs.files import input_files, is_read_once
from metashell.columns.inputs.splits import TARGET_BYTES, absent_log, has_log, kind_of, splits_of
from metashell.columns.names import STATE_TABLES
from metashell.columns.schemas import FAULTS, RECORDS, tables
from metashell.columns.sql.proven import Judge
from metashell.columns.sql.served import Scan
from metashell.columns.sql.spool import read_tables, spooled_schema
from metashell.columns.state.reading import no_metadata
from metashell.errors import MetashellError
from metashell.log.kinds import METADATA

if TYPE_CHECKING:
    from metashell.columns.decode.options import OnError
    from metashell.log.inputs import InputFile
    from metashell.log.kinds import LogKind

_WHOLE: Final = 1 << 62
"""So large is no file: each is one piece."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A part of a table: the rows within bounds; of `records` whether bodies are decoded, and of which types (None: all)."""

    only: Bounds = ANY
    payloads: bool = True
    payload_types: frozenset[str] | None = None

    def includes(self, other: Wanted) -> bool:
        return self == other or (self.only == ANY and self.payload_types is None and (self.payloads or not other.payloads))


class EventTables:
    """Tables of events by name, as `served` asks for them. `go_on` raises where nobody waits for them any more."""

    def __init__(
        self,
        paths: Sequence[str],
        *,
        log: LogKind | None,
        on_error: OnError,
        show_secrets: bool,
        columns: Form,
        go_on: Callable[[], None],
    ) -> None:
        self._paths = paths
        self._log = log
        self._on_error: OnError = on_error
        self._show_secrets = show_secrets
        self._columns: Form = columns
        self._go_on = go_on
        self.schemas: dict[str, pa.Schema] = {name: spooled_schema(name, columns) for name in tables()}
        self._files: list[InputFile] = []
        self._sizes: dict[str, int] = {}
        self._kept: dict[str, tuple[Wanted, pa.Table]] = {}
        self._fault_counts: dict[str, int] = {}
        self._newer: dict[str, NewerNotes] = {}
        self._named: Collection[str] = ()
        self._reading = Lock()

    def find(self) -> Mapping[str, MetashellError]:
        """Find the logs; gives the tables that they do not have, and why. Errors: UsageError where there is no log."""
        self._files = [file for path in self._paths for file in input_files(path, self._log)]
        logs = set(map(kind_of, self._files))
        absent: dict[str, MetashellError] = {name: absent_log(self._paths, name) for name in self.schemas if not has_log(logs, name)}
        return absent if {METADATA, None} & logs else {**absent, **dict.fromkeys(STATE_TABLES, no_metadata(self._paths))}

    def name(self, named: Collection[str]) -> None:
        """Say which tables the next question names."""
        self._named = named

    @property
    def fault_count(self) -> int:
        """The faults that were skipped on the way through what the question names: one way finds those of another."""
        return max((self._fault_counts.get(name, 0) for name in self._named), default=0)

    @property
    def newer(self) -> NewerNotes:
        """What a newer release wrote in what the question names; see `fault_count`."""
        return max((self._newer.get(name, {}) for name in self._named), key=len, default={})

    def serve(self, name: str, scan: Scan) -> Any:
        """The rows of one table that a scan wants. Errors: LogCorruptError or MetashellError at a fault, unless faults are skipped."""
        with self._reading:
            self._go_on()
            wanted = self._wanted(name, scan)
            if name not in self._kept or not self._kept[name][0].includes(wanted):
                self._read(name, wanted)
            return scan.of(self._kept[name][1])

    def _wanted(self, name: str, scan: Scan) -> Wanted:
        # Faults are those of all that is read, and what can be read only once is read as a whole.
        if FAULTS in self._named or any(is_read_once(file.path) for file in self._files):
            return Wanted()
        payloads = name != RECORDS or any(map(scan.names, OF_BODIES))
        if scan.condition is None:
            return Wanted(payloads=payloads)
        judge = Judge(self.schemas[name], scan.condition)
        return Wanted(judge.bounds(), payloads, judge.types() if name == RECORDS and payloads else None)

    def _read(self, name: str, wanted: Wanted) -> None:
        together = {name}
        if wanted.only == ANY:
            together |= {other for other in self._named if other not in self._kept or self._kept[other][0].only != ANY}
        # Only who decodes a body knows whether it is at fault.
        read_for_faults = {name for name in self.schemas if name != RECORDS} if FAULTS in together else set()
        options = ReadOptions(
            tables=sorted(together | read_for_faults),
            on_error=self._on_error,
            show_secrets=self._show_secrets,
            columns=self._columns,
            only=None if wanted.only == ANY else wanted.only,
            payloads=wanted.payloads,
            payload_types=wanted.payload_types,
            joins_files=True,
        )
        # Cuts show how far the reading of all is; they cost a way through the log where it has no index.
        splits = list(splits_of(self._files, TARGET_BYTES if options.only is None else _WHOLE, only=options.only, sizes=self._sizes))

        def kept(table: str, batch: pa.RecordBatch) -> list[tuple[str, pa.RecordBatch]]:
            self._go_on()
            return [(table, batch)] if table in together else []

        newer: NewerNotes = {}
        read, fault_count = read_tables(splits, options, kept, newer)
        for each in together:
            # Of other tables no part is left out; of `records` bodies may be.
            part = wanted if each == RECORDS else Wanted(wanted.only)
            empty = pa.Table.from_batches([], self.schemas[each])
            self._kept[each] = part, read.get(each, empty)
            self._fault_counts[each] = fault_count
            self._newer[each] = newer
