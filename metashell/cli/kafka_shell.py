"""kafka-shell: the metadata of a file or directory as a tree, in a prompt, a script, or for one command."""

from __future__ import annotations

import os
import sys
from functools import partial

from metashell.cli.common import STATUS_FAILED, STATUS_OK, answers_version, parsed, run_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import SimpleNamespace

    from metashell.cli.loading import Loaded
    from metashell.image.voters import Leader
    from metashell.shell.context import Context

NAME = "kafka-shell"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its status."""
    if answers_version(NAME, argv):
        return STATUS_OK
    return run_tool(NAME, run, argv)


def run(words: list[str]) -> int:
    """Open the source, and do with it what the command line says."""
    from metashell.cli.lifting import lift_options
    from metashell.options.shell_tools import KAFKA_SHELL

    values = parsed(KAFKA_SHELL, words)
    if values is None:
        return STATUS_OK
    if values.command:
        lifted = lift_options(KAFKA_SHELL, words, values.command)
        values = parsed(KAFKA_SHELL, lifted) if lifted != words else values
        if values is None:
            return STATUS_OK
    return _run_on_source(values)


def _run_on_source(values: SimpleNamespace) -> int:
    from metashell.cli.attaching import names_quorum
    from metashell.cli.loading import load, tell_faults
    from metashell.errors import UsageError

    given = [name for name, is_given in _sources(values) if is_given]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} exclude each other")
    if names_quorum(values):
        return _run_on_quorum(values)
    if not given:
        raise UsageError("nothing to open: name a file or directory with --snapshot, a quorum with --bootstrap-controller, or try --demo")
    loaded = load(_path(values), certain_only=values.certain_only, max_decompressed=values.max_decompressed)
    tell_faults(NAME, loaded, verbose=values.verbose)
    context = _context(loaded, values)
    if loaded.kind in ("directory", "bootstrap") and os.path.isdir(loaded.path) and not (values.demo or values.certain_only):
        from metashell.cli.growing import GrowingDirectory

        context.feed = GrowingDirectory(loaded.path, loaded.image, values.max_decompressed)
    if loaded.kind == "directory" and not values.certain_only:
        context.election = partial(_noted_election, loaded.path)
    status = _run_commands(context, values)
    return max(status, STATUS_FAILED if loaded.image.faults else STATUS_OK)


def _noted_election(path: str) -> Leader | None:
    """What the node of a directory has noted in its quorum-state; None where that cannot be read."""
    from metashell.errors import MetashellError
    from metashell.image.voters import Leader
    from metashell.log.inputs import find_metadata
    from metashell.log.names import QUORUM_STATE
    from metashell.log.quorum_state import read_quorum_state

    try:
        place = os.path.join(find_metadata(path), QUORUM_STATE)
        if not os.path.exists(place):
            return None
        state = read_quorum_state(place)
    except (MetashellError, OSError):
        return None
    return Leader(state.leader_id, state.leader_epoch, tuple(sorted(state.current_voters)))


def _sources(values: SimpleNamespace) -> list[tuple[str, object]]:
    return [
        ("--demo", values.demo),
        ("--snapshot", values.snapshot),
        ("--bootstrap-controller", values.bootstrap_controller),
        ("--bootstrap-server", values.bootstrap_server),
    ]


def _run_on_quorum(values: SimpleNamespace) -> int:
    from metashell.cli.attaching import target_of
    from metashell.cli.loading import Loaded, tell_faults
    from metashell.live.attach import attach

    with attach(target_of(values)) as source:
        view = source.view()
        loaded = Loaded(path=source.label, kind=view.image.provenance.source_kind, image=view.image)
        tell_faults(NAME, loaded, verbose=values.verbose)
        context = _context(loaded, values)
        context.feed = source
        status = _run_commands(context, values)
        return max(status, STATUS_FAILED if context.image.faults else STATUS_OK)


def _path(values: SimpleNamespace) -> str:
    if values.demo:
        from metashell.demo import demo_directory

        return demo_directory()
    return str(values.snapshot)


def _run_commands(context: Context, values: SimpleNamespace) -> int:
    if values.command:
        from metashell.shell.run import run_command

        return run_command(context, list(values.command))
    if sys.stdin.isatty() and sys.stdout.isatty():
        from metashell.shell.prompt import run_prompt

        return run_prompt(context)
    from metashell.shell.run import run_script

    return run_script(context, sys.stdin, keep_going=values.keep_going)


def _context(loaded: Loaded, values: SimpleNamespace) -> Context:
    from metashell.cli.loading import make_context

    return make_context(
        loaded,
        voice="own",
        output=values.output or "text",
        redact=not values.show_secrets,
        no_color=values.no_color,
        label="demo" if values.demo else loaded.path,
    )
