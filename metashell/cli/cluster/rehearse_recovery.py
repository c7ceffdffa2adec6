"""The command `metashell rehearse recovery`: a drill of losses of controllers, on a copy of a cluster's metadata, without Java.

An embedded quorum runs on the copy. It is broken, and the person at the terminal, or with --auto this command, repairs it with the same
commands as a real one. Nothing of SOURCE is written, and every file of the drill lies in one folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from shlex import quote
from typing import TYPE_CHECKING, Final

from metashell.cli.cluster.drill_quorum import Broken, break_quorum, digest_of, target_of
from metashell.cli.tool import StopRequested, StopSignals, parsed
from metashell.codec.releases import metadata_version_name
from metashell.common import options
from metashell.common.command import STATUS_FAILED, STATUS_OK, complain
from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.common.forms import aligned, standard_output, write_value
from metashell.common.options import CommandSpec, choice, flag, source_argument
from metashell.common.terminal import end_progress, show_progress, terminal_line
from metashell.common.values import ReplicaKey, uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import SimpleNamespace
    from typing import Any, TextIO

    from metashell.metadata.image import MetadataImage
    from metashell.rehearse.recovery import Command, Found, Point, Scene, Story


NAME: Final = "metashell rehearse recovery"
_NAMES: Final = ("disk", "majority", "controllers")
_OLDEST: Final = "3.9"
"""The first release with dynamic quorums."""
_COMMAND_S: Final = 60.0
_SETTLE_S: Final = 20.0
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


def _run_story(name: str, image: MetadataImage, values: SimpleNamespace) -> dict[str, Any]:
    from metashell.rehearse.recovery import commands_of, drill_value, judge, story_named

    story = story_named(name)
    with ExitStack() as stack:
        folder = stack.enter_context(_folder(values))
        stack.enter_context(show_progress(f"{story.name}: starting three controllers"))
        servers = stack.enter_context(_Servers(folder, values.output == "text"))
        broken = break_quorum(story, image, folder, stack)
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

    answers = probe(target_of(scene.places))
    return answers.leader_id is not None and id in (one.id for one in (*answers.voters, *answers.observers))


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


def _look(broken: Broken) -> Found:
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
        return digest_of(path)
    except OSError:
        return None


def _found(scene: Scene, changed: tuple[str, ...]) -> Found:
    from metashell.quorum.observer.attach import attach
    from metashell.quorum.observer.probes import probe
    from metashell.rehearse.recovery import Found, content_of

    target = target_of(scene.places)
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
