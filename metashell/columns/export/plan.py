"""What an export has to do, and what it has done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from metashell.columns.export.options import ExportOptions
from metashell.columns.inputs.splits import Split, iter_splits, logs_of, require_logs

Progress = Callable[[int, int], None]
"""Called with the bytes of input that were read since the last call, and the rows in them."""


@dataclass(slots=True)
class ExportReport:
    """What an export did: rows by table, the number of splits, and how many of them an earlier export had done."""

    rows: dict[str, int] = field(default_factory=dict)
    split_count: int = 0
    reused_count: int = 0
    is_unchanged: bool = False

    def add(self, rows: dict[str, int]) -> None:
        for table, count in rows.items():
            self.rows[table] = self.rows.get(table, 0) + count


def export_splits(options: ExportOptions) -> Iterator[Split]:
    """What there is to read, each file once even if it is named twice. Errors: UsageError, also after the last: see `require_logs`."""
    seen: set[Split] = set()
    for split in iter_splits(options.paths, options.target_bytes, log=options.log):
        if split not in seen:
            seen.add(split)
            yield split
    require_logs(logs_of(seen), options.named_tables, options.paths)
