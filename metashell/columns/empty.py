"""A table without rows as a file, so that whoever asks for it finds its columns."""

from __future__ import annotations

from metashell.columns.export import ExportOptions
from metashell.columns.export_split import part_path
from metashell.columns.redacting import marked_schema
from metashell.columns.schemas import tables
from metashell.columns.writers import PartFile


def write_empty(folder: str, table: str, options: ExportOptions) -> str:
    """Write it below `folder`; gives its path."""
    path = part_path(folder, table, 0, options.form)
    PartFile(path, marked_schema(tables()[table], show_secrets=options.show_secrets), options.form).finish()
    return path
