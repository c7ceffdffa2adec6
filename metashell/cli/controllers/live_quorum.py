"""The commands of `metashell quorum` on any cluster: describe, add-controller, remove-controller and unregister-controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.cli.admin.protocol import AdminError
from metashell.cli.cluster.noun_tool import Work, noun_tool
from metashell.cli.connection import cluster_of
from metashell.cli.controllers.quorum_options import QUORUM
from metashell.cli.inspect.kafka_shell import read_election
from metashell.codec.error_codes import CONTROLLER_ID_NOT_REGISTERED
from metashell.codec.releases import KRAFT_VERSION, METADATA_VERSION, UNREGISTER_CONTROLLER_LEVEL, metadata_version_name
from metashell.common.errors import DecodeError, MetashellError, UsageError
from metashell.common.forms import counted
from metashell.common.values import ReplicaKey, uuid_from_text, uuid_text
from metashell.net.addresses import Address, parse_address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metashell.cli.admin.cluster import Endpoint, QuorumDescription, Replica
    from metashell.cli.controllers.voters import FreshQuorum, NewController
    from metashell.common.values import ReplicaKey
    from metashell.metadata.checks.facts import QuorumAnswers
    from metashell.metadata.checks.facts import Replica as ReplicaFacts

COLUMNS = ("id", "role", "log_end_offset", "lag", "fetched_ms_ago", "caught_up_ms_ago", "reached", "directory_id", "endpoints")
STORED_COLUMNS = ("id", "role", "directory_id", "endpoints", "registered")
PROBE_COLUMNS = ("id", "address", "reached", "leader", "epoch", "words")


def describe(work: Work) -> None:
    """Show the leader, the voters and observers, and the progress of each."""
    if work.stored is not None:
        _show_stored(work, work.stored)
        return
    work.watch(work.values.watch, lambda: _show(work))


def _show_stored(work: Work, path: str) -> None:
    """Show the leader, voters and registered controllers of metadata on disk, which does not have the progress of each."""
    from metashell.shell.health_text import leader_of, voters_of

    image = work.image()
    leader, _ = leader_of(image, lambda: read_election(path))
    voters, _ = voters_of(image, lambda: read_election(path))
    known = {} if image.voters is None else {voter.id: voter for voter in image.voters.voters}
    ids = [voter["id"] for voter in voters or ()]
    rows: list[dict[str, object]] = []
    for id in sorted({*ids, *image.cluster.controllers}):
        voter, controller = known.get(id), image.cluster.controllers.get(id)
        endpoints = voter.endpoints if voter is not None else () if controller is None else controller.listeners
        role = "leader" if leader is not None and leader.id == id else "voter" if id in ids else "registered"
        rows.append(
            {
                "type": "replica",
                "id": id,
                "role": role,
                "directory_id": None if voter is None else uuid_text(voter.directory_id),
                "endpoints": [f"{one.name}://{Address(one.host, one.port)}" for one in endpoints],
                "registered": controller is not None,
            }
        )
    if work.form == "text":
        leads = "no leader known" if leader is None or leader.id < 0 else f"controller {leader.id} leads"
        epoch = "" if leader is None else f", epoch {leader.epoch}"
        work.display.line(f"{leads}{epoch}, as of offset {image.provenance.end_offset}; {len(ids)} voters")
    work.rows(rows, STORED_COLUMNS, none="nothing there says who votes")


def _show(work: Work) -> bool:
    from metashell.cli.cluster.live_facts import ask_quorum, judge_quorum, quorum_troubles
    from metashell.metadata.checks.rules.live_quorum import may_fail, voters_of
    from metashell.quorum.observer.controllers import Refused
    from metashell.shell.health_text import finding_row, shown_of, verdict_lines

    quorum = ask_quorum(cluster_of(work.values))
    leads = quorum.leader_id is not None
    if quorum.trouble or not (leads or voters_of(quorum)):
        is_refused = bool(quorum.probes) and all(probe.outcome == "forbidden" for probe in quorum.probes)
        raise Refused(quorum.trouble or quorum_troubles(quorum), credential=is_refused)
    if leads:
        work.note_newer(work.admin.features().finalized)
    verdict = judge_quorum(quorum)
    shown = shown_of(verdict)
    replicas, probes, spare = list(_replicas(quorum)), list(_probes(quorum)), may_fail(quorum)
    if work.form in ("json", "jsonl"):
        answer: dict[str, object] = {
            "type": "quorum",
            "leader": quorum.leader_id,
            "epoch": quorum.epoch,
            "high_watermark": quorum.high_watermark,
            "voters_that_may_fail": spare,
            "replicas": replicas,
            "probes": probes,
            "findings": [finding_row(each) for each in shown],
        }
        work.one(answer, ())
    else:
        if work.form == "text":
            leader = f"controller {quorum.leader_id} leads" if leads else "no leader known"
            epoch = "" if quorum.epoch is None else f", epoch {quorum.epoch}"
            mark = "" if quorum.high_watermark is None else f", high watermark {quorum.high_watermark}"
            voters = counted(len(voters_of(quorum)), "voter")
            work.display.line(f"{leader}{epoch}{mark}; {voters}{'' if spare is None else f', {spare} more may fail'}")
        work.rows(*((replicas, COLUMNS) if leads else (probes, PROBE_COLUMNS)))
        for line in verdict_lines(work.display, shown):
            work.display.line(line)
    if verdict.bad:
        work.fail()
    return True


def _replicas(quorum: QuorumAnswers) -> Iterator[dict[str, object]]:
    for replica in sorted(quorum.voters, key=lambda voter: (voter.id != quorum.leader_id, voter.id)):
        yield _row(quorum, replica, "leader" if replica.id == quorum.leader_id else "voter")
    for replica in sorted(quorum.observers, key=lambda observer: observer.id):
        yield _row(quorum, replica, "leader" if replica.id == quorum.leader_id else "observer")


def _row(quorum: QuorumAnswers, replica: ReplicaFacts, role: str) -> dict[str, object]:
    from metashell.metadata.checks.rules.live_quorum import ago_ms, is_caught_up, probes_of_voters

    leader = next((voter for voter in quorum.voters if voter.id == quorum.leader_id), None)
    probe = probes_of_voters(quorum).get(replica.id)
    return {
        "type": "replica",
        "id": replica.id,
        "role": role,
        "directory_id": None if replica.directory_id is None else uuid_text(replica.directory_id),
        "log_end_offset": replica.log_end_offset,
        "lag": None if leader is None else leader.log_end_offset - replica.log_end_offset,
        "fetched_ms_ago": ago_ms(quorum, replica.last_fetch_ms),
        "caught_up_ms_ago": ago_ms(quorum, replica.last_caught_up_ms),
        "caught_up": is_caught_up(quorum, replica),
        "reached": None if probe is None else probe.outcome,
        "endpoints": [f"{one.name}://{Address(one.host, one.port)}" for one in replica.endpoints],
    }


def _probes(quorum: QuorumAnswers) -> Iterator[dict[str, object]]:
    """Yield the answer of each address as an object."""
    for probe in quorum.probes:
        yield {
            "type": "probe",
            "id": probe.voter_id if probe.id is None else probe.id,
            "voter": probe.voter_id,
            "address": probe.address,
            "reached": probe.outcome,
            "words": probe.words or None,
            "leader": probe.leader_id,
            "epoch": probe.epoch,
            "cluster_id": probe.cluster_id,
            "elapsed_ms": probe.elapsed_ms,
        }


# ---- changes of voters


def add_controller(work: Work) -> None:
    """Make a controller that follows the quorum a voter. Errors: UsageError; MetashellError."""
    from metashell.cli.admin.cluster import add_voter, describe_quorum
    from metashell.cli.controllers.voters import fresh_quorum
    from metashell.metadata.checks.rules.live_quorum import majority

    key, endpoints, cluster_id = _new_controller(work)
    fresh = fresh_quorum(work)
    quorum = fresh.quorum
    if cluster_id not in (None, work.admin.cluster_id):
        raise MetashellError(f"{_text(key)}: it was formatted for another cluster, {cluster_id}; this one is {work.admin.cluster_id}")
    _refuse_static(work, quorum)
    _refuse_known(quorum, key)
    follower = next((observer for observer in quorum.observers if _is(observer, key)), None)
    count = len(quorum.voters) + 1
    is_following = follower is not None and fresh.is_present(follower)
    if not is_following and not work.values.force:
        how = "it does not follow the quorum yet" if follower is None else "it has stopped to fetch"
        raise MetashellError(
            f"{_text(key)}: {how}, so with its vote {majority(count)} of {count} would have to be there: "
            "start it first, with controller.quorum.bootstrap.servers. --force adds it all the same"
        )
    if (there := is_following + sum(map(fresh.counts, quorum.voters))) < majority(count):
        text = f"{_text(key)}: of the {count} voters that there would be, {there} fetch and have everything, which is no majority"
        if not work.values.force:
            raise MetashellError(f"{text}: the quorum would stop. Bring the others back first; --force adds it all the same")
        work.note(f"--force: {text}")
    fields: dict[str, object] = {
        "type": "controller",
        "id": key.id,
        "directory_id": _directory(key),
        "endpoints": list(map(str, endpoints)),
    }
    then = f"{count} voters, {majority(count)} have to agree"
    if work.is_dry:
        work.note("only what the quorum says of itself was checked: the protocol has no way to try this")
        work.tell(f"{_text(key)}: would be added as a voter; {then}", **fields, result="would be added", voters=count)
        return
    with work.looking_after(lambda: _voters_now(work)):
        add_voter(work.admin, key, endpoints, cluster_id=work.admin.cluster_id)
    work.tell(f"{_text(key)}: is a voter now; {then}", **fields, result="added", voters=count)
    if work.values.wait is not None:
        work.wait(f"{_text(key)} has everything", lambda: _behind(describe_quorum(work.admin), key), work.values.wait)


def _voters_now(work: Work) -> str:
    from metashell.cli.admin.cluster import describe_quorum

    return f"the voters are {', '.join(map(_named, describe_quorum(work.admin).voters))}"


def _behind(quorum: QuorumDescription, key: ReplicaKey) -> str | None:
    from metashell.cli.controllers.voters import has_caught_up

    voter = next((voter for voter in quorum.voters if _is(voter, key)), None)
    if voter is None:
        return "it is no voter yet"
    return None if has_caught_up(quorum, voter) else f"{quorum.lag_of(voter)} records left"


def _refuse_static(work: Work, quorum: QuorumDescription) -> None:
    """Raise MetashellError for a static quorum: its voters are in every server's configuration, and no request changes them."""
    # Before 4.1, raising kraft.version does not make the voters dynamic: they still have no directory ids.
    is_static = any(voter.directory_id is None for voter in quorum.voters)
    if is_static or not work.admin.features().finalized.get(KRAFT_VERSION, 0):
        raise MetashellError(
            "kraft.version is 0 for the quorum: the voters are those of controller.quorum.voters in every server.properties, and "
            "no command changes them (from Kafka 4.1 on, metashell features upgrade kraft.version=1 lets commands do it)"
        )


def _refuse_known(quorum: QuorumDescription, key: ReplicaKey) -> None:
    same = next((voter for voter in quorum.voters if voter.id == key.id), None)
    if same is None:
        return
    if _is(same, key):
        raise MetashellError(f"{_text(key)}: it is a voter already")
    raise MetashellError(
        f"{_text(key)}: {_named(same)} is a voter under the same id: remove that one first (metashell quorum remove-controller {key.id})"
    )


def _new_controller(work: Work) -> NewController:
    """Return the controller to add, from --server-config or the other options. Errors: UsageError; MetashellError."""
    from metashell.cli.controllers.voters import NewController, read_new_controller

    values = work.values
    parts = {"--id": values.id, "--directory-id": values.directory_id, "--endpoint": values.endpoint or None}
    if values.server_config is not None:
        if given := [name for name, value in parts.items() if value is not None]:
            raise UsageError(f"--server-config says everything: leave {', '.join(given)} out", given[0])
        return read_new_controller(values.server_config)
    if missing := [name for name, value in parts.items() if value is None]:
        raise UsageError(f"--server-config is missing, or {', '.join(missing)}")
    if values.id < 0:
        raise UsageError(f"option --id: {values.id} is negative", str(values.id))
    return NewController(ReplicaKey(values.id, _uuid(values.directory_id)), tuple(map(_endpoint, values.endpoint)))


def _uuid(text: str) -> bytes:
    try:
        return uuid_from_text(text)
    except (MetashellError, ValueError, DecodeError) as error:
        raise UsageError(f"option --directory-id: {error}", text) from None


def _endpoint(text: str) -> Endpoint:
    """Parse an endpoint like `CONTROLLER://host:9093`. Errors: UsageError."""
    from metashell.cli.admin.cluster import Endpoint

    name, slashes, address = text.partition("://")
    if not slashes or not name:
        raise UsageError(f"option --endpoint: {text!r} is not like CONTROLLER://host:9093", text)
    return Endpoint(name, parse_address(address))


def remove_controller(work: Work) -> None:
    """Remove a voter from the voter set. Errors: UsageError; MetashellError."""
    from metashell.cli.admin.cluster import remove_voter
    from metashell.cli.controllers.voters import fresh_quorum
    from metashell.metadata.checks.rules.live_quorum import majority

    values = work.values
    fresh = fresh_quorum(work)
    quorum = fresh.quorum
    _refuse_static(work, quorum)
    if values.unregister:
        _refuse_old_level(work)
    directory_id = None if values.directory_id is None else _uuid(values.directory_id)
    voter, left = _without(fresh, values.id, directory_id, is_forced=values.force)
    spare = fresh.spare(left)
    warnings = [f"{len(left)} voters remain, of which {max(spare, 0)} may fail"]
    if spare < 0:
        warnings.append("those that are caught up are no majority: the quorum will stop")
    warnings += filter(None, [fresh.lacking(left)])
    if voter.id == quorum.leader_id:
        warnings.append("it is the active controller: another one takes over")
    if values.unregister and fresh.is_present(voter):
        warnings.append(_REGISTERS_AGAIN)
    work.confirm(*warnings, question=f"Remove {_named(voter)} from the voters?")
    result = "would be removed" if work.is_dry else "removed"
    if not work.is_dry:
        # A voter may have failed or been removed while the question was open.
        now = fresh if values.yes else fresh_quorum(work)
        if now.spare(_without(now, voter.id, voter.directory_id, is_forced=values.force)[1]) < spare and not values.force:
            raise MetashellError("nothing was changed: fewer voters are caught up than when you were asked; look again")
        assert voter.directory_id is not None, "voters of a dynamic quorum have one"
        with work.looking_after(lambda: _voters_now(work)):
            remove_voter(work.admin, ReplicaKey(voter.id, voter.directory_id), cluster_id=work.admin.cluster_id)
    text = f"{_named(voter)}: {result}; {len(left)} voters, {majority(len(left))} have to agree"
    work.tell(text, type="controller", id=voter.id, directory_id=_directory_text(voter), result=result, voters=len(left))
    if not work.is_dry:
        work.note(
            f"controller {voter.id} follows on as an observer until it is stopped; with controller.quorum.auto.join.enable it votes again"
        )
    if values.unregister:
        _unregister(work, voter.id)


def unregister_controller(work: Work) -> None:
    """Remove a controller's registration. Errors: MetashellError."""
    from metashell.cli.controllers.voters import fresh_quorum

    values = work.values
    name = f"controller {values.id}"
    fresh = fresh_quorum(work)
    quorum = fresh.quorum
    _refuse_old_level(work)
    if values.id == quorum.leader_id:
        raise MetashellError(f"{name}: it is the active controller, which cannot be unregistered: stop it, so that another one leads")
    _refuse_unregistered(work, values.id)
    warnings = []
    if any(voter.id == values.id for voter in quorum.voters):
        warnings.append(f"it votes until it is removed (metashell quorum remove-controller {values.id})")
    if any(replica.id == values.id and fresh.is_present(replica) for replica in (*quorum.voters, *quorum.observers)):
        warnings.append(_REGISTERS_AGAIN)
    if warnings and not values.force:
        raise MetashellError(f"{name}: {'; '.join(warnings)}. --force unregisters it all the same")
    work.confirm(*(f"{name}: {warning}" for warning in warnings), question=f"Unregister {name}?")
    _unregister(work, values.id)


_REGISTERS_AGAIN = "it runs, so it registers again at once: stop it first"


def _unregister(work: Work, id: int) -> None:
    """Remove a registration and report it, or in a dry run report that it would be removed."""
    from metashell.cli.admin.cluster import unregister_controller

    try:
        if not work.is_dry:
            with work.looking_after(lambda: _registered_now(work, id)):
                unregister_controller(work.admin, id)
    except AdminError as error:
        work.failed(error, type="controller", id=id)
    else:
        result = "would be unregistered" if work.is_dry else "unregistered"
        work.tell(f"controller {id}: {result}", type="controller", id=id, result=result)


def _refuse_old_level(work: Work) -> None:
    """Raise MetashellError if metadata.version is too low for unregistering controllers."""
    level = work.admin.features().finalized.get(METADATA_VERSION, 0)
    if level < UNREGISTER_CONTROLLER_LEVEL:
        has = metadata_version_name(level) if level else "none"
        wanted = metadata_version_name(UNREGISTER_CONTROLLER_LEVEL)
        raise MetashellError(
            f"controllers can be unregistered from metadata.version {wanted} on, and the cluster has {has}: "
            f"metashell features upgrade metadata.version={wanted}"
        )


def _refuse_unregistered(work: Work, id: int) -> None:
    """Raise AdminError if the id is not registered; only controllers know that, so through brokers nothing is checked."""
    if work.asks_controllers and id not in (known := [node.id for node in work.admin.nodes()]):
        raise AdminError(CONTROLLER_ID_NOT_REGISTERED, f"registered are {', '.join(map(str, known))}.", f"controller {id}")


def _registered_now(work: Work, id: int) -> str:
    if not work.asks_controllers:
        return "only the controllers (-C) say whether it is registered"
    return f"controller {id} {'is' if any(node.id == id for node in work.admin.nodes()) else 'is not'} registered"


def _without(fresh: FreshQuorum, id: int, directory_id: bytes | None, *, is_forced: bool) -> tuple[Replica, list[Replica]]:
    """Return the voter to remove, and the remaining ones. Errors: MetashellError if these would have no majority, unless forced."""
    from metashell.metadata.checks.rules.live_quorum import majority

    voter = _voter(fresh.quorum, id, directory_id)
    left = [other for other in fresh.quorum.voters if other is not voter]
    if not left:
        raise MetashellError(f"{_named(voter)}: it is the only voter: a quorum has at least one")
    spare = fresh.spare(left)
    if spare < 0 and not is_forced:
        lacking = fresh.lacking(left)
        there = spare + majority(len(left))
        raise MetashellError(
            f"{_named(voter)}: of the {len(left)} voters that remain {there} fetch, are caught up and can be elected, which is no majority"
            f"{f' ({lacking})' if lacking else ''}: the quorum would stop. Bring the others back first; --force removes it all the same"
        )
    return voter, left


def _voter(quorum: QuorumDescription, id: int, directory_id: bytes | None) -> Replica:
    """Return the voter with an id, and a directory id if given. Errors: MetashellError if there is none, or if there are several."""
    same = [voter for voter in quorum.voters if voter.id == id and directory_id in (None, voter.directory_id)]
    if len(same) == 1:
        return same[0]
    if same:
        raise MetashellError(f"controller {id}: several voters have this id: say which by --directory-id")
    known = ", ".join(_named(voter) for voter in quorum.voters)
    raise MetashellError(f"controller {id}: no such voter; the voters are {known}")


def _is(replica: Replica, key: ReplicaKey) -> bool:
    return replica.id == key.id and replica.directory_id == key.directory_id


def _text(key: ReplicaKey) -> str:
    return f"controller {key.id} (directory id {_directory(key)})"


def _directory(key: ReplicaKey) -> str:
    return uuid_text(key.directory_id)


def _directory_text(replica: Replica) -> str | None:
    return None if replica.directory_id is None else uuid_text(replica.directory_id)


def _named(replica: Replica) -> str:
    return f"controller {replica.id} (directory id {_directory_text(replica) or 'not known'})"


main = noun_tool(
    "quorum",
    QUORUM,
    {
        "describe": describe,
        "add-controller": add_controller,
        "remove-controller": remove_controller,
        "unregister-controller": unregister_controller,
    },
)
