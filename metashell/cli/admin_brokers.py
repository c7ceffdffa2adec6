"""metashell brokers: which brokers there are, what they carry, and one taken off the cluster's books."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.cli.administering import Work, noun_tool
from metashell.options.cluster_tools import BROKERS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from metashell.admin.brokers import Broker, Load, LogDirectory
    from metashell.admin.errors import AdminError
    from metashell.admin.topics import Topic
    from metashell.errors import MetashellError
    from metashell.image import MetadataImage

COLUMNS = ("id", "state", "host", "port", "rack", "leaders", "replicas", "not_in_sync")
GONE = "gone"
UNNAMED = "fenced or gone"


def _list(work: Work) -> None:
    work.watch(work.values.watch, lambda: _show_list(work))


def _show_list(work: Work) -> bool:
    from metashell.admin.brokers import load_of
    from metashell.cli.cluster_view import all_topics, brokers

    load = load_of(all_topics(work))
    found = {broker.id: broker for broker in brokers(work)}
    ids = sorted(found.keys() | load.replicas.keys())
    work.rows([_row(work, id, found.get(id), load) for id in ids], COLUMNS, none="no brokers are registered")
    return True


def _row(work: Work, id: int, broker: Broker | None, load: Load) -> dict[str, object]:
    """One broker; one that has replicas and is not registered is gone. Brokers before 4.0 do not say which are registered and fenced."""
    from metashell.cli.cluster_view import names_fenced

    unnamed = "" if broker is not None else GONE if names_fenced(work) else UNNAMED
    return {
        "type": "broker",
        "id": id,
        "state": unnamed if broker is None else broker.state,
        "host": None if broker is None else broker.host,
        "port": None if broker is None else broker.port,
        "rack": None if broker is None else broker.rack,
        "leaders": work.at_least(load.leaders[id]),
        "replicas": work.at_least(load.replicas[id]),
        "not_in_sync": work.at_least(load.not_in_sync[id]),
    }


# ---- one in full


def _describe(work: Work) -> None:
    from metashell.admin.brokers import describe_log_dirs, load_of
    from metashell.admin.errors import AdminError
    from metashell.cli.cluster_view import all_topics, brokers
    from metashell.codec.error_codes import BROKER_ID_NOT_REGISTERED

    load = load_of(all_topics(work))
    found = {broker.id: broker for broker in brokers(work)}
    ids = list(dict.fromkeys(work.values.ids))
    live = [id for id in ids if id in found and not found[id].is_fenced]
    directories = {} if work.asks_controllers or not live else describe_log_dirs(work.admin, live)
    for id in ids:
        if id not in found and id not in load.replicas:
            work.failed(AdminError(BROKER_ID_NOT_REGISTERED, "no such broker is registered, and no replica is assigned to it", str(id)))
            continue
        row = _row(work, id, found.get(id), load)
        if work.asks_controllers:
            row |= _registration(work.image(), id)
        told = directories.get(id, ())
        row["log_dirs"] = None if work.asks_controllers or id not in live else _directories(work, id, told)
        work.one(row, _lines(row))


def _directories(work: Work, id: int, told: Sequence[LogDirectory] | MetashellError) -> list[dict[str, object]] | None:
    from metashell.errors import MetashellError

    if isinstance(told, MetashellError):
        work.miss(f"log directories of broker {id}: {told}")
        return None
    return [
        {
            "path": one.path,
            "replicas": one.replicas,
            "size_bytes": one.size,
            "total_bytes": _known(one.total),
            "usable_bytes": _known(one.usable),
            "cordoned": one.is_cordoned,
            "error": None if one.error is None else one.error.name,
        }
        for one in told
    ]


def _known(size: int) -> int | None:
    return size if size >= 0 else None


def _registration(image: MetadataImage, id: int) -> dict[str, object]:
    """What only the metadata log has of a broker."""
    from metashell.codec.code_words import SECURITY_PROTOCOLS, code_name
    from metashell.values import uuid_text

    broker = image.cluster.brokers.get(id)
    if broker is None:
        return {}
    return {
        "epoch": broker.epoch,
        "incarnation_id": uuid_text(broker.incarnation_id),
        "listeners": [
            f"{one.name}://{one.host}:{one.port} ({code_name(SECURITY_PROTOCOLS, one.security_protocol)})" for one in broker.listeners
        ],
        "features": {name: list(levels) for name, levels in sorted(broker.supported_features.items())},
        "directories": [uuid_text(directory) for directory in broker.directories],
        "cordoned_directories": None if broker.cordoned_directories is None else list(map(uuid_text, broker.cordoned_directories)),
    }


def _lines(row: Mapping[str, object]) -> Iterator[str]:
    from metashell.forms import aligned

    shown = []
    for name, value in row.items():
        if name in ("type", "log_dirs") or value is None:
            continue
        shown.append((name.replace("_", " "), _text(value)))
    yield from aligned(shown)
    directories = row.get("log_dirs")
    if isinstance(directories, list):
        from metashell.forms import counted

        for one in directories:
            usable = "" if one["usable_bytes"] is None else f", {_size(one['usable_bytes'])} of {_size(one['total_bytes'])} free"
            state = one["error"] or f"{_size(one['size_bytes'])} in {counted(one['replicas'], 'replica')}{usable}"
            yield f"{one['path']}: {state}{', cordoned' if one['cordoned'] else ''}"


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {low}-{high}" for name, (low, high) in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _size(size: int | None) -> str:
    """Bytes for people: `3.2 GiB`."""
    if size is None:
        return "?"
    number = float(size)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{size} bytes" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} TiB"


# ---- taking one off the books


def _unregister(work: Work) -> None:
    from functools import partial

    from metashell.admin.admin import Kind
    from metashell.admin.brokers import load_of
    from metashell.admin.cluster import unregister_broker
    from metashell.admin.errors import AdminError
    from metashell.cli.cluster_view import all_topics, brokers
    from metashell.codec.error_codes import BROKER_ID_NOT_REGISTERED
    from metashell.forms import counted

    ids = list(dict.fromkeys(work.values.ids))
    found = {broker.id: broker for broker in brokers(work)}
    topics = all_topics(work)
    load = load_of(topics)
    chosen, warnings = [], []
    for id in ids:
        broker = found.get(id)
        if broker is None:
            # Brokers before 4.0 do not name those that are fenced, so the cluster decides.
            if work.admin.kind is Kind.CONTROLLERS:
                _failed(work, AdminError(BROKER_ID_NOT_REGISTERED, "no such broker is registered", f"broker {id}"), id)
                continue
            warnings.append(f"whether broker {id} runs is not known: the brokers that were asked do not name it (controllers know, -C)")
        elif not broker.is_fenced and not work.values.force:
            work.fail(
                f"broker {id}: it runs (it is not fenced): stop it first. Unregistered it would stay up, serve old data to clients "
                "that know it, and not come back before it is restarted. --force does it all the same"
            )
            continue
        elif not broker.is_fenced:
            warnings.append(f"broker {id} runs: it stays up, serves old data to clients that know it, and does not come back by itself")
        if load.replicas[id]:
            carried = f"{'at least ' if work.holes else ''}{counted(load.replicas[id], 'replica')}"
            warnings.append(
                f"broker {id} still has {carried}: their partitions stay under-replicated until they are moved (metashell reassign)"
            )
        chosen.append(id)
    if not chosen:
        return
    if last := _last_copies(topics, chosen, found):
        shown = ", ".join(last[:10]) + (f" and {len(last) - 10} more" if len(last) > 10 else "")
        who = " and ".join(f"broker {id}" for id in chosen)
        have = "has" if len(chosen) == 1 else "have"
        warnings.append(f"{who} {have} the only copies that are in sync of {counted(len(last), 'partition')}, lost for good: {shown}")
        if work.is_dry:
            work.fail()
    work.confirm(*warnings, question=f"Unregister {', '.join(f'broker {id}' for id in chosen)}?")
    refusals = _rehearse(work, chosen) if work.is_dry else {}
    for id in chosen:
        try:
            if id in refusals:
                raise refusals[id]
            if not work.is_dry:
                _refuse_risen(work, id)
                with work.looking_after(partial(_is_registered, work, id)):
                    unregister_broker(work.admin, id)
        except AdminError as error:
            _failed(work, error, id)
        else:
            result = "would be unregistered" if work.is_dry else "unregistered"
            work.tell(f"broker {id}: {result}", type="broker", id=id, result=result, replicas=load.replicas[id])


def _failed(work: Work, error: AdminError, id: int) -> None:
    """A broker that was not unregistered; a controller has a verb of its own."""
    from metashell.admin.quorum import describe_quorum
    from metashell.codec.error_codes import BROKER_ID_NOT_REGISTERED

    work.failed(error, type="broker", id=id)
    if error.code == BROKER_ID_NOT_REGISTERED:
        controllers = work.admin.nodes() if work.asks_controllers else describe_quorum(work.admin).voters
        if any(controller.id == id for controller in controllers):
            work.note(f"{id} is a controller: metashell quorum unregister-controller {id} lets the cluster forget it")


def _last_copies(topics: Sequence[Topic], ids: Sequence[int], registered: Collection[int]) -> list[str]:
    """The partitions of which no other broker that is registered has everything."""
    gone = set(ids)
    others = set(registered) - gone
    return [
        f"{topic.name}:{partition.id}"
        for topic in topics
        for partition in topic.partitions
        if gone & set(partition.replicas) and not (set(partition.isr) | set(partition.elr or ())) & others
    ]


def _is_registered(work: Work, id: int) -> str:
    from metashell.cli.cluster_view import brokers

    return f"broker {id} {'is' if any(broker.id == id for broker in brokers(work)) else 'is not'} registered"


def _rehearse(work: Work, ids: Sequence[int]) -> Mapping[int, AdminError]:
    """What would be refused, by the id of the broker."""
    from metashell.cli.dry_runs import refusals_of, rehearsed
    from metashell.rehearse.steps import Unregister

    return {ids[number]: error for number, error in refusals_of(rehearsed(work, [Unregister(id) for id in ids])).items()}


def _refuse_risen(work: Work, id: int) -> None:
    """A broker that came up while the question was open is left alone. Errors: AdminError."""
    from metashell.admin.errors import AdminError
    from metashell.cli.cluster_view import brokers
    from metashell.codec.error_codes import INVALID_REQUEST

    if not work.values.force and any(broker.id == id and not broker.is_fenced for broker in brokers(work)):
        raise AdminError(INVALID_REQUEST, "it came up meanwhile", f"broker {id}")


main = noun_tool("brokers", BROKERS, {"list": _list, "describe": _describe, "unregister": _unregister})
