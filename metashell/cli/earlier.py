"""The past of what kafka-shell opened, for `--at`, `log`, `at` and `diff`, and the other source of `diff`."""

from __future__ import annotations

import os
from functools import cache
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Final

from metashell.errors import MetashellError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import SimpleNamespace

    from metashell.history import Past
    from metashell.history.fetched import FetchedOpener
    from metashell.image import MetadataImage
    from metashell.live.attach import ChunkSource

_WAIT_S: Final = 0.2
_LATE_S: Final = 10.0

READS_LOG_ONLY = ("log", "diff")
"""Commands that need no image of the newest state, or read it themselves."""


def past_of_path(path: str, max_decompressed: int) -> Callable[[], Past]:
    """What gives the past of a file or directory, made at the first call. Errors of the call: MetashellError."""

    @cache
    def make() -> Past:
        from metashell.history import Past
        from metashell.history.openers import opener_of

        return Past(opener_of(path), max_decompressed=max_decompressed)

    return make


def past_of_quorum(values: SimpleNamespace) -> Past:
    """The past of a live quorum as it is now. Errors: MetashellError."""
    from metashell.cli.attaching import target_of
    from metashell.history import Past
    from metashell.history.fetched import FetchedOpener
    from metashell.live.attach import attach_chunks

    chunks = attach_chunks(target_of(values))
    try:
        opener = FetchedOpener(chunks.label, chunks.chunks(follow=False))
        opener.cluster_name = chunks.cluster_id
        _add_older(chunks, opener)
        return Past(opener, max_decompressed=values.max_decompressed)
    finally:
        chunks.close()


class KeptQuorum:
    """The past of a live quorum, fetched at the first question and followed from then on: a later one waits only for what is new."""

    def __init__(self, values: SimpleNamespace, newest: Callable[[], int]) -> None:
        """`newest` gives the offset to which the past has to reach."""
        self._values = values
        self._newest = newest
        self._chunks: ChunkSource | None = None
        self._opener: FetchedOpener | None = None
        self._past: Past | None = None
        self._end = 0
        self._error: BaseException | None = None
        self._moved = Event()
        self._has_older = False
        """Whether the log from before the snapshot was asked for."""

    def __call__(self) -> Past:
        """Errors: MetashellError where the quorum does not give its log."""
        if self._past is None:
            self._start()
        wanted, began_s = self._newest(), monotonic()
        while self._end < wanted:
            self._moved.wait(_WAIT_S)
            self._moved.clear()
            error, is_late = self._error, self._end and monotonic() > began_s + _LATE_S
            if error is not None or is_late:
                self.close()
                raise error or MetashellError(f"the quorum gave its log up to offset {self._end}, and not to {wanted}: try again")
        assert self._past is not None and self._opener is not None and self._chunks is not None
        if not self._has_older:
            self._has_older = True
            _add_older(self._chunks, self._opener)
        self._opener.cluster_name = self._chunks.cluster_id
        return self._past

    def _start(self) -> None:
        from metashell.cli.attaching import target_of
        from metashell.history import Past
        from metashell.history.fetched import FetchedOpener
        from metashell.live.attach import attach_chunks

        self._error, self._end, self._has_older = None, 0, False
        self._chunks = chunks = attach_chunks(target_of(self._values))
        self._opener = opener = FetchedOpener(chunks.label)
        Thread(target=self._follow, args=(chunks, opener), name="log of the quorum", daemon=True).start()
        self._past = Past(opener, max_decompressed=self._values.max_decompressed)

    def _follow(self, chunks: ChunkSource, opener: FetchedOpener) -> None:
        try:
            for chunk in chunks.chunks(follow=True):
                opener.add(chunk)
                self._end = chunk.end_offset
                self._moved.set()
        except BaseException as error:  # raised again where it is waited for
            self._error = error
            self._moved.set()

    def close(self) -> None:
        """Leave the quorum; a later question reaches it anew."""
        if self._chunks is not None:
            self._chunks.close()
        self._chunks = self._past = None


def _add_older(chunks: ChunkSource, opener: FetchedOpener) -> None:
    """Take what the leader still has of the log from before the snapshot that it gave."""
    if opener.snapshot_id is not None:
        opener.add_older(chunks.older_log(opener.snapshot_id))


def image_of_moment(past: Past, text: str) -> MetadataImage:
    """The image as of a moment. Errors: UsageError for no moment; MetashellError for one of which nothing is known."""
    import time

    from metashell.history import parse_moment
    from metashell.progress import shown_while

    moment = parse_moment(text, round(time.time() * 1000))
    with shown_while(f"opening {past.path} as of {text}"):
        return past.image_of(moment)


def other_past(values: SimpleNamespace) -> Callable[[str | None, str | None], Past]:
    """What opens the other source of `diff`: a path, a name with an @, or controllers, which are reached as the command line says."""

    def make(path: str | None, controllers: str | None) -> Past:
        from types import SimpleNamespace

        other = {"bootstrap_controller": controllers, "bootstrap_server": None}
        if path is not None and path[:1] == "@":
            from metashell.cli.common import chosen_settings
            from metashell.cli.sources import SOURCE_OPTIONS, source_of
            from metashell.demo import demo_directory

            named = source_of(path, values.settings or chosen_settings("kafka-shell"), "--snapshot")
            path = demo_directory() if named.demo else named.snapshot
            other = {name: getattr(named, name) for name in SOURCE_OPTIONS}
        if path is not None:
            check_path(path)
            return past_of_path(path, values.max_decompressed)()
        return past_of_quorum(SimpleNamespace(**{**vars(values), **other}))

    return make


def compares_with_quorum(command: Sequence[str]) -> bool:
    """Whether the command is a `diff` with a live quorum."""
    return command[:1] == ("diff",) and any(word.startswith(("-C", "--bootstrap-controller")) for word in command)


def check_path(path: str) -> None:
    """Errors: MetashellError for a path that cannot be opened, and for a file that is no metadata."""
    from metashell.cli.loading import refuse_other_log
    from metashell.errors import MetashellError, UsageError
    from metashell.log.file_source import FileSource

    if os.path.isdir(path):
        return
    try:
        with FileSource(path) as source:
            refuse_other_log(path, source)
    except UsageError as error:
        raise MetashellError(str(error)) from None
