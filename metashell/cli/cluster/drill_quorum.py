"""The quorum of a drill: three controllers on a copy of a cluster's metadata, with changes that were acknowledged, and then broken."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from random import SystemRandom
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.common.errors import MetashellError
from metashell.common.terminal import update_progress
from metashell.common.values import ReplicaKey, uuid_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import ExitStack

    from metashell.metadata.image import MetadataImage
    from metashell.quorum.embedded.quorum import EmbeddedQuorum
    from metashell.quorum.observer.controllers import Target
    from metashell.rehearse.recovery import Content, Place, Scene, Story


_BROKERS: Final = (101, 102)
_EARLY, _LATE = 10, 10
"""How many markers are written before the older broker's copy is taken, and after."""
_SETTLE_S: Final = 20.0
_ATTACH_S: Final = 5.0
_POLL_S: Final = 0.2


class Broken(NamedTuple):
    """A quorum that was broken: its files, what it had acknowledged, and the digests of what is left."""

    scene: Scene
    before: Content
    digests: Mapping[str, str]


def break_quorum(story: Story, image: MetadataImage, folder: str, stack: ExitStack) -> Broken:
    """Start a quorum on the image, write markers, and lose the disks of the story."""
    from metashell.quorum.embedded.quorum import EmbeddedQuorum
    from metashell.rehearse.recovery import Scene, content_of

    cluster_id, places, keys = _make_directories(image, folder)
    quorum = EmbeddedQuorum(directory=folder)
    # Whoever follows closes it: a drill may have stopped it before.
    stack.callback(quorum.__exit__, None, None, None)
    quorum.start()
    update_progress(f"{story.name}: writing changes")
    acknowledged = [_write_marker(quorum, number) for number in range(_EARLY)]
    _wait_until_all_have_it(places)
    copies = [_broker_copy(places[0].directory, folder, _BROKERS[0])] if len(story.lost) == len(places) else []
    acknowledged += [_write_marker(quorum, number) for number in range(_EARLY, _EARLY + _LATE)]
    before = content_of(quorum.wait_for(lambda now: _has(now, acknowledged[-1])), cluster_id)
    assert before.markers >= set(acknowledged), "what is acknowledged is committed"
    _wait_until_all_have_it(places)
    update_progress(f"{story.name}: losing disks")
    if story.is_stopped:
        leader = quorum.wait_for_leader()
        quorum.stop()
        copies += [_broker_copy(places[leader - 1].directory, folder, _BROKERS[1])] if copies else []
    else:
        for id in story.lost:
            quorum.kill(id)
    for id in story.lost:
        shutil.rmtree(places[id - 1].directory)
    sources = _set_aside(story, places, folder, copies)
    lost = tuple(keys[id] for id in ((1, 2, 3) if story.is_stopped else story.lost))
    return Broken(Scene(cluster_id, places, sources, lost), before, {source: digest_of(source) for source in sources})


def _wait_until_all_have_it(places: Sequence[Place]) -> None:
    """Wait until each voter has all that is committed: a majority is enough for that, and which one is chance."""
    from metashell.quorum.observer.probes import probe

    ends_at = time.monotonic() + _SETTLE_S
    while True:
        answers = probe(target_of(places))
        mark = answers.high_watermark
        if mark is not None and answers.voters and all(voter.log_end_offset >= mark for voter in answers.voters):
            return
        if time.monotonic() > ends_at:
            raise MetashellError(f"the drill's quorum did not catch up within {_SETTLE_S:.0f} s")
        time.sleep(_POLL_S)


def _set_aside(story: Story, places: Sequence[Place], folder: str, copies: Sequence[str]) -> tuple[str, ...]:
    """Move what is left of the old quorum to where it cannot be started by mistake; return the sources of a restore."""
    if not story.is_stopped:
        return ()
    left = [place for place in places if place.id not in story.lost]
    moved = []
    for place in left:
        target = os.path.join(folder, f"old-controller-{place.id}")
        os.rename(place.directory, target)
        moved.append(target)
    return (*moved, *copies)


def _make_directories(image: MetadataImage, folder: str) -> tuple[str, tuple[Place, ...], dict[int, ReplicaKey]]:
    """Write the directories and configurations of three first voters that begin with the image."""
    from metashell.disk.bootstrap import Voter
    from metashell.disk.restore import RestorePlan, new_place, write_restored
    from metashell.inspect.survivors import restored_image, restored_values
    from metashell.quorum.controller.decision import new_uuid
    from metashell.quorum.embedded.layout import HOST, LISTENER, QUICK, reserve
    from metashell.rehearse.recovery import CONTROLLERS, Place

    reserved = reserve(CONTROLLERS)
    ports = reserved.numbers
    reserved.close()
    voters = {id: Voter(id, HOST, port, new_uuid(SystemRandom())) for id, port in enumerate(ports, 1)}
    addresses = ",".join(f"{HOST}:{port}" for port in ports)
    cluster_id = uuid_text(new_uuid(SystemRandom()))
    restored, places = restored_image(image), []
    end = image.provenance
    for id, voter in voters.items():
        home = os.path.join(folder, f"controller-{id}")
        place = Place(id, os.path.join(home, "server.properties"), os.path.join(home, "metadata"), f"{HOST}:{voter.port}")
        plan = RestorePlan(
            path=place.directory,
            cluster_id=cluster_id,
            voter=voter,
            others=tuple(other for other in voters.values() if other is not voter),
            listener=LISTENER,
            is_static=False,
            snapshot_id=new_place(end.end_offset, 0),
            last_timestamp_ms=max(end.timestamp_ms, 0),
            now_ms=int(time.time() * 1000),
            date=time.strftime("%a %b %d %H:%M:%S %Z %Y"),
        )
        write_restored(plan, restored_values(restored))
        settings = {
            "process.roles": "controller",
            "node.id": id,
            "controller.listener.names": LISTENER,
            "listeners": f"{LISTENER}://{place.address}",
            "log.dirs": place.directory,
            "controller.quorum.bootstrap.servers": addresses,
            **QUICK,
        }
        with open(place.config, "w", encoding="utf-8") as file:
            file.write("".join(f"{key}={value}\n" for key, value in settings.items()))
        places.append(place)
    return cluster_id, tuple(places), {id: ReplicaKey(id, voter.directory_id) for id, voter in voters.items()}


def _write_marker(quorum: EmbeddedQuorum, number: int) -> str:
    """Set a quota of a user that nobody has, and return its name once the quorum has acknowledged it. Errors: MetashellError."""
    from metashell.codec.error_codes import error_text
    from metashell.codec.messages import AlterClientQuotasRequest
    from metashell.rehearse.recovery import MARKER, QUOTA

    made, name = AlterClientQuotasRequest, f"{MARKER}{number}"
    entity = (made.EntityData(entity_type="user", entity_name=name),)
    answer = quorum.request(made(entries=(made.EntryData(entity=entity, ops=(made.OpData(key=QUOTA, value=float(number + 1)),)),)))
    if answer.entries[0].error_code:
        raise MetashellError(f"the drill's quorum refused a change: {error_text(answer.entries[0].error_code)}")
    return name


def _has(image: MetadataImage, name: str) -> bool:
    return (("user", name),) in image.client_quotas


def _broker_copy(directory: str, folder: str, id: int) -> str:
    """Copy a metadata log as a broker has it: with an identity of its own, and without a vote."""
    from metashell.disk.names import META_PROPERTIES, METADATA_DIRECTORY, QUORUM_STATE
    from metashell.disk.properties import MetaProperties, format_meta_properties, read_meta_properties
    from metashell.disk.state_files import QuorumState, read_quorum_state, write_quorum_state
    from metashell.quorum.controller.decision import new_uuid

    target = os.path.join(folder, f"broker-{id}")
    log = os.path.join(target, METADATA_DIRECTORY)
    shutil.copytree(os.path.join(directory, METADATA_DIRECTORY), log)
    cluster_id = read_meta_properties(os.path.join(directory, META_PROPERTIES)).cluster_id
    meta = MetaProperties(version=1, cluster_id=cluster_id, node_id=id, directory_id=new_uuid(SystemRandom()))
    with open(os.path.join(target, META_PROPERTIES), "wb") as file:
        file.write(format_meta_properties(meta, date=time.strftime("%a %b %d %H:%M:%S %Z %Y")))
    state = os.path.join(log, QUORUM_STATE)
    found = read_quorum_state(state)
    os.unlink(state)
    write_quorum_state(state, QuorumState(leader_epoch=found.leader_epoch, leader_id=found.leader_id, data_version=1))
    return target


def digest_of(directory: str) -> str:
    """A digest of the names and bytes of all files below a directory."""
    digest = hashlib.sha256()
    for parent, folders, files in os.walk(directory):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(parent, name)
            digest.update(f"{os.path.relpath(path, directory)}\0".encode())
            with open(path, "rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def target_of(places: Sequence[Place]) -> Target:
    """The addresses of the drill's controllers, to ask them."""
    from metashell.net.addresses import parse_address
    from metashell.quorum.observer.controllers import Target

    return Target(controllers=tuple(parse_address(place.address) for place in places), timeout_s=_ATTACH_S)
