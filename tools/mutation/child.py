"""Runs in a fork of the warm process: the tests of one mutation, with the changed source in place of the module.

It tells how far it is as lines of JSON: `["start", TEST]`, `["fail", TEST, REASON]`, `["entered", TEST, SECONDS, FUNCTIONS]` while
recording, `["missing", TEST]` of one that is not there, and `["end"]`. A test is named by its id, or all tests of a file by the path.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tools.gen_slow import listed
from tools.mutation.modules import path_of

MEMORY_BYTES = 12 << 30
"""Address space, of which libraries for tables reserve much more than they use."""
SEED = "seed:"
"""`seed:12` is a test too: the simulation with seed 12."""


def file_of(test: str) -> str:
    """Where a test stands; all seeds stand in one place."""
    return SEED if test.startswith(SEED) else test.split("::")[0]


def main(job: dict[str, Any], out: int) -> None:
    """Run a job and end the process; the mutation has not been imported before."""
    with os.fdopen(out, "w", buffering=1) as stream:

        def tell(*what: Any) -> None:
            stream.write(json.dumps(what) + "\n")

        silence(job.get("output"))
        if job["module"] is not None:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            sys.meta_path.insert(0, Changed(job["module"], job["source"].encode()))
            hand_on(job)
        try:
            tell("end", run(job, tell))
        except BaseException as error:
            tell("fail", "", f"{error.__class__.__name__}: {error}")
    sys.stdout.flush()
    os._exit(0)


def hand_on(job: dict[str, Any]) -> None:
    """Give the changed source to each Python that a test starts, too: it is the first thing that one imports."""
    folder = Path(job["scratch"], "changed")
    folder.mkdir()
    (folder / "source").write_text(job["source"], encoding="utf-8")
    (folder / "sitecustomize.py").write_text(
        "import sys, pathlib\n"
        f"sys.path.insert(1, {os.getcwd()!r})\n"
        "from tools.mutation.child import Changed\n"
        f"sys.meta_path.insert(0, Changed({job['module']!r}, pathlib.Path({str(folder / 'source')!r}).read_bytes()))\n",
        encoding="utf-8",
    )
    os.environ["PYTHONPATH"] = os.pathsep.join((str(folder), os.getcwd()))


def silence(output: str | None) -> None:
    """Send the output of the tests to a file, or nowhere."""
    target = os.open(output or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(target, 1)
    os.dup2(target, 2)


def run(job: dict[str, Any], tell: Any) -> int:
    import pytest

    recorder = Recorder(Path.cwd(), job["functions"]) if job["record"] else None
    wanted = [test for test in job["tests"] if not test.startswith(SEED)]
    seeds = [test for test in job["tests"] if test.startswith(SEED)]
    status = 0
    for test in wanted:
        if not Path(file_of(test)).is_file():
            tell("missing", test)
    if wanted or (job["record"] and job["places"]):
        places = job["places"] if job["record"] else dict.fromkeys(test.split("::")[0] for test in wanted)
        arguments = ["-q", "-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin", "--tb=short", f"--basetemp={job['scratch']}"]
        arguments += [] if job["record"] else ["-x"]
        status = int(pytest.main([*arguments, *places], plugins=[Judge(wanted, tell, recorder, is_slow=job["is_slow"])]))
        if job["record"]:
            status = 0 if status in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED) else status
    for seed in seeds if not status else []:
        run_seed(seed, tell)
    return status


def run_seed(test: str, tell: Any) -> None:
    """A seed enters most of the core, so that its functions are not noted: that would take longer than all tests."""
    from tests.simulation.run import run as simulate

    tell("start", test)
    began = time.monotonic()
    result = simulate(int(test.removeprefix(SEED)))
    tell("entered", test, round(time.monotonic() - began, 4), [])
    if result.violation is not None:
        tell("fail", test, str(result.violation))


class Changed(MetaPathFinder):
    """Finds one module by its name and gives it another source; everything else about it stays as it is."""

    def __init__(self, name: str, source: bytes) -> None:
        self.name = name
        self.source = source

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        spec = PathFinder.find_spec(fullname, path)
        assert spec is not None and spec.origin is not None
        loader = ChangedLoader(fullname, spec.origin)
        loader.changed = self.source
        return importlib.util.spec_from_file_location(
            fullname, spec.origin, loader=loader, submodule_search_locations=spec.submodule_search_locations
        )


class ChangedLoader(SourceFileLoader):
    """Never reads or writes a .pyc: that would outlive the mutation."""

    changed: bytes

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.changed, self.get_filename(fullname), "exec", dont_inherit=True)


class Judge:
    """The plugin of pytest which keeps the wanted tests, in the wanted order, and tells what becomes of them."""

    def __init__(self, wanted: list[str], tell: Any, recorder: Recorder | None, *, is_slow: bool) -> None:
        self.is_slow = is_slow
        self.wanted = wanted
        self.tell = tell
        self.recorder = recorder

    def pytest_configure(self) -> None:
        """A counterexample is enough: nobody reads the smallest one."""
        from hypothesis import Phase, settings

        settings.register_profile("mutation", settings(), phases=(Phase.explicit, Phase.generate), report_multiple_bugs=False)
        settings.load_profile("mutation")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self.recorder is not None:
            items[:] = [item for item in items if may_judge(item, is_slow=self.is_slow)]
            return
        known: dict[str, list[Any]] = {}
        for item in items:
            known[item.nodeid] = [item]
            known.setdefault(file_of(item.nodeid), []).append(item)
        for test in self.wanted:
            if test not in known:
                self.tell("missing", test)
        items[:] = [item for test in self.wanted for item in known.get(test, ())]

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.tell("fail", report.nodeid, reason(report))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.tell("start", nodeid)
        if self.recorder is not None:
            self.recorder.begin()

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.tell("fail", report.nodeid, reason(report))

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if self.recorder is not None:
            self.tell("entered", nodeid, *self.recorder.end())


def may_judge(item: Any, *, is_slow: bool) -> bool:
    """Not those that are marked slow where they stand; the list of tests/slow.txt only leaves out what takes more than 0.1 s."""
    return is_slow or sum(1 for _ in item.iter_markers("slow")) <= (item.nodeid in listed())


def reason(report: Any) -> str:
    """The line of the exception, or the end of what is known."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr)
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return (lines[0] if crash is not None else lines[-1])[:200] if lines else ""


class Recorder:
    """Which functions of the watched modules are entered between `begin` and `end`; it notes calls only, so it costs little."""

    def __init__(self, root: Path, modules: Sequence[str]) -> None:
        self.watched = {str(path_of(module, root)): module for module in modules}
        self.entered: set[tuple[str, str]] = set()
        self.began = 0.0

    def begin(self) -> None:
        import threading

        self.entered = set()
        self.began = time.monotonic()
        sys.settrace(self.note)
        threading.settrace(self.note)

    def note(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if code.co_filename in self.watched:
            self.entered.add((code.co_filename, code.co_qualname))

    def end(self) -> tuple[float, list[list[str]]]:
        """Seconds, and `[module, function]` of each one; a function inside another bears both names, and counts for both."""
        import threading

        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        found = {(self.watched[path], name) for path, qualname in self.entered for name in names_of(qualname)}
        return round(time.monotonic() - self.began, 4), sorted([module, name] for module, name in found)


def names_of(qualname: str) -> list[str]:
    """`f.<locals>.g.<locals>.<lambda>` is entered as `f.g`, within `f`."""
    names: list[str] = []
    for part in qualname.split(".<locals>."):
        if not part.startswith("<"):
            names.append(f"{names[-1]}.{part}" if names else part)
    return names
