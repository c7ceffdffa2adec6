"""The commands of `metashell brokers`, which list, describe and unregister brokers, and `metashell cluster`, a summary on one screen."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from metashell.cli.admin.protocol import AdminError, Kind
from metashell.cli.cluster.noun_tool import Work, noun_tool
from metashell.cli.connection import DRY_RUN, WATCH, YES, cluster_of, command, noun
from metashell.codec.codes import SECURITY_PROTOCOLS, code_name
from metashell.codec.error_codes import BROKER_ID_NOT_REGISTERED, INVALID_REQUEST
from metashell.codec.releases import METADATA_VERSION, metadata_version_name
from metashell.common import options
from metashell.common.errors import MetashellError, PathError
from metashell.common.forms import aligned, counted
from metashell.common.options import Argument, CommandSpec, flag
from metashell.common.values import uuid_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from metashell.cli.admin.cluster import Broker, Load, LogDirectory
    from metashell.cli.admin.protocol import AdminError
    from metashell.cli.admin.topics import Topic
    from metashell.common.errors import MetashellError
    from metashell.metadata.checks import Facts
    from metashell.metadata.image import MetadataImage


_IDS = Argument("ids", "ids of brokers", "+", "ID", type="int32")

CLUSTER: CommandSpec = command(
    "metashell-cluster",
    "show how a cluster is: its quorum, brokers, features, and what is wrong",
    """
        Shows ids, the active controller, voters, brokers, feature levels and partitions, and what the checks find (docs/checks.md): causes
        first, each with the next step; then how many checks ran, and which could not. With -C each voter is asked for itself, where the
        voter set says that it is; with -b brokers tell what they know, also without a controller. Status 1 where anything bad was
        found, or something could not be seen.
        """,
    options=(options.VERSION, WATCH),
    reads=True,
    examples=(
        ("metashell cluster /var/lib/kafka", "what a disk says of the cluster"),
        ("metashell cluster -b localhost:9092", "is everything all right?"),
        ("metashell cluster -C localhost:9093 -o json", "the same from the controllers, when no broker answers"),
    ),
)

BROKERS_LIST = command(
    "list",
    "list brokers",
    """
        Shows each broker with its state, address and rack, the partitions that it leads, its replicas, and those that are not in sync.
        Brokers that still have replicas and are not registered any more are `gone`.
        """,
    options=(WATCH,),
    examples=(
        ("metashell brokers list -b localhost:9092", "all of them, fenced ones too"),
        ("metashell brokers list -C localhost:9093 -o csv", "as the controllers have it, for a spreadsheet"),
        ("metashell brokers list /var/lib/kafka", "the brokers as a disk has them"),
    ),
    reads=True,
)
BROKERS_DESCRIBE = command(
    "describe",
    "show brokers in full",
    """
        Shows a broker's state, address, rack, what it carries, and, through brokers, the size of its log directories. Through controllers
        also its epoch, listeners, features and directory ids.
        """,
    arguments=(_IDS,),
    examples=(("metashell brokers describe 1 -b localhost:9092", "one broker, with its disks"),),
    reads=True,
)
UNREGISTER = command(
    "unregister",
    "let the cluster forget brokers that are gone for good",
    """
        For brokers that will never come back under their ids. Replicas that are still assigned to one stay assigned, and their partitions
        stay under-replicated until they are moved. A broker that runs is refused without --force: it would stay up, serve old data to
        clients that know it, and not come back before it is restarted. So it is where this user cannot see all topics: whether the
        last copy of a partition goes with the broker is not known then.

        --dry-run rehearses it on a copy of the cluster's metadata.
        """,
    options=(flag("--force", help="also a broker that is not fenced, and where not all topics can be seen"), DRY_RUN, YES),
    arguments=(_IDS,),
    examples=(("metashell brokers unregister 3 -b localhost:9092", "after broker 3 was taken away"),),
)
BROKERS = noun(
    "brokers", "list and describe brokers, and unregister those that are gone", "Brokers.", (BROKERS_LIST, BROKERS_DESCRIBE, UNREGISTER)
)


COLUMNS = ("id", "state", "host", "port", "rack", "leaders", "replicas", "not_in_sync")
GONE = "gone"
UNNAMED = "fenced or gone"


def _list_brokers(work: Work) -> None:
    work.watch(work.values.watch, lambda: _show_list(work))


def _show_list(work: Work) -> bool:
    from metashell.cli.admin.cluster import load_of
    from metashell.cli.cluster.cluster_view import all_topics, brokers

    load = load_of(all_topics(work))
    found = {broker.id: broker for broker in brokers(work)}
    ids = sorted(found.keys() | load.replicas.keys())
    work.rows([_broker_row(work, id, found.get(id), load) for id in ids], COLUMNS, none="no brokers are registered")
    return True


def _broker_row(work: Work, id: int, broker: Broker | None, load: Load) -> dict[str, object]:
    """Return a broker as an object. `broker` is None if it has replicas but is not listed: unregistered, or before 4.0 maybe fenced."""
    from metashell.cli.cluster.cluster_view import names_fenced

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


# ---- describe


def _describe_brokers(work: Work) -> None:
    from metashell.cli.admin.cluster import describe_log_dirs, load_of
    from metashell.cli.cluster.cluster_view import all_topics, brokers

    load = load_of(all_topics(work))
    found = {broker.id: broker for broker in brokers(work)}
    ids = list(dict.fromkeys(work.values.ids))
    live = [id for id in ids if id in found and not found[id].is_fenced]
    directories = {} if work.asks_controllers or not live else describe_log_dirs(work.admin, live)
    for id in ids:
        if id not in found and id not in load.replicas:
            work.failed(AdminError(BROKER_ID_NOT_REGISTERED, "no such broker is registered, and no replica is assigned to it", str(id)))
            continue
        row = _broker_row(work, id, found.get(id), load)
        if work.asks_controllers:
            row |= _registration(work.image(), id)
        told = directories.get(id, ())
        row["log_dirs"] = None if work.asks_controllers or id not in live else _directories(work, id, told)
        work.one(row, _broker_lines(row))


def _directories(work: Work, id: int, told: Sequence[LogDirectory] | MetashellError) -> list[dict[str, object]] | None:
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
    """Return the fields of a broker's registration that only the metadata log has; empty if it is not registered."""
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


def _broker_lines(row: Mapping[str, object]) -> Iterator[str]:
    shown = []
    for name, value in row.items():
        if name in ("type", "log_dirs") or value is None:
            continue
        shown.append((name.replace("_", " "), _text(value)))
    yield from aligned(shown)
    directories = row.get("log_dirs")
    if isinstance(directories, list):
        for one in directories:
            usable = "" if one["usable_bytes"] is None else f", {_size(one['usable_bytes'])} of {_size(one['total_bytes'])} free"
            state = one["error"] or f"{_size(one['size_bytes'])} in {counted(one['replicas'], 'replica')}{usable}"
            yield f"{one['path']}: {state}{', cordoned' if one['cordoned'] else ''}"


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {low}-{high}" for name, (low, high) in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _size(size: int | None) -> str:
    """Return a size in bytes as text: `3.2 GiB`, and `?` for None."""
    if size is None:
        return "?"
    number = float(size)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{size} bytes" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} TiB"


# ---- unregister


def _unregister_brokers(work: Work) -> None:
    from metashell.cli.admin.cluster import load_of, unregister_broker
    from metashell.cli.cluster.cluster_view import all_topics, brokers

    ids = list(dict.fromkeys(work.values.ids))
    found = {broker.id: broker for broker in brokers(work)}
    topics = all_topics(work)
    load = load_of(topics)
    chosen, warnings = [], []
    for id in ids:
        broker = found.get(id)
        if broker is None:
            # Brokers before 4.0 do not list fenced brokers, so through them only the request can tell whether the id is registered.
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
    """Report a broker that was not unregistered; for the id of a controller, name the command for controllers."""
    from metashell.cli.admin.cluster import describe_quorum

    work.failed(error, type="broker", id=id)
    if error.code == BROKER_ID_NOT_REGISTERED:
        controllers = work.admin.nodes() if work.asks_controllers else describe_quorum(work.admin).voters
        if any(controller.id == id for controller in controllers):
            work.note(f"{id} is a controller: metashell quorum unregister-controller {id} lets the cluster forget it")


def _last_copies(topics: Sequence[Topic], ids: Sequence[int], registered: Collection[int]) -> list[str]:
    """Return the partitions of which no other registered broker is in the ISR or the ELR."""
    gone = set(ids)
    others = set(registered) - gone
    return [
        f"{topic.name}:{partition.id}"
        for topic in topics
        for partition in topic.partitions
        if gone & set(partition.replicas) and not (set(partition.isr) | set(partition.elr or ())) & others
    ]


def _is_registered(work: Work, id: int) -> str:
    from metashell.cli.cluster.cluster_view import brokers

    return f"broker {id} {'is' if any(broker.id == id for broker in brokers(work)) else 'is not'} registered"


def _rehearse(work: Work, ids: Sequence[int]) -> Mapping[int, AdminError]:
    """Rehearse the removal of registrations, and return the errors of the brokers that would be refused, by id."""
    from metashell.cli.cluster.cluster_view import refusals_of, rehearse_steps
    from metashell.rehearse.steps import Unregister

    return {ids[number]: error for number, error in refusals_of(rehearse_steps(work, [Unregister(id) for id in ids])).items()}


def _refuse_risen(work: Work, id: int) -> None:
    """Raise AdminError if the broker came up while the question was open, unless --force is given."""
    from metashell.cli.cluster.cluster_view import brokers

    if not work.values.force and any(broker.id == id and not broker.is_fenced for broker in brokers(work)):
        raise AdminError(INVALID_REQUEST, "it came up meanwhile", f"broker {id}")


brokers_main = noun_tool("brokers", BROKERS, {"list": _list_brokers, "describe": _describe_brokers, "unregister": _unregister_brokers})


def _cluster(work: Work) -> None:
    work.watch(work.values.watch, lambda: _show_cluster(work))


_COUNTS = ("brokers", "brokers_fenced", "topics", "partitions", "offline", "under_min_isr", "under_replicated")


def _show_cluster(work: Work) -> bool:
    from metashell.cli.cluster.live_facts import gather_live
    from metashell.metadata.checks import judge
    from metashell.shell.health_text import cluster_size, finding_row, shown_of, summary_line, verdict_lines, verdict_row

    facts = gather_live(cluster_of(work.values)) if work.stored is None else _on_disk(work.stored)
    verdict = judge(facts)
    shown = shown_of(verdict)
    answer = {
        **_cluster_answer(work, facts),
        **verdict_row(verdict, facts.holes),
        "type": "cluster",
        "findings": [finding_row(each) for each in shown],
    }
    lines = [
        *_cluster_lines(answer),
        *verdict_lines(work.display, shown),
        summary_line(verdict, holes=facts.holes, what=cluster_size(facts)),
    ]
    work.one(answer, lines)
    if verdict.bad or facts.holes or facts.health is None:
        work.fail()
    return True


def _on_disk(path: str) -> Facts:
    """Return the facts of the directories at a path. Errors: PathError; MetashellError if they have no metadata."""

    from metashell.metadata.checks.facts import Identity
    from metashell.metadata.facts import gather_facts

    if not os.path.exists(path):
        raise PathError(f"{path}: No such file or directory", path)
    facts = gather_facts([path])
    if facts.health is None:
        raise MetashellError(f"{path}: no metadata log here: metashell health says what is")
    known = (one.identity.cluster_id for one in facts.directories if isinstance(one.identity, Identity))
    return replace(facts, cluster_id=next(filter(None, known), ""))


def _cluster_answer(work: Work, facts: Facts) -> dict[str, object]:
    """Return the summary of a cluster as one object; values that are not known are None."""
    from metashell.metadata.checks.rules.live_quorum import may_fail, voters_of

    quorum, health = facts.quorum, facts.health
    features = {} if health is None else health.image.features.finalized
    level = features.get(METADATA_VERSION, 0)
    # Metadata on disk has the leader and the voters of the time when it was written.
    leader = None if health is None else health.image.leader
    voters = voters_of(quorum) if quorum is not None else [] if health is None else list(health.voters())
    counts: dict[str, int | None] = dict.fromkeys(_COUNTS)
    if health is not None:
        found, brokers = health.counts(), health.image.cluster.brokers
        knows_fenced = facts.told is None or "fenced" in facts.told
        counts = {
            "brokers": len(brokers) if knows_fenced else sum(not broker.fenced for broker in brokers.values()),
            "brokers_fenced": sum(broker.fenced for broker in brokers.values()) if knows_fenced else None,
            "topics": len(health.image.topics),
            "partitions": found["partitions"],
            "offline": found["leaderless"] + found["offline"],
            "under_min_isr": found["under_min_isr"],
            "under_replicated": found["under_replicated"],
        }
    return {
        "cluster_id": facts.cluster_id or None,
        "metadata_version": metadata_version_name(level) if level else None,
        "features": dict(sorted(features.items())),
        "newer": work.note_newer(features),
        "active_controller": quorum.leader_id if quorum is not None else None if leader is None else leader.id,
        "epoch": quorum.epoch if quorum is not None else None if leader is None else leader.epoch,
        "high_watermark": None if quorum is None else quorum.high_watermark,
        "voters": len(voters) or None,
        "voters_that_may_fail": None if quorum is None else may_fail(quorum),
        **counts,
    }


def _cluster_lines(answer: Mapping[str, object]) -> Iterator[str]:
    rows = [
        ("cluster", str(answer["cluster_id"] or "not known")),
        ("metadata.version", str(answer["metadata_version"] or "not known")),
        ("controllers", _controllers(answer)),
    ]
    if answer["brokers"] is not None:
        least = "" if answer["complete"] else "at least "
        fenced = "not known how many" if answer["brokers_fenced"] is None else answer["brokers_fenced"]
        troubles = f"{answer['offline']} offline, {answer['under_min_isr']} under min ISR, {answer['under_replicated']} under-replicated"
        rows += [
            ("brokers", f"{answer['brokers']}, {fenced} fenced"),
            ("topics", f"{least}{answer['topics']} with {answer['partitions']} partitions"),
            ("partitions", f"{least}{troubles}"),
        ]
    return aligned(rows)


def _controllers(answer: Mapping[str, object]) -> str:
    voters = answer["voters"]
    words = ["voters not known" if voters is None else f"{voters} voter{'' if voters == 1 else 's'}"]
    if answer["active_controller"] is None:
        words.append("no leader known" + ("" if answer["epoch"] is None else f" (epoch {answer['epoch']})"))
    else:
        words.append(f"controller {answer['active_controller']} leads (epoch {answer['epoch']})")
    if answer["voters_that_may_fail"] is not None:
        words.append(f"{answer['voters_that_may_fail']} more may fail")
    return ", ".join(words)


cluster_main = noun_tool("cluster", CLUSTER, {"": _cluster})
