"""kafka-shell: shows the metadata of a file, directory or quorum as a tree, in a prompt, in a script, or for one command.

`metashell status`, `ls`, `cat`, `find`, `log`, `diff` and `why` each run one of its commands. `ShellChanges` changes the cluster that an
attached shell shows: it runs the commands of `metashell topics` and so on under the names of the shell's own commands."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING

from metashell.cli.tool import can_ask, chosen_settings, confirm, parsed
from metashell.common.command import STATUS_FAILED, STATUS_OK, Tool
from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.demo import demo_directory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import SimpleNamespace

    from metashell.cli.admin.cluster import QuorumDescription
    from metashell.cli.cluster.live_facts import LeaderlessError
    from metashell.cli.cluster.noun_tool import NounTool
    from metashell.cli.images import Loaded
    from metashell.common.options import CommandSpec
    from metashell.groups.view import GroupSource
    from metashell.metadata.checks import Facts
    from metashell.metadata.checks.facts import QuorumAnswers
    from metashell.metadata.image import MetadataImage
    from metashell.metadata.image.provenance import Leader
    from metashell.metadata.nodes.places import Subject
    from metashell.shell.change_commands import AdminCommand
    from metashell.shell.context import Context


NAME = "kafka-shell"
GROUP_LOGS = "__consumer_offsets-"


def run_kafka_shell(words: list[str], name: str = NAME) -> int:
    """Open the source and run the commands of the command line. Messages begin with `name`."""
    from metashell.cli.images import is_prompt
    from metashell.cli.shell_options import KAFKA_SHELL
    from metashell.cli.sources import choose_source, lift_options, name_source, needs_settings

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
    from metashell.cli.connection import names_quorum
    from metashell.cli.images import READS_LOG_ONLY, compares_with_quorum, load_image, other_past, past_of_path, report_faults, run_commands
    from metashell.common.terminal import show_progress
    from metashell.metadata.image.image import lacks_some

    if values.at is not None and values.certain_only:
        raise UsageError("--at and --certain-only exclude each other", "--at")
    if values.at == "end":
        values.at = None
    # In `diff -C` the option names the other quorum, not the source.
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
        with show_progress(f"opening {_path(values)}"):
            loaded = load_image(_path(values), certain_only=values.certain_only, max_decompressed=values.max_decompressed)
    except MetashellError as error:
        raise _with_groups(error, _path(values)) from None
    report_faults(values.name, loaded, verbose=values.verbose)
    groups = _groups_beside(loaded, values) if loaded.kind == "directory" else None
    context = _context(loaded, values, groups)
    context.past = past_of_path(loaded.path, values.max_decompressed)
    context.other_past = other_past(values)
    if loaded.kind in ("directory", "bootstrap") and os.path.isdir(loaded.path) and not (values.demo or values.certain_only):
        from metashell.cli.inspect.live_tree import GrowingDirectory

        context.feed = GrowingDirectory(loaded.path, loaded.image, values.max_decompressed)
    if loaded.kind == "directory" and not values.certain_only:
        context.election = partial(read_election, loaded.path)
        context.gathered = lambda: _gathered(loaded.path, values.max_decompressed, context.image)
    if values.at is not None:
        _show_moment(context, values.at)
    status = run_commands(context, values.command, keep_going=values.keep_going)
    return max(status, STATUS_FAILED if lacks_some(context.image) else STATUS_OK)


def _run_on_past(values: SimpleNamespace) -> int:
    """Run on the image of a moment. A command that reads the log itself runs without an image."""
    from metashell.cli.images import Loaded, check_path, image_of_moment, other_past, past_of_path, report_faults, run_commands
    from metashell.metadata.image import EMPTY_IMAGE
    from metashell.metadata.image.image import lacks_some

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
    """Start at a moment. `at end` goes to the newest state, which is loaded then."""
    from metashell.cli.images import image_of_moment

    assert context.past is not None
    image = image_of_moment(context.past(), text)
    context.present = context.image
    context.at = image.provenance.end_offset
    context.show(image)


def _nothing_to_open(command: tuple[str, ...]) -> UsageError:
    from metashell.shell.commands import find_command

    if command and find_command(command[0]) is None:
        return PathError(f"{command[0] or repr('')}: No such file or directory, and not a shell command", command[0])
    return UsageError("nothing to open: name a file or directory first (kafka-shell DIR ls /), a quorum with -C, or try --demo")


def read_election(path: str) -> Leader | None:
    """Return the election in the quorum-state of a directory, or None without one. Errors: MetashellError if it cannot be read."""
    from metashell.disk.inputs import find_metadata
    from metashell.disk.names import QUORUM_STATE
    from metashell.disk.state_files import read_quorum_state
    from metashell.metadata.image.provenance import Leader

    place = os.path.join(find_metadata(path), QUORUM_STATE)
    if not os.path.lexists(place):
        return None
    try:
        state = read_quorum_state(place)
    except OSError as error:
        raise PathError.of(place, error) from None
    return Leader(state.leader_id, state.leader_epoch, tuple(sorted(state.current_voters)))


def _gathered(path: str, max_decompressed: int, image: MetadataImage) -> Facts:
    """Return the facts from the directories of the node. They get the image that is already loaded."""
    from metashell.metadata.facts import gather_facts

    return gather_facts([path], max_decompressed=max_decompressed, known=image)


def _run_on_quorum(values: SimpleNamespace) -> int:
    from metashell.cli.cluster.live_facts import LeaderlessError, SeenLog, attach_observer
    from metashell.cli.connection import target_of
    from metashell.cli.images import KeptQuorum, Loaded, other_past, report_faults, run_commands
    from metashell.common.terminal import show_progress
    from metashell.metadata.checks import Facts
    from metashell.metadata.image.image import lacks_some

    seen = SeenLog()
    try:
        with show_progress("reading the metadata of the quorum"):
            followed = attach_observer(target_of(values), seen.take if values.command[:1] == ("health",) else None)
    except LeaderlessError as error:
        if values.command[:1] != ("health",):
            raise
        return _health_without_leader(values, error)
    with followed as source, closing(KeptQuorum(values, lambda: source.view().image.provenance.end_offset)) as past:
        view = source.view()
        loaded = Loaded(path=source.label, kind=view.image.provenance.source_kind, image=view.image)
        report_faults(values.name, loaded, verbose=values.verbose)
        from metashell.cli.inspect.live_tree import LiveGroups

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
            context.administrator = ShellChanges(values, source.label)
        try:
            status = run_commands(context, values.command, keep_going=values.keep_going)
        finally:
            groups.close()
        return max(status, STATUS_FAILED if lacks_some(context.image) else STATUS_OK)


def _ask_quorum(values: SimpleNamespace, lag_after_ms: int) -> QuorumAnswers:
    """Return the answers of a live quorum now, or the reason why it gives none."""
    from metashell.cli.cluster.live_facts import ask_quorum

    return ask_quorum(_named(values), lag_after_ms)


def _static_min_isr(values: SimpleNamespace) -> int:
    from metashell.cli.cluster.live_facts import static_min_isr
    from metashell.cli.connection import open_admin

    with open_admin(_named(values)) as admin:
        return static_min_isr(admin)


def _named(values: SimpleNamespace) -> SimpleNamespace:
    """Return the values with the quorum of the command line, without the configuration that the environment names."""

    from metashell.cli.connection import TIMEOUT_S, cluster_of

    given = {**vars(values), "command_config": values.command_config or "", "timeout": values.timeout or TIMEOUT_S}
    return cluster_of(SimpleNamespace(**given))


def _health_without_leader(values: SimpleNamespace, error: LeaderlessError) -> int:
    """Run `health` on the answers of the controllers, since there is no metadata without a leader."""
    from metashell.cli.images import Loaded, run_commands
    from metashell.metadata.checks import Facts
    from metashell.metadata.image import EMPTY_IMAGE

    context = _context(Loaded(path=values.bootstrap_controller, kind="quorum", image=EMPTY_IMAGE), values)
    context.gathered = lambda: Facts(quorum=error.answers, label=values.bootstrap_controller)
    return run_commands(context, values.command)


def _path(values: SimpleNamespace) -> str:
    if values.demo:
        return demo_directory()
    return str(values.snapshot)


def _with_groups(error: MetashellError, path: str) -> MetashellError:
    """Return the error; if the path has logs of groups, add the command that shows groups without metadata."""
    place = os.path.abspath(path)
    if not os.path.isdir(place):
        place = path = os.path.dirname(place)
    try:
        has_groups = any(name.startswith(GROUP_LOGS) for name in (os.path.basename(place), *os.listdir(place)))
    except OSError:
        return error
    return MetashellError(f"{error}; metashell groups list {path} shows the groups") if has_groups else error


def _groups_beside(loaded: Loaded, values: SimpleNamespace) -> GroupSource | None:
    """Return the groups whose logs lie beside the metadata, or None if there are none."""
    from metashell.disk.inputs import find_metadata

    try:
        # If the path is the metadata's own directory, the logs lie beside it. A node may have several log directories.
        beside = os.path.dirname(os.path.abspath(find_metadata(loaded.path)))
        above = os.path.abspath(loaded.path)
        below = [entry.path for entry in os.scandir(above) if entry.is_dir()]
        folders = (beside, above, *below)
        logs = {os.path.join(folder, entry) for folder in folders for entry in os.listdir(folder) if entry.startswith(GROUP_LOGS)}
    except (MetashellError, OSError):
        return None
    if not logs:
        return None
    from metashell.cli.inspect.live_tree import LoggedGroups

    return LoggedGroups(sorted(logs), lambda: loaded.image, values.name, values.max_decompressed)


def _context(loaded: Loaded, values: SimpleNamespace, groups: GroupSource | None = None) -> Context:
    from metashell.cli.images import is_prompt, make_context

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


main = Tool(NAME, run_kafka_shell)


_HELP = ("--help", "-h")


def full_spec(name: str) -> CommandSpec:
    """Return the command line with the options of the shell's command, for help, man pages and completions."""
    from metashell.cli.shell_options import SHELL_COMMANDS
    from metashell.shell.commands import find_command

    spec, command = SHELL_COMMANDS[name], find_command(name)
    assert command is not None
    own = tuple(option for option in command.spec.options if option.dest not in {one.dest for one in spec.options})
    return spec._replace(options=(*own, *spec.options), description=f"{spec.description}\n\n{command.spec.description}")


def _run(name: str, words: list[str]) -> int:
    asked = words[: words.index("--")] if "--" in words else words
    if any(word in _HELP for word in asked):
        from metashell.common.option_parser import render_help

        sys.stdout.write(render_help(full_spec(name)._replace(name=f"metashell {name}")))
        return STATUS_OK
    from metashell.cli.sources import front_words

    return run_kafka_shell(front_words(name, words, chosen_settings), f"metashell {name}")


def _shell_command(name: str) -> Tool:
    return Tool(f"metashell {name}", partial(_run, name))


status = _shell_command("status")
ls = _shell_command("ls")
cat = _shell_command("cat")
find = _shell_command("find")
log = _shell_command("log")
diff = _shell_command("diff")
why = _shell_command("why")


SEEN_S = 2
"""The longest wait for the leader to report the high watermark."""


def quorum_as_told(values: SimpleNamespace, timeout_s: float) -> QuorumDescription:
    """Return the quorum of an attached shell as its leader describes it. Errors: MetashellError."""

    from metashell.cli.admin.cluster import describe_quorum
    from metashell.cli.connection import open_admin

    named = SimpleNamespace(**vars(values))
    named.command_config, named.timeout, named.time_limit = named.command_config or "", timeout_s, None
    with open_admin(named) as admin:
        return describe_quorum(admin)


class ShellChanges:
    """The `Administrator` of a shell. `values` are those of its command line; `place` names the cluster in questions."""

    def __init__(self, values: SimpleNamespace, place: str) -> None:
        self._values = values
        self._place = place

    def perform(self, called: str, deed: AdminCommand, options: Sequence[str]) -> int:
        """Confirm a command that does not ask by itself, then run it and return its status. Errors: MetashellError."""
        if (deed.noun, deed.verb) == ("scram", "set") and not can_ask():
            # Standard input is the script, so its next line is not a password.
            raise UsageError("a password is asked for on a terminal; in scripts use `metashell scram set`")
        tool = _noun_tool(deed.noun)
        is_forced = "--yes" in options or "--dry-run" in options
        if deed.question and not is_forced and can_ask() and not confirm(deed.question, self._place):
            raise MetashellError("nothing was changed")
        spec = next(command for command in tool.declared().commands if command.name == deed.verb)
        known = {name for option in spec.options for name in option.names}
        taken = [word for word in options if word.partition("=")[0] in known]
        return tool.perform(spec, [*self._cluster(), *taken, *deed.words], called)

    def _cluster(self) -> list[str]:
        """Return the options that name the shell's cluster and how to reach it."""
        values = self._values
        words = [f"--bootstrap-controller={values.bootstrap_controller}"] if values.bootstrap_controller else []
        words += [f"--bootstrap-server={values.bootstrap_server}"] if values.bootstrap_server else []
        words += [f"--command-config={values.command_config or ''}"]
        words += [f"--address-map={each}" for each in values.address_map]
        return words + ([] if values.timeout is None else [f"--timeout={values.timeout}"])

    def committed_offset(self) -> int | None:
        """Return the leader's current high watermark, or None if no one answers."""
        try:
            return quorum_as_told(self._values, SEEN_S).high_watermark
        except MetashellError:
            return None

    def keys(self, subject: Subject) -> Sequence[str]:
        """Return the keys that Kafka knows for a resource or an entity."""
        from metashell.cli.admin.configs import Resource
        from metashell.cli.admin.users import ADDRESS_QUOTAS, USER_QUOTAS
        from metashell.cli.cluster.configs import known_keys
        from metashell.metadata.nodes.places import resource_of

        match subject:
            case ("quota", entity, None):
                return list(ADDRESS_QUOTAS if "ip" in dict(entity) else USER_QUOTAS)
            case _:
                resource = resource_of(subject)
                return [] if resource is None else sorted(known_keys(Resource(*resource)))


def _noun_tool(noun: str) -> NounTool:
    from metashell.cli.cluster.noun_tool import NounTool

    if noun == "quorum":
        # `live_quorum` has only the commands that ask a cluster. It imports this module, so it is imported by name here.
        from importlib import import_module

        tool: object = import_module("metashell.cli.controllers.live_quorum").main
    else:
        from metashell.cli.main import tool_of

        tool = tool_of(noun)
    assert isinstance(tool, NounTool)
    return tool
