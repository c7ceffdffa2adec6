"""Each next step for a directory that is a command is run on the situation that it is printed for, and the finding is gone then.

`tests/cli/cluster/test_next_steps.py` does the same for what a live quorum shows. `BY_HAND` are the checks whose next step is no command: a
server to start, a disk to mount, a line of a configuration.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from metashell.cli.main import main
from metashell.common.values import uuid_text
from metashell.disk.names import META_PROPERTIES, METADATA_DIRECTORY
from metashell.metadata.checks import all_checks, judge
from metashell.metadata.checks.model import Found
from metashell.metadata.facts import gather_facts
from tests.cli.cluster.next_steps import LIVE, NOT_RUN
from tests.metadata.diagnosis.disks import OTHER_TOPIC, TOPIC, Disk, broker, configuration, disk, known, partition, properties, topic
from tests.metadata.diagnosis.situations import DEMO, STATIC_1, copied, formatted, rewrite, without_checkpoints
from tests.running import run_main

Words = Sequence[str]
THREE: Final = {"voter_ids": (1, 2, 3), "voter_set": known(1, 2, 3), "brokers": ()}
VALUE_OPTIONS: Final = {"-c", "--from", "-t", "--out", "--node-id", "--listener", "-d"}


@dataclass(frozen=True, kw_only=True)
class Step:
    """A situation, and the command in one of the next steps of a check there.

    `make` fills a folder and gives the words of `metashell health`; `places` stand for the names in capitals; `at` is the number of the
    step. `before` is what a person does before, `more` what the command needs in a test.
    """

    check: str
    make: Callable[[Path], Words]
    at: int = 0
    places: Mapping[str, str] = field(default_factory=dict)
    before: Callable[[Path], object] = lambda at: None
    more: Words = ()


def found(words: Words, check: str) -> list[Found]:
    names = list(words)
    at = names.index("-c") if "-c" in names else len(names)
    verdict = judge(gather_facts(names[:at], names[at + 1 :]))
    return [one for finding in verdict.findings if finding.check.id == check for one in finding]


def command_in(step: str, places: Mapping[str, str]) -> list[str]:
    """The words of the command in a step, behind `metashell`: its options with their values and its paths, up to a word of the text."""
    match = re.search(r"metashell (\S+) (\S+)((?: \S+)*)", step)
    assert match is not None, step
    words, rest = [match[1], match[2]], match[3].split()
    while rest:
        word = rest.pop(0)
        last = word.endswith((":", ",", ";"))
        word = word.rstrip(":,;")
        if word in VALUE_OPTIONS and not last:
            value = rest.pop(0)
            last = value.endswith((":", ",", ";")) and not value.endswith(":PORT")
            words += [word, places.get(value.rstrip(":,;"), value.rstrip(":,;"))]
        elif word.startswith("-") or "/" in word or word in places:
            words.append(places.get(word, word))
        else:
            break
        if last:
            break
    return words


# ---- the situations


def with_folders(at: Path, *directories: str, **how: object) -> Words:
    """A combined node with several directories and its configuration."""
    Disk(**how).write(at / "d1")  # type: ignore[arg-type]
    more = "" if "voter_set" in how else STATIC_1
    config = configuration(at, directories=",".join(str(at / name) for name in ("d1", *directories)), more=more)
    return [str(at / "d1"), *(str(at / name) for name in directories if (at / name).is_dir()), "-c", str(config)]


TWO_DISKS: Final = [disk(1, 1), disk(1, 2)]
IN_BOTH: Final = {
    "voter_set": known(1),
    "registrations": [broker(1, directories=TWO_DISKS)],
    "records": [topic(), partition(0, [1], directories=TWO_DISKS[:1]), partition(1, [1], directories=TWO_DISKS[1:])],
    "folders": {"orders-0": TOPIC},
}


def two_disks(identity: str | None) -> Callable[[Path], Words]:
    """A node with two directories that hold a partition each; the second one's meta.properties is as given."""

    def make(at: Path) -> Words:
        place = at / "d2" / "orders-1"
        place.mkdir(parents=True)
        (place / "partition.metadata").write_text(f"version: 0\ntopic_id: {uuid_text(TOPIC)}")
        if identity is not None:
            (at / "d2" / META_PROPERTIES).write_text(identity)
        return with_folders(at, "d2", **IN_BOTH)

    return make


def spoilt(spoil: Callable[[Path], object], **how: object) -> Callable[[Path], Words]:
    def make(at: Path) -> Words:
        words = with_folders(at, **how)
        spoil(at / "d1")
        return words

    return make


def voter_of_three(spoil: Callable[[Path], object]) -> Callable[[Path], Words]:
    def make(at: Path) -> Words:
        for id in (1, 2, 3):
            Disk(node=id, **THREE).write(at / f"n{id}" / "d")  # type: ignore[arg-type]
        spoil(at / "n1" / "d")
        return [str(at / "n1" / "d")]

    return make


def lost_metadata_of_the_only_voter(at: Path) -> Words:
    """The metadata's disk is empty; another directory is left, and a copy of the metadata log."""
    Disk(voter_set=known(1), records=[topic(), partition(0, [1])]).write(at / "copy")
    (at / "d1").mkdir()
    (at / "d2").mkdir()
    (at / "d2" / META_PROPERTIES).write_text(properties(1, disk(1, 2)))
    config = configuration(at, directories=f"{at / 'd1'},{at / 'd2'}", more="controller.quorum.voters=1@controller-1.example.net:9093")
    return [str(at / "d2"), "-c", str(config)]


STEPS: Final[dict[str, Step]] = {
    # meta.properties
    "the metadata's disk of the only voter is empty, and a copy of its log is left": Step(
        check="lost_metadata",
        make=lost_metadata_of_the_only_voter,
        places={"COPY": "copy", "HOST:PORT": "localhost:1"},
        more=["--force"],
    ),
    "the same of one voter of three": Step(
        check="lost_metadata",
        make=formatted(lambda at: (at / "d1" / META_PROPERTIES).unlink(), more="controller.quorum.voters=7@a:9093,8@b:9093,9@c:9093"),
    ),
    "a new disk in place of one that is gone": Step(
        check="unformatted", make=formatted(lambda at: (at / "d2" / META_PROPERTIES).unlink(), dirs=2)
    ),
    "a disk that was not mounted": Step(check="unformatted", make=formatted(lambda at: shutil.rmtree(at / "d2"))),
    "a lost meta.properties beside partitions": Step(check="unformatted", make=two_disks(None)),
    "a torn meta.properties beside partitions": Step(check="torn_identity", make=two_disks("version=1\nclu")),
    "an empty meta.properties of a node that never started": Step(
        check="torn_identity", make=formatted(lambda at: (at / "d2" / META_PROPERTIES).write_text(""))
    ),
    "two disks with one id": Step(check="duplicate_directory_id", make=two_disks(properties(1, disk(1, 1)))),
    "the same of a node that was only formatted": Step(
        check="duplicate_directory_id", make=formatted(lambda at: rewrite(at, "d2", uuid_text(disk(7, 2)), uuid_text(disk(7, 1))))
    ),
    "a disk with another cluster's id whose topics are this one's": Step(
        check="other_cluster", make=two_disks(properties(1, disk(1, 2)).replace("QUJDREVGR0hJSktMTU5PUA", "WlhDVkJOTUFTREZHSEpLTA"))
    ),
    "an id that Kafka reserves": Step(check="reserved_directory_id", make=two_disks(properties(1, bytes(15) + b"\1"))),
    "the same of a node that never started": Step(
        check="reserved_directory_id",
        make=formatted(lambda at: rewrite(at, "d2", uuid_text(disk(7, 2)), "AAAAAAAAAAAAAAAAAAAAAQ")),
    ),
    # quorum-state
    "a lost quorum-state of one voter of three": Step(
        check="old_quorum_state",
        make=voter_of_three(lambda at: (at / METADATA_DIRECTORY / "quorum-state").unlink()),
        places={"DIRECTORY_OF_2": "n2/d", "DIRECTORY_OF_3": "n3/d"},
    ),
    "a torn one": Step(
        check="old_quorum_state",
        make=voter_of_three(lambda at: (at / METADATA_DIRECTORY / "quorum-state").write_bytes(b"")),
        places={"DIRECTORY_OF_2": "n2/d", "DIRECTORY_OF_3": "n3/d"},
    ),
    "one of the only voter that is older than its log": Step(
        check="old_quorum_state", make=spoilt(lambda at: None, epoch=5, note={"leaderEpoch": 2})
    ),
    # checkpoints
    "checkpoints were deleted": Step(check="lost_checkpoint", make=copied(DEMO, without_checkpoints), places={"PATH": str(DEMO)}),
    "the newest checkpoint is empty, and the log begins late": Step(
        check="lost_checkpoint", make=copied(DEMO, lambda at: without_checkpoints(at, keep="329-")), places={"PATH": str(DEMO)}
    ),
    "the newest checkpoint is empty, and the log has everything": Step(
        check="torn_checkpoint", make=copied(DEMO, lambda at: next(at.glob("*329-*.checkpoint")).write_bytes(b""))
    ),
    # partitions
    "a folder of another topic": Step(
        check="stray_topic_id", make=spoilt(lambda at: None, records=[topic(), partition(0, [1])], folders={"orders-0": OTHER_TOPIC})
    ),
    "a folder without partition.metadata": Step(
        check="no_topic_id", make=spoilt(lambda at: None, records=[topic(), partition(0, [1])], folders={"orders-0": None})
    ),
    "the same in a directory without a metadata log": Step(
        check="no_topic_id",
        make=lambda at: (
            two_disks(properties(1, disk(1, 2)))(at) if not (at / "d2").exists() else [],
            (at / "d2" / "orders-1" / "partition.metadata").unlink(),
            [str(at / "d1"), str(at / "d2")],
        )[2],
    ),
}
BY_HAND: Final = {
    "other_node_id": "a line of the configuration, or another disk",
    "misplaced_metadata": "a line of the configuration",
    "missing_directory": "a line of the configuration, or a disk to mount",
    "shared_node_id": "a server to start on one disk and not on the other",
    "no_voters_configured": "a line of the configuration, or `features upgrade` on a quorum that runs",
    "other_voters_configured": "a line of the configuration",
    "static_voter_port": "a line of the configuration",
    "majority_behind": "a server to start first",
    "vote_of_no_voter": "a server to find",
    "no_voters_known": "a line of the configuration",
    "unknown_topic": "a disk to find out about",
    "partition_twice": "two logs to compare",
    "stray_left": "directories to look into",
    "zk_migration": "servers of Kafka 3.9 to restart",
    "contested_id": "a server to find",
    "lost_records": "a disk to keep",
    "restarting_broker": "a log to read",
    "failed_directory": "a disk to replace",
    "unclean": "disks to keep",
    "offline": "a server to start",
    "under_min_isr": "a server to start",
    "under_replicated": "a server to start",
    "unsupported_feature": "a server to upgrade",
    "release_too_old": "a server to upgrade",
    "holds_upgrade": "a server to upgrade",
    "same_listener": "a line of the configuration",
    "local_listener": "a line of the configuration",
    "one_rack": "a line of the configuration",
    "no_rack": "a line of the configuration",
    "lagging": "a server to look at",
    "unreachable_voter": "a server to start",
    "no_answer": "an address or credentials to put right",
    "no_spare_voter": "a server to start",
    "other_leader": "a log to read",
    "mixed_clusters": "an address to put right",
    "other_node": "a line of the configuration",
    "unreachable_broker": "a server to start",
    "voter_out_of_sight": "a machine to ask from",
    "wrong_address": "an address to leave out",
    "not_loaded": "time to wait",
    "moved_voter": "a line of the configuration; `quorum describe` only shows",
    "silent_voter": "a server to look at; `quorum describe` only shows",
    "full_disk": "settings of topics; `reassign plan` is run for vanished brokers",
    "nearly_full_disk": "as for a full disk",
    "hanging_transaction": "kafka-transactions.sh, which is Kafka's",
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_the_command_of_a_next_step_ends_the_finding(step: Step, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = step.make(tmp_path)
    (one, *_) = found(words, step.check)
    assert one.steps, one
    step.before(tmp_path)
    command = [*command_in(one.steps[step.at], step.places), *step.more]
    done = run_main(main, command, cwd=tmp_path)
    assert done.status == 0, (command, done)
    assert found(words, step.check) == [], (command, done)


def test_every_check_that_prints_a_next_step_is_tried_or_its_step_is_no_command() -> None:
    tried = {step.check for step in STEPS.values()} | LIVE.keys()
    text = "".join(path.read_text(encoding="utf-8") for path in RULES)
    with_steps = {one.id for one in all_checks() if one.step or _makes_steps(text, one.id)}
    assert sorted(with_steps - tried - BY_HAND.keys() - NOT_RUN.keys()) == []
    assert sorted(tried & (BY_HAND.keys() | NOT_RUN.keys())) == []


RULES: Final = sorted((Path(__file__).parents[3] / "metashell" / "metadata" / "checks" / "rules").glob("*.py"))


def _makes_steps(text: str, id: str) -> bool:
    """Whether the function of a check makes steps for each thing that it finds."""
    _, _, rest = text.partition(f'.{id}",')
    body = rest.partition("\n@check(")[0]
    return bool(re.search(r"\bsteps?\b", body))


def test_steps_are_read_as_a_person_reads_them() -> None:
    step = "do not start it; metashell storage repair /a/b -c /c.properties: it writes it again"
    assert command_in(step, {}) == ["storage", "repair", "/a/b", "-c", "/c.properties"]
    step = "metashell quorum restore COPY --out /d --node-id 1 --listener HOST:PORT, with what is left"
    assert command_in(step, {"COPY": "x", "HOST:PORT": "h:1"}) == [
        *("quorum", "restore", "x", "--out", "/d", "--node-id", "1", "--listener", "h:1")
    ]
    assert json.dumps(command_in("metashell storage repair /a puts it aside", {})) == '["storage", "repair", "/a"]'
