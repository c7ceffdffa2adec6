"""A disk that fails at any call of an append, and Ctrl-C at any: one line, nothing half done, and the next run has each record once."""

from __future__ import annotations

import builtins
import errno
import os
import re
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from metashell.cli.tables import export
from metashell.common.errors import MetashellError
from metashell.tables.lake import appends, delta
from metashell.tables.lake.appends import read_state
from metashell.tables.stores import open_store
from tests.running import run_main
from tests.tables.lake.lakes import DAY, SEGMENT, SOAKS, TOPIC, copied, expected, grown, left_over, names, node, run, topics

pytestmark = pytest.mark.slow

CALLS = ("open", "fsync", "mkdir", "unlink", "rmdir", "listdir", "scandir", "stat", "replace")
MAKING = ("create", "mkdir", "replace", "fsync", "commit")
"""The steps that need room on a disk."""


class Steps:
    """The calls below a folder that this process makes, and the commits of delta-rs, in order; `fail` is called before each."""

    def __init__(self, root: Path, fail: Callable[[int, str, str], None] = lambda number, step, path: None) -> None:
        self.seen: list[str] = []
        self._root = str(root)
        self._fail = fail

    def _step(self, step: str, path: Any) -> None:
        if isinstance(path, int):
            path = os.readlink(f"/proc/self/fd/{path}")
        if os.fspath(path).startswith(self._root):
            number = len(self.seen)
            self.seen.append(step)
            self._fail(number, step, os.fspath(path))

    @contextmanager
    def patched(self) -> Iterator[Steps]:
        def noting(step: str, real: Callable[..., Any]) -> Callable[..., Any]:
            def call(path: Any, *words: Any, **more: Any) -> Any:
                self._step(step, path)
                return real(path, *words, **more)

            return call

        real_open, real_commit = builtins.open, delta.commit_change

        def open_file(path: Any, mode: str = "r", *words: Any, **more: Any) -> Any:
            self._step("open" if mode.startswith("r") else "create", path)
            return real_open(path, mode, *words, **more)

        def commit(store: Any, name: str, *words: Any, **more: Any) -> None:
            limits = resource.getrlimit(resource.RLIMIT_FSIZE)
            try:
                self._step("commit", f"{self._root}/{name}")
                real_commit(store, name, *words, **more)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)

        with pytest.MonkeyPatch.context() as patch:
            for name in CALLS:
                patch.setattr(os, name, noting(name, getattr(os, name)))
            patch.setattr(builtins, "open", open_file)
            patch.setattr(delta, "commit_change", commit)
            patch.setattr(appends, "commit_change", commit)
            yield self


Fail = Callable[[int, str, str], None]


def error_at(at: int, number: int) -> Fail:
    """One call fails with an error of the disk; where the disk is full, each from that one on that needs room."""

    def fail(seen: int, step: str, path: str) -> None:
        if seen == at if number == errno.EIO else seen >= at and step in MAKING:
            if step == "commit":
                # What delta-rs writes behind these bytes the kernel refuses.
                resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
            elif step == "fsync":
                raise OSError(number, os.strerror(number))
            else:
                raise OSError(number, os.strerror(number), path)

    return fail


def interrupted_at(at: int) -> Fail:
    def fail(seen: int, step: str, path: str) -> None:
        if seen == at:
            raise KeyboardInterrupt

    return fail


def files_below(folder: Path) -> list[str]:
    """The files of a lake. The probe whose own removal failed may stay: no reader looks at its name."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".probe."))


WHOLE = topics(0, 10, step=DAY // 8)
ANEW = topics(0, 4, step=DAY // 8) + topics(4, 8, epoch=2, name="new", step=DAY // 8)
STORIES: dict[str, tuple[int, bytes, dict[str, Any], list[str]]] = {
    "begins": (0, WHOLE, {}, expected(0, 10)),
    "grows": (6, WHOLE, {}, expected(0, 10)),
    "is cut": (6, ANEW, {"replaces": True}, expected(0, 4) + expected(4, 8, "new")),
    "is written anew": (6, WHOLE, {"mode": "overwrite"}, expected(0, 10)),
}
"""By name: the topics of a lake before, what its log has then, the options of the next append, and the topics after it."""


class Story:
    """An append that is disturbed at a step, and the next one."""

    def __init__(self, place: Path, name: str) -> None:
        first, data, options, self.wanted = STORIES[name]
        self.place = place
        self.number = 1 if first else 0
        self._options = {**TOPIC, **options}
        if first:
            run(place / "base", grown(place, first), **TOPIC)
        (node(place / "node") / SEGMENT).write_bytes(data)
        out = copied(place / "base", place / "whole")
        with Steps(out).patched() as steps:
            self.append(out)
        self.steps = steps.seen

    def some_steps(self) -> list[int]:
        """The first of each row of equal steps; all of them in a soak run."""
        return [at for at, step in enumerate(self.steps) if SOAKS or at == 0 or self.steps[at - 1] != step]

    def append(self, out: Path, **options: Any) -> str:
        return run(out, self.place / "node", **{**self._options, **options}).recovered

    def tell(self, at: int, fail: Fail) -> tuple[str, int]:
        """Return what a disturbed append said, and the number of the last append that is made by then; check all that follows."""
        out = copied(self.place / "base", self.place / "lake")
        before, said = files_below(out), ""
        with Steps(out, fail).patched():
            try:
                self.append(out)
            except MetashellError as error:
                said = str(error)
            except KeyboardInterrupt:
                said = "interrupted"
        number = read_state(open_store(str(out))).number
        step = f"step {at}, {self.steps[at]}: {said}"
        if number == self.number:
            assert files_below(out) == before, step
        recovered = self.append(out, mode="append")
        assert recovered in ("", f"append {number} was interrupted, and was completed"), step
        assert number > self.number or not recovered, step
        assert names(out) == self.wanted, step
        left = set(left_over(out)) - set(before)  # files whose rows went stay until they are removed by vacuum
        # The rows that stay of a file that was cut are written before the commit that names them, which may have failed.
        rewritten = {path for path in left if re.fullmatch(r"topic/part-[0-9a-f]{32}\.parquet", path)}
        assert left == (rewritten if "replaces" in self._options and number > self.number else set()), step
        shutil.rmtree(out)
        return said, number


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("name", STORIES if SOAKS else ("begins", "is cut"))
def test_a_disk_that_fails_at_any_call_is_one_line_and_the_next_append_has_each_record_once(tmp_path: Path, name: str, number: int) -> None:
    story = Story(tmp_path, name)
    reason = os.strerror(number)
    failed = set()
    for at in story.some_steps():
        said, made = story.tell(at, error_at(at, number))
        if not said:
            continue
        step = story.steps[at]
        failed.add(step)
        # os.makedirs calls a folder a file where it cannot look at it.
        causes = (reason, "File too large", "File exists") if step == "stat" else (reason, "File too large")
        tail = f"; append {made} was made before, and the next export completes it" if made > story.number else ""
        assert any(re.fullmatch(rf"{tmp_path}[^\n:]*: {cause}{tail}", said) for cause in causes), (at, step, said)
    assert failed >= {"create", "fsync", "commit"}, failed


@pytest.mark.parametrize("name", STORIES if SOAKS else ("begins", "is cut"))
def test_an_interrupt_at_any_call_leaves_nothing_or_what_the_next_append_completes(tmp_path: Path, name: str) -> None:
    story = Story(tmp_path, name)
    numbers = [story.tell(at, interrupted_at(at)) for at in story.some_steps()]
    assert {said for said, _ in numbers} == {"interrupted"}
    assert {number for _, number in numbers} == {story.number, story.number + 1}


def test_an_interrupt_of_the_command_is_one_line_and_status_130(tmp_path: Path) -> None:
    for at, recovered in enumerate(("", "append 1 was interrupted, and was completed", "append 1 was interrupted, and was completed")):
        out, commits = tmp_path / str(at), count()

        def fail(_number: int, step: str, _path: str, at: int = at, commits: Iterator[int] = commits) -> None:
            if step == "commit" and next(commits) == at:
                raise KeyboardInterrupt

        with Steps(out, fail).patched():
            words = ["--append", "--tables", "topic", "--jobs", "1", "--out", str(out), str(grown(tmp_path, 6))]
            done = run_main(export.main, words, cwd=tmp_path)
        assert (done.status, done.stdout, done.stderr) == (130, b"", "metashell export: interrupted\n")
        assert run(out, grown(tmp_path, 8)).recovered == recovered
        assert names(out) == expected(0, 8)
        assert left_over(out) == []
