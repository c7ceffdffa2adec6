"""metashell groups list, describe and offsets of a live cluster: as of its logs, but asked of the brokers that coordinate the groups."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metashell.cli.administering import Work
    from metashell.errors import MetashellError
    from metashell.groups.view import GroupDescription, OffsetRow
    from metashell.image import MetadataImage

LIST_COLUMNS = ("group", "group_type", "state", "protocol_type", "coordinator")
_SHARE = "share"
SHOWN = 5


def asks_cluster(work: Work) -> bool:
    """Whether a cluster is to be asked: no log is named, but a cluster is, here or in the environment. Errors: UsageError."""
    from metashell.errors import UsageError
    from metashell.options.administering import CONTROLLER_VARIABLE, SERVER_VARIABLE

    values = work.values
    is_named = bool(values.bootstrap_server or values.bootstrap_controller)
    if values.paths:
        if is_named:
            raise UsageError(f"{values.paths[0]}: logs are read, or a cluster is asked (-b, -C), not both", values.paths[0])
        return False
    if not is_named and not any(os.environ.get(name) for name in (SERVER_VARIABLE, CONTROLLER_VARIABLE)):
        raise UsageError("name log directories (PATH), or a cluster: brokers (-b HOST:PORT) or controllers (-C HOST:PORT)", "PATH")
    return True


def list_groups(work: Work) -> None:
    from metashell.admin.groups import list_groups as listed
    from metashell.admin.view import unseen_groups

    _find_brokers(work)
    groups, failed = listed(work.admin)
    work.miss(*unseen_groups(work.admin), *(f"the groups that broker {node} coordinates: {error}" for node, error in failed))
    wanted = work.values
    rows = (
        group.as_object()
        for group in groups
        if wanted.group_type in (None, group.kind) and (wanted.state is None or wanted.state.lower() == group.state.lower())
    )
    work.rows(rows, LIST_COLUMNS, none=none_text(work))


def none_text(work: Work) -> str:
    """What to say where no group is to be listed."""
    wanted = work.values
    kind = f"{wanted.group_type} group" if wanted.group_type else "group"
    return f"no {kind} is in state {wanted.state}" if wanted.state else f"no {kind}s"


def description(work: Work) -> GroupDescription:
    """The group with its members. Errors: MetashellError."""
    from metashell.admin.groups import describe_group

    _find_brokers(work)
    return describe_group(work.admin, work.values.group)


def offset_rows(work: Work) -> list[OffsetRow]:
    """What the group has committed, who has each partition, and with --lag where the logs end. Errors: MetashellError."""
    from metashell.admin.groups import committed_offsets, describe_group, with_ends, with_members
    from metashell.admin.view import unseen_topics

    _find_brokers(work)
    group_id = work.values.group
    group = describe_group(work.admin, group_id)
    if group.summary.kind == _SHARE:
        raise share_commits_nothing(group_id)
    committed = committed_offsets(work.admin, group_id)
    # Offsets of topics that may not be described are left out.
    work.miss(*unseen_topics(work.admin, {row.topic for row in committed}))
    rows = with_members(committed, group)
    if work.values.lag:
        rows = with_ends(work.admin, rows)
        unknown = [f"{row.topic}:{row.partition}" for row in rows if row.end_offset is None]
        if unknown:
            shown = ", ".join(unknown[:SHOWN]) + (f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else "")
            work.miss(f"where the logs end of {shown}: their leaders do not say (it needs DESCRIBE on the topic)")
    return rows


def share_commits_nothing(group_id: str) -> MetashellError:
    """What is said of a share group, of which the state of its partitions is kept elsewhere."""
    from metashell.errors import MetashellError

    return MetashellError(f"{group_id}: a share group commits no offsets")


def _find_brokers(work: Work) -> None:
    """Ask brokers where controllers were named: those that the newest metadata has. Errors: MetashellError."""
    if work.asks_controllers:
        from metashell.cli.named_cluster import cluster_of

        addresses = brokers_of(work.image(), cluster_of(work.values).command_config, work.place)
        work.values.bootstrap_server, work.values.bootstrap_controller = addresses, None


def brokers_of(image: MetadataImage, command_config: str | None, place: str) -> str:
    """The brokers that are up, `HOST:PORT,...`, on listeners with the protocol of the client's configuration. Errors: MetashellError."""
    from metashell.cli.attaching import client_config_of
    from metashell.errors import MetashellError

    protocol = client_config_of(command_config).security.protocol
    addresses = broker_addresses(image, protocol)
    if not addresses:
        raise MetashellError(f"{place}: no broker is up that listens with {protocol}: groups are known to brokers alone")
    return ",".join(addresses)


def broker_addresses(image: MetadataImage, protocol: str) -> list[str]:
    """Where brokers that are not fenced listen with a security protocol, one address a broker."""
    from metashell.net.addresses import Address
    from metashell.net.security import PROTOCOLS

    number = PROTOCOLS.index(protocol)
    found = []
    for _, broker in sorted(image.cluster.brokers.items()):
        listener = next((one for one in broker.listeners if one.security_protocol == number), None)
        if listener is not None and not broker.fenced:
            found.append(str(Address(listener.host, listener.port)))
    return found
