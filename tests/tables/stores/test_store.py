"""What every store promises, of a folder here and of one in S3."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyarrow.fs import FileType, LocalFileSystem

from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.tables.stores import Store, open_store, remote
from metashell.tables.stores.locks import folder_lock
from metashell.tables.stores.store import WAITS_S, retry


class NameNode:
    """A file system as HDFS is one: a file gets another name, but not one that is taken, and nothing is copied."""

    type_name = "hdfs"

    def __init__(self) -> None:
        self._system = LocalFileSystem()

    def __getattr__(self, name: str) -> Any:
        assert name != "copy_file"
        return getattr(self._system, name)

    def move(self, source: str, target: str) -> None:
        if self._system.get_file_info(target).type != FileType.NotFound:
            raise OSError(f"{target}: File exists")
        self._system.move(source, target)


@pytest.fixture(params=["path", "file", "s3a", "hdfs"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place whose name has what a URI quotes."""
    match request.param:
        case "hdfs":
            monkeypatch.setattr(remote, "file_system", lambda uri: (NameNode(), f"{tmp_path}/new/a b%2F"))
            return "hdfs://name-node/new/a%20b%252F"
        case "path":
            return str(tmp_path / "new" / "a b%2F")
        case "file":
            return f"file://{tmp_path}/new/a%20b%252F"
        case scheme:
            bucket: str = request.getfixturevalue("s3")
            return f"{bucket.replace('s3:', f'{scheme}:')}/new/a%20b%252F"


@pytest.fixture
def store(place: str) -> Store:
    return open_store(place)


def names(store: Store, below: str = "") -> list[str]:
    return [file.name for file in store.files(below)]


def test_what_is_put_is_there_whole_under_its_very_name(store: Store) -> None:
    assert (store.files(), store.files("none"), store.read("none")) == ([], [], None)
    hostile = "table=x/cluster_id=a%2Fb%2520 c/date=2025-01-31/part.parquet"
    store.put(hostile, b"one")
    store.put("b", b"")
    with store.create("a/big", durable=True) as file:
        for _ in range(12):
            file.write(b"x" * (1 << 20))
    assert names(store) == ["a/big", "b", hostile]
    assert names(store, "table=x") == [hostile]
    assert [file.size for file in store.files()] == [12 << 20, 0, 3]
    assert store.read(hostile) == b"one"
    assert all(abs(file.mtime_ms - store.files()[0].mtime_ms) < 60_000 for file in store.files())
    store.put("b", b"other")
    assert store.read("b") == b"other"


def test_only_names_of_files_that_are_being_written_are_left_out(store: Store) -> None:
    for name in ("a.part", ".a", "b/.b.1.part", ".part", "b/c.part.x"):
        store.put(name, b"")
    assert names(store) == [".a", "a.part", "b/c.part.x"]


@pytest.mark.parametrize("place", ["lake", "lake/", "./lake", "{}/lake", "{}/lake/"])
def test_what_is_durable_has_its_name_in_every_folder_up_to_the_one_that_holds_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    store, synced = open_store(place.format(tmp_path)), set[str]()
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.add(os.path.relpath(os.readlink(f"/proc/self/fd/{descriptor}"), tmp_path)))
    folders = {".", "lake", "lake/a", "lake/a/b"}
    store.put("a/b/c", b"", durable=False)
    assert synced == set()
    store.put("a/b/c", b"", durable=True)
    assert folders < synced and len(synced) == len(folders) + 1
    (tmp_path / "mine").write_bytes(b"x")
    synced.clear()
    store.put_file("a/b/d", str(tmp_path / "mine"), durable=True)
    assert synced == {*folders, "mine"}
    for work, more in (
        (lambda: store.move_all([("a/b/d", "x/d", 1), ("a/b/c", "a/c", 0)]), {"lake/x", "lake/a"}),
        (lambda: store.remove_all(["x/d", "a/c"]), {"lake/a"}),
    ):
        synced.clear()
        work()
        assert synced == {".", "lake", *more}
    assert [path.name for path in (tmp_path / "lake").iterdir()] == ["a"]


def test_a_disk_without_room_is_said_of_the_file_that_was_being_written(tmp_path: Path) -> None:
    for error, about in (
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), f"{tmp_path}/a/b"),
        (OSError(errno.EIO, os.strerror(errno.EIO), f"{tmp_path}/other"), f"{tmp_path}/other"),
    ):
        with pytest.raises(PathError) as raised, open_store(str(tmp_path)).create("a/b"):
            raise error
        assert (str(raised.value), raised.value.argument) == (f"{about}: {error.strerror}", about)


def test_a_file_that_vanishes_while_it_is_listed_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(str(tmp_path))
    store.put("a", b"")
    store.put("b", b"")
    (tmp_path / "link").symlink_to("nothing")
    assert names(store) == ["a", "b"]
    real = os.stat

    def stat_of(path: str, *words: object, **more: object) -> os.stat_result:
        if path == f"{tmp_path}/a":
            (tmp_path / "a").unlink()
        return real(path, *words, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", stat_of)
    assert names(store) == ["b"]


def test_a_file_of_this_machine_is_handed_over(store: Store, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    for data in (b"", b"bytes" * 1000):
        mine.write_bytes(data)
        store.put_file("given/it", str(mine), durable=True)
        assert store.read("given/it") == data
        assert not mine.exists()


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt, OSError, MetashellError])
def test_a_file_whose_block_fails_is_absent_or_the_one_before(store: Store, error: type[BaseException]) -> None:
    with pytest.raises((error, PathError)), store.create("new") as file:
        file.write(b"half" * 4_000_000)
        raise error
    assert store.files() == []
    store.put("old", b"whole")
    with pytest.raises((error, PathError)), store.create("old") as file:
        file.write(b"half")
        raise error
    assert store.read("old") == b"whole"
    assert names(store) == ["old"]


def test_moves_may_be_repeated(store: Store) -> None:
    store.put("work/1", b"one")
    store.put("work/2", b"two")
    store.put("out/1", b"before")
    for _ in range(2):
        store.move_all([("work/1", "out/1", 3), ("work/2", "deep/er/2", None)])
        assert names(store) == ["deep/er/2", "out/1"]
    assert store.read("out/1") == b"one"
    with pytest.raises(MetashellError):
        store.move("work/1", "out/1", 4)
    with pytest.raises(MetashellError, match="work/none"):
        store.move("work/none", "out/none")


def test_a_file_is_copied_to_this_machine(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metashell.tables.stores.remote._COPIED", 1000)
    for data in (b"", os.urandom(2500)):
        store.put("a/1", data)
        store.get_file("a/1", str(tmp_path / "copy"))
        assert (tmp_path / "copy").read_bytes() == data
    with pytest.raises(PathError, match="a/none: "):
        store.get_file("a/none", str(tmp_path / "copy"))
    with pytest.raises(PathError, match="/dev/full: No space left on device"):
        store.get_file("a/1", "/dev/full")


def test_sizes_are_asked_by_name(store: Store) -> None:
    store.put("a/1", b"one")
    store.put("a/b/2", b"")
    assert store.sizes(["a/1", "a/none", "a/b/2", "none/at/all"]) == {"a/1": 3, "a/b/2": 0}
    assert store.sizes([]) == {}


def test_removals_may_be_repeated(store: Store) -> None:
    store.put("a/1", b"one")
    store.put("a/b/2", b"two")
    store.put("ab", b"three")
    for _ in range(2):
        store.remove("a/1")
        assert names(store) == ["a/b/2", "ab"]
    for _ in range(2):
        store.remove_below("a")
        assert names(store) == ["ab"]
    for _ in range(2):
        store.put("x/1", b"")
        store.remove_all(["ab", "x/1", "x/2"])
        assert names(store) == []


@pytest.mark.parametrize("name", ["", "/x", "a//b", "../x", "a/../../x", ".", "a\0b"])
def test_no_name_leads_out_of_the_folder(store: Store, name: str) -> None:
    with pytest.raises(ValueError, match="not a name"):
        store.put(name, b"")
    with pytest.raises(ValueError, match="not a name"):
        store.remove(name)


def test_a_sink_takes_parquet(store: Store) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    sink = store.sink("work/x.parquet")
    where, system = (sink, None) if isinstance(sink, str) else (sink[1], getattr(sink[0], "_system", sink[0]))
    table = pa.table({"x": [1, 2]})
    parquet.write_table(table, where, filesystem=system)
    data = store.read("work/x.parquet")
    assert data is not None
    assert parquet.read_table(pa.BufferReader(data)).equals(table)


def test_a_store_is_opened_again_elsewhere(store: Store) -> None:
    store.put("a", b"1")
    other = pickle.loads(pickle.dumps(store))
    assert (other.shown, other.place, other.is_local, other.read("a")) == (store.shown, store.place, store.is_local, b"1")


def test_whether_it_can_be_written_is_found_out_and_leaves_nothing(store: Store, tmp_path: Path) -> None:
    store.require_writable()
    assert not store.is_local or list(tmp_path.iterdir()) == []
    assert store.files() == []


def test_the_second_writer_is_told_who_is_there(store: Store, place: str) -> None:
    with store.lock("metashell export") as held:
        held.require()
        with (
            pytest.raises(UsageError, match=rf"is in use by (?:metashell export|this process) \(process {os.getpid()} on .*\) since 20"),
            open_store(place).lock("another"),
        ):
            pass
        held.require()
        store.put("a", b"1")
    with store.lock("another"):
        pass
    assert names(store) == ["a"]


def test_a_folder_that_was_made_for_its_lock_is_gone_again(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with pytest.raises(KeyError), open_store(str(folder)).lock("x"):
        assert [path.name for path in folder.iterdir()] == [".metashell-lock"]
        raise KeyError
    assert not folder.exists()


HOLDING = """
import os, sys, time
from metashell.tables.stores import open_store
with open_store(sys.argv[1]).lock("metashell export"):
    if os.fork() == 0:
        print("held", flush=True)
        time.sleep(60)
        os._exit(0)
    time.sleep(60)
"""


def test_a_killed_process_keeps_nobody_out_though_a_child_of_it_lives(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    argv = [sys.executable, "-c", HOLDING, str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(UsageError, match=rf"in use by metashell export \(process {process.pid} on"), store.lock("x"):
            pass
        process.kill()
        process.wait()
        with store.lock("x"):
            pass
        os.killpg(process.pid, signal.SIGKILL)
    assert store.files() == []


def test_a_folder_that_takes_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PathError, match="file: Not a directory"):
        open_store(str(tmp_path / "file" / "below")).require_writable()
    with pytest.raises(PathError, match="/proc/self: "):
        open_store("/proc/self/out").require_writable()


def test_a_new_file_has_the_rights_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    open_store(str(tmp_path)).put("ours", b"")
    assert stat.filemode((tmp_path / "ours").stat().st_mode) == stat.filemode((tmp_path / "usual").stat().st_mode)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (
            "s3:/bucket/x",
            r"^s3:/bucket/x: the URI of a store has two slashes behind its scheme; for a folder of that name say \./s3:/bucket/x$",
        ),
        ("s3:/KEYKEY:SECRET@bucket/x?token=TOKEN", r"^s3:/bucket/x: the URI of a store has two slashes behind its scheme$"),
        ("GS:KEYKEY:SECRET@bucket/x", r"^GS:bucket/x: the URI of a store has two slashes behind its scheme$"),
        ("foo://x/y", r"^foo://x/y: no store is known for foo://; there are file://, s3://"),
        ("file://other/x", r"^file://other/x: file:// has no host"),
        ("s3://", r"^s3://: names no folder"),
        ("s3://bucket/a b", r"^s3://bucket/a b: not a URI: characters that mean something in one are quoted"),
        ("s3://KEYKEY:SECRET@bucket/50%", r"^s3://bucket/50%: not a URI: characters that mean something in one are quoted"),
        ("s3://bucket/x?bogus=1", r"^s3://bucket/x: Unexpected query parameter in S3 URI: 'bogus'"),
        ("s3://KEYKEY:SECRET@bucket/x?bogus=TOKEN", r"^s3://bucket/x: Unexpected query parameter in S3 URI: 'bogus'$"),
    ],
)
def test_what_no_store_can_be_is_the_operators_mistake(place: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        open_store(place).require_writable()
    assert not isinstance(caught.value, PathError)


def test_a_file_uri_may_name_this_machine() -> None:
    assert [open_store(f"file://{host}/x%20y").place for host in ("", "localhost", "LocalHost")] == ["/x y"] * 3


def test_a_bucket_that_is_not_there_is_one_line(s3: str) -> None:
    said = f"^{s3}-none/x: the bucket {s3[5:]}-none does not exist \\((PutObject|CreateMultipartUpload): NO_SUCH_BUCKET\\)$"
    with pytest.raises(PathError, match=said):
        open_store(f"{s3}-none/x").require_writable()


def test_hdfs_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JAVA_HOME", "HADOOP_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(PathError, match=r"^hdfs://name-node/x: hdfs:// needs Hadoop and Java on this machine: set HADOOP_HOME.*\)$"):
        open_store("hdfs://name-node/x").require_writable()


@pytest.mark.parametrize("below", ["", "/x", "/x/y"])
def test_nothing_is_written_below_a_source(tmp_path: Path, below: str) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for place, source in ((f"{logs}{below}", str(logs)), (f"file://{logs}{below}", str(logs)), (f"{logs}{below}", f"FILE://{logs}")):
        with pytest.raises(PathError, match="is or lies in a metadata directory, which is only read"):
            open_store(place, sources=[source])
    with pytest.raises(PathError, match=f"^s3a://bucket/l gs{below}: lies in s3://bucket/l%20gs/, which is only read"):
        open_store(f"s3a://KEY:SECRET@bucket/l gs{below}", sources=["s3://bucket/l%20gs/"])
    open_store(f"s3://bucket/logs2{below}", sources=["s3://bucket/logs", "gs://bucket/logs2", str(logs)])


@pytest.mark.parametrize("mark", ["meta.properties", "quorum-state", "partition.metadata"])
def test_nothing_is_written_in_a_directory_of_logs(tmp_path: Path, mark: str) -> None:
    (tmp_path / mark).touch()
    for place in (str(tmp_path), f"{tmp_path}/out", f"file://{tmp_path}", f"file://{tmp_path}/out"):
        with pytest.raises(PathError, match="is or lies in a metadata directory"):
            open_store(place)


def test_nothing_is_written_in_a_directory_of_logs_in_a_store(s3: str) -> None:
    open_store(f"{s3}/logs").put("meta.properties", b"")
    for place in (f"{s3}/logs", f"{s3}/logs/out"):
        with pytest.raises(PathError, match=f"^{place}: is or lies in a metadata directory"):
            open_store(place).require_writable()
    open_store(s3).require_writable()


def test_two_threads_of_one_process_do_not_both_get_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock of POSIX keeps no other out of its own process."""
    got: list[bool] = []
    real = os.path.isdir

    def meanwhile(path: str) -> bool:
        # What another thread does between two steps of this one.
        monkeypatch.setattr(os.path, "isdir", real)
        try:
            with folder_lock(str(tmp_path), ".lock", "the other"):
                got.append(True)
        except UsageError:
            got.append(False)
        return real(path)

    monkeypatch.setattr(os.path, "isdir", meanwhile)
    with folder_lock(str(tmp_path), ".lock", "this one"):
        assert got == [False]
    with folder_lock(str(tmp_path), ".lock", "the other"):
        pass


def test_a_place_in_what_a_pattern_stands_for_is_refused(tmp_path: Path) -> None:
    (tmp_path / "node-1" / "data").mkdir(parents=True)
    with pytest.raises(PathError, match=r"node-1/tables: is or lies in a metadata directory, which is only read$"):
        open_store(str(tmp_path / "node-1" / "tables"), sources=[str(tmp_path / "node-*")])
    open_store(str(tmp_path / "tables"), sources=[str(tmp_path / "node-*"), str(tmp_path / "none-*")])


@pytest.mark.parametrize(
    "pattern", ["s3://b/logs*", "s3://b/l[no]gs1", "s3://b/{dumps,logs1}", "s3://b/**/lake", "s3://b/logs1/**", "s3a://b/*/l*?region=eu"]
)
def test_a_place_in_a_store_that_a_pattern_stands_for_is_refused(pattern: str) -> None:
    with pytest.raises(PathError, match=r"lies in s3.*, which is only read$"):
        open_store("s3://b/logs1/lake", sources=[pattern])
    others = [
        "s3://b/*/*/__cluster_metadata-0",
        "s3://b/dumps*",
        "s3://b/{dumps,logs2}",
        "s3://c/**",
        "s3://b/**/logs",
        "s3://b/logs1/*.log",
    ]
    open_store("s3://b/logs1/lake", sources=others)


def test_a_name_that_looks_like_a_pattern_is_itself_too() -> None:
    for name in ("l[1]", "{a,b}", "*"):
        with pytest.raises(PathError, match="which is only read"):
            open_store(f"s3://b/{name}/lake", sources=[f"s3://b/{name}"])


# ---- What is asked again, how often, and what never is


PASSING = (
    "When uploading: AWS Error UNKNOWN (HTTP status 503) during PutObject operation: no",
    "AWS Error SLOW_DOWN during PutObject operation: Please reduce your request rate.",
    "AWS Error NETWORK_CONNECTION during GetObject operation: curlCode: 52, Server returned nothing",
    "Connection reset by peer",
)
LASTING = (
    "AWS Error NO_SUCH_BUCKET during PutObject operation: The specified bucket does not exist",
    "AWS Error ACCESS_DENIED during HeadObject operation: No response body.",
    "AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 7, Could not connect to server",
    "No space left on device",
)


class Work:
    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0
        self.waits: list[float] = []

    def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


@pytest.mark.parametrize("said", PASSING)
def test_what_may_pass_is_asked_again_a_few_times(said: str) -> None:
    for count in range(len(WAITS_S) + 1):
        work = Work(*[OSError(said)] * count)
        assert retry(work, work.waits.append) == "done"
        assert work.waits == list(WAITS_S[:count])
    work = Work(*[OSError(said)] * 99)
    with pytest.raises(OSError, match=said[:10]):
        retry(work, work.waits.append)
    assert work.calls == len(WAITS_S) + 1


@pytest.mark.parametrize(
    "error", [*map(OSError, LASTING), FileNotFoundError("503 imed out"), PermissionError("curlCode: 52"), ValueError("HTTP status 503")]
)
def test_what_lasts_is_asked_once(error: Exception) -> None:
    work = Work(error)
    with pytest.raises(type(error)):
        retry(work, work.waits.append)
    assert (work.calls, work.waits) == (1, [])
