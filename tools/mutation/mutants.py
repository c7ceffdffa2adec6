"""Mutations by name: which change of which line of which function, whatever else moves in the file."""

from __future__ import annotations

import difflib
import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tools.mutation.modules import ROOT, name_of
from tools.mutation.operators import edits_of
from tools.mutation.rooms import ROOMS


@dataclass(frozen=True, slots=True)
class Key:
    """The name of a mutation: `module` as `quorum/raft/elections.py`, `text` the stripped line, `change` numbered if there are several."""

    module: str
    function: str
    text: str
    change: str

    @property
    def id(self) -> str:
        return hashlib.sha256("\t".join((self.module, self.function, self.text, self.change)).encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class Mutation:
    """`source[start:end]` of the module, in bytes, becomes `new`; `line` counts from 1."""

    key: Key
    line: int
    start: int
    end: int
    new: bytes

    @property
    def id(self) -> str:
        return self.key.id

    @property
    def module_name(self) -> str:
        return name_of(self.key.module)

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.new + source[self.end :]

    def diff(self, source: bytes) -> str:
        """The changed lines, as a unified diff without context."""
        old, new = source.decode().splitlines(), self.apply(source).decode().splitlines()
        lines = list(difflib.unified_diff(old, new, lineterm="", n=0))
        return "\n".join(line for line in lines[2:] if not line.startswith("@@"))


def module_paths(root: Path = ROOT) -> list[str]:
    """The modules of all rooms, as `quorum/raft/elections.py`."""
    return [module for room in ROOMS for module in room.modules(root)]


def mutations_of(module: str, source: bytes) -> list[Mutation]:
    """All mutations of one module, in the order of its lines; no two have one key."""
    lines = source.decode().splitlines()
    seen: Counter[Key] = Counter()
    found = []
    for edit in edits_of(source):
        key = Key(module, edit.function, lines[edit.line - 1].strip(), edit.change)
        seen[key] += 1
        if seen[key] > 1:
            key = Key(module, edit.function, key.text, f"{edit.change} ({seen[key]})")
        found.append(Mutation(key, edit.line, edit.start, edit.end, edit.new))
    return found
