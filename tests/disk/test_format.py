"""Formatting as its users meet it: dry runs, locks, bad places, secrets, and both voices."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from metashell.cli.inspect.checks import verify_main as verify
from metashell.disk.file_system import DirectoryLock, Disk, is_locked
from metashell.disk.properties import read_meta_properties
from tests.disk.formatting import CLUSTER_ID, FIRST, FORMAT, configured, kafkas, ours
from tests.disk.storage_cases import listing
from tests.running import Outcome, run_main
from tests.seeds import shows


def answer(outcome: Outcome) -> dict[str, Any]:
    assert outcome.status == 0, outcome
    value = json.loads(outcome.stdout)
    assert isinstance(value, dict)
    return value


# --- what is printed ----------------------------------------------------------------------------------------------------


def test_a_dry_run_shows_everything_and_writes_nothing(folder: Path) -> None:
    before = listing(folder)
    shown = answer(ours(folder, *FORMAT, "-s", "--dry-run", "-o", "json"))
    assert listing(folder) == before
    assert set(shown) == {
        "type", "dry_run", "cluster_id", "node_id", "layout", "metadata_version", "features", "voters", "records", "metadata_log_directory",
        "finishes_interrupted", "directories",
    }  # fmt: skip
    assert shown["dry_run"] is True
    assert (shown["layout"], shown["metadata_version"]) == ("4.4", {"level": 33, "name": "4.4-IV2"})
    (directory,) = shown["directories"]
    assert directory["kind"] == "dynamic metadata voter directory"
    assert directory["directory_id"] == shown["voters"][0]["directory_id"]
    assert [file["name"] for file in directory["files"]] == [
        "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint",
        "meta.properties",
    ]


@pytest.mark.parametrize("form", ["text", "json", "kafka"])
def test_what_is_shown_is_what_is_then_there(folder: Path, form: str) -> None:
    outcome = ours(folder, *FORMAT, "-N", "-o", form)
    assert outcome.status == 0
    assert b"d1" in outcome.stdout
    meta = read_meta_properties(str(folder / "d1" / "meta.properties"))
    assert (meta.cluster_id, meta.node_id, meta.version) == (CLUSTER_ID, 1, 1)


def test_the_umask_counts(folder: Path) -> None:
    before = os.umask(0o077)
    try:
        assert ours(folder, *FORMAT, "-s").status == 0
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (folder / "d1").rglob("*")}
    assert modes == {
        "__cluster_metadata-0": 0o700,
        "00000000000000000000-0000000000.checkpoint": 0o400,
        "meta.properties": 0o600,
    }


def test_our_text_is_aligned_and_sorted(tmp_path: Path) -> None:
    folder = configured(tmp_path, "d3,d1,long-name")
    outcome = ours(folder, *FORMAT, "-N")
    lines = outcome.stdout.decode().splitlines()
    assert [line[:25].split()[0] for line in lines[-3:]] == ["d1", "d3", "long-name"]
    assert len({line.index("formatted") for line in lines[-3:]}) == 1


def test_kafkas_name_gives_json_too(folder: Path) -> None:
    assert answer(kafkas(folder, *FORMAT, "-s", "-o", "json"))["dry_run"] is False
    info = answer(kafkas(folder, "info", "-c", "server.properties", "-o", "json"))
    assert set(info) == {"type", "directories", "warnings", "findings", "verdict"}
    assert set(info["directories"][0]) == {"path", "state", "version", "cluster_id", "node_id", "directory_id"}


def test_json_of_the_other_commands(tmp_path: Path) -> None:
    assert answer(ours(tmp_path, "version-mapping", "-r", "3.7", "-o", "json")) == {
        "type": "version_mapping",
        "metadata_version": {"level": 19, "name": "3.7-IV4"},
        "features": {
            "kraft.version": 0,
            "transaction.version": 0,
            "group.version": 0,
            "eligible.leader.replicas.version": 0,
            "share.version": 0,
            "streams.version": 0,
        },
    }
    assert answer(ours(tmp_path, "feature-dependencies", "-f", "eligible.leader.replicas.version=1", "-o", "json")) == {
        "type": "feature_dependencies",
        "dependencies": [{"feature": "eligible.leader.replicas.version", "level": 1, "needs": {"metadata.version": 23}}],
    }
    assert len(answer(ours(tmp_path, "random-uuid", "-o", "json"))["uuid"]) == 22


@pytest.mark.parametrize("command", ["format", "info", "version-mapping", "feature-dependencies", "random-uuid", ""])
def test_help_ends_well_in_both_voices(tmp_path: Path, command: str) -> None:
    words = [command, "--help"] if command else ["--help"]
    for outcome in (ours(tmp_path, *words), kafkas(tmp_path, *words)):
        assert outcome.status == 0
        assert (command or "info").encode() in outcome.stdout
        assert not outcome.stderr


def test_statuses_of_our_voice_tell_the_truth(folder: Path) -> None:
    assert ours(folder, "info", "-c", "server.properties").status == 1
    assert ours(folder).status == 2
    assert ours(folder, "formt").status == 2
    assert ours(folder, "format").status == 2
    assert ours(folder, *FORMAT, "-s", "-N").status == 2
    assert ours(folder, *FORMAT, "-s").status == 0
    assert ours(folder, *FORMAT, "-s").status == 1
    assert ours(folder, "info", "-c", "server.properties").status == 0


def test_words_may_come_from_a_file(folder: Path) -> None:
    (folder / "words").write_text("\n".join((*FORMAT, "-s")))
    assert ours(folder, "@words").status == 0
    assert kafkas(folder, "@missing").status == 1


# --- locks --------------------------------------------------------------------------------------------------------------


@contextmanager
def locked(path: Path, call: str) -> Iterator[None]:
    """Hold a lock on a file in another process."""
    program = f"import fcntl,sys; f=open({str(path)!r},'w'); fcntl.{call}(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        yield
        child.communicate()


def test_a_directory_whose_lock_a_process_holds_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    folder = configured(tmp_path, "d1,d2")
    (folder / "d2").mkdir()
    with locked(folder / "d2" / ".lock", "lockf"):
        before = listing(folder)
        for words in ((), ("--dry-run",)):
            outcome = ours(folder, *FORMAT, "-s", *words)
            assert outcome.status == 1
            assert "d2: in use by a running process" in outcome.stderr
        assert listing(folder) == before
        assert is_locked(str(folder / "d2"))
    assert not is_locked(str(folder / "d2"))
    assert ours(folder, *FORMAT, "-s").status == 0
    assert (folder / "d2" / ".lock").exists(), "a lock file that was there before stays"


def test_a_lock_of_the_other_kind_is_not_kafkas(folder: Path) -> None:
    (folder / "d1").mkdir()
    with locked(folder / "d1" / ".lock", "flock"):
        assert ours(folder, *FORMAT, "-s").status == 0


def test_the_lock_is_held_until_the_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probe = "import fcntl,sys; f=open(sys.argv[1],'r+'); fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)"
    seen = []
    real = Disk.rename

    def rename(disk: Disk, source: str, target: str) -> None:
        real(disk, source, target)
        done = subprocess.run([sys.executable, "-c", probe, str(folder / "d1" / ".lock")], capture_output=True, check=False)
        seen.append((os.path.basename(target), b"BlockingIOError" in done.stderr))

    monkeypatch.setattr(Disk, "rename", rename)
    assert ours(folder, *FORMAT, "-s").status == 0
    assert seen[-1] == ("meta.properties", True)
    assert all(held for _, held in seen)
    assert not (folder / "d1" / ".lock").exists()


def test_a_lock_file_that_vanishes_while_it_is_taken_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = fcntl.lockf
    calls = []

    def lockf(fd: int, kind: int) -> None:
        calls.append(fd)
        if len(calls) == 1:
            os.unlink(tmp_path / ".lock")
        real(fd, kind)

    monkeypatch.setattr(fcntl, "lockf", lockf)
    lock = DirectoryLock(str(tmp_path), Disk())
    assert len(calls) == 2
    assert (tmp_path / ".lock").exists()
    lock.release()


# --- bad places ---------------------------------------------------------------------------------------------------------


def test_a_disk_that_is_full_leaves_no_directory_formatted_and_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = configured(tmp_path, "d1,new/d2")
    before = listing(folder)
    real, count = Disk.append, []

    def append(disk: Disk, fd: int, data: bytes) -> None:
        count.append(fd)
        if len(count) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(disk, fd, data)

    monkeypatch.setattr(Disk, "append", append)
    outcome = ours(folder, *FORMAT, "-s")
    assert outcome.status == 1
    assert "No space left on device" in outcome.stderr
    assert "file d1: No space" in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert listing(folder) == before


def test_a_directory_that_may_not_be_written_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_disk: Disk, path: str, _mode: int) -> int:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(Disk, "create_file", refuse)
    outcome = ours(folder, *FORMAT, "-s")
    assert outcome.status == 1
    assert f"{FIRST}.tmp: Permission denied" in outcome.stderr
    assert not (folder / "d1").exists()


def test_a_read_only_file_system_is_named_in_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_disk: Disk, path: str) -> None:
        raise OSError(errno.EROFS, "Read-only file system", path)

    monkeypatch.setattr(Disk, "make_directory", refuse)
    for outcome in (ours(folder, *FORMAT, "-s"), kafkas(folder, *FORMAT, "-s")):
        assert outcome.status == 1
        assert "d1: Read-only file system" in outcome.stderr
        assert outcome.stderr.count("\n") == 1


def test_a_symbolic_link_to_a_directory_is_followed_and_one_to_nothing_refused(tmp_path: Path) -> None:
    folder = configured(tmp_path, "link")
    (folder / "link").symlink_to("real")
    assert ours(folder, *FORMAT, "-s").status == 1
    assert "a symbolic link to nothing" in ours(folder, "info", "-c", "server.properties").stdout.decode()
    (folder / "real").mkdir()
    assert ours(folder, *FORMAT, "-s").status == 0
    assert (folder / "real" / "meta.properties").exists()


def test_a_link_in_place_of_a_file_is_replaced_not_followed(folder: Path) -> None:
    (folder / "d1").mkdir()
    (folder / "precious").write_text("keep")
    for name in ("meta.properties.tmp", "meta.properties.tmp.new", "bootstrap.checkpoint.tmp"):
        (folder / "d1" / name).symlink_to(folder / "precious")
    assert ours(folder, *FORMAT, "-s").status == 0
    assert (folder / "precious").read_text() == "keep"


def test_one_directory_under_two_names_is_refused(tmp_path: Path) -> None:
    folder = configured(tmp_path, "d1,d2")
    (folder / "d1").mkdir()
    (folder / "d2").symlink_to("d1")
    before = listing(folder)
    outcome = ours(folder, *FORMAT, "-s")
    assert outcome.status == 1
    assert "is the same directory as" in outcome.stderr
    assert listing(folder) == before


def test_a_file_in_place_of_a_directory_is_left_alone(folder: Path) -> None:
    (folder / "d1").write_text("a file")
    outcome = ours(folder, *FORMAT, "-s")
    assert outcome.status == 1
    assert "d1: Not a directory" in outcome.stderr
    assert (folder / "d1").read_text() == "a file"


@shows("KIP-631/meta-properties")
def test_directories_of_different_clusters_are_told_by_info_and_refused_by_format(tmp_path: Path) -> None:
    folder = configured(tmp_path, "d1,d2,d3")
    for name, cluster_id in (("d1", CLUSTER_ID), ("d2", "XXXXXXXXXXXXXXXXXXXXXA")):
        (folder / name).mkdir()
        (folder / name / "meta.properties").write_text(f"version=1\nnode.id=1\ncluster.id={cluster_id}\n")
    assert (
        "d2 (cluster.id XXXXXXXXXXXXXXXXXXXXXA; the others of this node have"
        in ours(folder, "info", "-c", "server.properties").stdout.decode()
    )
    outcome = ours(folder, *FORMAT, "-s", "-g")
    assert outcome.status == 1
    assert "Invalid cluster.id in: d2/meta.properties" in outcome.stderr
    assert not (folder / "d3").exists()


def test_a_newer_version_of_meta_properties_is_told_and_never_overwritten(folder: Path) -> None:
    (folder / "d1").mkdir()
    (folder / "d1" / "meta.properties").write_text("version=2\nnode.id=1\ncluster.id=c\n")
    for words in (FORMAT, ("info", "-c", "server.properties")):
        outcome = ours(folder, *words, *(["-s", "-g"] if words is FORMAT else []))
        assert outcome.status == 1
        assert "Unknown meta.properties version number 2" in outcome.stdout.decode() + outcome.stderr
    assert (folder / "d1" / "meta.properties").read_text().startswith("version=2")


def test_an_interrupted_format_is_explained_and_finished_without_more_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = configured(tmp_path, "d1,d2")
    real = Disk.rename

    def rename(disk: Disk, source: str, target: str) -> None:
        if target.endswith("d2/meta.properties"):
            raise KeyboardInterrupt
        real(disk, source, target)

    with monkeypatch.context() as patched:
        patched.setattr(Disk, "rename", rename)
        assert ours(folder, *FORMAT, "-s").status == 130
    text = ours(folder, "info", "-c", "server.properties").stdout.decode()
    assert "d2  not formatted  an interrupted format left meta.properties.tmp; format again to finish it" in text
    explained = kafkas(folder, "info", "-c", "server.properties")
    assert explained.stdout.decode().endswith("Found problem:\n  d2 is not formatted.\n\n")
    assert "d2: an interrupted format left" in explained.stderr
    finished = kafkas(folder, *FORMAT, "-s")
    assert finished.status == 0
    assert "finishing an interrupted format; already done: d1" in finished.stderr
    assert ours(folder, "info", "-c", "server.properties").status == 0


def test_formatting_as_root_where_another_user_owns_the_place_warns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = os.stat(folder).st_uid
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    real = os.stat

    def stat(path: Any, **more: Any) -> os.stat_result:
        found = real(path, **more)
        values = list(found)
        values[4] = 1000 if owner == 0 else found.st_uid
        return os.stat_result(values)

    with monkeypatch.context() as patched:
        patched.setattr("metashell.cli.controllers.storage.os.stat", stat)
        outcome = ours(folder, *FORMAT, "-s", "--dry-run")
    assert outcome.status == 0
    assert "warning: formatting as root" in outcome.stderr
    assert str(folder) in outcome.stderr


# --- secrets ------------------------------------------------------------------------------------------------------------

SPEC = "SCRAM-SHA-256=[name=alice,password={},iterations=4096]"
BAD_SPECS = (
    "SCRAM-SHA-256",
    "{0}",
    "{0}=[name=a,password=p]",
    "SCRAM-SHA-256={0}",
    "SCRAM-SHA-256=[name=a,password=p,{0}]",
    "SCRAM-SHA-256=[password={0}]",
    "SCRAM-SHA-256=[name=a,password={0},{0}=x]",
    "SCRAM-SHA-256=[name=a,password={0},iterations={0}]",
    "SCRAM-SHA-256=[name=a,password={0},iterations=1]",
    "SCRAM-SHA-256=[name=a,salt={0},password=p]",
    "SCRAM-SHA-256=[name=a,salt=N3E=,saltedpassword={0}]",
    "SCRAM-SHA-256=[name=a,saltedpassword={0}]",
)
SECRET = "hunter*2"


@pytest.mark.parametrize("spec", BAD_SPECS)
def test_no_complaint_repeats_what_may_be_a_password(folder: Path, spec: str) -> None:
    word = spec.format(SECRET)
    for outcome in (ours(folder, *FORMAT, "-s", "-S", word), kafkas(folder, *FORMAT, "-s", "-S", word)):
        assert outcome.status == 1
        assert SECRET not in outcome.stderr + outcome.stdout.decode()
    stray = f"[name=alice,password={SECRET}]"
    for outcome in (ours(folder, *FORMAT, "-s", stray), kafkas(folder, *FORMAT, "-s", stray), kafkas(folder, *FORMAT, f"--scram={stray}")):
        assert outcome.status in (1, 2)
        assert SECRET not in outcome.stderr + outcome.stdout.decode()


def test_our_voice_redacts_salts_and_keys_unless_it_is_asked_not_to(folder: Path) -> None:
    words = (*FORMAT, "-s", "-S", SPEC.format(SECRET), "--dry-run", "-o", "json")
    record = answer(ours(folder, *words))["records"][-1]
    assert record["type"] == "UserScramCredentialRecord"
    assert {record["data"][name] for name in ("salt", "storedKey", "serverKey")} == {"[redacted]"}
    shown = answer(ours(folder, *words, "--show-secrets"))["records"][-1]
    assert "[redacted]" not in json.dumps(shown)
    assert SECRET not in json.dumps(shown)


def test_credentials_come_from_a_file_or_from_standard_input(folder: Path) -> None:
    (folder / "users").write_text(f"# a comment\n{SPEC.format(SECRET)}\n\n")
    words = (*FORMAT, "-s", "--add-scram-file", "users", "--add-scram-file", "-", "--dry-run", "-o", "json")
    for run in (ours, kafkas):
        outcome = run(folder, *words, stdin="SCRAM-SHA-512=[name=bob,password=pw]\n")
        names = [record["data"].get("name") for record in answer(outcome)["records"] if "Scram" in record["type"]]
        assert names == ["alice", "bob"]
    assert "users: No such file" in ours(folder, *FORMAT, "-s", "--add-scram-file", "nope/users").stderr


@pytest.mark.parametrize("directories", ["gone", "gone,d1", "d1,gone"])
def test_kafkas_voice_names_the_directories_that_it_tried_up_to_one_that_cannot_be_written(tmp_path: Path, directories: str) -> None:
    configured(tmp_path, directories)
    (tmp_path / "gone").symlink_to("nowhere")
    outcome = kafkas(tmp_path, *FORMAT, "-s")
    assert outcome.status == 1
    *_, last = outcome.stdout.splitlines()
    assert last.startswith(b"Formatting ")
    assert b" gone with metadata.version" in last
    assert "File exists" in str(outcome.stderr)
    assert not (tmp_path / "d1" / "meta.properties").exists()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("version-mapping", "-r", "4.11"), "(did you mean 4.1?)"),
        (("feature-dependencies", "-f", "eligible.leader.replica.version=1"), "(did you mean eligible.leader.replicas.version?)"),
        ((*FORMAT, "-s", "-f", "group.versio=1"), "(did you mean group.version?)"),
    ],
)
def test_the_nearest_release_or_feature_is_suggested_in_our_voice_only(folder: Path, words: tuple[str, ...], hint: str) -> None:
    assert ours(folder, *words).stderr.endswith(f" {hint}\n")
    assert "did you mean" not in kafkas(folder, *words).stderr


# ---- the two layouts of a formatted directory: which one is written, and what verifying says of them


@pytest.mark.parametrize(
    ("words", "layout", "warns"),
    [
        ((), "4.4", False),
        (("-r", "4.4-IV0"), "4.4", False),
        # Who asks for an older release may start an older server, which reads its own layout only.
        (("-r", "4.3"), "4.3", False),
        (("-f", "metadata.version=7"), "4.3", False),
        (("-r", "4.3", "--layout", "4.4"), "4.4", True),
        (("--layout", "4.3"), "4.3", False),
    ],
)
def test_the_layout_follows_the_release_unless_it_is_asked_for(folder: Path, words: tuple[str, ...], layout: str, warns: bool) -> None:
    outcome = ours(folder, *FORMAT, "-s", *words)
    assert outcome.status == 0
    assert (folder / "d1" / "bootstrap.checkpoint").exists() == (layout == "4.3")
    assert (b"metadata.version" in (folder / FIRST).read_bytes()) == (layout == "4.4")
    assert ("only servers from 4.4 on take the records of this layout into the log" in outcome.stderr) == warns


def test_kafkas_voice_writes_the_newest_layout_at_every_level_and_an_older_one_where_it_is_asked_for(folder: Path) -> None:
    outcome = kafkas(folder, *FORMAT, "-s", "-r", "4.2")
    assert outcome.status == 0
    assert not (folder / "d1" / "bootstrap.checkpoint").exists()
    assert "only servers from 4.4 on take the records of this layout into the log" in outcome.stderr
    other = configured(folder, "d2")
    assert kafkas(other, *FORMAT, "-s", "--layout", "4.3").status == 0
    assert (folder / "d2" / "bootstrap.checkpoint").exists()


@pytest.mark.parametrize("layout", ["4.4", "4.3"])
@pytest.mark.parametrize("quorum", ["-N", "-s"])
def test_verify_takes_formatted_directories_for_what_they_are(folder: Path, layout: str, quorum: str) -> None:
    for name, words in (("d1", [quorum]), ("d2", ["-N"])):
        configured(folder, f"all/{name}")
        # Each format makes salts of its own.
        assert ours(folder, *FORMAT, *words, "--layout", layout, "-S", "SCRAM-SHA-256=[name=alice,password=p]").status == 0
    second = folder / "all" / "d2" / "meta.properties"
    second.write_text(second.read_text().replace("node.id=1", "node.id=2"))
    for words in (["all"], ["--start-safe", "all/d1"], ["--start-safe", "all/d2"]):
        outcome = run_main(verify, words, cwd=folder)
        assert (outcome.status, outcome.stderr) == (0, ""), outcome
        assert b"fine" in outcome.stdout
