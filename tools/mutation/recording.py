"""Which test enters which function, noted once for each state of the sources, and anew for each file of tests that changes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metashell.common.errors import UsageError
from tools.mutation.checkout import digest
from tools.mutation.child import POOL, SEED, file_of
from tools.mutation.mutants import ROOT

GOLDEN = ROOT / "tests" / "golden"
SEEDS = 40
"""Seeds of the simulation that judge, from 0 on."""


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
    """The notes of earlier runs: `tests` of files that have not changed since; `places` have to run again."""

    def __init__(self, path: Path, sources: str) -> None:
        self.path = path
        self.state = f"{sources} {support_digest()}"
        self.files = {str(file.relative_to(ROOT)): digest([file]) for file in test_files()}
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            stored = {}
        if stored.get("state") != self.state:
            stored = {"tests": {}, "failed": {}, "files": {}}
        self.is_empty = not stored["tests"]
        self.places = [file for file, state in self.files.items() if stored["files"].get(file) != state]
        unchanged = {SEED, *self.files} - set(self.places)
        self.tests: dict[str, Any] = {test: found for test, found in stored["tests"].items() if file_of(test) in unchanged}
        self.failed: dict[str, str] = {test: why for test, why in stored["failed"].items() if file_of(test) in unchanged}

    def add(self, result: dict[str, Any]) -> None:
        """Take over what a recording run found. Errors: a UsageError where it did not come to its end."""
        if result["verdict"] != "passed":
            raise UsageError(f"{result.get('test')}: on the sound code: {result['verdict']} {result.get('reason', '')}".rstrip())
        self.failed |= dict(result["failed"])
        self.tests |= {test: found for test, found in result["entered"].items() if test not in self.failed}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".new")
        fresh.write_text(
            json.dumps({"state": self.state, "files": self.files, "tests": self.tests, "failed": self.failed}), encoding="utf-8"
        )
        fresh.replace(self.path)

    def recording(self) -> Recording:
        entered: dict[tuple[str, str], list[str]] = {}
        for test, (_, functions) in self.tests.items():
            for module, function in functions:
                entered.setdefault((module, function), []).append(test)
        return Recording({test: seconds for test, (seconds, _) in self.tests.items()}, entered, self.failed)


def test_files() -> list[Path]:
    return sorted(path for folder in POOL for path in (ROOT / folder).rglob("test_*.py"))


def support_digest() -> str:
    """The files that tests share: helpers, transcripts, stored results."""
    paths = (path for path in (ROOT / "tests").rglob("*") if path.is_file() and path.suffix != ".pyc" and not path.is_relative_to(GOLDEN))
    return digest(path for path in paths if not (path.suffix == ".py" and path.name.startswith("test_")))


def seeds() -> Iterable[str]:
    return (f"{SEED}{number}" for number in range(SEEDS))
