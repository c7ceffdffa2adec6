"""The command `metashell rehearse recovery`: a drill of losses of controllers, on a copy of a cluster's metadata, without Java.

An embedded quorum runs on the copy. It is broken, and the person at the terminal, or with --auto this command, repairs it with the same
commands as a real one. Nothing of SOURCE is written, and every file of the drill lies in one folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from random import SystemRandom
from shlex import quote
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.cli.tool import StopRequested, StopSignals, parsed
from metashell.codec.releases import metadata_version_name
from metashell.common import options
from metashell.common.command import STATUS_FAILED, STATUS_OK, complain
from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.common.forms import aligned, standard_output, write_value
from metashell.common.options import CommandSpec, choice, flag, source_argument
from metashell.common.terminal import end_progress, show_progress, terminal_line, update_progress
from metashell.common.values import ReplicaKey, uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import SimpleNamespace
    from typing import Any, TextIO

    from metashell.metadata.image import MetadataImage
    from metashell.quorum.embedded.quorum import EmbeddedQuorum
    from metashell.quorum.observer.controllers import Target
    from metashell.rehearse.recovery import Command, Content, Found, Place, Point, Scene, Story


NAME: Final = "metashell rehearse recovery"
_NAMES: Final = ("disk", "majority", "controllers")
_OLDEST: Final = "3.9"
"""The first release with dynamic quorums."""
_BROKERS: Final = (101, 102)
_EARLY, _LATE = 10, 10
"""How many markers are written before the older broker's copy is taken, and after."""
_COMMAND_S: Final = 60.0
_SETTLE_S: Final = 20.0
_ATTACH_S: Final = 5.0
_POLL_S: Final = 0.2

RECOVERY = CommandSpec(
    name="metashell-rehearse-recovery",
    summary="a drill: lose controllers on a copy of the metadata, and recover",
    description="""
        Starts three controllers, without Java, on a copy of the metadata of SOURCE, writes changes, takes disks away, and shows what is
        left. Repair it with the commands of a real recovery, from another terminal, and press Enter: the drill looks whether anything
        acknowledged was lost, and says what is right and what is wrong. With --auto it runs the commands itself.

        The stories: one controller's disk is lost (disk); two of three controllers are lost (majority); all controllers are lost, and the
        brokers' copies of the metadata log are left (controllers). SOURCE is only read. All files of the
        drill lie in one folder, which is removed at the end.
        """,
    options=(
        choice(
            "--story",
            metavar="STORY",
            choices=(*_NAMES, "all"),
            help="what is lost; with --auto all of them one after the other, otherwise disk",
        ),
        flag("--auto", help="run the commands, and show them"),
        flag("--keep", help="keep the folder of the drill"),
        options.output("text", "json"),
        options.NO_COLOR,
        options.VERSION,
    ),
    arguments=(source_argument("source", "SOURCE", "1", "a metadata directory or a checkpoint"),),
    examples=(
        ("metashell rehearse recovery /var/lib/kafka", "lose one disk, and recover by hand"),
        ("metashell rehearse recovery /var/lib/kafka --story controllers", "only the brokers' copies are left"),
        ("metashell rehearse recovery /var/lib/kafka --auto", "watch all three stories"),
    ),
    epilog=(
        (
            "EXIT STATUS",
            "0  the quorum was recovered, and nothing acknowledged was lost\n1  it was not, or the source could not be read\n"
            "2  the command line is wrong",
        ),
    ),
)


def run_recovery(words: list[str]) -> int:
    """Run the drill that the command line asks for, and return the status. Errors: UsageError; PathError; MetashellError."""
    values = parsed(RECOVERY._replace(name=NAME), words)
    if values is None:
        return STATUS_OK
    names = _stories(values)
    if not values.auto and not sys.stdin.isatty():
        raise UsageError("the drill waits for somebody at a terminal: --auto runs the commands", "--auto")
    image = _load(values.source)
    signals = StopSignals()
    signals.watch()
    try:
        with signals.raised():
            results = [_run_story(name, image, values) for name in names]
    except StopRequested as stop:
        return 128 + stop.number
    if values.output == "json":
        write_value(standard_output(no_color=values.no_color), results[0] if len(results) == 1 else results)
    return STATUS_OK if all(result["recovered"] for result in results) else STATUS_FAILED


def _stories(values: SimpleNamespace) -> Sequence[str]:
    if values.story not in (None, "all"):
        return (values.story,)
    if values.story == "all" or values.auto:
        return _NAMES
    return _NAMES[:1]


def _load(path: str) -> MetadataImage:
    from metashell.disk.bootstrap import release_level
    from metashell.disk.source import open_source
    from metashell.metadata.image import load_image

    with show_progress(f"reading {path}"), open_source(path) as source:
        image = load_image(source)
    if image.features.metadata_version is None:
        raise PathError(f"{path}: sets no metadata.version: there is no cluster to practise on", path)
    if image.features.metadata_version < release_level(_OLDEST, unstable=False):
        found = metadata_version_name(image.features.metadata_version)
        raise MetashellError(f"{path}: metadata.version {found}: the drill adds voters, which needs {_OLDEST} or later")
    return image


# ---- one story


class _Broken(NamedTuple):
    """A quorum that was broken: its files, what it had acknowledged, and the digests of what is left."""

    scene: Scene
    before: Content
    digests: Mapping[str, str]


def _run_story(name: str, image: MetadataImage, values: SimpleNamespace) -> dict[str, Any]:
    from metashell.rehearse.recovery import commands_of, drill_value, judge, story_named

    story = story_named(name)
    with ExitStack() as stack:
        folder = stack.enter_context(_folder(values))
        stack.enter_context(show_progress(f"{story.name}: starting three controllers"))
        servers = stack.enter_context(_Servers(folder, values.output == "text"))
        broken = _break(story, image, folder, stack)
        scene = broken.scene
        texts = {key: uuid_text(key.directory_id) for key in scene.lost}
        commands = list(commands_of(story, scene, texts))
        end_progress()
        if values.output == "text" or not values.auto:
            _show_situation(story, scene, sys.stdout if values.output == "text" else sys.stderr)
        began = time.monotonic()
        if values.auto:
            ran = [servers.run(command, scene) for command in commands]
        else:
            ran = []
            _wait_for_person(commands)
        seconds = time.monotonic() - began
        found = _look(broken)
        points = judge(story, broken.before, found, scene.lost)
    if values.output == "text":
        _show_result(story, points, seconds)
    return drill_value(story, points, ran, seconds)


@contextmanager
def _folder(values: SimpleNamespace) -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="metashell-drill-")
    try:
        yield folder
    finally:
        if values.keep:
            complain(NAME, f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _break(story: Story, image: MetadataImage, folder: str, stack: ExitStack) -> _Broken:
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
    return _Broken(Scene(cluster_id, places, sources, lost), before, {source: _digest(source) for source in sources})


def _wait_until_all_have_it(places: Sequence[Place]) -> None:
    """Wait until each voter has all that is committed: a majority is enough for that, and which one is chance."""
    from metashell.quorum.observer.probes import probe

    ends_at = time.monotonic() + _SETTLE_S
    while True:
        answers = probe(_target(places))
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
    from metashell.inspect.restored_records import restored_image, restored_values
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


def _digest(directory: str) -> str:
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


# ---- the repair


class _Servers:
    """Runs the commands of a repair, each as a process of this interpreter; servers end with the drill."""

    def __init__(self, folder: str, is_shown: bool) -> None:
        self._folder = folder
        self._is_shown = is_shown
        self._running: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> _Servers:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running:
            process.kill()
            process.wait()

    def run(self, command: Command, scene: Scene) -> dict[str, object]:
        """Run a command and return it with its status; a server's is None, since it runs on. Errors: MetashellError if it fails."""
        if self._is_shown:
            print(f"\n$ metashell {terminal_line(_shown(command, self._folder))}\n  {command.reason}")
            sys.stdout.flush()
        words = [sys.executable, "-m", "metashell", *command.words]
        if command.server is not None:
            self._serve(words, command.server, scene)
            return {"command": f"metashell {command.text}", "status": None}
        done = subprocess.run(words, capture_output=True, text=True, timeout=_COMMAND_S, stdin=subprocess.DEVNULL, check=False)
        if self._is_shown:
            self._print(done.stdout)
        if done.returncode != STATUS_OK:
            raise MetashellError(f"metashell {command.text}: status {done.returncode}: {done.stderr.strip()[-300:]}")
        return {"command": f"metashell {command.text}", "status": done.returncode}

    def _serve(self, words: Sequence[str], id: int, scene: Scene) -> None:
        """Start a server, and wait until the leader knows it. Errors: MetashellError if it ends, or takes too long."""
        path = os.path.join(self._folder, f"server-{id}.log")
        with open(path, "ab") as log:
            process = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self._running.append(process)
        ends_at = time.monotonic() + _COMMAND_S
        while not _is_known(id, scene):
            if process.poll() is not None or time.monotonic() > ends_at:
                with open(path, encoding="utf-8", errors="replace") as text:
                    raise MetashellError(f"controller {id} did not join: {text.read()[-300:].strip()}")
            time.sleep(_POLL_S)

    def _print(self, text: str) -> None:
        for line in text.replace(f"{self._folder}/", "").splitlines():
            print(f"  {terminal_line(line)}")


def _is_known(id: int, scene: Scene) -> bool:
    """Whether a leader knows a replica with this id: itself, or one that fetches."""
    from metashell.quorum.observer.probes import probe

    answers = probe(_target(scene.places))
    return answers.leader_id is not None and id in (one.id for one in (*answers.voters, *answers.observers))


def _target(places: Sequence[Place]) -> Target:
    from metashell.net.addresses import parse_address
    from metashell.quorum.observer.controllers import Target

    return Target(controllers=tuple(parse_address(place.address) for place in places), timeout_s=_ATTACH_S)


def _shown(command: Command, folder: str) -> str:
    return " ".join(quote(word.replace(f"{folder}/", "")) for word in command.words)


def _wait_for_person(commands: Sequence[Command]) -> None:
    """Wait until the person at the terminal has repaired the quorum, and show the commands to one who asks for them."""
    out = sys.stderr
    while True:
        try:
            print(
                "\nRepair it from another terminal. Then press Enter; `hint` and Enter shows the commands: ", end="", file=out, flush=True
            )
            answer = input()
        except EOFError:
            return
        if answer.strip().lower() not in ("hint", "h", "?"):
            return
        for command in commands:
            print(
                f"  metashell {' '.join(map(quote, command.words))}{' &' if command.server is not None else ''}\n      # {command.reason}"
            )


# ---- the result


def _look(broken: _Broken) -> Found:
    """Look at the repaired quorum, for as long as its voters may need to catch up."""
    from metashell.rehearse.recovery import CONTROLLERS

    changed = tuple(os.path.basename(path) for path, digest in broken.digests.items() if _digest_or_none(path) != digest)
    ends_at = time.monotonic() + _SETTLE_S
    while True:
        found = _found(broken.scene, changed)
        is_settled = found.content is not None and not found.silent and len(found.voters) == CONTROLLERS
        if is_settled or time.monotonic() > ends_at:
            return found
        time.sleep(_POLL_S)


def _digest_or_none(path: str) -> str | None:
    try:
        return _digest(path)
    except OSError:
        return None


def _found(scene: Scene, changed: tuple[str, ...]) -> Found:
    from metashell.quorum.observer.attach import attach
    from metashell.quorum.observer.probes import probe
    from metashell.rehearse.recovery import Found, content_of

    target = _target(scene.places)
    try:
        with attach(target) as source:
            image = source.view().image
    except MetashellError as error:
        return Found(reason=str(error), changed=changed)
    answers = probe(target)
    cluster_id = next((one.cluster_id for one in answers.probes if one.cluster_id is not None), "")
    mark = answers.high_watermark
    return Found(
        content=content_of(image, cluster_id),
        voters=() if image.voters is None else tuple(ReplicaKey(voter.id, voter.directory_id) for voter in image.voters.voters),
        silent=tuple(one.id for one in answers.voters if mark is not None and one.log_end_offset < mark),
        changed=changed,
    )


def _show_situation(story: Story, scene: Scene, out: TextIO) -> None:
    rows = [("cluster id", scene.cluster_id)]
    rows += [(f"controller {place.id}", f"{place.address}, {place.config}, {place.directory}") for place in scene.places]
    rows += [("left", source) for source in scene.sources]
    lines = [f"story: {story.title}", story.situation, "", *map(terminal_line, aligned(rows))]
    print(*lines, sep="\n", file=out, flush=True)


def _show_result(story: Story, points: Sequence[Point], seconds: float) -> None:
    from metashell.rehearse.recovery import verdict_line

    print()
    for line in aligned([("right" if point.is_right else "WRONG", point.name, point.fact) for point in points]):
        print(terminal_line(line))
    print(f"{terminal_line(verdict_line(story, points))} ({seconds:.1f} s)\n")
