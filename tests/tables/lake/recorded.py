"""What a lake on this machine does to its disk, step by step, for what a crash of the machine may leave of it.

A folder's store writes by calls of the operating system, and pyarrow writes by itself. So the calls that order things are noted
(syncs, renames, removals), and before each the folder is compared with what it was: new folders, new files and new bytes were
written since, and no one of them is sure before it is synced.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.recording_files import Step


class Recorder:
    """The steps done below a folder, as `ModelledDisk` follows them. Nothing is really synced."""

    def __init__(self, root: Path) -> None:
        self.steps: list[Step] = []
        self._root = str(root)
        self._known: dict[str, bytes | None] = {}
        self._look()
        self.steps.clear()

    def _look(self) -> None:
        """Note what was made or written since."""
        for folder, folders, files in os.walk(self._root):
            for name in folders:
                path = self._relative(os.path.join(folder, name))
                if path not in self._known:
                    self._known[path] = None
                    self.steps.append(Step("mkdir", path))
            for name in files:
                self._look_at(os.path.join(folder, name))

    def _look_at(self, full: str) -> None:
        path, data = self._relative(full), Path(full).read_bytes()
        known = self._known.get(path)
        if known == data:
            return
        self.steps.append(Step("create", path, 0o644) if known is None else Step("truncate", path, 0))
        self.steps.append(Step("write", path, (0, data)))
        self._known[path] = data

    def _relative(self, path: str) -> str:
        return os.path.relpath(path, self._root)

    def _note(self, name: str, path: str, other: str | None = None) -> None:
        self.steps.append(Step(name, self._relative(path), None if other is None else self._relative(other)))

    def _is_below(self, path: str) -> bool:
        return os.path.abspath(path).startswith(self._root)

    # ---- the calls

    def sync(self, descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        if self._is_below(path):
            self._look()
            self._note("sync_directory" if os.path.isdir(path) else "sync_file", path)

    def replace(self, real: Callable[..., None], source: Any, target: Any) -> None:
        if self._is_below(os.fspath(source)):
            self._look()
        real(source, target)
        if self._is_below(os.fspath(source)):
            old, new = self._relative(os.fspath(source)), self._relative(os.fspath(target))
            self._known[new] = self._known.pop(old)
            self._note("rename", os.fspath(source), os.fspath(target))

    def remove(self, real: Callable[..., None], path: Any, *, dir_fd: int | None = None) -> None:
        full = os.fspath(path) if dir_fd is None else os.path.join(os.readlink(f"/proc/self/fd/{dir_fd}"), os.fspath(path))
        if self._is_below(full):
            self._look()
        real(path, dir_fd=dir_fd)
        if self._is_below(full):
            self._known.pop(self._relative(full), None)
            self._note("unlink", full)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note what the block does, in this process."""
        unlink, rmdir, replace = os.unlink, os.rmdir, os.replace
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", self.sync)
            patch.setattr(os, "replace", lambda source, target: self.replace(replace, source, target))
            patch.setattr(os, "unlink", lambda path, *, dir_fd=None: self.remove(unlink, path, dir_fd=dir_fd))
            patch.setattr(os, "rmdir", lambda path, *, dir_fd=None: self.remove(rmdir, path, dir_fd=dir_fd))
            yield
            self._look()
