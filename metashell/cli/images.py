"""The image of a path, the context in which shell commands run, and the past of a source for `--at`, `log`, `at` and `diff`."""

from __future__ import annotations

import gc
import os
import sys
import time
from functools import cache, partial
from threading import Event, Thread
from time import monotonic
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from metashell import __version__
from metashell.cli.tool import chosen_settings
from metashell.codec.releases import NEWEST_RELEASE
from metashell.common.command import complain
from metashell.common.errors import MetashellError, UsageError
from metashell.demo import demo_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import SimpleNamespace

    from metashell.common.settings import Settings
    from metashell.disk.source import DirectorySource, FileSource
    from metashell.groups.view import GroupSource
    from metashell.metadata.history import Past
    from metashell.metadata.history.sources import FetchedOpener
    from metashell.metadata.image import MetadataImage
    from metashell.metadata.nodes import Node
    from metashell.metadata.nodes.names import NameStyle
    from metashell.quorum.observer.attach import ChunkSource
    from metashell.shell.context import Context, KeyGuide


KAFKA_COMMIT_ID = "1156b2752aaa28ea"
"""The commit of the newest release; Kafka's shell shows it in /local."""


class Loaded(NamedTuple):
    """An image and its source."""

    path: str
    kind: str
    image: MetadataImage


def load_image(path: str, *, certain_only: bool, max_decompressed: int, takes_anything: bool = False) -> Loaded:
    """Load the image that a file or directory describes.

    Errors: MetashellError for a path that cannot be opened or that holds no metadata, because an empty tree would be a wrong answer.
    With `takes_anything`, as in Kafka's shell, only for a path that cannot be opened.
    """
    from metashell.disk.source import open_source
    from metashell.metadata.image import load_image

    try:
        source = open_source(path)
    except UsageError as error:
        # A missing path is a failure of the run, not a mistake in the command line.
        raise MetashellError(str(error)) from None
    with source:
        if not takes_anything:
            refuse_other_log(path, source)
        # From here on memory must not grow with what commands do. The loader hides the image and all before it from the collector:
        # nothing is imported between here and there, since a first collection among what a start makes costs 5 ms.
        gc.enable()
        image = load_image(source, certain_only=certain_only, max_decompressed=max_decompressed)
        if not takes_anything:
            refuse_nothing(path, source, image, certain_only=certain_only)
        return Loaded(path=path, kind=source.kind, image=image)


def refuse_other_log(path: str, source: FileSource | DirectorySource) -> None:
    """Raise MetashellError for a file of another kind. The message names the kind and the command that reads it."""
    from metashell.disk.inputs import other_log_fault
    from metashell.disk.names import DATA, METADATA, other_file
    from metashell.disk.source import FileSource

    if not isinstance(source, FileSource):
        return
    if (words := other_file(path)) is not None:
        raise MetashellError(f"{path}: {words}, not metadata: dump-log reads it")
    kind, is_sure = source.log_kind()
    if kind not in (None, METADATA) and (is_sure or kind != DATA):
        raise MetashellError(str(other_log_fault(path, kind, METADATA)))


def refuse_nothing(path: str, source: FileSource | DirectorySource, image: MetadataImage, *, certain_only: bool) -> None:
    """Raise MetashellError if no metadata was found. The message gives the reason."""
    from metashell.disk.inputs import NO_LOG
    from metashell.disk.names import parse_name
    from metashell.metadata.image.image import EMPTY_IMAGE

    if image.leader is not None or image.voters is not None or not image.has_same_metadata(EMPTY_IMAGE):
        return
    if certain_only and source.certain_to is None:
        raise MetashellError(f"{path}: all of it may not be committed: there is no complete checkpoint")
    was_read = image.provenance.offset >= 0
    if image.faults:
        is_log = was_read or source.kind != "segment" or parse_name(os.path.basename(path)) is not None
        what = "no metadata could be read" if is_log else NO_LOG
        fault = image.faults[0]
        raise MetashellError(f"{path}: {what}: {str(fault).removeprefix(f'{path}: ')}")
    if not was_read:
        raise MetashellError(f"{path}: nothing in it: the metadata log has no batch")


def report_faults(name: str, loaded: Loaded, *, verbose: bool) -> None:
    """Report on stderr the first fault and the number of all faults in one line, and unknown newer records in another.

    With `verbose`, report all faults and torn tails.
    """
    from metashell.metadata.image.image import damage_of, newer_line, newer_parts

    provenance = loaded.image.provenance
    if verbose:
        certain = provenance.certain_to
        reach = "all of it may not be committed" if certain is None else f"committed to offset {certain}"
        complain(name, f"{loaded.path}: {loaded.kind}, {reach}, end offset {provenance.end_offset}")
        for fault in (*loaded.image.faults, *loaded.image.unread, *loaded.image.torn_tails):
            complain(name, str(fault))
    elif faults := damage_of(loaded.image):
        notes = [f"1 of {len(faults)} faults; -v shows all"] if len(faults) > 1 else []
        if starts_late(loaded):
            notes.append("a later segment lacks what came before it: open its directory instead")
        complain(name, f"{faults[0]} ({'; '.join(notes)})" if notes else str(faults[0]))
    if newer := newer_parts(loaded.image):
        complain(name, f"{loaded.path}: {newer_line(newer)}")


def report_image(image: MetadataImage, say: Callable[[str], None]) -> bool:
    """Report damage in one line and unknown newer records in another; return whether answers may lack something because of them."""
    from metashell.metadata.image.image import lacks_some, trouble_lines

    for line in trouble_lines(image):
        say(line)
    return lacks_some(image)


def starts_late(loaded: Loaded) -> bool:
    """Return whether the source is a single segment that is not the first of its log."""
    digits = os.path.basename(loaded.path).split(".")[0]
    return loaded.kind == "segment" and digits.isascii() and digits.isdigit() and int(digits) > 0


def run_commands(context: Context, command: Sequence[str], *, keep_going: bool = True) -> int:
    """Run one command, or the commands of the prompt or of standard input; return the exit status."""
    if command:
        from metashell.shell.runner import run_command

        return run_command(context, command)
    if is_prompt(command):
        from metashell.shell.terminal.prompt import run_prompt

        return run_prompt(context)
    from metashell.shell.runner import run_script

    return run_script(context, sys.stdin, keep_going=keep_going)


def config_guide(resource_type: int | None) -> dict[str, KeyGuide]:
    """Return the keys that Kafka knows for a type of resource. For None, return those of topics, then all others."""
    from metashell.quorum.controller.settings import KINDS, allowed_words, config_keys

    wanted = KINDS.values() if resource_type is None else [KINDS[resource_type]] if resource_type in KINDS else []
    found: dict[str, KeyGuide] = {}
    for kind in wanted:
        for key in config_keys(kind).values():
            found.setdefault(key.name, (key.default, key.documentation, allowed_words(key)))
    return found


def is_prompt(command: Sequence[str]) -> bool:
    """Return whether to open the prompt: the command line has no command, and stdin and stdout are terminals."""
    return not command and sys.stdin.isatty() and sys.stdout.isatty()


def make_context(
    loaded: Loaded,
    *,
    voice: Literal["own", "kafka"],
    output: str | None,
    redact: bool = True,
    no_color: bool = False,
    label: str = "",
    width: bool = True,
    groups: GroupSource | None = None,
    settings: Settings | None = None,
) -> Context:
    """Return a context whose commands write to the standard streams.

    Shape: pass `settings` only for a prompt, since scripts ignore the settings for looks. If `output` is None, the settings choose the
    form, or else it is text.
    """
    from metashell.common.forms import standard_output
    from metashell.metadata.nodes import LocalInfo, build_root
    from metashell.shell.context import Context

    ours = LocalInfo(version=__version__)
    local = ours if voice == "own" else LocalInfo(version=NEWEST_RELEASE.patch, commit_id=KAFKA_COMMIT_ID)
    display = standard_output(no_color=no_color)
    if not width:
        display.width = None
    if settings is not None:
        display.palette = {**display.palette, **settings.colors}

    extras = {} if groups is None else {"groups": partial(_groups_node, groups)}

    def make_root(image: MetadataImage, before: Node) -> Node:
        return build_root(image, voice=voice, local=local, before=before, extras={} if context.at is not None else extras)

    context = Context(
        root=build_root(loaded.image, voice=voice, local=local, extras=extras),
        image=loaded.image,
        display=display,
        err=sys.stderr,
        voice=voice,
        output=output or (settings and settings.output) or "text",
        chosen=settings,
        config_guide=config_guide if voice == "own" else None,
        source_label=label or loaded.path,
        redact=redact,
        make_root=make_root,
        open_output=_opened_beside(loaded.path),
    )
    return context


def _groups_node(groups: GroupSource, name: str, style: NameStyle) -> Node:
    from metashell.groups.view import GroupsNode

    return GroupsNode(name, groups, style)


def _opened_beside(source: str) -> Callable[[str, bool, Sequence[str]], int]:
    """Return a function that opens output files and refuses the files that are being read."""

    def opened(path: str, append: bool, others: Sequence[str]) -> int:
        from metashell.disk.file_system import open_output

        return open_output(path, append=append, sources=(source, *others))

    return opened


_WAIT_S: Final = 0.2
_LATE_S: Final = 10.0

READS_LOG_ONLY = ("log", "diff")
"""Commands that do not need the image of the newest state, or read it themselves."""


def past_of_path(path: str, max_decompressed: int) -> Callable[[], Past]:
    """Return a function that gives the past of a file or directory, and makes it at its first call. Errors of the call: MetashellError."""

    @cache
    def make() -> Past:
        from metashell.metadata.history import Past
        from metashell.metadata.history.sources import opener_of

        return Past(opener_of(path), max_decompressed=max_decompressed)

    return make


def past_of_quorum(values: SimpleNamespace) -> Past:
    """Return the past of a live quorum up to now. Errors: MetashellError."""
    from metashell.cli.connection import target_of
    from metashell.metadata.history import Past
    from metashell.metadata.history.sources import FetchedOpener
    from metashell.quorum.observer.attach import attach_chunks

    chunks = attach_chunks(target_of(values))
    try:
        opener = FetchedOpener(chunks.label, chunks.chunks(follow=False))
        opener.cluster_name = chunks.cluster_id
        _add_older(chunks, opener)
        return Past(opener, max_decompressed=values.max_decompressed)
    finally:
        chunks.close()


class KeptQuorum:
    """The past of a live quorum. The first call fetches it and starts to follow the log; a later call waits only for new records."""

    def __init__(self, values: SimpleNamespace, newest: Callable[[], int]) -> None:
        """Create it without connecting. `newest` returns the offset that the past has to reach."""
        self._values = values
        self._newest = newest
        self._chunks: ChunkSource | None = None
        self._opener: FetchedOpener | None = None
        self._past: Past | None = None
        self._end = 0
        self._error: BaseException | None = None
        self._moved = Event()
        self._has_older = False
        """Whether the log before the snapshot was already requested."""

    def __call__(self) -> Past:
        """Return the past up to the newest offset. Errors: MetashellError if the quorum does not give its log."""
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
        from metashell.cli.connection import target_of
        from metashell.metadata.history import Past
        from metashell.metadata.history.sources import FetchedOpener
        from metashell.quorum.observer.attach import attach_chunks

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
        except BaseException as error:  # `__call__` raises it again
            self._error = error
            self._moved.set()

    def close(self) -> None:
        """Disconnect from the quorum. The next call connects again."""
        if self._chunks is not None:
            self._chunks.close()
        self._chunks = self._past = None


def _add_older(chunks: ChunkSource, opener: FetchedOpener) -> None:
    """Add the part of the log before the snapshot that the leader still has."""
    if opener.snapshot_id is not None:
        opener.add_older(chunks.older_log(opener.snapshot_id))


def image_of_moment(past: Past, text: str) -> MetadataImage:
    """Return the image as of a moment. Errors: UsageError for text that is not a moment; MetashellError if nothing is known of it."""

    from metashell.common.terminal import show_progress
    from metashell.metadata.history import parse_moment

    moment = parse_moment(text, round(time.time() * 1000))
    with show_progress(f"opening {past.path} as of {text}"):
        return past.image_of(moment)


def other_past(values: SimpleNamespace) -> Callable[[str | None, str | None], Past]:
    """Return a function that opens the other source of `diff`: a path, an `@NAME`, or controllers with the connection options of
    `values`.
    """

    def make(path: str | None, controllers: str | None) -> Past:
        other = {"bootstrap_controller": controllers, "bootstrap_server": None}
        if path is not None and path[:1] == "@":
            from metashell.cli.sources import SOURCE_OPTIONS, source_of

            named = source_of(path, values.settings or chosen_settings("kafka-shell"), "--snapshot")
            path = demo_directory() if named.demo else named.snapshot
            other = {name: getattr(named, name) for name in SOURCE_OPTIONS}
        if path is not None:
            check_path(path)
            return past_of_path(path, values.max_decompressed)()
        return past_of_quorum(SimpleNamespace(**{**vars(values), **other}))

    return make


def compares_with_quorum(command: Sequence[str]) -> bool:
    """Return whether the command is a `diff` with a live quorum."""
    return command[:1] == ("diff",) and any(word.startswith(("-C", "--bootstrap-controller")) for word in command)


def check_path(path: str) -> None:
    """Raise MetashellError for a path that cannot be opened, or a file without metadata."""
    from metashell.disk.source import FileSource

    if os.path.isdir(path):
        return
    try:
        with FileSource(path) as source:
            refuse_other_log(path, source)
    except UsageError as error:
        raise MetashellError(str(error)) from None
