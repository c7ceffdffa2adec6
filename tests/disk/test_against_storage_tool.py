"""Random command lines of format and its relatives, run by Kafka's own tool and by ours: the same answer, the same files."""

from __future__ import annotations

import random
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path

import pytest

from metashell.cli.kafka.file_tools import storage_main as kafka_storage
from tests.disk.storage_cases import SECRETS, content, listing
from tests.java import run_program
from tests.running import run_main

PROGRAM = Path(__file__).parent / "java" / "Commands.java"
CASES = 250
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
DIRECTORY_ID = "JEXY6aqzQY-32P5TStzaFg"
ROLES = {
    "controller": "listeners=CONTROLLER://localhost:9093",
    "broker": "listeners=PLAINTEXT://localhost:9092",
    "broker,controller": "listeners=PLAINTEXT://localhost:9092,CONTROLLER://:9093",
}
FEATURES = (
    "group.version=1", "transaction.version=1", "share.version=0", "streams.version=0", "eligible.leader.replicas.version=0",
    "metadata.version=7", "metadata.version=20", "metadata.version=22", "metadata.version=30", "metadata.version=31", "metadata.version=6",
    "kraft.version=0", "kraft.version=1", "kraft.version=2", "group.version=0", "group.version=1", "group.version=2",
    "transaction.version=0", "transaction.version=1", "transaction.version=2", "eligible.leader.replicas.version=1", "share.version=0",
    "share.version=1", "share.version=2", "streams.version=1", "no.such.version=1", "group.version", "group.version=x", "group.version=-1",
    " group.version = 1 ", "group.version=1=1", "=1", "",
)  # fmt: skip
RELEASES = ("3.3", "3.4", "3.7", "3.9", "3.9-IV0", "4.0", "4.0-IV0", "4.1", "4.2-IV0", "4.3", "4.4-IV0", "4.3.1", "9.9", "")
SCRAMS = (
    "SCRAM-SHA-256=[name=alice,salt=N3E=,password=p]",
    "SCRAM-SHA-512=[name=bob,salt=N3E=,password=p,iterations=8192]",
    "SCRAM-SHA-256=[name=carol,salt=N3E=,saltedpassword=YCE=]",
)


def command_line(chance: random.Random, folder: Path) -> list[str]:
    """A configuration in `folder`, perhaps with some directories formatted before, and a command line for it."""
    roles = chance.choice(list(ROLES))
    node_id = 2 if roles == "broker" else 1
    static = chance.random() < 0.3
    quorum = "voters=1@localhost:9093" if static else "bootstrap.servers=localhost:9093"
    names = chance.sample(["d1", "d2", "d3", "a long name"], chance.randrange(1, 4))
    lines = [f"process.roles={roles}", f"node.id={node_id}", "controller.listener.names=CONTROLLER", ROLES[roles]]
    lines += [f"controller.quorum.{quorum}", "log.dirs=" + ",".join(str(folder / name).replace(" ", "\\ ") for name in names)]
    if chance.random() < 0.3:
        lines.append(f"metadata.log.dir={folder / 'md'}")
    if chance.random() < 0.2:
        lines.append("unstable.feature.versions.enable=true")
    folder.mkdir()
    (folder / "server.properties").write_text("\n".join(lines) + "\n")
    for name in names:
        if chance.random() < 0.1:
            make_formatted(folder / name, chance.choice((node_id, node_id, 9)), chance.choice((CLUSTER_ID, CLUSTER_ID, "other")))
    config = str(folder / "server.properties")
    if chance.random() < 0.1:
        return ["info", "-c", config]
    return ["format", "-t", CLUSTER_ID, "-c", config, *flags(chance)]


def make_formatted(folder: Path, node_id: int, cluster_id: str) -> None:
    folder.mkdir()
    (folder / "meta.properties").write_text(f"version=1\nnode.id={node_id}\ncluster.id={cluster_id}\n")


def flags(chance: random.Random) -> list[str]:
    words: list[str] = []
    if chance.random() < 0.3:
        words += ["-r", chance.choice(RELEASES)]
    for feature in chance.sample(FEATURES, chance.choice((0, 0, 1, 1, 2))):
        words.append(f"--feature={feature}")
    for spec in chance.sample(SCRAMS, chance.choice((0, 0, 0, 1, 2))):
        words += ["-S", spec]
    words += chance.choice(
        (
            *([], ["-s"], ["-s"], ["-N"], ["-N"]),
            *[["-I", f"1@localhost:9093:{DIRECTORY_ID}"]] * 2,
            ["-I", f"3@[::1]:9093:{DIRECTORY_ID},1@h:1:MvDxzVmcRsaTz33bUuRU6A"],
            ["-I", "nonsense"],
        )
    )
    return [*words, "-g"] if chance.random() < 0.3 else words


def meanings(folder: Path, scratch: Path) -> dict[str, object]:
    """What every file below a folder says, apart from moments and chance."""
    found: dict[str, object] = {}
    for name, size in listing(folder).items():
        if size is not None and name != "server.properties":
            found[name] = content(scratch / name, (folder / name).read_bytes())
    return found


def theirs(lines: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Standard output and outcome of each command line as Kafka's tool gives them."""
    stdin = "".join("\x1f".join(words) + "\n" for words in lines).encode()
    marked = [line[2:].split(" ") for line in run_program(PROGRAM, stdin=stdin).decode().split("\n") if line.startswith("@@")]
    return [(b64decode(printed).decode(), b64decode(outcome).decode()) for printed, outcome in marked]


@pytest.mark.slow
def test_random_command_lines_are_answered_as_by_the_real_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    # Both run in the same folder, one after the other: the order of Kafka's lines depends on the paths.
    work = tmp_path / "work"
    lines = make_all(work)
    answers = theirs(lines)
    assert len(answers) == CASES
    work.rename(tmp_path / "kafka")
    assert make_all(work) == lines
    differing = []
    for index, (printed, outcome) in enumerate(answers):
        run = run_main(kafka_storage, lines[index], cwd=work)
        status, _, message = outcome.partition(" ")
        files = [meanings(tmp_path / side / str(index), tmp_path / "scratch" / side / str(index)) for side in ("kafka", "work")]
        expected = (int(status), SECRETS.sub("*", printed), files[0])
        if (run.status, SECRETS.sub("*", run.stdout.decode()), files[1]) != expected or message not in run.stderr:
            differing.append((lines[index], expected, message, run, files[1]))
    assert not differing, differing[0]
    assert sum(outcome == "0" for _, outcome in answers) > CASES // 4


def make_all(folder: Path) -> list[list[str]]:
    folder.mkdir()
    chance = random.Random(4)
    return [command_line(chance, folder / str(index)) for index in range(CASES)]
