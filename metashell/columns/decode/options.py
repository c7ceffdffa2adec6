"""What a reader of splits is asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from metashell.codec.compression import MAX_DECOMPRESSED
from metashell.columns.bounds import Bounds
from metashell.log.kinds import LogKind

OnError = Literal["fail", "skip"]
Form = Literal["raw", "typed"]
OF_BODIES: Final = ("payload", "fault")
"""Columns of `records` for which the bodies of records are decoded: nearly all that the table costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What to read and how: the wanted tables (None: all but `records`), and what becomes of faults and secrets.

    `tables_by_log` names the tables for each kind of log instead; a log that it does not name is not read.

    `only` bounds the rows: those of records outside are left out, and batches that hold none are not read; of `batches` all that may
    hold one are given. What is damaged in what is passed over is not reported.

    `payload_types` names the types of records whose payload is wanted, None for all.

    `fields` names the raw columns of record tables whose values are wanted, None for all: others are null, but for those that the redaction
    of secrets needs. Their bytes are walked over and checked all the same, so that the rows and the faults are the same.

    `columns` is "raw" for what bytes hold, numbers and 16 bytes for ids, or "typed" for what they say (`columns/typed`).

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
