"""Real signals at steps of an append: kill -9, and a process that is stopped while another takes its lock over."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from metashell.common.errors import MetashellError, PathError
from metashell.tables.lake.layout import read_state
from metashell.tables.stores import locks, open_store
from tests.running import REPOSITORY
from tests.tables.lake.dying import Life, living, steps_of
from tests.tables.lake.lakes import TOPIC, expected, grown, left_over, names, run, some_of
from tests.tables.lake.test_kill import store_names

pytestmark = pytest.mark.slow

KILLED = """
import os, signal, sys
from pathlib import Path
from tests.tables.lake.dying import Life, living, steps_of
from tests.tables.lake.lakes import run
import metashell.tables.lake.write_tasks, metashell.tables.export.workers, metashell.tables.stores.remote

class Killed(Life):
    def step(self, name):
        if len(self.steps) == self.last:
            os.kill(os.getpid(), signal.SIGKILL)
        self.steps.append(name)

log, out = sys.argv[1:3]
for last in map(int, sys.argv[3:]):
    child = os.fork()  # with all that takes time imported, and no thread begun
    if not child:
        with living(Killed(last)):
            run(f"{out}-{last}", Path(log), tables=("topic",), target_size=1 << 20)
        os._exit(3)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
"""


def python(code: str, *words: str) -> list[str]:
    return [sys.executable, "-c", code, *words]


@pytest.mark.parametrize("is_local", [True, False])
def test_kill_9_at_steps(s3: str, tmp_path: Path, is_local: bool) -> None:
    out = str(tmp_path / "lake") if is_local else f"{s3}/lake"
    run(f"{out}-whole", grown(tmp_path, 6), **TOPIC)
    found = steps_of(lambda: run(f"{out}-whole", grown(tmp_path, 10), **TOPIC))
    # Each is a process.
    steps = some_of(len(found), 3 if is_local else 8)
    for last in steps:
        run(f"{out}-{last}", grown(tmp_path, 6), **TOPIC)
    log = grown(tmp_path, 10)
    subprocess.run(
        python(KILLED, str(log), out, *map(str, steps)), check=True, timeout=120, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}
    )
    said = {}
    for last in steps:
        said[last] = run(f"{out}-{last}", log, **TOPIC).recovered
        assert (names(f"{out}-{last}") if is_local else store_names(open_store(f"{out}-{last}"))) == expected(0, 10), found[last]
        assert not is_local or left_over(Path(f"{out}-{last}")) == [], found[last]
    # While a pending file is there, that of the append or that of what puts files together, there is something to complete.
    begun, ended = (
        [number for number, step in enumerate(found) if step.startswith(f"{step_of} _metashell/pending/")] for step_of in ("put", "remove")
    )
    pending = {last for start, end in zip(begun, ended, strict=True) for last in range(start + 1, end + 1)}
    assert said == {last: "an interrupted export was completed" if last in pending else "" for last in steps}
    assert pending & set(steps)


class Broken(Life):
    """A life in which one step fails, and all others do not."""

    def __init__(self, at: int, error: BaseException) -> None:
        super().__init__()
        self._at = at
        self._error = error

    def step(self, name: str) -> None:
        super().step(name)
        if len(self.steps) == self._at + 1:
            raise self._error


@pytest.mark.parametrize("error", [KeyboardInterrupt("stop"), MetashellError("the store fails"), PathError("the disk fails")])
def test_a_step_that_fails_is_told_and_leaves_nothing_or_what_the_next_run_completes(tmp_path: Path, error: BaseException) -> None:
    out = tmp_path / "lake"
    run(out, grown(tmp_path, 6), **TOPIC)
    log = grown(tmp_path, 10)
    shutil.copytree(out, tmp_path / "counted")
    steps = steps_of(lambda: run(tmp_path / "counted", log, **TOPIC))
    pending = next(number for number, step in enumerate(steps) if step.startswith("put _metashell/pending/"))
    for at in range(len(steps)):
        shutil.copytree(out, tmp_path / str(at))
        before = sorted(path.relative_to(tmp_path / str(at)) for path in (tmp_path / str(at)).rglob("*.*"))
        kind = MetashellError if isinstance(error, MetashellError) else type(error)
        # A removal that fails is tried once more.
        fails = kind is not MetashellError or not steps[at].startswith("remove_below")
        with living(Broken(at, error)), pytest.raises(kind, match=str(error)) if fails else nullcontext():
            run(tmp_path / str(at), log, **TOPIC)
        if fails and at <= pending:
            assert sorted(path.relative_to(tmp_path / str(at)) for path in (tmp_path / str(at)).rglob("*.*")) == before, steps[at]
        run(tmp_path / str(at), log, **TOPIC)
        assert names(tmp_path / str(at)) == expected(0, 10), steps[at]
        assert left_over(tmp_path / str(at)) == [], steps[at]


STOPPED = """
import os, signal, sys
from pathlib import Path
from metashell.common.errors import MetashellError
from metashell.tables.stores import locks
from tests.tables.lake.dying import Life, living, steps_of
from tests.tables.lake.lakes import run

locks.LIVES_MS, locks._LOST_AFTER_S, locks.RENEWED_EVERY_S = 1500, 0.75, 0.2
log, out, at = sys.argv[1:4]

class Stopped(Life):
    def step(self, name):
        if at in name:
            os.kill(os.getpid(), signal.SIGSTOP)

with living(Stopped()):
    try:
        run(out, Path(log), tables=("topic",))
    except MetashellError as error:
        sys.exit(str(error))
"""


def test_a_process_that_is_stopped_while_another_takes_over_changes_nothing_when_it_goes_on(
    s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    outs = {f"{s3}/{at}": f"put _metashell/{at}/" for at in ("pending", "commits")}
    for out in outs:
        run(out, grown(tmp_path, 6), **TOPIC)
    log = grown(tmp_path, 10)
    stopped = [
        subprocess.Popen(python(STOPPED, str(log), out, at), env=environment, stderr=subprocess.PIPE, text=True) for out, at in outs.items()
    ]
    for process in stopped:
        found = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert found is not None and found.si_code == os.CLD_STOPPED
    monkeypatch.setattr(locks, "LIVES_MS", 1500)
    time.sleep(2.6)  # the store's clock has whole seconds
    log = grown(tmp_path, 14)
    for out, (at, said) in zip(outs, (("pending", ""), ("commits", "an interrupted export was completed")), strict=True):
        assert run(out, log, **TOPIC).recovered == said, at
    for process in stopped:
        process.send_signal(signal.SIGCONT)
        _, error = process.communicate(timeout=60)
        assert process.returncode == 1
        assert error.count("\n") == 1 and "the lock was not renewed for 1 s, so another may have it now" in error
    for out in outs:
        run(out, log, **TOPIC)
        assert store_names(open_store(out)) == expected(0, 14)
        assert {file.name for file in open_store(out).files("table=topic")} == set(read_state(open_store(out)).files)
