"""The Python process and its operating system: pausing the garbage collector, counting processors, syncing files to disk, and
how this copy of metashell was installed.

Linux and macOS are supported. Windows has no POSIX locks and cannot sync a directory, so commands refuse to start there.

An error line names the command that adds a missing extra to this copy. The distribution's metadata (PEP 610, direct_url.json) and the files
that pipx and uv leave in an environment tell how it was installed. A copy that came from a directory or an archive is installed from there
again: an index may lack the package, or have another one of the same name.

Of the descriptors of a process files come first: a controller that cannot open a segment ends. `prepare_process` is for processes that
serve: their soft limit becomes the hard one."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from shlex import quote
from types import TracebackType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from importlib.metadata import Distribution


class PausedCollector:
    """Pauses the garbage collector for a block that makes very many objects and few cycles: collecting would take a quarter of its time.

    With `freezes`, the collector ignores the block's objects afterwards too: for objects that live long.
    """

    def __init__(self, *, freezes: bool = False) -> None:
        self._freezes = freezes
        self._was_enabled = False

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._freezes:
            gc.freeze()
        if self._was_enabled:
            gc.enable()


WINDOWS_LINE = "metashell runs on Linux and macOS: on Windows, install and start it inside WSL (https://learn.microsoft.com/windows/wsl)"


def processors() -> int:
    """The number of processors that this process may use: those of its affinity on Linux, all of them elsewhere."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def sync_file(fd: int) -> None:
    """Return when a file's bytes are on disk. Errors: OSError as the system gives it.

    On macOS `fsync` only hands the bytes to the drive, which may keep them in its cache and reorder them; F_FULLFSYNC waits for the drive.
    File systems that do not know it (network shares) get `fsync`.
    """
    if sys.platform == "darwin":
        import fcntl

        try:
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        except OSError as error:
            from errno import EINVAL, ENOTSUP, ENOTTY

            if error.errno not in (EINVAL, ENOTSUP, ENOTTY):
                raise
        else:
            return
    os.fsync(fd)


def sync_path(path: str) -> None:
    """Return when the bytes of a file, or the names in a folder, are on disk. Errors: OSError as the system gives it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync_file(descriptor)
    finally:
        os.close(descriptor)


def refuse_windows() -> None:
    """End the process with one line on Windows, before an import that fails there. For the start of commands."""
    if sys.platform == "win32":
        raise SystemExit(WINDOWS_LINE)


_NAME = "metashell"
_FOLDER = os.path.dirname(os.path.abspath(__file__))


def missing(package: str, extra: str) -> str:
    """The line about a missing package: its name, the extra that brings it, and the command that adds the extra to this copy."""
    return f"{package} is not installed; it comes with the extra {extra!r}: {how_to_add(extra)}"


def how_to_add(extra: str) -> str:
    """The command that adds an extra to this copy, or the reason why there is none."""
    if os.environ.get("METASHELL_ONEFILE"):
        return "this one-file archive is the base install, so install metashell with pip instead"
    found = _distribution()
    if found is None:
        return f"this copy runs from a source tree: {_pip()} -e {quote(f'{os.path.dirname(_FOLDER)}[{extra}]')}"
    requirement, is_editable = _requirement(found, extra)
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        return f"pipx install --force {'--editable ' if is_editable else ''}{quote(requirement)}"
    if os.path.exists(os.path.join(sys.prefix, "uv-receipt.toml")):
        return f"uv tool install --force {'--editable ' if is_editable else ''}{quote(requirement)}"
    pip = f"uv pip install --python {quote(sys.executable)}" if (found.read_text("INSTALLER") or "").strip() == "uv" else _pip()
    return f"{pip} {'-e ' if is_editable else ''}{quote(requirement)}"


def _pip() -> str:
    return f"{quote(sys.executable or 'python3')} -m pip install"


def _distribution() -> Distribution | None:
    """The distribution of this module; None for a source tree that was never installed."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = distribution(_NAME)
    except PackageNotFoundError:
        return None
    places = (str(found.locate_file(_NAME)), os.path.join(_directory(found) or "", _NAME))
    return found if any(os.path.realpath(place) == os.path.realpath(_FOLDER) for place in places) else None


def _direct_url(found: Distribution) -> dict[str, object]:
    import json

    text = found.read_text("direct_url.json")
    value = json.loads(text) if text else {}
    return value if isinstance(value, dict) else {}


def _directory(found: Distribution) -> str | None:
    """The directory that a distribution was installed from; None if it came from elsewhere."""
    value = _direct_url(found)
    url = value.get("url")
    if "dir_info" not in value or not isinstance(url, str) or not url.startswith("file://"):
        return None
    from urllib.parse import unquote

    return unquote(url.removeprefix("file://"))


def _requirement(found: Distribution, extra: str) -> tuple[str, bool]:
    """The requirement to pass to an installer, and whether the copy is an editable install of a directory."""
    directory = _directory(found)
    if directory is not None:
        info = _direct_url(found)["dir_info"]
        return f"{directory}[{extra}]", isinstance(info, dict) and bool(info.get("editable"))
    value = _direct_url(found)
    url = value.get("url")
    if not isinstance(url, str):
        # It came from an index, which has the extra as well.
        return f"{_NAME}[{extra}]", False
    vcs = value.get("vcs_info")
    prefix = f"{vcs.get('vcs')}+" if isinstance(vcs, dict) else ""
    commit = f"@{vcs.get('commit_id')}" if isinstance(vcs, dict) and vcs.get("commit_id") else ""
    return f"{_NAME}[{extra}] @ {prefix}{url}{commit}", False


FREE_DESCRIPTORS: Final = 256
"""Descriptors that connections leave to the files of the process."""
STRANGERS_PART: Final = 4
"""One of so many connections may be a stranger's."""
STRANGERS_MAX: Final = 1000
STRANGERS_MIN: Final = 8
SWITCH_INTERVAL_S: Final = 0.0005
"""How long the thread that decodes may keep the loop waiting; Python's own is 5 ms."""
DESCRIPTORS_WANTED: Final = 1 << 20


def room_for_connections(descriptors: int) -> int:
    """Return how many of the process's descriptors connections may use; where there are few, half of them."""
    return max(descriptors - FREE_DESCRIPTORS, descriptors // 2)


def strangers_max(connections_max: int) -> int:
    """Return how many of the connections may be strangers'."""
    return max(STRANGERS_MIN, min(connections_max // STRANGERS_PART, STRANGERS_MAX))


def descriptors_max() -> int:
    """Return how many files and sockets the process may have open."""
    try:
        import resource
    except ImportError:
        return 1 << 31
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 31 if soft == resource.RLIM_INFINITY else soft


def prepare_process() -> None:
    """Make a process one that serves: it may have as many descriptors as the system allows, and its threads give way to the loop soon."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS_WANTED if hard == resource.RLIM_INFINITY else hard
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    # macOS says that there is no limit, and refuses more than its own.
    for size in (wanted, min(wanted, 10_240)):
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, size), hard))
            return
