"""The options of one run of dump-log, and its output.

Output goes to a file descriptor; tests and callers inside a program pass an object with `write`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Final, Literal, NamedTuple, Protocol

from metashell.codec.primitives import MAX_DECOMPRESSED

Voice = Literal["own", "kafka"]
OutputForm = Literal["jsonl", "json", "kafka", "table"]
Batches = Literal["no", "also", "only"]
Decoder = Literal["offsets", "transactions", "metadata", "remote_log", "share", "classes"]
DECODER_FLAGS: Final[dict[str, Decoder]] = {
    "offsets_decoder": "offsets",
    "transaction_log_decoder": "transactions",
    "cluster_metadata_decoder": "metadata",
    "remote_log_metadata_decoder": "remote_log",
    "share_group_state_decoder": "share",
}
"""Flag -> decoder, named by the log that it reads. Of several flags the first in this order counts, as in Kafka's tool."""

MAX_BYTES_DEFAULT = 2147483647
"""Kafka's default of --max-bytes; only with it are bytes left over at the end of a file reported."""
MAX_MESSAGE_SIZE_DEFAULT = 5242880


class DumpOptions(NamedTuple):
    """The parsed flags of `dump-log` and `kafka-dump-log`.

    Shape: `files` are paths as given, `-` is standard input (own voice only). `voice` decides how files are found, whether a damaged one
    stops the run, and the status; `output` decides the text (`table` goes with `summary`). `jobs` is the number of processes, 0 for as
    many as help. A filter that is not given passes everything. Of several decoders one counts, see `decoder`; `is_decoder_implied` if
    that was chosen by the file's log, not by an option. The class decoders are None if not given, and empty if given without a class.
    Units: `offsets` are inclusive; times are Unix milliseconds, inclusive; sizes are bytes.
    """

    files: tuple[str, ...]
    voice: Voice = "own"
    output: OutputForm = "jsonl"
    program: str = "dump-log"

    offsets_decoder: bool = False
    transaction_log_decoder: bool = False
    cluster_metadata_decoder: bool = False
    remote_log_metadata_decoder: bool = False
    share_group_state_decoder: bool = False
    key_decoder_class: str | None = None
    value_decoder_class: str | None = None
    verify_index_only: bool = False
    index_sanity_check: bool = False
    print_data_log: bool = False
    deep_iteration: bool = False
    skip_record_metadata: bool = False
    max_bytes: int = MAX_BYTES_DEFAULT
    max_message_size: int = MAX_MESSAGE_SIZE_DEFAULT

    batches: Batches = "no"
    types: tuple[str, ...] = ()
    offsets: tuple[int | None, int | None] = (None, None)
    since_ms: int | None = None
    until_ms: int | None = None
    key_pattern: re.Pattern[str] | None = None
    value_pattern: re.Pattern[str] | None = None

    summary: bool = False
    follow: bool = False
    show_secrets: bool = False
    max_decompressed: int = MAX_DECOMPRESSED
    verbose: bool = False
    jobs: int = 0
    is_decoder_implied: bool = False

    @property
    def decoder(self) -> Decoder:
        """The decoder of records: of several, the one that Kafka's tool takes; `classes` if none is given."""
        return next((decoder for flag, decoder in DECODER_FLAGS.items() if getattr(self, flag)), "classes")

    @property
    def prints_contents(self) -> bool:
        """Return whether keys and values are shown. A decoder turns this on, and this turns on deep iteration."""
        has_class = self.key_decoder_class is not None or self.value_decoder_class is not None
        return self.print_data_log or has_class or self.decoder != "classes"

    @property
    def iterates_deep(self) -> bool:
        return self.deep_iteration or self.prints_contents


class ByteSink(Protocol):
    """An object that bytes are written to, such as a `BytesIO`."""

    def write(self, data: bytes, /) -> object: ...


class TextSink(Protocol):
    """An object that lines about faults are written to, such as stderr."""

    def write(self, text: str, /) -> object: ...


class Output:
    """Writes everything or raises OSError. `fd` is None for an object."""

    def __init__(self, target: int | ByteSink) -> None:
        self.fd = target if isinstance(target, int) else None
        self._sink = None if isinstance(target, int) else target

    def takes_more(self) -> bool:
        """Return whether a short write would not block."""
        if self.fd is None:
            return True
        import select

        return bool(select.select((), (self.fd,), (), 0)[1])

    def write_all(self, parts: list[bytes]) -> None:
        """Write pieces of text in order; each is freed once it is written."""
        parts.reverse()
        while parts:
            self.write(parts.pop())

    def write(self, data: bytes) -> None:
        """Write all of `data`; waits if the descriptor is non-blocking."""
        if self._sink is not None:
            self._sink.write(data)
            return
        assert self.fd is not None
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self.fd, view) :]
            except BlockingIOError:
                import select

                select.select((), (self.fd,), ())


class TerminalOutput(Output):
    """Escapes control characters in text for a terminal; every `write` is whole lines."""

    def __init__(self, fd: int, escape: Callable[[str], str]) -> None:
        super().__init__(fd)
        self._escape = escape

    def write(self, data: bytes) -> None:
        super().write(self._escape(data.decode("utf-8", "surrogateescape")).encode())


def output_for(target: int | ByteSink, form: str) -> Output:
    """The output of a run; on a terminal, control characters are escaped, in JSON as JSON does."""
    if not isinstance(target, int) or not os.isatty(target):
        return Output(target)
    from metashell.common.terminal import terminal_json, terminal_text

    return TerminalOutput(target, terminal_json if form in ("json", "jsonl") else terminal_text)
