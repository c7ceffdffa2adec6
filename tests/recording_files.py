"""A file layer that notes every step, and what a disk may hold if the machine stops after any of them.

Only what was synced is sure to survive: a file's bytes by `sync_file`, a name by `sync_directory` of the directory that holds it, the
two apart. Of everything else any part may have reached the disk: each change of a directory by itself, each written piece whole, in
half or not at all, each truncation or none. In samples a piece may also be there by some of its sectors, with zeros where others are
missing. The real file system shows none of this: its cache survives even kill -9.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metashell.disk.file_system import Disk

SECTOR_SIZE = 512
STATES_MAX = 300
"""More states than that after one step are sampled, always with the least and the most that may have survived."""


@dataclass(frozen=True, slots=True)
class Step:
    """One operation: its name, the path it is about, and what else it needs."""

    name: str
    path: str
    other: Any = None


class RecordingDisk(Disk):
    """The real file system below `root`; `steps` are what was done to it, with paths relative to the root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.steps: list[Step] = []
        self._paths: dict[int, str | None] = {}

    def _note(self, name: str, path: str, other: Any = None) -> None:
        self.steps.append(Step(name, self._relative(path), other))

    def _relative(self, path: str) -> str:
        return os.path.relpath(os.path.abspath(path), self.root)

    def make_directory(self, path: str) -> None:
        super().make_directory(path)
        self._note("mkdir", path)

    def create_file(self, path: str, mode: int) -> int:
        fd = super().create_file(path, mode)
        self._paths[fd] = path
        self._note("create", path, mode)
        return fd

    def open_file(self, path: str) -> int:
        fd = super().open_file(path)
        self._paths[fd] = path
        return fd

    def close_file(self, fd: int) -> None:
        super().close_file(fd)
        self._paths.pop(fd, None)

    def append(self, fd: int, data: bytes) -> None:
        position = os.lseek(fd, 0, os.SEEK_CUR)
        super().append(fd, data)
        self._note_file("write", fd, (position, data))

    def write_at(self, fd: int, data: bytes, position: int) -> None:
        super().write_at(fd, data, position)
        self._note_file("write", fd, (position, data))

    def truncate(self, fd: int, size: int) -> None:
        super().truncate(fd, size)
        self._note_file("truncate", fd, size)

    def set_mode(self, fd: int, mode: int) -> None:
        super().set_mode(fd, mode)
        self._note_file("set_mode", fd, mode)

    def sync_file(self, fd: int) -> None:
        self._note_file("sync_file", fd)

    def _note_file(self, name: str, fd: int, other: Any = None) -> None:
        """A step on an open file, by the name that it has now; one that has none any more is of no interest."""
        path = self._paths[fd]
        if path is not None:
            self._note(name, path, other)

    def rename(self, source: str, target: str) -> None:
        super().rename(source, target)
        self._rename_open(target, None)
        self._rename_open(source, target)
        self._note("rename", source, self._relative(target))

    def _rename_open(self, path: str, new: str | None) -> None:
        for fd, name in self._paths.items():
            if name == path:
                self._paths[fd] = new

    def remove_file(self, path: str) -> None:
        super().remove_file(path)
        self._rename_open(path, None)
        self._note("unlink", path)

    def remove_directory(self, path: str) -> None:
        super().remove_directory(path)
        self._note("unlink", path)

    def sync_directory(self, path: str) -> None:
        self._note("sync_directory", path)


class UnsyncedDisk(Disk):
    """The real file system without waiting for it: for what comes after the machine has stopped."""

    def sync_file(self, fd: int) -> None:
        """Nothing: this run is not interrupted."""

    def sync_directory(self, path: str) -> None:
        """Nothing: this run is not interrupted."""


Change = tuple[int, bytes] | int
"""Of a file's content: a position and what is written there, or the size to which it is cut or made longer."""


@dataclass(slots=True, eq=False)
class File:
    """A file on the modelled disk: what is sure, and the changes since."""

    mode: int
    durable: bytes = b""
    pending: list[Change] = field(default_factory=list)

    def variants(self) -> list[bytes]:
        """What may be read after the crash."""
        found = {self.durable}
        parts = [(0.0, 1.0) if isinstance(change, int) else (0.0, 0.5, 1.0) for change in self.pending]
        for chosen in itertools.product(*parts):
            found.add(self._with(_part(change, part) for change, part in zip(self.pending, chosen, strict=True)))
        return sorted(found)

    def current(self) -> bytes:
        return self._with(self.pending)

    def sample(self, chance: random.Random) -> bytes:
        """One of the very many contents that may be read after the crash."""
        return self._with(change for whole in self.pending for change in _some_sectors(whole, chance))

    def _with(self, changes: Iterable[Change | None]) -> bytes:
        data = bytearray(self.durable)
        for change in changes:
            match change:
                case None:
                    pass
                case int():
                    del data[change:]
                    data.extend(bytes(change - len(data)))
                case (position, piece) if piece:
                    data.extend(bytes(max(0, position - len(data))))
                    data[position : position + len(piece)] = piece
        return bytes(data)

    def sync(self) -> None:
        self.durable = self.current()
        self.pending.clear()


def _part(change: Change, part: float) -> Change | None:
    """The first part of a written piece; of a truncation all or nothing."""
    if isinstance(change, int):
        return change if part else None
    position, piece = change
    return position, piece[: int(len(piece) * part)]


def _some_sectors(change: Change, chance: random.Random) -> list[Change]:
    """A change in whole, not at all, or by some of the sectors that it writes to."""
    draw = chance.random()
    if draw < 0.3:
        return []
    if draw < 0.6 or isinstance(change, int):
        return [change]
    position, piece = change
    cuts = [0, *range(SECTOR_SIZE - position % SECTOR_SIZE, len(piece), SECTOR_SIZE), len(piece)]
    if draw < 0.8:
        return [(position, piece[: chance.choice(cuts)])]
    return [(position + start, piece[start:end]) for start, end in itertools.pairwise(cuts) if chance.random() < 0.5]


@dataclass(slots=True, eq=False)
class Directory:
    """A directory on the modelled disk: the names that are sure, those there are now, and the changes between them."""

    durable: dict[str, File | Directory] = field(default_factory=dict)
    current: dict[str, File | Directory] = field(default_factory=dict)
    pending: list[tuple[str, str, File | Directory | None]] = field(default_factory=list)

    def change(self, name: str, node: File | Directory | None, old: str = "") -> None:
        """Give `name` to `node`, in the same moment take `old` away; None removes the name."""
        self.pending.append((name, old, node))
        _apply(self.current, (name, old, node))

    def variants(self) -> list[dict[str, File | Directory]]:
        """The names that may be found after the crash: any of the changes, in their order."""
        found = []
        for size in range(len(self.pending) + 1):
            for chosen in itertools.combinations(self.pending, size):
                names = dict(self.durable)
                for change in chosen:
                    _apply(names, change)
                found.append(names)
        return found

    def sample(self, chance: random.Random) -> dict[str, File | Directory]:
        """Some of the changes, in their order."""
        names = dict(self.durable)
        for change in self.pending:
            if chance.random() < 0.5:
                _apply(names, change)
        return names

    def sync(self) -> None:
        self.durable = dict(self.current)
        self.pending.clear()


def _apply(names: dict[str, File | Directory], change: tuple[str, str, File | Directory | None]) -> None:
    name, old, node = change
    names.pop(old, None)
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


Tree = dict[str, bytes | None]
"""Paths to contents, None for directories."""


class ModelledDisk:
    """A disk that follows recorded steps and tells what may be left of them."""

    def __init__(self, root: Path) -> None:
        """Start from what is below `root`, all of it durable."""
        self.root = _durable(root)

    def follow(self, step: Step) -> None:
        """Take over one step."""
        parent, name = self._find(os.path.dirname(step.path)), os.path.basename(step.path)
        match step.name:
            case "mkdir":
                parent.change(name, Directory())
            case "create":
                parent.change(name, File(step.other))
            case "write" | "truncate":
                self._file(parent, name).pending.append(step.other)
            case "set_mode":
                self._file(parent, name).mode = step.other
            case "sync_file":
                self._file(parent, name).sync()
            case "rename":
                target, node = self._find(os.path.dirname(step.other)), parent.current[name]
                if target is parent:
                    parent.change(os.path.basename(step.other), node, name)
                else:  # A file may then be found in both directories, or in neither.
                    target.change(os.path.basename(step.other), node)
                    parent.change(name, None)
            case "unlink":
                if name in parent.current:  # The lock file is made past this layer.
                    parent.change(name, None)
            case "sync_directory":
                self._find(step.path).sync()
            case _:
                raise AssertionError(step.name)

    def _find(self, path: str) -> Directory:
        node = self.root
        for part in path.split("/"):
            if part not in ("", "."):
                inner = node.current[part]
                assert isinstance(inner, Directory)
                node = inner
        return node

    def _file(self, parent: Directory, name: str) -> File:
        file = parent.current[name]
        assert isinstance(file, File)
        return file

    def states(self, seed: int) -> Iterator[Tree]:
        """Every tree that may be found after a crash now; a sample with the given seed where there are very many."""
        choices = list(_trees(self.root))
        if len(choices) > STATES_MAX:
            choices = [choices[0], choices[-1], *random.Random(seed).sample(choices, STATES_MAX)]
        yield from choices

    def samples(self, chance: random.Random, count: int) -> Iterator[Tree]:
        """Some of the trees that may be found after a crash now: the one with all that was done, the one with what is sure, and `count`
        drawn by chance, without counting them all first."""
        yield _tree(self.root, lambda directory: directory.current, File.current)
        yield _tree(self.root, lambda directory: directory.durable, lambda file: file.durable)
        for _ in range(count):
            yield _tree(self.root, lambda directory: directory.sample(chance), lambda file: file.sample(chance))


def _tree(node: Directory, names_of: Callable[[Directory], dict[str, File | Directory]], content_of: Callable[[File], bytes]) -> Tree:
    tree: Tree = {}
    for name, inner in names_of(node).items():
        if isinstance(inner, File):
            tree[name] = content_of(inner)
        else:
            tree[name] = None
            tree |= {f"{name}/{path}": content for path, content in _tree(inner, names_of, content_of).items()}
    return tree


def _trees(directory: Directory) -> Iterator[Tree]:
    seen = set()
    for names in directory.variants():
        inner = [[(name, variant) for variant in _node_trees(node)] for name, node in sorted(names.items())]
        for chosen in itertools.product(*inner):
            tree: Tree = {}
            for name, below in chosen:
                tree |= {f"{name}/{path}".rstrip("/"): content for path, content in below.items()}
            key = frozenset(tree.items())
            if key not in seen:
                seen.add(key)
                yield tree


def _node_trees(node: File | Directory) -> Iterator[Tree]:
    if isinstance(node, File):
        yield from ({"": content} for content in node.variants())
    else:
        yield from ({"": None, **tree} for tree in _trees(node))


def _durable(path: Path) -> Directory:
    names: dict[str, File | Directory] = {}
    for entry in path.iterdir():
        names[entry.name] = _durable(entry) if entry.is_dir() else File(entry.stat().st_mode & 0o777, entry.read_bytes())
    return Directory(names, dict(names))


def write_tree(tree: Tree, root: Path) -> None:
    """Make a tree below an empty folder."""
    for name in sorted(tree):
        content = tree[name]
        if content is None:
            (root / name).mkdir()
        else:
            (root / name).write_bytes(content)
