"""Options, hypothesis profiles and fixtures that all tests share.

The folders mirror metashell/: the tests of `disk/segment.py` are in `log/test_segment.py`. Besides, `transcripts` has whole sessions with
their output, `golden` the bytes and answers of real Kafka tools, `simulation` quorums on a seeded clock, network and disk, `interop` tests
with running Kafka nodes, `fuzz` spoilt requests and answers. Tests of everything at once are at the top. CONTRIBUTING.md says how to run
them.
"""

from __future__ import annotations

import atexit
import gc
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from metashell.common.runtime import PausedCollector
from tests.coroutines import pytest_pyfunc_call as pytest_pyfunc_call
from tests.cpu_times import CpuTimes
from tests.golden_cases import full_root, golden_root
from tests.s3 import s3 as s3
from tests.s3 import s3_server as s3_server
from tools.gen_slow import listed

# A run is the same every time: failures on a fresh machine are failures here. The soak takes new seeds, and more of them. How long inputs
# take to be made is the machine's affair: beside eight busy loops it was a failure.
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("default", derandomize=True, max_examples=10, database=None, **PATIENT)
settings.register_profile("soak", max_examples=500, print_blob=True, **PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# What the person who runs the tests has chosen for the shell is no matter of theirs.
os.environ |= {"XDG_CONFIG_HOME": "/nonexistent", "XDG_STATE_HOME": "/nonexistent"}
for name in ("METASHELL_CONFIG", "METASHELL_SOURCE", "PAGER", "LESS"):
    os.environ.pop(name, None)

# In the background of a script SIGINT is ignored, below nohup SIGHUP, and so they would be by every command that a test starts and ends.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

DESCRIPTORS = Path("/proc/self/fd")
DESCRIPTORS_MAX = 800
ROOT = Path(__file__).resolve().parents[1]
ADDRESS = re.compile(r" at 0x[0-9a-f]{6}")

# What `make check` runs, as the Makefile has it, and the line of a module of which that runs nothing.
QUICK = "not slow and not golden"
ALL_MARKED = re.compile(r"^pytestmark = \[?pytest\.mark\.(slow|golden)\b", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--rewrite`: transcripts, README and docs take what is printed now as what is expected."""
    parser.addoption("--rewrite", action="store_true", default=False, help="accept new output in tests/transcripts, README.md and docs/")
    parser.addoption("--cpu-times", type=Path, metavar="FILE", help="write the CPU seconds of each test to FILE, the longest first")


class Backwards(pytest.Dir):
    """A folder whose files come in the other order."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        return reversed(list(super().collect()))


class FromTheEnd:
    """Reads the tests from their end."""

    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector:
        return Backwards.from_parent(parent, path=path)


def pytest_configure(config: pytest.Config) -> None:
    """The plug-ins of this suite.

    What has to be compiled on the first run, each of two processes compiles half of: they come from both ends.
    """
    config.pluginmanager.register(CpuTimes(config.getoption("--cpu-times")))
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
        config.pluginmanager.register(FromTheEnd())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`--dist worksteal` as tests/together.py does it."""
    if config.getoption("dist") != "worksteal":
        return None
    from tests.together import TogetherScheduling

    return TogetherScheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All processes have the same tests in the same order. Those of tests/slow.txt are slow as if they were marked."""
    items.sort(key=lambda item: item.path)
    slow = listed()
    for item in items:
        if ADDRESS.search(item.nodeid):
            raise pytest.UsageError(f"{item.nodeid}: its name holds an address, which is another one in each process")
        if str(ROOT) in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid}: its name holds the path of this checkout, which is another one elsewhere")
        if item.nodeid in slow:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Python's collector took half of the time of finding 20 000 tests; afterwards they are out of its way, and stay so.

    Commands that use DuckDB show the collector everything again: then each of its rounds would look at the tests, too, for three seconds.
    """
    atexit.register(gc.unfreeze)  # DuckDB speaks of leaks where it is not taken apart
    gc.unfreeze = lambda: None
    with PausedCollector(freezes=True):
        return (yield)


class Descriptors:
    """What opens files closes them: a process that collects descriptors comes to where select() fails, in a test that has no part in it.

    The test that brings a process over the limit fails, and then only one that adds as many as a quarter of it.
    """

    limit = DESCRIPTORS_MAX

    @classmethod
    def check(cls, test: str) -> None:
        """Fail the test after which this process holds more than it may."""
        if DESCRIPTORS.is_dir() and (count := len(os.listdir(DESCRIPTORS))) > cls.limit:
            held = Counter(os.path.basename(os.path.realpath(entry)) for entry in DESCRIPTORS.iterdir())
            before, cls.limit = cls.limit, count + DESCRIPTORS_MAX // 4
            pytest.fail(f"more than {before} open files after {test}: {held.most_common(5)}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Look at the descriptors after each test."""
    yield
    Descriptors.check(item.nodeid)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`make check` does not import modules whose tests are all slow or all golden."""
    if config.option.markexpr == QUICK and collection_path.suffix == ".py" and ALL_MARKED.search(collection_path.read_text("utf-8")):
        return True
    return None


@pytest.fixture(scope="session", autouse=True)
def java_of_the_session() -> Iterator[None]:
    """What `tests/java.py` keeps running ends with the tests, so that its time is counted."""
    yield
    if "tests.java" in sys.modules:
        sys.modules["tests.java"].end_residents()


@pytest.fixture(scope="session")
def golden() -> Path:
    """The golden set."""
    return golden_root()


@pytest.fixture(scope="session")
def full_golden() -> Path:
    """The golden set as it was recorded: what the committed one is compared with."""
    root = full_root()
    if root is None:
        pytest.skip("the golden set as it was recorded is not beside this checkout (METASHELL_GOLDEN)")
    return root
