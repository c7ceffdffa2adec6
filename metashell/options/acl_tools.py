"""The command line of `metashell acls`."""

from __future__ import annotations

from metashell.options.administering import DRY_RUN, YES, command, noun
from metashell.options.spec import Option, choice, flag


def _resource(name: str, metavar: str, what: str) -> Option:
    return Option(names=(name,), metavar=metavar, multiple=True, help=what)


_RESOURCES = (
    _resource("--topic", "NAME", "a topic"),
    _resource("--group", "NAME", "a consumer group"),
    _resource("--transactional-id", "ID", "a transactional id"),
    _resource("--delegation-token", "ID", "a delegation token"),
    _resource("--user-principal", "PRINCIPAL", "a user, for CREATE_TOKENS and DESCRIBE_TOKENS"),
    flag("--cluster", help="the cluster itself"),
)
_OPERATION = Option(
    names=("--operation",),
    metavar="OPERATION,...",
    multiple=True,
    help="READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE, CREATE_TOKENS, "
    "DESCRIBE_TOKENS, TWO_PHASE_COMMIT or ALL, in any case",
)
_FILTERS = (
    *_RESOURCES,
    choice(
        "--pattern",
        metavar="TYPE",
        choices=("any", "literal", "prefixed", "match"),
        default="any",
        help="how the names of entries are compared: `match` finds all that apply to a resource of that name, prefixes and * too",
    ),
    Option(names=("--principal",), metavar="PRINCIPAL", multiple=True, help="for whom; User:NAME, or NAME alone"),
    Option(names=("--host",), metavar="HOST", multiple=True, help="from where, as the entry has it"),
    _OPERATION,
    choice("--permission", metavar="TYPE", choices=("allow", "deny"), help="entries that allow, or those that deny"),
)
_MEANING = """
        Options choose entries: one of each kind has to fit, and a kind that is not given fits always.
        """

LIST = command(
    "list",
    "show access control entries",
    _MEANING
    + """
        `--topic orders --pattern match` shows everything that applies to the topic orders. A user can also be named as a super user in the
        configuration of brokers; no entry shows that.
        """,
    options=_FILTERS,
    examples=(
        ("metashell acls list -b broker-1:9092", "all entries"),
        ("metashell acls list --topic orders --pattern match", "who may do what with one topic"),
        ("metashell acls list --principal alice -o json", "what alice may do, for a program"),
        ("metashell acls list /var/lib/kafka", "the entries that a disk has"),
    ),
    reads=True,
)
ADD = command(
    "add",
    "allow or deny principals something",
    """
        Adds an entry for each combination of principal, host, operation and resource. One that is there already stays. A DENY
        outweighs every ALLOW: it is asked about first. Where brokers have allow.everyone.if.no.acl.found=true, the first entry of a
        resource shuts everybody else out of it.

        --producer and --consumer stand for what Kafka's clients need: WRITE, DESCRIBE and CREATE on topics (and WRITE and DESCRIBE on
        transactional ids, if any are named); READ and DESCRIBE on topics, READ on groups.
        """,
    options=(
        Option(names=("--allow-principal", "--allow"), metavar="PRINCIPAL", multiple=True, help="User:NAME, or NAME alone"),
        Option(names=("--deny-principal", "--deny"), metavar="PRINCIPAL", multiple=True, help="likewise, denied"),
        Option(
            names=("--host",),
            metavar="HOST",
            multiple=True,
            help="the address that they connect from (*, any), from 4.4-IV1 on also a range: 10.0.0.0/8",
        ),
        _OPERATION,
        flag("--producer", help="the operations of a producer"),
        flag("--consumer", help="the operations of a consumer"),
        *_RESOURCES,
        choice(
            "--pattern",
            metavar="TYPE",
            choices=("literal", "prefixed"),
            default="literal",
            help="prefixed: the entry is for all names that begin so (the literal name * is for all)",
        ),
        DRY_RUN._replace(help="change nothing: show which entries would be added, and which are there already"),
        YES,
    ),
    examples=(
        ("metashell acls add --allow alice --operation read,describe --topic orders", "alice may read a topic"),
        ("metashell acls add --allow app --consumer --topic orders --group app- --pattern prefixed", "a consumer of names that begin so"),
        ("metashell acls add --deny mallory --operation all --cluster --yes", "deny, without a question"),
    ),
)
REMOVE = command(
    "remove",
    "remove access control entries",
    _MEANING
    + """
        Shows the entries, asks, and removes these and no others. Who relied on an ALLOW is refused from then on; who was held off by a
        DENY may be let in.
        """,
    options=(
        *_FILTERS,
        flag("--all", help="all entries, where nothing else chooses some"),
        DRY_RUN._replace(help="change nothing: show which entries would be removed"),
        YES,
    ),
    examples=(
        ("metashell acls remove --principal alice --topic orders", "what is said of alice and a topic"),
        ("metashell acls remove --topic orders --pattern literal --yes", "all entries of one topic, but none of a prefix"),
    ),
)

ACLS = noun(
    "acls",
    "access control entries: list, add, remove",
    """
        Lists, adds and removes access control entries of a cluster that has an authorizer. Listing needs the right DESCRIBE on the
        cluster, changes need ALTER.
        """,
    (LIST, ADD, REMOVE),
)
