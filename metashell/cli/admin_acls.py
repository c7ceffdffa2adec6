"""metashell acls: access control entries of a cluster."""

from __future__ import annotations

from metashell.cli.administering import Work, noun_tool
from metashell.options.acl_tools import ACLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import SimpleNamespace

    from metashell.admin.acls import AclEntry, AclFilter

COLUMNS = ("principal", "permission_type", "operation", "resource_type", "resource_name", "pattern_type", "host")
_RESOURCES = {
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
"""Entries in one request: a controller refuses what makes more than 10 000 records, and looks for each among all."""


def _list(work: Work) -> None:
    work.rows((_row(entry) for entry in _found(work)), COLUMNS, none="no ACLs" if not _is_chosen(work.values) else "no ACL fits")


def _found(work: Work) -> list[AclEntry]:
    from metashell.admin.acls import describe_acls, matching_acls

    if work.stored is not None:
        acls = work.image().acls.by_id.values()
        return sorted({entry for wanted in _filters(work.values) for entry in matching_acls(acls, wanted)})
    return sorted({entry for wanted in _filters(work.values) for entry in describe_acls(work.admin, wanted)})


def _row(entry: AclEntry) -> dict[str, object]:
    return {"type": "acl", **{name: getattr(entry, name) for name in entry.__slots__}}


def _add(work: Work) -> None:
    from metashell.admin.acls import create_acls

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
    """Name hosts that no connection has: Kafka compares the text of its address, and ranges of them from 4.4-IV1 on."""
    from ipaddress import ip_address

    from metashell.codec.acl_hosts import ANY_HOST, is_range
    from metashell.net.addresses import host_text

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
    from metashell.admin.features import describe_features
    from metashell.codec.acl_hosts import parse_host_range
    from metashell.codec.metadata_version import ACL_RANGES_LEVEL, METADATA_VERSION, metadata_version_name

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
    """What an addition would change; the protocol cannot try one."""
    from metashell.admin.acls import describe_acls, exactly

    for entry in entries:
        result = "is there already" if describe_acls(work.admin, exactly(entry)) else "would be added"
        work.tell(f"{entry}: {result}", **_row(entry), result=result)


def _remove(work: Work) -> None:
    from metashell.admin.acls import delete_acls, exactly
    from metashell.errors import UsageError

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
        # Each by itself: what came into being after the question stays.
        gone = dict(delete_acls(work.admin, [exactly(entry) for entry in chunk]))
        for entry in chunk:
            error = gone.get(entry)
            if error is not None:
                work.failed(error, **_row(entry))
            else:
                result = "removed" if entry in gone else "was removed meanwhile"
                work.tell(f"{entry}: {result}", **_row(entry), result=result)


def _counted(entries: Sequence[AclEntry]) -> str:
    from metashell.forms import counted

    return counted(len(entries), "ACL")


def _chunks(entries: Sequence[AclEntry]) -> Iterator[Sequence[AclEntry]]:
    for start in range(0, len(entries), _CHUNK):
        yield entries[start : start + _CHUNK]


# ---- from the command line


def _filters(values: SimpleNamespace) -> Iterator[AclFilter]:
    """A filter for each combination of what was chosen."""
    from itertools import product

    from metashell.admin.acls import ANY, AclFilter

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
    kinds = (*_RESOURCES, "cluster", "principal", "host", "operation", "permission")
    return any(getattr(values, kind) for kind in kinds) or values.pattern != "any"


def _entries(values: SimpleNamespace) -> list[AclEntry]:
    """The entries that an addition names. Errors: UsageError for what is missing."""
    from itertools import product

    from metashell.admin.acls import AclEntry
    from metashell.errors import UsageError

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
            # There is one cluster, so its name has no prefixes.
            pattern = "LITERAL" if kind == _CLUSTER[0] else values.pattern.upper()
            entries[AclEntry(kind, name, pattern, principal, host, operation, permission)] = None
    return list(entries)


def _check_names(values: SimpleNamespace) -> None:
    """Errors: UsageError for half of what a client needs, and for names that fit nothing: there are no wildcards but `*` alone."""
    from metashell.codec.topic_names import fault_of_name
    from metashell.errors import UsageError

    if values.producer and not values.topic:
        raise UsageError("--producer needs --topic", "--producer")
    if values.consumer and not (values.topic and values.group):
        raise UsageError("--consumer needs --topic and --group", "--consumer")
    for attribute, kind in _RESOURCES.items():
        for name in getattr(values, attribute):
            if name == "*" and values.pattern == "prefixed":
                raise UsageError("'*': as a prefix it fits no name; the literal * is for all", name)
            stem = name.removesuffix("*")
            is_illegal = kind == "TOPIC" and fault_of_name(name) is not None
            if not name or name == "*" or (stem == name and not is_illegal):
                continue
            if stem == name or "*" in stem:
                raise UsageError(f"{name!r}: no {kind} can have this name", name)
            raise UsageError(f"{name!r}: the name is no pattern; `--pattern prefixed` with {stem!r} fits all that begin so", name)


def _operations_on(values: SimpleNamespace, kind: str) -> list[str]:
    """The operations that are meant of one kind of resource. Errors: UsageError for none, and for one that it does not have."""
    from metashell.admin.acls import OPERATIONS
    from metashell.errors import UsageError

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
    for attribute, kind in _RESOURCES.items():
        # A user is named as its principal.
        yield from ((kind, _principal(name) if kind == "USER" else name) for name in getattr(values, attribute))
    if values.cluster:
        yield _CLUSTER


def _principal(text: str) -> str:
    """`User:alice` for `alice`; a type is kept. Errors: UsageError without a name."""
    from metashell.errors import UsageError

    if not text or text.endswith(":"):
        raise UsageError(f"{text!r}: a principal is User:NAME, or NAME alone", text)
    return text if ":" in text else f"User:{text}"


def _operations(values: SimpleNamespace) -> list[str]:
    """Kafka's words for operations, which may be written as `describe-configs` or `DescribeConfigs` too. Errors: UsageError."""
    from metashell.admin.acls import words_of
    from metashell.codec.code_words import ACL_OPERATIONS
    from metashell.options.values import choice

    known = {_plain(word): word for word in words_of(ACL_OPERATIONS)}
    return [known.get(_plain(word)) or choice(word, list(known.values())) for word in _words(values.operation)]


def _words(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from (part.strip() for part in text.split(","))


def _plain(word: str) -> str:
    return word.replace("-", "").replace("_", "").lower()


main = noun_tool("acls", ACLS, {"list": _list, "add": _add, "remove": _remove})
