"""What to export, where to, and how; and where its parts lie until it is whole."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from metashell import __version__
from metashell.columns.inputs.splits import TARGET_BYTES
from metashell.columns.names import table_names

if TYPE_CHECKING:
    from metashell.columns.decode.options import Form
    from metashell.log.kinds import LogKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """What to export, where to, and how. `tables` is None for all but `records`; `jobs` 0 for one process a core.

    `columns` is the form of the tables: "typed", or "raw" as it was before (`columns/typed`). With `replaces`, what an earlier export
    wrote to the same place may go.
    """

    paths: tuple[str, ...]
    out: str
    form: str = "parquet"
    tables: tuple[str, ...] | None = None
    on_error: Literal["fail", "skip"] = "fail"
    jobs: int = 0
    show_secrets: bool = False
    log: LogKind | None = None
    columns: Form = "typed"
    target_bytes: int = TARGET_BYTES
    replaces: bool = False

    def settings(self) -> dict[str, Any]:
        """What decides the content of the output, besides the input."""
        return {
            "version": __version__,
            "format": self.form,
            "tables": None if self.tables is None else sorted(self.tables),
            "on_error": self.on_error,
            "show_secrets": self.show_secrets,
            "columns": self.columns,
        }

    @property
    def named_tables(self) -> tuple[str, ...]:
        """The tables that were asked for by name: they are there even without rows, unless all were."""
        named = self.tables or ()
        return named if len(named) < len(table_names()) else ()


def part_path(folder: str, table: str, number: int, form: str) -> str:
    """The file of one part of a table below a folder."""
    return os.path.join(folder, f"{table}.{form}", f"part-{number:05d}.{form}")
