"""What a run is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from metashell.codec.compression import MAX_DECOMPRESSED


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """`paths` are directories and files; `digest` asks for one of each path's image, at `digest_offset` or at its end.

    `config` is the server's configuration: its directories are read and judged too. `start_safe` asks instead what a server of `release`
    would do that starts there.

    `output` is `text`, `json` or `jsonl`; with `verbose` text also has notes.
    """

    paths: tuple[str, ...]
    deep: bool = False
    digest: bool = False
    digest_offset: int | None = None
    start_safe: bool = False
    release: str | None = None
    config: str | None = None
    output: str = "text"
    verbose: bool = False
    max_decompressed: int = MAX_DECOMPRESSED
