"""The command line of `metashell acls`."""

from __future__ import annotations

from ipaddress import ip_address
from itertools import product
from typing import TYPE_CHECKING

from metashell.cli.cluster.noun_tool import Work, noun_tool
from metashell.cli.connection import DRY_RUN, YES, command, noun
from metashell.codec.codes import ACL_OPERATIONS
from metashell.codec.releases import ACL_RANGES_LEVEL, METADATA_VERSION, metadata_version_name
from metashell.codec.validation import ANY_HOST, is_range, parse_host_range, topic_name_fault
from metashell.common.errors import UsageError
from metashell.common.forms import counted
from metashell.common.options import Option, choice, flag, one_of
from metashell.net.addresses import host_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import SimpleNamespace

    from metashell.cli.admin.users import AclEntry, AclFilter


def _resource(name: str, metavar: str, what: str) -> Option:
    return Option(names=(name,), metavar=metavar, multiple=True, help=what)


_RESOURCE_OPTIONS = (
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
    *_RESOURCE_OPTIONS,
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
        *_RESOURCE_OPTIONS,
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


COLUMNS = ("principal", "permission_type", "operation", "resource_type", "resource_name", "pattern_type", "host")
_RESOURCE_KINDS = {
    "topic": "TOPIC",
    "group": "GROUP",
    "transactional_id": "TRANSACTIONAL_ID",
    "delegation_token": "DELEGATION_TOKEN",
    "user_principal": "USER",
}
_CLUSTER = ("CLUSTER", "kafka-cluster")
_PRODUCER = {"TOPIC": ("WRITE", "DESCRIBE", "CREATE"), "TRANSACTIONAL_ID": ("WRITE", "DESCRIBE")}
_CONSUMER = {"TOPIC": ("READ", "DESCRIBE"), "GROUP": ("READ",)}
_CHUNK = 500
"""Entries in one request: a controller refuses a request that makes over 10 000 records, and compares each entry with all existing ones."""


def _list(work: Work) -> None:
    work.rows((_row(entry) for entry in _found(work)), COLUMNS, none="no ACLs" if not _is_chosen(work.values) else "no ACL fits")


def _found(work: Work) -> list[AclEntry]:
    from metashell.cli.admin.users import describe_acls, matching_acls

    if work.stored is not None:
        acls = work.image().acls.by_id.values()
        return sorted({entry for wanted in _filters(work.values) for entry in matching_acls(acls, wanted)})
    return sorted({entry for wanted in _filters(work.values) for entry in describe_acls(work.admin, wanted)})


def _row(entry: AclEntry) -> dict[str, object]:
    return {"type": "acl", **{name: getattr(entry, name) for name in entry.__slots__}}


def _add(work: Work) -> None:
    from metashell.cli.admin.users import create_acls

    entries = _entries(work.values)
    _note_hosts(work)
    if work.is_dry:
        _show_dry(work, entries)
        return
    denied = [entry for entry in entries if entry.permission_type == "DENY"]
    if denied:
        work.confirm(*(f"{entry}: it outweighs every ALLOW" for entry in denied), question=f"Add {_counted(entries)}?")
    for chunk in _chunks(entries):
        for entry, error in create_acls(work.admin, chunk):
            if error is None:
                work.tell(f"{entry}: added", **_row(entry), result="added")
            else:
                work.failed(error, **_row(entry))


def _note_hosts(work: Work) -> None:
    """Note the hosts that match no connection: Kafka compares the text of addresses, and supports ranges only from 4.4-IV1 on."""
    ranges = [host for host in work.values.host if is_range(host)]
    if ranges:
        _note_ranges(work, ranges)
    for host in work.values.host:
        if host == ANY_HOST or host in ranges:
            continue
        try:
            ip_address(host)
        except ValueError:
            work.note(f"{host}: Kafka compares addresses, so that no host name ever fits")
            continue
        if host_text(host) != host:
            work.note(f"{host}: Kafka writes this address {host_text(host)}, and compares the text")


def _note_ranges(work: Work, ranges: Sequence[str]) -> None:
    from metashell.cli.admin.cluster import describe_features

    level = next((one.level for one in describe_features(work.admin).features if one.name == METADATA_VERSION), 0)
    for host in ranges:
        try:
            parse_host_range(host)
        except ValueError as error:
            work.note(f"{host}: no range of addresses: {error}")
            continue
        if level < ACL_RANGES_LEVEL:
            needed = metadata_version_name(ACL_RANGES_LEVEL)
            work.note(f"{host}: ranges of addresses need metadata.version {needed}; at {metadata_version_name(level)} no address fits")


def _show_dry(work: Work, entries: Sequence[AclEntry]) -> None:
    """Report what an addition would change; the protocol has no dry run for it."""
    from metashell.cli.admin.users import describe_acls, filter_for

    for entry in entries:
        result = "is there already" if describe_acls(work.admin, filter_for(entry)) else "would be added"
        work.tell(f"{entry}: {result}", **_row(entry), result=result)


def _remove(work: Work) -> None:
    from metashell.cli.admin.users import delete_acls, filter_for

    if not (_is_chosen(work.values) or work.values.all):
        raise UsageError("name what to remove (--topic, --principal ...), or give --all", "--all")
    entries = _found(work)
    if not entries:
        work.fail("no ACL fits: nothing was removed")
        return
    if work.is_dry:
        for entry in entries:
            work.tell(f"{entry}: would be removed", **_row(entry), result="would be removed")
        return
    work.confirm(*(f"{entry} will be removed" for entry in entries), question=f"Remove {_counted(entries)}?")
    for chunk in _chunks(entries):
        # Delete exactly these entries, not by the filter: entries that were added after the question stay.
        gone = dict(delete_acls(work.admin, [filter_for(entry) for entry in chunk]))
        for entry in chunk:
            error = gone.get(entry)
            if error is not None:
                work.failed(error, **_row(entry))
            else:
                result = "removed" if entry in gone else "was removed meanwhile"
                work.tell(f"{entry}: {result}", **_row(entry), result=result)


def _counted(entries: Sequence[AclEntry]) -> str:
    return counted(len(entries), "ACL")


def _chunks(entries: Sequence[AclEntry]) -> Iterator[Sequence[AclEntry]]:
    for start in range(0, len(entries), _CHUNK):
        yield entries[start : start + _CHUNK]


# ---- from the command line


def _filters(values: SimpleNamespace) -> Iterator[AclFilter]:
    """Yield a filter for each combination of the chosen resources, principals, hosts and operations. Errors: UsageError."""

    from metashell.cli.admin.users import ANY, AclFilter

    resources: list[tuple[str, str | None]] = [*_resources(values)] or [(ANY, None)]
    principals: list[str | None] = [*map(_principal, values.principal)] or [None]
    operations = _operations(values) or [ANY]
    for (kind, name), principal, host, operation in product(resources, principals, values.host or (None,), operations):
        yield AclFilter(
            resource_type=kind,
            resource_name=name,
            pattern_type=values.pattern.upper(),
            principal=principal,
            host=host,
            operation=operation,
            permission_type=(values.permission or ANY).upper(),
        )


def _is_chosen(values: SimpleNamespace) -> bool:
    kinds = (*_RESOURCE_KINDS, "cluster", "principal", "host", "operation", "permission")
    return any(getattr(values, kind) for kind in kinds) or values.pattern != "any"


def _entries(values: SimpleNamespace) -> list[AclEntry]:
    """Return the entries that an addition names. Errors: UsageError if an option is missing or wrong."""

    from metashell.cli.admin.users import AclEntry

    resources = list(_resources(values))
    if not resources:
        raise UsageError(
            "name what the entry is about: --topic, --group, --transactional-id, --delegation-token, --user-principal or --cluster"
        )
    who = [(_principal(name), "ALLOW") for name in values.allow_principal] + [(_principal(name), "DENY") for name in values.deny_principal]
    if not who:
        raise UsageError("name whom to allow or deny: --allow-principal or --deny-principal")
    _check_names(values)
    entries: dict[AclEntry, None] = {}
    for (kind, name), (principal, permission), host in product(resources, who, values.host or ("*",)):
        for operation in _operations_on(values, kind):
            # There is only one cluster resource, so a prefix makes no sense.
            pattern = "LITERAL" if kind == _CLUSTER[0] else values.pattern.upper()
            entries[AclEntry(kind, name, pattern, principal, host, operation, permission)] = None
    return list(entries)


def _check_names(values: SimpleNamespace) -> None:
    """Raise UsageError if a client's topic or group is missing, and for names that match nothing: `*` alone is the only wildcard."""
    if values.producer and not values.topic:
        raise UsageError("--producer needs --topic", "--producer")
    if values.consumer and not (values.topic and values.group):
        raise UsageError("--consumer needs --topic and --group", "--consumer")
    for attribute, kind in _RESOURCE_KINDS.items():
        for name in getattr(values, attribute):
            if name == "*" and values.pattern == "prefixed":
                raise UsageError("'*': as a prefix it fits no name; the literal * is for all", name)
            stem = name.removesuffix("*")
            is_illegal = kind == "TOPIC" and topic_name_fault(name) is not None
            if not name or name == "*" or (stem == name and not is_illegal):
                continue
            if stem == name or "*" in stem:
                raise UsageError(f"{name!r}: no {kind} can have this name", name)
            raise UsageError(f"{name!r}: the name is no pattern; `--pattern prefixed` with {stem!r} fits all that begin so", name)


def _operations_on(values: SimpleNamespace, kind: str) -> list[str]:
    """Return the operations to allow or deny on a kind of resource. Errors: UsageError for none, and for one that the kind lacks."""
    from metashell.cli.admin.users import OPERATIONS

    found = list(_operations(values))
    for operation in found:
        if operation not in OPERATIONS[kind]:
            raise UsageError(f"{operation} means nothing for {kind}, which has {', '.join(OPERATIONS[kind])}", operation)
    for is_meant, sets in ((values.producer, _PRODUCER), (values.consumer, _CONSUMER)):
        found += sets.get(kind, ()) if is_meant else ()
    if not found:
        what = "--producer and --consumer say nothing of it" if values.producer or values.consumer else "what may be done"
        raise UsageError(f"{kind}: name an operation: {what}" if "say" in what else f"name {what}: --operation, --producer or --consumer")
    return found


def _resources(values: SimpleNamespace) -> Iterator[tuple[str, str]]:
    for attribute, kind in _RESOURCE_KINDS.items():
        # A resource of type USER has a principal as its name.
        yield from ((kind, _principal(name) if kind == "USER" else name) for name in getattr(values, attribute))
    if values.cluster:
        yield _CLUSTER


def _principal(text: str) -> str:
    """Return `User:alice` for `alice`; a text with a type is unchanged. Errors: UsageError if the name is missing."""
    if not text or text.endswith(":"):
        raise UsageError(f"{text!r}: a principal is User:NAME, or NAME alone", text)
    return text if ":" in text else f"User:{text}"


def _operations(values: SimpleNamespace) -> list[str]:
    """Return Kafka's words for the chosen operations, also written as `describe-configs` or `DescribeConfigs`. Errors: UsageError."""
    from metashell.cli.admin.users import words_of

    known = {_plain(word): word for word in words_of(ACL_OPERATIONS)}
    return [known.get(_plain(word)) or one_of(word, list(known.values())) for word in _words(values.operation)]


def _words(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from (part.strip() for part in text.split(","))


def _plain(word: str) -> str:
    return word.replace("-", "").replace("_", "").lower()


main = noun_tool("acls", ACLS, {"list": _list, "add": _add, "remove": _remove})
