"""What an export has to do, and what it has done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from metashell.columns.decode.newer import NewerNotes, add_notes
from metashell.columns.export.options import ExportOptions
from metashell.columns.inputs.splits import Split, iter_splits, logs_of, require_logs

Progress = Callable[[int, int], None]
"""Called with the bytes of input that were read since the last call, and the rows in them."""


@dataclass(slots=True)
class ExportReport:
    """What an export did: rows by table, the number of splits, and how many of them an earlier export had done.

    `newer` is what a newer release wrote.
    """

    rows: dict[str, int] = field(default_factory=dict)
    split_count: int = 0
    reused_count: int = 0
    is_unchanged: bool = False
    newer: NewerNotes = field(default_factory=dict)

    @classmethod
    def unchanged(cls, entries: Sequence[Mapping[str, Any]]) -> ExportReport:
        """The report of an export that found all of its splits done."""
        report = cls(split_count=len(entries), reused_count=len(entries), is_unchanged=True)
        for entry in entries:
            report.add(entry)
        return report

    def add(self, entry: Mapping[str, Any]) -> None:
        """Add what a manifest says of a split."""
        add_notes(self.newer, entry.get("newer", {}))
        for table, count in entry["rows"].items():
            self.rows[table] = self.rows.get(table, 0) + count


def export_splits(options: ExportOptions) -> Iterator[Split]:
    """What there is to read, each file once even if it is named twice. Errors: UsageError, also after the last: see `require_logs`."""
    seen: set[Split] = set()
    for split in iter_splits(options.paths, options.target_bytes, log=options.log):
        if split not in seen:
            seen.add(split)
            yield split
    require_logs(logs_of(seen), options.named_tables, options.paths)
