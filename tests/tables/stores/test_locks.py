"""A lock made of files alone: who has it, who may take it, and who has lost it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from metashell.common.errors import MetashellError, UsageError
from metashell.tables.stores import locks, open_store
from metashell.tables.stores.locks import LIVES_MS, LOCK_FOLDER, LockOwner, StoreLock, describe_owner, find_lock_owner, store_lock
from metashell.tables.stores.store import LOCK, StoreFile
from tests.running import wait_until


class Files:
    """Files in memory with a clock of their own; what was written is listed after `late` lists."""

    shown = "s3://bucket/out"

    def __init__(self, late: int = 0) -> None:
        self.data: dict[str, bytes] = {}
        self.times: dict[str, int] = {}
        self.now_ms = 5_000_000  # far from ours
        self.late = late
        self.fails = False

    def put(self, name: str, data: bytes) -> None:
        if self.fails:
            raise MetashellError("the store fails")
        self.data[name], self.times[name] = data, self.now_ms

    def read(self, name: str) -> bytes | None:
        return self.data.get(name)

    def has(self, name: str) -> bool:
        return name in self.data

    def files(self, below: str = "") -> list[StoreFile]:
        assert below == LOCK_FOLDER
        self.late -= 1
        return [] if self.late >= 0 else [StoreFile(name, len(data), self.times[name]) for name, data in sorted(self.data.items())]

    def remove(self, name: str) -> None:
        if self.fails:
            raise MetashellError("the store fails")
        self.data.pop(name, None)


def other(files: Files, **said: object) -> str:
    name = f"{LOCK_FOLDER}/other.json"
    files.put(name, json.dumps({**describe_owner("metashell export"), "machine": "another", "pid": 4711, "host": "far", **said}).encode())
    return name


def test_one_that_lives_keeps_others_out() -> None:
    files = Files()
    other(files, since="2025-01-31 12:00:00Z")
    said = r"^s3://bucket/out: is in use by metashell export \(process 4711 on far\) since 2025-01-31 12:00:00Z; wait for it"
    with pytest.raises(UsageError, match=said), store_lock(files, "x"):
        pass
    assert list(files.data) == [f"{LOCK_FOLDER}/other.json"]


def test_what_another_says_of_itself_does_not_move_the_terminal() -> None:
    files = Files()
    other(files, host="\x1b[2J\n")
    with pytest.raises(UsageError, match=r"on \\x1b\[2J\\n\)"), store_lock(files, "x"):
        pass
    for said in (b"no json", b"[]", b""):
        files.data[f"{LOCK_FOLDER}/other.json"] = said
        with pytest.raises(UsageError, match="is in use by another process; wait"), store_lock(files, "x"):
            pass


def test_one_that_was_not_renewed_by_the_clock_of_the_store_is_removed() -> None:
    files = Files()
    other(files)
    files.now_ms += LIVES_MS + 1
    with store_lock(files, "x"):
        assert f"{LOCK_FOLDER}/other.json" not in files.data
    assert files.data == {}


def test_one_of_a_process_here_that_has_ended_is_removed() -> None:
    files = Files()
    with subprocess.Popen(["true"]) as ended:
        dead_pid = ended.pid
    other(files, machine=describe_owner("x")["machine"], pid=dead_pid)
    with store_lock(files, "x"):
        pass
    other(files, machine=describe_owner("x")["machine"], pid=os.getppid())
    with pytest.raises(UsageError, match="in use"), store_lock(files, "x"):
        pass


def test_a_list_that_comes_late_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_LIST_WAITS_S", (0.001,) * 3)
    files = Files(late=2)
    with store_lock(files, "x"):
        pass
    files.late = 99
    with pytest.raises(MetashellError, match="its list does not show what was just written"), store_lock(files, "x"):
        pass
    assert files.data == {}


def test_who_could_not_renew_it_has_lost_it(monkeypatch: pytest.MonkeyPatch) -> None:
    files = Files()
    lock = StoreLock(files, "x")
    lock.take()
    lock.require()
    now_s = locks.now_s()
    with monkeypatch.context() as patch:
        patch.setattr(locks, "now_s", lambda: now_s + LIVES_MS / 2000 + 1)
        with pytest.raises(MetashellError, match="was not renewed for 60 s, so another may have it now"):
            lock.require()
    # For good, also where no time seems to have passed.
    with pytest.raises(MetashellError, match="was not renewed for 60 s, so another may have it now"):
        lock.require()
    lock.release()


@pytest.mark.parametrize("is_seen", [True, False])
def test_what_another_removed_is_never_written_again(monkeypatch: pytest.MonkeyPatch, is_seen: bool) -> None:
    monkeypatch.setattr(locks, "RENEWED_EVERY_S", 0.005)
    files = Files()
    lock = StoreLock(files, "x")
    lock.take()
    files.remove(lock.name)
    if is_seen:
        with pytest.raises(MetashellError, match="the lock was removed"):
            lock.require()
    lock._thread.join(120)
    assert not lock._thread.is_alive() and files.data == {}
    with pytest.raises(MetashellError, match="the lock was removed"):
        lock.require()
    files.put(lock.name, b"a renewal that was on its way")
    with pytest.raises(MetashellError, match="the lock was removed"):
        lock.require()
    lock.release()
    assert files.data == {}


def test_who_slept_for_minutes_does_not_renew_what_another_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    files = Files()
    clock_s = [1000.0]
    monkeypatch.setattr(locks, "now_s", lambda: clock_s[0])
    sleeper = StoreLock(files, "x")
    sleeper.take()
    # Both clocks go on while it sleeps; another comes, works, and goes.
    clock_s[0] += LIVES_MS / 1000 + 1
    files.now_ms += LIVES_MS + 1000
    with store_lock(files, "y"):
        monkeypatch.setattr(locks, "RENEWED_EVERY_S", 0.005)
        sleeper._ended.set()
        sleeper._thread.join()
        sleeper._ended.clear()
        sleeper._renew()
        assert sleeper.name not in files.data
    with pytest.raises(MetashellError, match="was not renewed for 60 s"):
        sleeper.require()


def test_it_is_renewed_and_a_failure_in_between_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    from time import sleep

    monkeypatch.setattr(locks, "RENEWED_EVERY_S", 0.01)
    files = Files()
    with store_lock(files, "x"):
        files.fails = True
        sleep(0.05)
        files.fails = False
        files.now_ms += 1000
        wait_until(lambda: 5_001_000 in files.times.values())
    assert files.data == {}


def test_a_lock_that_cannot_be_removed_does_not_fail_the_work() -> None:
    files = Files()
    with store_lock(files, "x"):
        files.fails = True


def test_one_that_another_takes_over_by_a_wrong_clock_knows_it_has_lost_it() -> None:
    files = Files()
    with store_lock(files, "x") as first:
        first.require()
        files.now_ms += LIVES_MS + 1  # another of the store's machines says what time it is
        with store_lock(files, "y") as second:
            second.require()
            with pytest.raises(MetashellError, match="the lock was removed, so another may have it now"):
                first.require()
        files.now_ms -= 2 * LIVES_MS
        with pytest.raises(MetashellError, match="the lock was removed"):
            first.require()
    assert files.data == {}


def test_a_clock_that_goes_back_takes_no_lock_away() -> None:
    files = Files()
    other(files)
    files.now_ms -= 10 * LIVES_MS
    with pytest.raises(UsageError, match="is in use"), store_lock(files, "x"):
        pass


# ---- how long a lock lives: these are seconds, whatever the constants are


@pytest.mark.parametrize("silent_s", [0, 1, 60, 119])
def test_one_that_was_silent_for_less_than_two_minutes_keeps_others_out(silent_s: int) -> None:
    files = Files()
    name = other(files)
    files.now_ms += silent_s * 1000
    with pytest.raises(UsageError, match="is in use"), store_lock(files, "x"):
        pass
    assert list(files.data) == [name]


def test_who_may_have_lost_it_knows_it_long_before_another_may_take_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock_s = [1000.0]
    monkeypatch.setattr(locks, "now_s", lambda: clock_s[0])
    lock = StoreLock(Files(), "x")
    lock.take()
    for passed_s, is_lost in ((0, False), (50, False), (61, True)):
        clock_s[0] = 1000.0 + passed_s
        assert lock._is_lost() is is_lost, passed_s
    # It is renewed several times before.
    assert 5 <= locks.RENEWED_EVERY_S <= 15
    lock.release()


class Remote(Files):
    """The same as a store elsewhere, with times by the clock of this machine."""

    is_local = False
    place = shown = "s3://bucket/out"


def test_the_owner_is_told_and_how_long_it_was_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    files = Remote()
    assert find_lock_owner(files) is None  # type: ignore[arg-type]
    other(files, since="2025-01-31 12:00:00Z")
    for passed_ms, silent_ms in ((-5000, 0), (0, 0), (90_000, 90_000), (120_000, 120_000), (121_000, None)):
        monkeypatch.setattr(locks.time, "time_ns", lambda passed_ms=passed_ms: (files.now_ms + passed_ms) * 1_000_000 + 7)
        found = find_lock_owner(files)  # type: ignore[arg-type]
        wanted = "metashell export (process 4711 on far) since 2025-01-31 12:00:00Z"
        assert found == (None if silent_ms is None else LockOwner(wanted, silent_ms)), passed_ms
    monkeypatch.setattr(locks.time, "time_ns", lambda: files.now_ms * 1_000_000)
    # The newest counts; of a process here that has ended, none.
    files.now_ms -= 1000
    files.put(f"{LOCK_FOLDER}/older.json", json.dumps(describe_owner("older")).encode())
    files.now_ms += 1000
    found = find_lock_owner(files)  # type: ignore[arg-type]
    assert found is not None and "metashell export" in found.by
    with subprocess.Popen(["true"]) as ended:
        dead_pid = ended.pid
    other(files, machine=describe_owner("x")["machine"], pid=dead_pid)
    files.remove(f"{LOCK_FOLDER}/older.json")
    assert find_lock_owner(files) is None  # type: ignore[arg-type]


def test_of_a_folder_here_the_system_tells_whether_its_owner_lives(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    assert find_lock_owner(store) is None
    with store.lock("x"):
        assert find_lock_owner(store) == LockOwner("this process")
    (tmp_path / LOCK).write_bytes(locks.owner_json("one that has ended"))
    assert find_lock_owner(store) is None
    held = (
        "import sys, time; from metashell.tables.stores import open_store\n"
        "with open_store(sys.argv[1]).lock('far'): print(flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", held, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = find_lock_owner(store)
        assert found is not None and found.by.startswith(f"far (process {process.pid} on ") and found.silent_ms is None
        process.kill()
