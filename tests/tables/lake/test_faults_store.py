"""A lake in a store that fails or loses answers: each failure is one line, and the next append has each record once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import pytest

from metashell.common.errors import MetashellError, PathError
from metashell.tables.lake.appends import read_state
from metashell.tables.lake.delta import has_append, open_table
from metashell.tables.stores import open_store
from tests.s3_faults import DROP, LOSE, Fault, FaultyS3, Request
from tests.tables.lake.lakes import TOPIC, expected, grown, names, run, some_of

pytestmark = pytest.mark.slow

Through = Callable[[Fault], "Iterator[FaultyS3]"]


@pytest.fixture
def through(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> Through:
    """Runs whatever is in the block against a store with faults."""

    @contextmanager
    def proxied(fault: Fault) -> Iterator[FaultyS3]:
        with FaultyS3(s3_server, fault) as faulty:
            monkeypatch.setenv("AWS_ENDPOINT_URL", faulty.address)
            yield faulty
        monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server)

    return proxied  # type: ignore[return-value]


def test_a_store_that_fails_every_tenth_request_in_another_way(s3: str, tmp_path: Path, through: Through) -> None:
    ways = cycle((503, DROP, LOSE, 500))
    with through(lambda request: next(ways) if request.number % 10 == 7 else None) as faulty:
        for number, count in ((1, 6), (2, 10)):
            report = run(f"{s3}/lake", grown(tmp_path, count), **TOPIC)
            assert (report.number, report.recovered) == (number, "")
        assert run(f"{s3}/lake", grown(tmp_path, 10), **TOPIC).rows == {}
        assert len(faulty.seen) > 80
    assert names(f"{s3}/lake") == expected(0, 10)


def test_an_answer_to_any_commit_is_lost(s3: str, tmp_path: Path, through: Through) -> None:
    """The client asks again, and the store says that the version is there: it was this append's own."""
    for at in range(3):
        left = [at]

        def fault(request: Request, left: list[int] = left) -> int | None:
            if request.method == "PUT" and "_delta_log" in request.path:
                left[0] -= 1
                return LOSE if left[0] == -1 else None
            return None

        with through(fault):
            assert run(f"{s3}/{at}", grown(tmp_path, 6), **TOPIC).number == 1
        assert left[0] < 0
        assert run(f"{s3}/{at}", grown(tmp_path, 8), **TOPIC).recovered == ""
        assert names(f"{s3}/{at}") == expected(0, 8)


def test_keys_that_expire_at_any_request(s3: str, tmp_path: Path, through: Through) -> None:
    run(f"{s3}/whole", grown(tmp_path, 6), **TOPIC)
    with through(lambda request: None) as faulty:
        run(f"{s3}/whole", grown(tmp_path, 8), **TOPIC)
    made = set()
    for last in some_of(len(faulty.seen), 16):
        out, said = f"{s3}/{last}", ""
        run(out, grown(tmp_path, 6), **TOPIC)
        with through(lambda request, last=last: 403 if request.number >= last else None):
            try:
                run(out, grown(tmp_path, 8), **TOPIC)
            except MetashellError as error:
                said = str(error)
        number = read_state(open_store(out)).number
        made.add(number)
        pattern = rf"{out}[^\n]*ExpiredToken\)(; append 2 (was|may have been) made before, and the next export completes it)?"
        found = re.fullmatch(pattern, said)
        assert found is not None or (not said and last == len(faulty.seen) - 1), (last, said)
        # What the error says of the append holds; without a word of it there is none.
        assert not said or {None: number == 1, "was": number == 2, "may have been": True}[found[2]], (last, said)
        run(out, grown(tmp_path, 10), **TOPIC)
        assert names(out) == expected(0, 10), last
    assert made == {1, 2}


def test_keys_that_expire_with_the_answer_to_the_commit_leave_open_whether_it_was_made(s3: str, tmp_path: Path, through: Through) -> None:
    out = f"{s3}/lake"
    run(out, grown(tmp_path, 6), **TOPIC)
    is_over = False

    def fault(request: Request) -> int | None:
        nonlocal is_over
        if is_over:
            return 403
        is_over = request.method == "PUT" and "appends/_delta_log/" in request.path
        return LOSE if is_over else None

    with through(fault), pytest.raises(MetashellError, match=r"ExpiredToken\); append 2 may have been made before, and the next export"):
        run(out, grown(tmp_path, 8), **TOPIC)
    assert run(out, grown(tmp_path, 10), **TOPIC).recovered == "append 2 was interrupted, and was completed"
    assert names(out) == expected(0, 10)


def test_a_table_whose_log_cannot_be_read_any_more_is_one_line(s3: str, tmp_path: Path, through: Through) -> None:
    """delta-rs reads the log of an open table again for each question."""
    run(f"{s3}/lake", grown(tmp_path, 6), **TOPIC)
    is_over = False
    with through(lambda request: 403 if is_over else None):
        found = open_table(open_store(f"{s3}/lake"), "topic")
        assert found is not None
        is_over = True
        with pytest.raises(PathError, match=rf"^{s3}/lake/topic: [^\n]* \(ExpiredToken\)$"):
            has_append(found, "another", 1)
