"""A lake in a store that fails, loses answers, does things late, lists late, or takes no keys any more: each record is there once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import pytest

from metashell.common.errors import MetashellError, PathError
from metashell.tables.lake.layout import OWN, read_state
from metashell.tables.stores import locks, open_store
from tests.s3_faults import DROP, HOLD, LOSE, Fault, FaultyS3, Request
from tests.tables.lake.lakes import TOPIC, expected, grown, run, some_of
from tests.tables.lake.test_kill import store_names

pytestmark = pytest.mark.slow

Through = Callable[..., "Iterator[FaultyS3]"]


@pytest.fixture
def through(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> Through:
    """Runs whatever is in the block against a store with faults."""

    @contextmanager
    def proxied(fault: Fault, late_s: float = 0) -> Iterator[FaultyS3]:
        with FaultyS3(s3_server, fault, late_s) as faulty:
            monkeypatch.setenv("AWS_ENDPOINT_URL", faulty.address)
            yield faulty
        monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server)

    return proxied  # type: ignore[return-value]


def is_whole(out: str, count: int) -> bool:
    """Whether each record is there once, and nothing is but what the commits name, and what a probe without keys could not remove."""
    store = open_store(out)
    state = read_state(store)
    assert store_names(store) == expected(0, count)
    left = {file.name for file in store.files()} - set(state.files)
    assert all(name.startswith((f"{OWN}/commits/", f"{OWN}/format.json", ".metashell-probe-")) for name in left), left
    return {file.name for file in store.files("table=topic")} == set(state.files)


def test_a_store_that_fails_every_tenth_request_in_another_way(s3: str, tmp_path: Path, through: Through) -> None:
    ways = cycle((503, DROP, LOSE, 500))
    with through(lambda request: next(ways) if request.number % 10 == 7 else None) as faulty:
        for count in (6, 10):
            assert run(f"{s3}/lake", grown(tmp_path, count), **TOPIC).rows["topic"] in (4, 6)
        assert run(f"{s3}/lake", grown(tmp_path, 10), **TOPIC).rows == {}
        assert len(faulty.seen) > 80
    assert is_whole(f"{s3}/lake", 10)


def test_keys_that_expire_at_any_request(s3: str, tmp_path: Path, through: Through) -> None:
    out, has = f"{s3}/lake", 10
    run(out, grown(tmp_path, 6), **TOPIC)
    with through(lambda request: None) as faulty:
        run(out, grown(tmp_path, has), **TOPIC)
    count = len(faulty.seen)
    assert count > 40
    said = set()
    for last in some_of(count, 19):
        has += 2
        with through(lambda request, last=last: 403 if request.number >= last else None):
            try:
                run(out, grown(tmp_path, has), **TOPIC)
            except MetashellError as error:
                said.add(re.sub(r"[0-9a-f]{8,}", "ID", str(error)))
                # Behind the commit only small files are put together: then it says that what is new is there.
                added = (
                    r"(; what is new was added as commit \d+ before, small files stay as they are"
                    r"|; commit \d+ was made before, and the next export does what is left of it)?"
                )
                assert re.match(rf"{out}\S*: the credentials have expired \(\w+: ExpiredToken\){added}$", str(error)), error
        # Its lock lives on, as it could not be removed; the process that had it is this one.
        open_store(out).remove_below(locks.LOCK_FOLDER)
        run(out, grown(tmp_path, has), **TOPIC)
    assert is_whole(out, has)
    assert len(said) > 2


def test_a_list_that_is_late(s3: str, tmp_path: Path, through: Through) -> None:
    with through(lambda request: None, late_s=0.15):
        for count in (6, 10):
            run(f"{s3}/lake", grown(tmp_path, count), **TOPIC)
            # Its commits are asked for by name; what lists show late is no missing row.
            assert run(f"{s3}/lake", grown(tmp_path, count), **TOPIC).rows == {}
    assert is_whole(f"{s3}/lake", 10)


def test_a_write_that_comes_after_its_repetition(s3: str, tmp_path: Path, through: Through) -> None:
    held = {"/pending/": HOLD, "/commits/": HOLD, "table%3Dtopic": HOLD}

    def fault(request: Request) -> int | None:
        step = next((step for step in held if step in request.path), "")
        return held.pop(step, None) if request.method == "PUT" else None

    with through(fault) as faulty:
        for count in (6, 10):
            run(f"{s3}/lake", grown(tmp_path, count), **TOPIC)
        assert len(faulty.held) == 3
        for late in faulty.held:
            late.join()
        run(f"{s3}/lake", grown(tmp_path, 14), **TOPIC)
    assert is_whole(f"{s3}/lake", 14)


def test_a_store_that_takes_no_removal_is_refused_before_the_work(s3: str, tmp_path: Path, through: Through) -> None:
    with (
        through(lambda request: 403 if request.method == "DELETE" else None),
        pytest.raises(PathError, match=rf"^{s3}/lake: the credentials have expired \(DeleteObjects?: ExpiredToken\)$"),
    ):
        run(f"{s3}/lake", grown(tmp_path, 6), **TOPIC)
    assert [file.name for file in open_store(f"{s3}/lake").files() if not file.name.startswith(".metashell-probe")] == []
