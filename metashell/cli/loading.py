"""Loads the image of a path, reports its faults, and makes the context that commands run in."""

from __future__ import annotations

import gc
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from metashell.cli.common import complain
from metashell.errors import MetashellError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metashell.image import MetadataImage
    from metashell.log.directory_source import DirectorySource
    from metashell.log.file_source import FileSource
    from metashell.nodes import Node
    from metashell.nodes.groups import Groups
    from metashell.nodes.names import NameStyle
    from metashell.settings import Settings
    from metashell.shell.context import Context, KeyGuide

KAFKA_COMMIT_ID = "1156b2752aaa28ea"
"""The commit of the newest release, which Kafka's shell shows in /local."""


class Loaded(NamedTuple):
    """An image and its source."""

    path: str
    kind: str
    image: MetadataImage


def load(path: str, *, certain_only: bool, max_decompressed: int, takes_anything: bool = False) -> Loaded:
    """The image that a file or directory describes.

    Errors: MetashellError for a path that cannot be opened or holds no metadata: the tree of an empty cluster would be a wrong
    answer. With `takes_anything`, as in Kafka's shell, only for one that cannot be opened.
    """
    from metashell.image import load_image
    from metashell.log.source import open_source

    try:
        source = open_source(path)
    except UsageError as error:
        # A path that is not there is a failure, not a wrong command line.
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
    """Errors: MetashellError for a file of another kind; it says which kind and what reads it."""
    from metashell.log.file_source import FileSource
    from metashell.log.inputs import other_log
    from metashell.log.kinds import DATA, METADATA
    from metashell.log.names import other_file

    if not isinstance(source, FileSource):
        return
    if (words := other_file(path)) is not None:
        raise MetashellError(f"{path}: {words}, not metadata: dump-log reads it")
    kind, is_sure = source.log_kind()
    if kind not in (None, METADATA) and (is_sure or kind != DATA):
        raise MetashellError(str(other_log(path, kind, METADATA)))


def refuse_nothing(path: str, source: FileSource | DirectorySource, image: MetadataImage, *, certain_only: bool) -> None:
    """Errors: MetashellError if no metadata was found; it says why."""
    from metashell.image.image import EMPTY_IMAGE
    from metashell.log.inputs import NO_LOG
    from metashell.log.names import parse_name

    if image.leader is not None or image.voters is not None or not image.has_same_metadata(EMPTY_IMAGE):
        return
    if certain_only and source.certain_to is None:
        raise MetashellError(f"{path}: nothing of it is certain: there is no complete checkpoint")
    was_read = image.provenance.offset >= 0
    if image.faults:
        is_log = was_read or source.kind != "segment" or parse_name(os.path.basename(path)) is not None
        what = "no metadata could be read" if is_log else NO_LOG
        fault = image.faults[0]
        raise MetashellError(f"{path}: {what}: {str(fault).removeprefix(f'{path}: ')}")
    if not was_read:
        raise MetashellError(f"{path}: nothing in it: the metadata log has no batch")


def report_faults(name: str, loaded: Loaded, *, verbose: bool) -> None:
    """Report the first fault and the number of all in one line on stderr, and in another what is newer than known.

    With `verbose` all faults and torn tails are reported.
    """
    from metashell.image.newer import damage_of, newer_line, newer_parts

    provenance = loaded.image.provenance
    if verbose:
        certain = provenance.certain_to
        reach = "none of it certain" if certain is None else f"certain to offset {certain}"
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


def said_of(image: MetadataImage, say: Callable[[str], None]) -> bool:
    """Say in a line what is damaged, and in one what is newer than known; whether an answer may lack something for that reason."""
    from metashell.image.newer import lacks_some, trouble_lines

    for line in trouble_lines(image):
        say(line)
    return lacks_some(image)


def starts_late(loaded: Loaded) -> bool:
    """Whether this is a single segment, and not the first of its log."""
    digits = os.path.basename(loaded.path).split(".")[0]
    return loaded.kind == "segment" and digits.isascii() and digits.isdigit() and int(digits) > 0


def run_commands(context: Context, command: Sequence[str], *, keep_going: bool = True) -> int:
    """Run one command, or those of the prompt, or of standard input where that is no terminal; gives the status."""
    if command:
        from metashell.shell.lines.run import run_command

        return run_command(context, command)
    if is_prompt(command):
        from metashell.shell.terminal.prompt import run_prompt

        return run_prompt(context)
    from metashell.shell.lines.run import run_script

    return run_script(context, sys.stdin, keep_going=keep_going)


def config_guide(resource_type: int | None) -> dict[str, KeyGuide]:
    """The keys that Kafka knows for a type of resource, for None those of topics and then all others."""
    from metashell.controller.configs.keys import KINDS, allowed_words, config_keys

    wanted = KINDS.values() if resource_type is None else [KINDS[resource_type]] if resource_type in KINDS else []
    found: dict[str, KeyGuide] = {}
    for kind in wanted:
        for key in config_keys(kind).values():
            found.setdefault(key.name, (key.default, key.documentation, allowed_words(key)))
    return found


def is_prompt(command: Sequence[str]) -> bool:
    """Whether a person is asked for commands: there is none on the command line, and both ends are a terminal."""
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
    groups: Groups | None = None,
    settings: Settings | None = None,
) -> Context:
    """A context for commands, which write to the standard streams as these are: a terminal or not.

    Shape: `settings` are those of a person at a prompt: what they say of looks is nothing for scripts. Without `output` it is the form
    that they choose, or else text.
    """
    from metashell import __version__
    from metashell.codec.releases import NEWEST_RELEASE
    from metashell.forms import standard_output
    from metashell.nodes import LocalInfo, build_root
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


def _groups_node(groups: Groups, name: str, style: NameStyle) -> Node:
    from metashell.nodes.groups import GroupsNode

    return GroupsNode(name, groups, style)


def _opened_beside(source: str) -> Callable[[str, bool, Sequence[str]], int]:
    """Opens files for answers, but none of those that are read."""

    def opened(path: str, append: bool, others: Sequence[str]) -> int:
        from metashell.log.outputs import open_output

        return open_output(path, append=append, sources=(source, *others))

    return opened
