"""kafka-shell: the metadata of a file, directory or quorum as a tree, in a prompt, a script, or for one command."""

from __future__ import annotations

import os
from contextlib import closing
from functools import partial

from metashell.cli.common import STATUS_FAILED, STATUS_OK, Tool, chosen_settings, parsed
from metashell.errors import MetashellError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.checks import Facts
    from metashell.checks.facts import QuorumAnswers
    from metashell.cli.live_facts import LeaderlessError
    from metashell.cli.loading import Loaded
    from metashell.errors import UsageError
    from metashell.image import MetadataImage
    from metashell.image.voters import Leader
    from metashell.nodes.groups import Groups
    from metashell.shell.context import Context

NAME = "kafka-shell"
GROUP_LOGS = "__consumer_offsets-"


def run(words: list[str], name: str = NAME) -> int:
    """Open the source and run the commands that the command line asks for; `name` is what messages begin with."""
    from metashell.cli.lifting import lift_options
    from metashell.cli.loading import is_prompt
    from metashell.cli.sources import choose_source, name_source, needs_settings
    from metashell.options.shell_tools import KAFKA_SHELL

    values = parsed(KAFKA_SHELL, words)
    for reorder in (name_source, lift_options):
        if values is not None and values.command and (other := reorder(values, words)) != words:
            words, values = other, parsed(KAFKA_SHELL, other)
    if values is None:
        return STATUS_OK
    if values.settings or is_prompt(values.command) or needs_settings(values):
        values.settings = chosen_settings(name, values.settings)
    values.name = name
    choose_source(values, values.settings, os.environ)
    return _run_on_source(values)


def _run_on_source(values: SimpleNamespace) -> int:
    from metashell.cli.attaching import names_quorum
    from metashell.cli.earlier import READS_LOG_ONLY, compares_with_quorum, other_past, past_of_path
    from metashell.cli.loading import load, report_faults, run_commands
    from metashell.errors import UsageError
    from metashell.image.newer import lacks_some
    from metashell.progress import shown_while

    if values.at is not None and values.certain_only:
        raise UsageError("--at and --certain-only exclude each other", "--at")
    if values.at == "end":
        values.at = None
    # `diff -C` reaches another quorum by the same options.
    if values.bootstrap_controller or values.bootstrap_server or not compares_with_quorum(values.command):
        is_quorum = names_quorum(values)
    else:
        is_quorum = False
    if is_quorum:
        return _run_on_quorum(values)
    if values.allow_changes:
        raise UsageError("--allow-changes goes with --bootstrap-controller or --bootstrap-server", "--allow-changes")
    if not values.demo and not values.snapshot:
        raise _nothing_to_open(values.command)
    if values.command and (values.at is not None or values.command[0] in READS_LOG_ONLY):
        return _run_on_past(values)
    try:
        with shown_while(f"opening {_path(values)}"):
            loaded = load(_path(values), certain_only=values.certain_only, max_decompressed=values.max_decompressed)
    except MetashellError as error:
        raise _with_groups(error, _path(values)) from None
    report_faults(values.name, loaded, verbose=values.verbose)
    groups = _groups_beside(loaded, values) if loaded.kind == "directory" else None
    context = _context(loaded, values, groups)
    context.past = past_of_path(loaded.path, values.max_decompressed)
    context.other_past = other_past(values)
    if loaded.kind in ("directory", "bootstrap") and os.path.isdir(loaded.path) and not (values.demo or values.certain_only):
        from metashell.cli.growth import GrowingDirectory

        context.feed = GrowingDirectory(loaded.path, loaded.image, values.max_decompressed)
    if loaded.kind == "directory" and not values.certain_only:
        context.election = partial(noted_election, loaded.path)
        context.gathered = lambda: _gathered(loaded.path, values.max_decompressed, context.image)
    if values.at is not None:
        _show_moment(context, values.at)
    status = run_commands(context, values.command, keep_going=values.keep_going)
    return max(status, STATUS_FAILED if lacks_some(context.image) else STATUS_OK)


def _run_on_past(values: SimpleNamespace) -> int:
    """Run on the image of a moment, or for a command that reads the log itself on none."""
    from metashell.cli.earlier import check_path, image_of_moment, other_past, past_of_path
    from metashell.cli.loading import Loaded, report_faults, run_commands
    from metashell.image import EMPTY_IMAGE
    from metashell.image.newer import lacks_some

    path = _path(values)
    check_path(path)
    past = past_of_path(path, values.max_decompressed)
    image = EMPTY_IMAGE if values.at is None else image_of_moment(past(), values.at)
    loaded = Loaded(path=path, kind="directory" if os.path.isdir(path) else image.provenance.source_kind, image=image)
    report_faults(values.name, loaded, verbose=values.verbose and values.at is not None)
    context = _context(loaded, values)
    context.past = past
    context.other_past = other_past(values)
    if values.at is not None:
        context.at = image.provenance.end_offset
        context.present = EMPTY_IMAGE
    status = run_commands(context, values.command, keep_going=values.keep_going)
    return max(status, STATUS_FAILED if lacks_some(image) else STATUS_OK)


def _show_moment(context: Context, text: str) -> None:
    """Begin at a moment; `at end` leads to the newest state, which is loaded."""
    from metashell.cli.earlier import image_of_moment

    assert context.past is not None
    image = image_of_moment(context.past(), text)
    context.present = context.image
    context.at = image.provenance.end_offset
    context.show(image)


def _nothing_to_open(command: tuple[str, ...]) -> UsageError:
    from metashell.errors import PathError, UsageError
    from metashell.shell.commands import find_command

    if command and find_command(command[0]) is None:
        return PathError(f"{command[0] or repr('')}: No such file or directory, and not a shell command", command[0])
    return UsageError("nothing to open: name a file or directory first (kafka-shell DIR ls /), a quorum with -C, or try --demo")


def noted_election(path: str) -> Leader | None:
    """The election in the quorum-state of a directory; None without one. Errors: MetashellError if it cannot be read."""
    from metashell.errors import PathError
    from metashell.image.voters import Leader
    from metashell.log.inputs import find_metadata
    from metashell.log.names import QUORUM_STATE
    from metashell.log.quorum_state import read_quorum_state

    place = os.path.join(find_metadata(path), QUORUM_STATE)
    if not os.path.lexists(place):
        return None
    try:
        state = read_quorum_state(place)
    except OSError as error:
        raise PathError.of(place, error) from None
    return Leader(state.leader_id, state.leader_epoch, tuple(sorted(state.current_voters)))


def _gathered(path: str, max_decompressed: int, image: MetadataImage) -> Facts:
    """The facts of the node's directories beside the image, which commands have: it is not read again."""
    from metashell.facts import gather

    return gather([path], max_decompressed=max_decompressed, known=image)


def _run_on_quorum(values: SimpleNamespace) -> int:
    from metashell.checks import Facts
    from metashell.cli.attaching import target_of
    from metashell.cli.earlier import KeptQuorum, other_past
    from metashell.cli.live_facts import LeaderlessError, SeenLog, attached
    from metashell.cli.loading import Loaded, report_faults, run_commands
    from metashell.errors import UsageError
    from metashell.image.newer import lacks_some
    from metashell.progress import shown_while

    seen = SeenLog()
    try:
        with shown_while("reading the metadata of the quorum"):
            followed = attached(target_of(values), seen.take if values.command[:1] == ("health",) else None)
    except LeaderlessError as error:
        if values.command[:1] != ("health",):
            raise
        return _health_without_leader(values, error)
    with followed as source, closing(KeptQuorum(values, lambda: source.view().image.provenance.end_offset)) as past:
        view = source.view()
        loaded = Loaded(path=source.label, kind=view.image.provenance.source_kind, image=view.image)
        report_faults(values.name, loaded, verbose=values.verbose)
        from metashell.cli.groups_tree import LiveGroups

        groups = LiveGroups(values, lambda: source.view().image)
        context = _context(loaded, values, groups)
        context.feed = source
        context.ask_quorum = partial(_ask_quorum, values)
        context.gathered = lambda: Facts(events=seen.events())
        context.static_min_isr = partial(_static_min_isr, values)
        context.past = past
        context.other_past = other_past(values)
        if values.at is not None:
            if values.allow_changes:
                raise UsageError("--allow-changes changes the newest state, not that of --at", "--at")
            _show_moment(context, values.at)
        if values.allow_changes:
            from metashell.cli.shell_changes import ShellChanges

            context.administrator = ShellChanges(values, source.label)
        try:
            status = run_commands(context, values.command, keep_going=values.keep_going)
        finally:
            groups.close()
        return max(status, STATUS_FAILED if lacks_some(context.image) else STATUS_OK)


def _ask_quorum(values: SimpleNamespace, lag_after_ms: int) -> QuorumAnswers:
    """What a live quorum answers now; why it does not, where it does not."""
    from metashell.cli.live_facts import ask_quorum

    return ask_quorum(_named(values), lag_after_ms)


def _static_min_isr(values: SimpleNamespace) -> int:
    from metashell.cli.live_facts import static_min_isr
    from metashell.cli.named_cluster import open_admin

    with open_admin(_named(values)) as admin:
        return static_min_isr(admin)


def _named(values: SimpleNamespace) -> SimpleNamespace:
    """The quorum of the command line: what the environment says is for others."""
    from types import SimpleNamespace

    from metashell.cli.named_cluster import cluster_of
    from metashell.options.administering import TIMEOUT_S

    given = {**vars(values), "command_config": values.command_config or "", "timeout": values.timeout or TIMEOUT_S}
    return cluster_of(SimpleNamespace(**given))


def _health_without_leader(values: SimpleNamespace, error: LeaderlessError) -> int:
    """Run `health` on what the controllers said instead of their metadata."""
    from metashell.checks import Facts
    from metashell.cli.loading import Loaded, run_commands
    from metashell.image import EMPTY_IMAGE

    context = _context(Loaded(path=values.bootstrap_controller, kind="quorum", image=EMPTY_IMAGE), values)
    context.gathered = lambda: Facts(quorum=error.answers, label=values.bootstrap_controller)
    return run_commands(context, values.command)


def _path(values: SimpleNamespace) -> str:
    if values.demo:
        from metashell.demo import demo_directory

        return demo_directory()
    return str(values.snapshot)


def _with_groups(error: MetashellError, path: str) -> MetashellError:
    """What is wrong with a path; where logs of groups lie there, with the command that shows groups without metadata."""
    place = os.path.abspath(path)
    if not os.path.isdir(place):
        place = path = os.path.dirname(place)
    try:
        has_groups = any(name.startswith(GROUP_LOGS) for name in (os.path.basename(place), *os.listdir(place)))
    except OSError:
        return error
    return MetashellError(f"{error}; metashell groups list {path} shows the groups") if has_groups else error


def _groups_beside(loaded: Loaded, values: SimpleNamespace) -> Groups | None:
    """The groups whose logs lie in the log directory of some metadata, None where there are none."""
    from metashell.log.inputs import find_metadata

    try:
        # A log directory of which only the metadata was named has the others beside it; a node may have several.
        beside = os.path.dirname(os.path.abspath(find_metadata(loaded.path)))
        above = os.path.abspath(loaded.path)
        below = [entry.path for entry in os.scandir(above) if entry.is_dir()]
        folders = (beside, above, *below)
        logs = {os.path.join(folder, entry) for folder in folders for entry in os.listdir(folder) if entry.startswith(GROUP_LOGS)}
    except (MetashellError, OSError):
        return None
    if not logs:
        return None
    from metashell.cli.groups_tree import LoggedGroups

    return LoggedGroups(sorted(logs), lambda: loaded.image, values.name, values.max_decompressed)


def _context(loaded: Loaded, values: SimpleNamespace, groups: Groups | None = None) -> Context:
    from metashell.cli.loading import is_prompt, make_context

    return make_context(
        loaded,
        voice="own",
        output=values.output,
        settings=values.settings if is_prompt(values.command) else None,
        redact=not values.show_secrets,
        no_color=values.no_color,
        label="demo" if values.demo else loaded.path,
        groups=groups,
    )


main = Tool(NAME, run)
