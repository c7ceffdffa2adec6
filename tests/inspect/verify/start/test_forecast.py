"""Whether Kafka would start: the rules by themselves. That they are Kafka's is shown in tests/interop/test_start_safe.py."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from metashell.cli.inspect.checks import JUDGED
from metashell.cli.inspect.checks import verify_main as verify
from metashell.codec.releases import RELEASES, Release
from metashell.common.forms import Display
from metashell.demo import demo_directory
from metashell.disk.file_system import Disk
from metashell.disk.files import RegularFile
from metashell.disk.names import METADATA_DIRECTORY
from metashell.disk.properties import Acknowledged, MetaProperties, format_meta_properties, write_acknowledged
from metashell.inspect.verify import VerifyOptions
from metashell.inspect.verify.run import run_verify
from metashell.inspect.verify.start import ServerExit, StartVerdict, _placed, placed_batches
from metashell.inspect.verify.start.forecast import JUDGED_RELEASES, forecast
from tests.inspect.verify.making import NO_OP, data_batch
from tests.interop.start_bases import CHECKPOINT, LOG, make_base
from tests.interop.start_cases import cases
from tests.running import run_main
from tests.unknown_rows import make_directory, servers

CASES = cases()


def verdict_of(folder: Path, name: str) -> StartVerdict:
    """The verdict on one of the cases that real servers are started on."""
    kind, damage = CASES[name]
    place = make_base(folder, kind)
    damage(place)
    return forecast(str(folder), str(place))


@pytest.mark.parametrize("name", [name for name in CASES if name.endswith(": sound")])
def test_a_sound_directory_is_safe(tmp_path: Path, name: str):
    verdict = verdict_of(tmp_path / "d", name)
    assert verdict.is_safe
    assert not verdict.changes
    assert verdict.end_offset == (0 if name.startswith("fresh") else LOG.end)


def test_what_is_cut_and_deleted_is_counted(tmp_path: Path):
    verdict = verdict_of(tmp_path / "d", "log: middle segment, inner batch, body")
    assert verdict.starts
    assert not verdict.is_safe
    cut, deleted = verdict.changes
    position = LOG.starts(1)[3]
    assert (Path(cut.file).name, cut.action, cut.position) == (LOG.name(1), "cut", position)
    assert (cut.bytes, cut.batches) == (LOG.starts(1)[-1] - position, len(LOG.segments[1]) - 4)
    assert cut.records == (cut.batches - 1) * 21 + 1
    assert (Path(deleted.file).name, deleted.action, deleted.batches, deleted.records) == (LOG.name(2), "delete", 8, 8 * 21)
    assert verdict.lost == [f"offsets {cut.offset} to {LOG.end - 1}"]
    assert (verdict.end_offset, verdict.epoch) == (cut.offset, 1)


@pytest.mark.parametrize("tail", ("61 zeros", "5000 zeros"))
def test_a_torn_tail_is_cut_and_nothing_is_lost(tmp_path: Path, tail: str):
    verdict = verdict_of(tmp_path / "d", f"log: last segment with a tail of {tail}")
    assert verdict.is_safe
    assert [(change.action, change.loses) for change in verdict.changes] == [("cut", False)]


def test_zeros_behind_an_earlier_segment_cost_all_later_ones(tmp_path: Path):
    verdict = verdict_of(tmp_path / "d", "log: first segment with a tail of 1 zeros")
    assert verdict.lost == [f"offsets {LOG.bases[1]} to {LOG.end - 1}"]


@pytest.mark.parametrize(
    ("name", "what"),
    (
        ("log: middle segment missing", "are missing"),
        ("log: a batch missing in the middle", "are missing"),
        ("log: first segment, inner batch, base-offset", "is missing"),
        ("log: first segment, inner batch, epoch-high", "without a leader"),
        ("log: two batches swapped", "goes back"),
        ("middle: checkpoint cut between two batches", "has no footer"),
    ),
)
def test_what_kafka_does_not_notice_is_not_safe(tmp_path: Path, name: str, what: str):
    verdict = verdict_of(tmp_path / "d", name)
    assert verdict.starts
    assert not verdict.is_safe
    assert any(what in fault for fault in verdict.unnoticed)


@pytest.mark.parametrize(
    ("name", "reason"),
    (
        ("log: quorum-state with garbage", "no JSON from character"),
        ("log: quorum-state with no voters", "currentVoters is missing"),
        ("log: leader-epoch-checkpoint with too few entries", "Expected 3 entries"),
        ("log: partition.metadata with another topic", "is not that of the metadata log"),
        ("log: first segment missing", "needs a checkpoint from there on: there is none"),
        ("log: last batch with a topic again", "replay fails at offset"),
        ("log: last batch with an unknown type", "replay fails at offset"),
        ("log: an empty segment far behind", "forever"),
        ("log: a file x.log", "fails to read the name"),
        ("compact: checkpoint missing", "there is none"),
        ("compact: checkpoint garbage", ""),
    ),
)
def test_what_kafka_ends_over_is_named(tmp_path: Path, name: str, reason: str):
    verdict = verdict_of(tmp_path / "d", name)
    assert verdict.starts is False
    assert reason in verdict.reason


def released(name: str) -> Release:
    """A release of the table by the name of one of its patches."""
    return next(release for release in RELEASES if name.startswith(f"{release.name}."))


@pytest.mark.parametrize("told", servers(), ids=lambda told: f"{told['release']}-{told['row']}")
def test_a_log_of_a_newer_release_is_judged_as_real_servers_took_it(tmp_path: Path, told: dict[str, str]):
    place = make_directory(tmp_path / "d", told["row"]).directory
    verdict = forecast(str(place), str(place / METADATA_DIRECTORY), release=released(told["release"]))
    assert verdict.starts == (told["did"] == "serves"), verdict.reason
    assert (verdict.starts and not any(" ignores " in fault for fault in verdict.unnoticed)) == (verdict.release in verdict.releases)


def test_the_answer_names_the_releases_that_would_start(tmp_path: Path):
    place = make_directory(tmp_path / "d", "share.version 2").directory
    verdict = forecast(str(place), str(place / METADATA_DIRECTORY), release=released("4.3.1"))
    reason = "replay fails at offset 3: share.version 2 is not supported: 0 to 1 are; Kafka 4.4 supports it; 4.4 would"
    assert str(verdict) == f"Kafka 4.3 would not start: {place}/{METADATA_DIRECTORY}/{0:020d}.log: byte 207: {reason}"
    place = make_directory(tmp_path / "e", "nothing unknown").directory
    verdict = forecast(str(place), str(place / METADATA_DIRECTORY))
    assert str(verdict) == "Kafka 4.4 would start (log from offset 0 to 4, epoch 1) and lose nothing; 4.3 would start too"
    place = make_directory(tmp_path / "f", "UnregisterControllerRecord").directory
    verdict = forecast(str(place), str(place / METADATA_DIRECTORY), release=released("4.3.1"))
    assert "offset 4: UNREGISTER_CONTROLLER_RECORD is a type of record that Kafka 4.3 does not know; 4.4 would" in str(verdict)


def test_the_command_line_knows_the_releases_of_the_table():
    assert tuple(release.name for release in JUDGED_RELEASES) == JUDGED


def test_what_a_checkpoint_holds_is_not_lost_with_the_log(tmp_path: Path):
    verdict = verdict_of(tmp_path / "d", "middle: middle segment, inner batch damaged")
    assert not any(change.loses for change in verdict.changes if LOG.name(1) in change.file)
    later = verdict_of(tmp_path / "e", "middle: checkpoint past the log, epoch 2")
    assert later.is_safe
    assert {Path(change.file).name for change in later.changes} == {LOG.name(1), LOG.name(2), CHECKPOINT}


def test_a_lost_vote_is_not_safe(tmp_path: Path):
    verdict = verdict_of(tmp_path / "d", "log: quorum-state missing")
    assert verdict.starts
    assert verdict.lost[0].startswith("the vote of this node")


def test_the_proof_beside_meta_properties_shows_what_the_directory_lost(tmp_path: Path):
    place = make_base(tmp_path, "log")
    id = bytes(15) + b"\1"
    (tmp_path / "meta.properties").write_bytes(format_meta_properties(MetaProperties(1, "cluster", 1, id), date="now"))
    sound = forecast(str(tmp_path), str(place))
    assert sound.end_offset is not None and sound.epoch is not None
    write_acknowledged(Disk(), str(tmp_path), Acknowledged(id, sound.epoch, sound.end_offset, has_records=True))
    assert forecast(str(tmp_path), str(place)).is_safe
    write_acknowledged(Disk(), str(tmp_path), Acknowledged(id, sound.epoch, sound.end_offset + 1, has_records=True))
    (shorter,) = forecast(str(tmp_path), str(place)).lost
    assert shorter.startswith("what this node has acknowledged, and it would vote without that: the log ends at offset")
    shutil.rmtree(place)
    gone = forecast(str(tmp_path), str(place))
    assert any("the metadata log is empty; acknowledged says" in line for line in gone.lost) and not gone.is_safe
    # Of another directory id, it says nothing.
    write_acknowledged(Disk(), str(tmp_path), Acknowledged(bytes(15) + b"\2", 9, 9, has_records=True))
    assert not any("acknowledged says" in line for line in forecast(str(tmp_path), str(place)).lost)


def test_an_emptied_directory_would_begin_a_new_log(tmp_path: Path):
    assert "all of the log" in verdict_of(tmp_path / "d", "log: an empty metadata directory").lost[0]


def test_what_is_not_known_is_not_safe(tmp_path: Path):
    place = make_base(tmp_path / "d", "log")
    (place / f"{0:020d}.log.swap").write_bytes(b"")
    verdict = forecast(str(tmp_path / "d"), str(place))
    assert verdict.starts is None
    assert not verdict.is_safe
    assert str(verdict).startswith("it is not known whether")


# ---- as it is printed


def test_lines_and_status(tmp_path: Path):
    sound, bad = tmp_path / "sound", tmp_path / "bad"
    make_base(sound, "log")
    kind, damage = CASES["log: last segment, last batch, body"]
    damage(make_base(bad, kind))
    done = run_main(verify, ["--start-safe", str(sound)], cwd=tmp_path)
    assert (done.status, done.stderr) == (0, "")
    first, checks, elsewhere, summary = done.stdout.decode().splitlines()
    assert "found nothing; not run: 9 (no server.properties given, -c)" in checks
    assert first == f"{sound}: Kafka 4.4 would start (log from offset 0 to {LOG.end}, epoch 2) and lose nothing; 4.3 would start too"
    assert summary.endswith(": fine")
    assert elsewhere.startswith("the cluster itself, which is not verified here, has bad: unregistered_voter 1")
    done = run_main(verify, ["--start-safe", str(bad)], cwd=tmp_path)
    assert done.status == 1
    cut, answer, *_, summary = done.stdout.decode().splitlines()
    at = LOG.starts(2)[-2]
    place = f"{bad}/__cluster_metadata-0/{LOG.name(2)}: byte {at}: offset {LOG.end - 21}"
    assert cut.startswith(f"{place}: error: Kafka would cut this file to {at} bytes and lose ")
    assert ", because CRC-32C" in cut
    assert summary.endswith(": 2 errors, 0 warnings")
    assert answer.endswith(f"epoch 2) and lose offsets {LOG.end - 21} to {LOG.end - 1}; 4.3 would start too")


def test_json_has_the_verdicts(tmp_path: Path):
    make_base(tmp_path / "d", "log")
    done = run_main(verify, ["--start-safe", "-o", "json", str(tmp_path / "d")], cwd=tmp_path)
    value = json.loads(done.stdout)
    assert set(value) == {"findings", "checks", "starts", "summary"}
    (start,) = value["starts"]
    assert set(start) == {
        "kind", "path", "release", "releases",
        "starts", "safe", "reason", "start_offset", "end_offset", "epoch", "changes", "lost", "unnoticed", "troubles", "not_judged",
    }  # fmt: skip
    assert (start["release"], start["releases"]) == ("4.4", ["4.3", "4.4"])
    assert (start["kind"], start["starts"], start["safe"], start["end_offset"]) == ("start", True, True, LOG.end)


def test_a_configuration_names_the_node(tmp_path: Path):
    make_base(tmp_path / "d", "log")
    config = tmp_path / "server.properties"
    settings = "process.roles=controller\ncontroller.listener.names=C\nlisteners=C://localhost:9093\n"
    settings += f"log.dirs={tmp_path}/d\ncontroller.quorum.bootstrap.servers=localhost:9093\n"
    config.write_text(f"{settings}node.id=7\n")
    done = run_main(verify, ["--start-safe", "-c", str(config), str(tmp_path / "d")], cwd=tmp_path)
    assert done.status == 1
    assert b"Kafka 4.4 would not start: " in done.stdout
    assert f"other_node_id: {tmp_path}/d: node.id 1 in meta.properties, 7 in".encode() in done.stdout
    config.write_text("process.roles=controller\n")
    done = run_main(verify, ["--start-safe", "-c", str(config), str(tmp_path / "d")], cwd=tmp_path)
    assert done.status == 1
    assert b"would not start: refused_configuration" in done.stdout


@pytest.mark.parametrize(
    "words",
    (["--start-safe", "--deep"], ["--start-safe", "--digest=3"], ["--release", "4.3"]),
)
def test_options_that_do_not_go_together_are_refused(tmp_path: Path, words: list[str]):
    done = run_main(verify, [*words, str(tmp_path)], cwd=tmp_path)
    assert done.status == 2
    assert done.stderr.count("\n") == 1


def test_folders_are_searched_and_what_would_become_stray_is_lost(tmp_path: Path):
    make_base(tmp_path / "node-1" / "d1", "log")
    (tmp_path / "node-1" / "d1" / "orders-0").mkdir()
    done = run_main(verify, ["--start-safe", str(tmp_path)], cwd=tmp_path)
    assert done.status == 1
    assert b"and lose orders-0 (renamed to -stray); 4.3 would start too; the logs of 1 partition were not read" in done.stdout
    (tmp_path / "node-1" / "d1" / "orders-0").rmdir()
    assert run_main(verify, ["--start-safe", str(tmp_path)], cwd=tmp_path).status == 0
    (tmp_path / "node-1" / "d2").mkdir()
    (tmp_path / "node-1" / "d2" / "meta.properties").write_text("version=1\n")
    assert b"would not start: torn_identity" in run_main(verify, ["--start-safe", str(tmp_path)], cwd=tmp_path).stdout
    inner = run_main(verify, ["--start-safe", str(tmp_path / "node-1" / "d1" / "__cluster_metadata-0")], cwd=tmp_path)
    assert inner.status == 0


def test_where_there_is_no_log_directory_it_is_an_error(tmp_path: Path):
    done = run_main(verify, ["--start-safe", str(tmp_path)], cwd=tmp_path)
    assert done.status == 1
    assert f"{tmp_path}: Kafka 4.4 would not start: unformatted: {tmp_path}: is empty".encode() in done.stdout
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "x").touch()
    assert b"no log directory with a metadata log here" in run_main(verify, ["--start-safe", str(tmp_path)], cwd=tmp_path).stdout
    done = run_main(verify, ["--start-safe", str(tmp_path / "nope")], cwd=tmp_path)
    assert (done.status, done.stdout.decode().splitlines()[0]) == (1, f"{tmp_path}/nope: error: No such file or directory")


def test_a_copy_of_the_log_is_found_by_what_it_holds(tmp_path: Path):
    copy = tmp_path / "copies" / "of-node-1"
    copy.mkdir(parents=True)
    for path in Path(demo_directory()).rglob("*.log"):
        shutil.copy(path, copy)
    done = run_main(verify, ["--start-safe", str(tmp_path / "copies")], cwd=tmp_path)
    assert done.status == 1
    assert f"{tmp_path}/copies: Kafka 4.4 would not start: {tmp_path}/copies/meta.properties: is missing" in done.stdout.decode()


def test_nothing_is_changed(tmp_path: Path):
    def state(folder: Path) -> dict[str, tuple[bytes, int]]:
        return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}

    shutil.copytree(demo_directory(), tmp_path / "d")
    before = state(tmp_path)

    class Nothing:
        def write(self, text: str, /) -> object:
            return len(text)

    assert run_verify(VerifyOptions(paths=(str(tmp_path / "d"),), start_safe=True), Display(Nothing())) == 0
    assert state(tmp_path) == before


@pytest.mark.parametrize(("magic", "has_flaw"), ((2, False), (3, False), (127, False), (128, True), (255, True), (1, True), (0, True)))
def test_the_magic_of_a_batch_is_a_signed_byte(magic: int, has_flaw: bool):
    """The checksum does not cover it, and a server takes what is above 2 for a batch like any other."""
    data = bytearray(data_batch(3, [NO_OP]))
    data[16] = magic
    assert bool(_placed(bytes(data), 0).flaw) == has_flaw


def test_a_disk_that_gives_an_error_ends_the_walk_as_no_end_of_a_file_does(tmp_path: Path):
    class Broken(RegularFile):
        def read_at(self, position: int, size: int) -> bytes:
            self.trouble = "Input/output error"
            return b""

    path = tmp_path / "a.log"
    path.write_bytes(bytes(100))
    with Broken(os.open(path, os.O_RDONLY), str(path)) as file, pytest.raises(ServerExit, match="Input/output error"):
        list(placed_batches(file))
