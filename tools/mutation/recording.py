"""Which test of a room enters which function, noted once for each file of tests, and anew for each one that changes.

This only says whom to ask first and whom not at all. So it may be a little old: a change of the sources alone does not make it new
(`--fresh` does), and whether a test holds on today's sound code is asked of each test that kills.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metashell.common.errors import UsageError
from tools.mutation.checkout import digest
from tools.mutation.child import SEED, file_of
from tools.mutation.rooms import Room

SEEDS = 40
"""Seeds of the simulation that judge, from 0 on."""
CHUNK = 12
"""Files of tests that are recorded in one process, then stored."""


@dataclass(frozen=True, slots=True)
class Recording:
    """`seconds` of each test on the sound code; `entered` gives the tests of a `(module, function)`; `failed` judge nothing."""

    seconds: dict[str, float]
    entered: dict[tuple[str, str], list[str]]
    failed: dict[str, str] = field(default_factory=dict)

    def tests_of_module(self, module: str) -> list[str]:
        tests = {test for (name, _), found in self.entered.items() if name == module for test in found}
        return [test for test in self.seconds if test in tests]


class Stored:
    """The notes of earlier runs on a room: `tests` of files that have not changed since; `places` have to run again."""

    def __init__(self, room: Room, root: Path, cache: Path, *, is_fresh: bool = False) -> None:
        self.path = cache / f"recording-{room.name}.json"
        self.modules = room.modules(root)
        files = {str(file.relative_to(root)): digest([file], root) for file in room.test_files(root)}
        if room.has_seeds:
            files[SEED] = "always the same"
        stored: dict[str, Any] = {}
        if not is_fresh:
            try:
                stored = json.loads(self.path.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                stored = {}
        known = stored.get("files", {}) if stored.get("modules") == self.modules else {}
        self.files = {file: state for file, state in files.items() if known.get(file) == state}
        self.missing = {file: state for file, state in files.items() if file not in self.files}
        order = {file: number for number, file in enumerate(files)}
        self.tests: dict[str, Any] = {test: found for test, found in stored.get("tests", {}).items() if file_of(test) in self.files}
        self.failed: dict[str, str] = {test: why for test, why in stored.get("failed", {}).items() if file_of(test) in self.files}
        self._order = order
        self._lock = threading.Lock()

    def chunks(self) -> list[list[str]]:
        """The files that have to run, a few at a time."""
        places = list(self.missing)
        return [places[start : start + CHUNK] for start in range(0, len(places), CHUNK)]

    def add(self, places: Iterable[str], result: dict[str, Any]) -> None:
        """Take over what a recording run of some files found. Errors: a UsageError where it did not come to its end."""
        if result["verdict"] != "passed":
            raise UsageError(f"{result.get('test')}: on the sound code: {result['verdict']} {result.get('reason', '')}".rstrip())
        with self._lock:
            self.failed |= dict(result["failed"])
            self.tests |= {test: found for test, found in result["entered"].items() if test not in self.failed}
            self.files |= {place: self.missing[place] for place in places}
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fresh = self.path.with_suffix(".new")
            text = json.dumps({"modules": self.modules, "files": self.files, "tests": self.tests, "failed": self.failed})
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(self.path)

    def recording(self) -> Recording:
        """What is known: tests in the order of their files."""
        tests = dict(sorted(self.tests.items(), key=lambda item: self._order[file_of(item[0])]))
        entered: dict[tuple[str, str], list[str]] = {}
        for test, (_, functions) in tests.items():
            for module, function in functions:
                entered.setdefault((module, function), []).append(test)
        return Recording({test: seconds for test, (seconds, _) in tests.items()}, entered, self.failed)


def tests_of(places: Iterable[str]) -> dict[str, float]:
    """The seeds among the places, with their seconds: they are tests that stand in no file."""
    return {f"{SEED}{number}": 2.0 for place in places if place == SEED for number in range(SEEDS)}
