"""The command line of `metashell quotas`."""

from __future__ import annotations

from metashell.options.administering import DRY_RUN, command, noun
from metashell.options.spec import Argument, Option, flag

_KEYS = """
        producer_byte_rate, consumer_byte_rate (bytes per second and broker), request_percentage, controller_mutation_rate (partitions per
        second), and of addresses connection_creation_rate"""


def _entity(named: str, applied: str) -> tuple[Option, ...]:
    return (
        Option(names=("--user",), metavar="NAME", help=f"{named} a user"),
        flag("--user-default", help=f"{applied} users without a quota of their own"),
        Option(names=("--client-id", "--client"), metavar="ID", help=f"{named} a client id; together with a user, of that user's client"),
        flag("--client-id-default", help=f"{applied} client ids without a quota of their own"),
        Option(names=("--ip",), metavar="HOST", help=f"{named} an address, alone"),
        flag("--ip-default", help=f"{applied} addresses without a quota of their own"),
    )


LIST = command(
    "list",
    "show quotas",
    """
        Without options shows all quotas. Of several that apply to a connection the most special one counts: user and client id, then user,
        then client id, each before its default.

        Controllers do not describe quotas: with -C they are read from the metadata log, which needs the right CLUSTER_ACTION.
        """,
    options=(*_entity("quotas of", "what applies to"), flag("--strict", help="leave out what is also about a type that is not named")),
    examples=(
        ("metashell quotas list -b broker-1:9092", "all quotas"),
        ("metashell quotas list --user alice", "those of alice, and of alice with client ids"),
        ("metashell quotas list --user alice --strict -o json", "of alice alone, for a program"),
    ),
    reads=True,
)
SET = command(
    "set",
    "set quotas of a user, client id or address",
    f"""
        Sets each KEY=VALUE of one entity; other quotas of it stay. The keys are {_KEYS}. Bytes may be written 512k, 10M or 1G.
        """,
    options=(*_entity("set for", "set for all"), DRY_RUN),
    arguments=(Argument(name="quota", metavar="KEY=VALUE", nargs="+", help="a quota and its value"),),
    examples=(
        ("metashell quotas set --user alice producer_byte_rate=10M consumer_byte_rate=20M", "limit a user"),
        ("metashell quotas set --user-default --client-id-default request_percentage=50", "limit each client of each user"),
        ("metashell quotas set --ip 10.0.0.7 connection_creation_rate=20 --dry-run", "ask the cluster whether it would take that"),
    ),
)
UNSET = command(
    "unset",
    "remove quotas of a user, client id or address",
    """
        Removes each KEY of one entity, to which less special quotas apply then. The answer names keys that were not set; that is no error,
        unless Kafka knows no such key.
        """,
    options=(*_entity("remove from", "remove from what applies to all"), flag("--all", help="all quotas of the entity"), DRY_RUN),
    arguments=(Argument(name="key", nargs="*", help="a quota: producer_byte_rate and so on"),),
    examples=(
        ("metashell quotas unset --user alice producer_byte_rate", "one quota of a user"),
        ("metashell quotas unset --client-id-default --all", "all default quotas of client ids"),
    ),
)

QUOTAS = noun(
    "quotas",
    "quotas of users, client ids and addresses: list, set, unset",
    """
        Lists and changes how much users, client ids and addresses may use. Listing needs the right DESCRIBE_CONFIGS on the cluster,
        changes need ALTER_CONFIGS.
        """,
    (LIST, SET, UNSET),
)
