"""Runs the quick tests where things are otherwise than on the machine of who writes them: `python -m tools.surroundings [NAME...]`.

`zone` is a time zone east of Greenwich by a quarter of an hour; `umask` lets nobody but the owner read; `c-locale` and `german` are
locales; `user` is one without rights, in a copy that belongs to it; `archive` is the source without git and without anything beside it;
`load` has eight loops beside the tests. `make soak` runs them all, once.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
QUICK = "not slow and not golden"
LOOPS = 8
USER = "nobody"
GIT_ONLY = (".git", ".venv")
"""What a copy of the source does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surrounding:
    """What is otherwise: variables, the umask, whether the tests run in a copy, by another user, and beside how many busy loops."""

    variables: Mapping[str, str] = field(default_factory=dict)
    umask: int = -1
    is_copy: bool = False
    user: str | None = None
    loops: int = 0


SURROUNDINGS = {
    "zone": Surrounding(variables={"TZ": "Asia/Kathmandu"}),
    "umask": Surrounding(umask=0o077),
    "c-locale": Surrounding(variables={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    "german": Surrounding(variables={"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}),
    "user": Surrounding(is_copy=True, user=USER),
    "archive": Surrounding(is_copy=True),
    "load": Surrounding(loops=LOOPS),
}


def main() -> int:
    """Run those that are named, by default all; the status is that of the first that failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.surroundings", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("name", nargs="*", metavar="NAME", help=f"of {', '.join(SURROUNDINGS)}; by default all")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--paths", nargs="+", default=["tests"], metavar="PATH", help="run the quick tests of these alone")
    given = parser.parse_args()
    if unknown := set(given.name) - set(SURROUNDINGS):
        parser.error(f"no surrounding is called {', '.join(sorted(unknown))}")
    statuses = [run(name, given.workers, given.paths) for name in given.name or SURROUNDINGS]
    return next((status for status in statuses if status), 0)


def run(name: str, workers: int, paths: Sequence[str]) -> int:
    """One run of the quick tests; a failure prints how to repeat it."""
    around = SURROUNDINGS[name]
    print(f"surroundings: {name}", flush=True)
    with place(around) as root, busy(around.loops):
        # The installed package is that of the checkout: the copy comes before it.
        environment = {**os.environ, "PYTHONPATH": str(root), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **around.variables}
        if around.is_copy:
            environment |= {"HOME": str(root), "METASHELL_GOLDEN": "/nonexistent"}
        words = ["-m", "pytest", "-p", "xdist.plugin", "-q", "-n", str(workers), "--dist", "worksteal", "-m", QUICK]
        argv = [sys.executable, *words, f"--basetemp={root / '.tests'}"] if around.is_copy else [sys.executable, *words]
        status = subprocess.run([*argv, *paths], cwd=root, env=environment, preexec_fn=before(around), check=False).returncode
    if status:
        print(f"status {status}: python -m tools.surroundings {name} repeats it", flush=True)
    return status


def before(around: Surrounding) -> Callable[[], None]:
    """What the process of the tests does first."""

    def work() -> None:
        if around.umask >= 0:
            os.umask(around.umask)
        if around.user is not None and os.getuid() == 0:
            found = pwd.getpwnam(around.user)
            os.setgroups([])
            os.setgid(found.pw_gid)
            os.setuid(found.pw_uid)

    return work


@contextlib.contextmanager
def place(around: Surrounding) -> Iterator[Path]:
    """Where the tests run: here, or in a copy of what git knows, which belongs to the user."""
    if not around.is_copy:
        yield ROOT
        return
    with tempfile.TemporaryDirectory(prefix="surroundings-") as folder:
        root = Path(folder) / "source"
        copy(root)
        if around.user is not None and os.getuid() == 0:
            os.chmod(folder, 0o755)
            for path in (root, *root.rglob("*")):
                shutil.chown(path, around.user)
        yield root


def copy(root: Path) -> None:
    """The files that git has or would add, as they are now; all of them where the source itself came without git."""
    if not (ROOT / ".git").exists():
        shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(*GIT_ONLY, "__pycache__"), symlinks=True)
        return
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, stdout=subprocess.PIPE, check=True
    )
    for name in filter(None, os.fsdecode(listed.stdout).split("\0")):
        if (ROOT / name).is_file() and name not in GIT_ONLY:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name, follow_symlinks=False)


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Processes that do nothing but run, until the block ends."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


if __name__ == "__main__":
    sys.exit(main())
