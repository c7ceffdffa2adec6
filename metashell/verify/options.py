"""What a run is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from metashell.codec.compression import MAX_DECOMPRESSED


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """`paths` are directories and files; `digest` asks for one of each path's image, at `digest_offset` or at its end.

    `output` is `text`, `json` or `jsonl`; with `verbose` text has what is no finding too.
    """

    paths: tuple[str, ...]
    deep: bool = False
    digest: bool = False
    digest_offset: int | None = None
    output: str = "text"
    verbose: bool = False
    max_decompressed: int = MAX_DECOMPRESSED
