"""The command `metashell quorum restore`: from surviving metadata logs to the first controller of a new quorum.

It reads the sources, chooses the best one, asks the voters that they name, and shows what is known and what would be lost. Then it refuses,
or writes the directory and says what to do next. Each refusal can be overridden by --force, which names it, but for those where there is
nothing to restore, or a place that is not empty."""

from __future__ import annotations

import os
from contextlib import ExitStack
from time import localtime, strftime, time
from typing import TYPE_CHECKING, Final

from metashell.cli.connection import client_config_of
from metashell.cli.controllers.restore_output import DELETES, REFUSED, OnDisk, Outcome, VoterAnswer, show
from metashell.cli.controllers.storage import new_uuid
from metashell.codec.releases import (
    KRAFT_VERSION,
    NEWEST_RELEASE,
    RELEASES,
    supported_features,
    unsupported_features,
)
from metashell.common.command import STATUS_OK
from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.common.terminal import show_progress, update_progress
from metashell.common.values import OffsetAndEpoch
from metashell.metadata.checks.rules.live_quorum import majority
from metashell.net.addresses import PORT_MAX, Address, parse_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import SimpleNamespace

    from metashell.codec.releases import Release
    from metashell.disk.restore import RestorePlan
    from metashell.inspect.surviving_logs import PartitionOnDisk
    from metashell.inspect.survivors import Choice, Survivor
    from metashell.metadata.checks.facts import Probe
    from metashell.metadata.image import MetadataImage

LISTENER: Final = "CONTROLLER"
_ALIVE: Final = frozenset({"answers", "not_loaded", "tls", "plain", "forbidden"})
"""The outcomes of a probe where a controller runs at the address."""
_UNSEEN: Final = frozenset({"silent", "unresolved"})
"""The outcomes that say nothing: the machine, or only the network between it and this one, may be down, or the controller is paused."""
_BROKERS_MAX: Final = 200
_NAMED_MAX: Final = 5


def restore(tool: str, values: SimpleNamespace) -> int:
    """Restore a quorum, or with --dry-run say what would be done. Errors: UsageError; PathError; MetashellError for a refusal."""
    from metashell.disk.file_system import refuse_folder_of_logs
    from metashell.disk.restore import check_target, write_restored
    from metashell.inspect.survivors import restored_values

    release = _release(values.release_version)
    name, address = _listener(values.listener)
    if values.node_id < 0:
        raise UsageError(f"option --node-id: {values.node_id} is negative", "--node-id")
    _refuse_overlap(values.out, values.source)
    refuse_folder_of_logs(values.out, [source for source in values.source if os.path.isdir(source)])
    check_target(values.out)
    with ExitStack() as stack:
        stack.enter_context(show_progress("reading"))
        outcome = _judge(values, release, name, address, stack)
        forced = outcome.refusals if values.force else ()
        if outcome.refusals and not values.force:
            show(outcome, values, REFUSED, forced)
            raise MetashellError(f"nothing was written: {'; '.join(outcome.refusals)}")
        if values.dry_run:
            show(outcome, values, "would be written", forced)
            return STATUS_OK
        update_progress("writing")
        write_restored(outcome.plan, restored_values(outcome.image))
    show(outcome, values, "written", forced)
    return STATUS_OK


def _release(text: str | None) -> Release:
    """Return the release that a text like `4.3.1` or `4.3` names. Errors: UsageError."""
    if text is None:
        return NEWEST_RELEASE
    name = ".".join(text.split(".")[:2])
    found = next((one for one in RELEASES if one.name == name), None)
    if found is None:
        known = ", ".join(one.name for one in RELEASES)
        raise UsageError(f"option --release-version: {text!r} is no release that is known: {known}", text)
    return found


def _listener(text: str) -> tuple[str, Address]:
    """Return the name, empty if there is none, and the address of `NAME://HOST:PORT`. Errors: UsageError."""
    name, slashes, address = text.partition("://")
    return (name, parse_address(address)) if slashes else ("", parse_address(text))


def _refuse_overlap(out: str, sources: Iterable[str]) -> None:
    """Raise PathError if the new directory would be a source, lie in one, or contain one."""
    target = os.path.realpath(out)
    for source in sources:
        real = os.path.realpath(source)
        if os.path.commonpath([target, real]) in (target, real):
            raise PathError(f"{out}: is, lies in, or contains the source {source}, which is only read", out)


# ---- the sources


def _judge(values: SimpleNamespace, release: Release, listener: str, address: Address, stack: ExitStack) -> Outcome:
    from metashell.inspect.surviving_logs import is_data_directory
    from metashell.inspect.survivors import LeftOut, compare, restored_image, without_redacted

    paths = list(dict.fromkeys(values.source))
    data = [path for path in paths if is_data_directory(path)]
    survivors = [_survivor(path, stack) for path in paths if path not in data]
    if not survivors:
        raise PathError(f"{data[0]}: no metadata log here: name the log directory of the node that has __cluster_metadata-0", data[0])
    choice = compare(survivors)
    best = choice.best
    update_progress(f"loading {best.label}")
    found = _load(best)
    warnings = list(_source_warnings(choice))
    refusals = list(_source_refusals(choice, found))
    image, left_out = without_redacted(found) if best.is_bundle else (found, LeftOut())
    folders = [one.log_directory for one in survivors if one.log_directory is not None and not one.is_bundle]
    strays = tuple(_on_disk([*folders, *data], image))
    update_progress("asking the voters")
    cluster_id = _cluster_id(choice, data)
    voters, named_by = _ask_voters(choice, found, cluster_id, values)
    refusals += _voter_refusals(voters, named_by)
    warnings += _voter_warnings(voters)
    refusals += _broker_refusals(found, values)
    warnings += _place_warnings(voters, address)
    warnings += _unseen_brokers(choice, data, found)
    warnings += _level_warnings(found, values, release)
    warnings += _node_warnings(found, values.node_id)
    return Outcome(
        choice=choice,
        image=restored_image(image),
        voters=voters,
        named_by=named_by,
        strays=strays,
        left_out=left_out,
        refusals=tuple(refusals),
        warnings=tuple(warnings),
        plan=_plan(_seen(choice, voters), choice, found, cluster_id, values, listener, address),
    )


def _survivor(path: str, stack: ExitStack) -> Survivor:
    from metashell.inspect.surviving_logs import is_archive, read_survivor, unpacked_bundle

    update_progress(f"reading {path}")
    if is_archive(path):
        return read_survivor(stack.enter_context(unpacked_bundle(path)), label=path)
    return read_survivor(path)


def _load(best: Survivor) -> MetadataImage:
    """Return the image at the end of the best source. Errors: MetashellError if it holds no cluster."""
    from metashell.metadata.image import load_image

    with best.open() as source:
        # With an end, a transaction that is open there is no fault: a new leader aborts it.
        image = load_image(source, end_offset=best.end_offset)
    if image.features.metadata_version is None:
        raise MetashellError(f"{best.label}: sets no metadata.version, so no server has led with it: there is no cluster to restore")
    return image


def _source_refusals(choice: Choice, image: MetadataImage) -> Iterator[str]:
    from metashell.metadata.image.image import damage_of, newer_line, newer_parts

    best = choice.best
    if best.is_anonymised:
        raise MetashellError(f"{best.label}: an anonymised bundle has aliases for all names: no cluster can be restored from it")
    yield from choice.conflicts
    if best.lost:
        yield f"{best.label} is damaged ({best.lost}), and no source has what follows offset {best.end_offset - 1}"
    if damage := damage_of(image):
        yield f"{best.label} has records that cannot be applied: {damage[0]}"
    if line := newer_line(part for part in newer_parts(image) if part.missing):
        yield f"{best.label}: {line}; they would be lost"


def _source_warnings(choice: Choice) -> Iterator[str]:
    best = choice.best
    for one in (best, *choice.others):
        yield from (f"{one.label}: {fault}" for fault in one.other_faults)
        if one.lost and one is not best:
            yield f"{one.label} is damaged, and was used up to offset {one.end_offset}: {one.lost}"
        if one.is_running:
            yield f"{one.label} is in use by a running process: stop it before the restored quorum starts"
    if best.kind == "checkpoint" and not choice.others:
        yield (
            f"a checkpoint is the only source: everything after offset {best.end_offset} is lost, "
            "also what brokers' own __cluster_metadata-0 directories still have; name these too"
        )
    if best.is_bundle:
        yield f"{best.label} is a bundle, which has no secrets: users and passwords have to be set again"


def _on_disk(folders: Iterable[str], image: MetadataImage) -> Iterator[OnDisk]:
    """Yield what shows that the brokers of log directories had seen more than the image: later topics, and later elections."""
    from metashell.inspect.surviving_logs import read_partitions

    for folder in folders:
        unknown: list[PartitionOnDisk] = []
        later: list[PartitionOnDisk] = []
        for one in read_partitions(folder):
            if one.topic_id is None:
                continue
            topic = image.topics.by_id.get(one.topic_id)
            if topic is None:
                unknown.append(one)
            elif topic.has_partition(one.partition) and topic.partitions[one.partition].leader_epoch < one.leader_epoch:
                later.append(one)
        if unknown or later:
            yield OnDisk(folder, tuple(unknown), tuple(later))


# ---- the voters


def _ask_voters(choice: Choice, image: MetadataImage, cluster_id: str, values: SimpleNamespace) -> tuple[tuple[VoterAnswer, ...], str]:
    """Ask each voter at its address, and return the answers, and which record or file names the voters."""
    from metashell.quorum.observer.controllers import Target
    from metashell.quorum.observer.probes import probe

    named = next((one for one in (choice.best, *choice.others) if one.quorum.voter_ids), choice.best)
    given = _given_voters(values.voters)
    ids = named.quorum.voter_ids or tuple(given)
    if strangers := given.keys() - set(ids):
        raise UsageError(f"option --voters: the voters are {', '.join(map(str, ids))}, without {min(strangers)}", "--voters")
    places = _addresses(named, image) | given
    answers: dict[Address, Probe] = {}
    if places:
        security = client_config_of(values.command_config).security
        target = Target(controllers=tuple(dict.fromkeys(places.values())), security=security)
        for one in probe(target, places).probes:
            answers.setdefault(parse_address(one.address), one)
    found = []
    for id in ids:
        address = places.get(id)
        if address is None:
            found.append(VoterAnswer(id, None, None, "no source has its address"))
            continue
        found.append(_answer(id, address, answers.get(address), cluster_id))
    return tuple(found), named.quorum.named_by or ("--voters" if given else "")


def _given_voters(text: str | None) -> dict[int, Address]:
    """Return the addresses by id that `1@host1:9093,2@host2:9093` names. Errors: UsageError."""
    found: dict[int, Address] = {}
    for part in text.split(",") if text is not None else ():
        id, at, address = part.strip().partition("@")
        if not (at and id.isascii() and id.isdigit()):
            raise UsageError(f"option --voters: {part!r} is not ID@HOST:PORT", "--voters")
        found[int(id)] = parse_address(address)
    return found


def _answer(id: int, address: Address, probe: Probe | None, cluster_id: str) -> VoterAnswer:
    if probe is None or probe.outcome in _UNSEEN:
        return VoterAnswer(id, address, None, "no answer" if probe is None else probe.words or probe.outcome)
    if probe.cluster_id not in (None, cluster_id):
        return VoterAnswer(id, address, False, f"a controller of another cluster, {probe.cluster_id}")
    if probe.outcome not in _ALIVE:
        return VoterAnswer(id, address, False, probe.words or probe.outcome)
    if probe.words:
        words = f"runs ({probe.words})"
    else:
        words = "runs, and reports no leader" if probe.leader_id is None else f"runs, and takes {probe.leader_id} for the leader"
    if probe.epoch is not None:
        words += f", epoch {probe.epoch}"
    return VoterAnswer(id, address, True, words, probe.leader_id, probe.epoch)


def _addresses(named: Survivor, image: MetadataImage) -> dict[int, Address]:
    """Return the address of each voter: from the voter set, else from its registration."""
    found: dict[int, Address] = {}
    known = {} if named.quorum.voters is None else {voter.id: voter.endpoints for voter in named.quorum.voters.voters}
    for id in named.quorum.voter_ids:
        registration = image.cluster.controllers.get(id)
        endpoints = known.get(id) or (() if registration is None else registration.listeners)
        if endpoints and endpoints[0].host and 0 < endpoints[0].port <= PORT_MAX:
            found[id] = Address(endpoints[0].host, endpoints[0].port)
    return found


def _voter_refusals(voters: tuple[VoterAnswer, ...], named_by: str) -> Iterator[str]:
    if not voters:
        yield "no source names the voters of the old quorum, so nobody could be asked whether it still runs"
        return
    alive = [one.id for one in voters if one.is_alive]
    unknown = [one.id for one in voters if one.is_alive is None]
    needed = majority(len(voters))
    leader = next((one for one in voters if one.is_alive and one.leader_id is not None), None)
    if len(alive) >= needed:
        yield f"{_ids(alive)} of the {len(voters)} voters run, which is a majority: the old quorum is not lost"
    elif leader is not None and leader.leader_id in alive:
        yield f"voter {leader.id} reports that {leader.leader_id} leads, and that one runs: the old quorum may not be lost"
    elif len(alive) + len(unknown) >= needed:
        silent = [one.id for one in voters if one.is_alive is None and one.address is not None]
        nowhere = [id for id in unknown if id not in silent]
        reasons = [f"no source has the address of {_ids(nowhere)}"] if nowhere else []
        reasons += [f"{_ids(silent)} does not answer, which a network or a pause can do too"] if silent else []
        yield f"{', and '.join(reasons)}, so a majority of the {len(voters)} voters may run"


def _voter_warnings(voters: tuple[VoterAnswer, ...]) -> Iterator[str]:
    for one in voters:
        if one.is_alive:
            do = "stop it, and move its log directory away, before the restored quorum starts"
            yield f"voter {one.id} at {one.address} {one.words}: {do}"


def _ids(ids: Iterable[int]) -> str:
    return "voter " + ", ".join(map(str, ids))


def _broker_refusals(image: MetadataImage, values: SimpleNamespace) -> Iterator[str]:
    """Ask the registered brokers whether they run, and yield a refusal if any does."""
    from metashell.quorum.observer.controllers import Target
    from metashell.quorum.observer.probes import probe_brokers

    places: dict[Address, int] = {}
    for id, broker in sorted(image.cluster.brokers.items())[:_BROKERS_MAX]:
        for listener in broker.listeners:
            if listener.host and 0 < listener.port <= PORT_MAX:
                places.setdefault(Address(listener.host, listener.port), id)
    if not places:
        return
    security = client_config_of(values.command_config).security
    probes = probe_brokers(Target(brokers=tuple(places), security=security))
    running = sorted({places[parse_address(one.address)] for one in probes if one.outcome in _ALIVE})
    if running:
        yield f"broker {', '.join(map(str, running))} runs: {DELETES}"


def _place_warnings(voters: tuple[VoterAnswer, ...], address: Address) -> Iterator[str]:
    """Yield a warning if no voter of the old quorum would meet the restored controller at its address."""
    if not voters or any(one.address == address for one in voters):
        return
    yield (
        f"no voter of the old quorum was at {address}: old voters that start again do not meet the restored controller, and may elect "
        "a leader of their own. At the address of one of them, the others follow it as soon as they ask it for a vote"
    )


def _unseen_brokers(choice: Choice, data: Iterable[str], image: MetadataImage) -> Iterator[str]:
    """Yield a warning for registered brokers of which no directory is a source."""
    from metashell.disk.properties import MetaProperties, read_meta

    seen = {one.node_id for one in (choice.best, *choice.others)}
    seen |= {meta.node_id for meta in map(read_meta, data) if isinstance(meta, MetaProperties)}
    if missing := [id for id in sorted(image.cluster.brokers) if id not in seen]:
        named = ", ".join(map(str, missing[:_NAMED_MAX])) + (f" and {len(missing) - _NAMED_MAX} more" if len(missing) > _NAMED_MAX else "")
        yield f"no directory of broker {named} is a source: each has a copy of the metadata log, which may have more than these"


# ---- the release and the node


def _level_warnings(image: MetadataImage, values: SimpleNamespace, release: Release) -> Iterator[str]:
    """Yield what the release means for the cluster. Errors: MetashellError if it cannot run with its levels."""
    ours = {name: level for name, level in image.features.finalized.items() if name != KRAFT_VERSION}
    if unsupported := unsupported_features(ours, release):
        raise MetashellError(f"a server of {release.name} cannot run with the levels of this cluster: {unsupported[0].text}")
    if values.static:
        return
    if supported_features(release).get(KRAFT_VERSION, (0, 0))[1] < 1:
        raise MetashellError(f"servers of {release.name} have no dynamic quorums: --static writes one with kraft.version 0")
    old = [id for id, broker in sorted(image.cluster.brokers.items()) if broker.supported_features.get(KRAFT_VERSION, (0, 0))[1] < 1]
    if old:
        yield f"broker {', '.join(map(str, old))} did not support kraft.version 1 when it registered: --static restores a quorum for it"


def _node_warnings(image: MetadataImage, node_id: int) -> Iterator[str]:
    if node_id in image.cluster.brokers:
        yield f"node {node_id} is registered as a broker: give the restored controller this id only if it is both (process.roles)"
    if image.features.zk_migration_state not in (0, 3):
        yield "the migration from ZooKeeper was not finished: start the restored controller with the settings of the migration"


def _cluster_id(choice: Choice, data: Iterable[str]) -> str:
    """Return the cluster id of the sources and of data directories. Errors: MetashellError if none has one, or they differ."""
    from metashell.disk.properties import MetaProperties, read_meta

    named = {one.label: one.cluster_id for one in (choice.best, *choice.others) if not one.is_anonymised}
    named |= {path: meta.cluster_id for path in data if isinstance(meta := read_meta(path), MetaProperties)}
    found = {path: id for path, id in named.items() if id is not None}
    ids = dict.fromkeys(found.values())
    if len(ids) > 1:
        raise MetashellError(
            f"the sources are of several clusters: {'; '.join(f'{path} is of cluster {id}' for path, id in found.items())}"
        )
    if ids:
        return next(iter(ids))
    raise MetashellError(
        f"{choice.best.label}: no source has a meta.properties, so the cluster id is not known: name a log directory of the cluster too, "
        "also that of a broker"
    )


def _seen(choice: Choice, voters: tuple[VoterAnswer, ...]) -> OffsetAndEpoch:
    """Return the highest offset and epoch of all sources, and of voters that answer: one that is alone begins new epochs all the time."""
    return OffsetAndEpoch(choice.seen.offset, max([choice.seen.epoch, *(one.epoch for one in voters if one.epoch is not None)]))


def _plan(
    seen: OffsetAndEpoch, choice: Choice, image: MetadataImage, cluster_id: str, values: SimpleNamespace, listener: str, address: Address
) -> RestorePlan:
    from metashell.disk.bootstrap import Voter, stored_host
    from metashell.disk.restore import RestorePlan, new_place

    now = int(time() * 1000)
    known = choice.best.quorum.voters
    usual = known.voters[0].endpoints[0].name if known is not None and known.voters and known.voters[0].endpoints else LISTENER
    return RestorePlan(
        path=values.out,
        cluster_id=cluster_id,
        voter=Voter(values.node_id, stored_host(address.host), address.port, new_uuid()),
        listener=listener or usual,
        is_static=values.static,
        snapshot_id=new_place(seen.offset, seen.epoch),
        last_timestamp_ms=max(image.provenance.timestamp_ms, 0),
        now_ms=now,
        date=strftime("%a %b %d %H:%M:%S %Z %Y", localtime()),
    )
