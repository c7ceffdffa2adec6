"""Changes that the attached shell makes: administration commands on the cluster that it shows, under the names of its own commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.cli.questions import agreed, can_ask
from metashell.errors import MetashellError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import SimpleNamespace

    from metashell.admin.quorum import QuorumDescription
    from metashell.cli.administering import NounTool
    from metashell.nodes.subjects import Subject
    from metashell.shell.deeds import Deed


SEEN_S = 2
"""How long to wait for the leader's word on how far the log is committed."""


def quorum_as_told(values: SimpleNamespace, timeout_s: float) -> QuorumDescription:
    """The quorum that a shell is attached to, as its leader tells it. Errors: MetashellError."""
    from types import SimpleNamespace

    from metashell.admin.quorum import describe_quorum
    from metashell.cli.named_cluster import open_admin

    named = SimpleNamespace(**vars(values))
    named.command_config, named.timeout = named.command_config or "", timeout_s
    with open_admin(named) as admin:
        return describe_quorum(admin)


class ShellChanges:
    """The `Administrator` of a shell. `values` are those of its command line, `place` names the cluster in questions."""

    def __init__(self, values: SimpleNamespace, place: str) -> None:
        self._values = values
        self._place = place

    def perform(self, called: str, deed: Deed, options: Sequence[str]) -> int:
        """Ask where the command does not ask by itself, then run it. Errors: MetashellError."""
        if (deed.noun, deed.verb) == ("scram", "set") and not can_ask():
            # Standard input is the script: its next line is no password.
            raise UsageError("a password is asked for on a terminal; in scripts use `metashell scram set`")
        tool = _tool(deed.noun)
        is_forced = "--yes" in options or "--dry-run" in options
        if deed.question and not is_forced and can_ask() and not agreed(deed.question, self._place):
            raise MetashellError("nothing was changed")
        spec = next(command for command in tool.declared().commands if command.name == deed.verb)
        known = {name for option in spec.options for name in option.names}
        taken = [word for word in options if word.partition("=")[0] in known]
        return tool.perform(spec, [*self._cluster(), *taken, *deed.words], called)

    def _cluster(self) -> list[str]:
        """The cluster and how to reach it, as the command line of the shell has it."""
        values = self._values
        words = [f"--bootstrap-controller={values.bootstrap_controller}"] if values.bootstrap_controller else []
        words += [f"--bootstrap-server={values.bootstrap_server}"] if values.bootstrap_server else []
        words += [f"--command-config={values.command_config or ''}"]
        words += [f"--address-map={each}" for each in values.address_map]
        return words + ([] if values.timeout is None else [f"--timeout={values.timeout}"])

    def committed_offset(self) -> int | None:
        """The high watermark that the leader has now; None where nobody says."""
        try:
            return quorum_as_told(self._values, SEEN_S).high_watermark
        except MetashellError:
            return None

    def keys(self, subject: Subject) -> Sequence[str]:
        """The keys that a resource or an entity may have, as Kafka knows them."""
        from metashell.admin.configs import Resource
        from metashell.admin.quotas import ADDRESS_QUOTAS, USER_QUOTAS
        from metashell.cli.admin_configs import known_keys
        from metashell.nodes.subjects import resource_of

        match subject:
            case ("quota", entity, None):
                return list(ADDRESS_QUOTAS if "ip" in dict(entity) else USER_QUOTAS)
            case _:
                resource = resource_of(subject)
                return [] if resource is None else sorted(known_keys(Resource(*resource)))


def _tool(noun: str) -> NounTool:
    from importlib import import_module

    from metashell.options.subcommands import SUBCOMMANDS

    # Of a quorum only those of its commands that ask a cluster.
    module = "admin_quorum" if noun == "quorum" else SUBCOMMANDS[noun][0]
    tool: NounTool = import_module(f"metashell.cli.{module}").main
    return tool
