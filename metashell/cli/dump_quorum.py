"""dump-log on a live quorum: its snapshot, then its log, as far as it is committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.cli.common import EscapedErrors, output_target

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import SimpleNamespace

    from metashell.dump.options import DumpOptions
    from metashell.dump.own.pieces import Piece
    from metashell.live.attach import ChunkSource


def dump_quorum(values: SimpleNamespace, options: DumpOptions) -> int:
    """Dump what the options name; gives the exit status. Errors: UsageError, AttachError."""
    from metashell.cli.attaching import target_of
    from metashell.dump.own.pieces import refuse_whole_files, run_pieces
    from metashell.live.attach import attach_chunks

    refuse_whole_files(options)
    source = attach_chunks(target_of(values))
    try:
        errors = EscapedErrors()
        return run_pieces(options, output_target(), errors, _pieces(source, options.follow, errors))
    finally:
        source.close()


def _pieces(source: ChunkSource, follow: bool, errors: EscapedErrors) -> Iterator[Piece]:
    from metashell.dump.own.pieces import Piece
    from metashell.live.consumers import snapshot_name

    for chunk in source.chunks(follow=follow, say=lambda text: errors.write(f"dump-log: {source.label}: {text}")):
        if chunk.snapshot_id is None:
            yield Piece(f"{source.label}/__cluster_metadata-0", chunk.data)
        else:
            yield Piece(f"{source.label}/{snapshot_name(chunk.snapshot_id)}", chunk.data, is_checkpoint=True)
