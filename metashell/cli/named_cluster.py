"""Which cluster a command line or the environment names, and a connection to it."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.admin.admin import Admin

LEADERLESS_MS = 4000
"""For so long a leader is looked for."""


def cluster_of(values: SimpleNamespace) -> SimpleNamespace:
    """The values with what the environment says where the command line does not. Errors: UsageError for no cluster, or two."""
    from types import SimpleNamespace

    from metashell.errors import UsageError
    from metashell.options.administering import CONFIG_VARIABLE, CONTROLLER_VARIABLE, SERVER_VARIABLE

    named = SimpleNamespace(**vars(values))
    if not named.bootstrap_server and not named.bootstrap_controller:
        named.bootstrap_server = os.environ.get(SERVER_VARIABLE)
        named.bootstrap_controller = os.environ.get(CONTROLLER_VARIABLE)
        if named.bootstrap_server and named.bootstrap_controller:
            raise UsageError(f"{SERVER_VARIABLE} and {CONTROLLER_VARIABLE} are both set: say which by -b or -C", SERVER_VARIABLE)
    if not named.bootstrap_server and not named.bootstrap_controller:
        raise UsageError(f"which cluster? Name brokers (-b HOST:PORT) or controllers (-C HOST:PORT), or set {SERVER_VARIABLE}", "-b")
    if named.command_config is None:
        named.command_config = os.environ.get(CONFIG_VARIABLE)
    # The empty name is how a caller says that there is none, whatever the environment says.
    named.command_config = named.command_config or None
    return named


def open_admin(values: SimpleNamespace) -> Admin:
    """A connection to the cluster that the values name; nothing is connected yet. Errors: UsageError."""
    from metashell.admin.admin import Admin, Kind
    from metashell.cli.attaching import addresses_of, client_config_of
    from metashell.net.addresses import AddressMap

    named = cluster_of(values)
    kind = Kind.CONTROLLERS if named.bootstrap_controller else Kind.BROKERS
    options = client_config_of(named.command_config).options()
    # The time that a person waits for an answer is the command line's; nobody waits as long for who does not come.
    del options["deadline_ms"]
    options["connect_timeout_ms"] = min(options.get("connect_timeout_ms", LEADERLESS_MS), LEADERLESS_MS)
    return Admin(
        kind,
        addresses_of(named.bootstrap_controller or named.bootstrap_server),
        timeout_ms=named.timeout * 1000,
        leaderless_ms=LEADERLESS_MS,
        address_map=AddressMap.parse(",".join(named.address_map)),
        **options,
    )
