"""Verdicts of earlier runs, one line of JSON each, so that a run that was stopped goes on where it was.

A kill holds as long as the sources are the same and the file of the test that killed is; a survival only while all sources and tests
are. Who killed a mutation is remembered beyond that, and asked first the next time.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.mutation.checkout import digest, sources_digest, tests_digest
from tools.mutation.child import file_of
from tools.mutation.modules import ROOT

KILLS = ("killed", "hung", "died")


@dataclass(frozen=True, slots=True)
class Result:
    """`verdict` is one of `killed`, `hung`, `died` (all of them kills), `survived`; `test` and `reason` say who noted it, and how."""

    id: str
    verdict: str
    test: str
    reason: str
    seconds: float
    sources: str
    tests: str

    @property
    def is_kill(self) -> bool:
        return self.verdict in KILLS


class Results:
    """The stored results, and what the checkout is now."""

    def __init__(self, path: Path, *, is_fresh: bool = False) -> None:
        self.path = path
        self.is_fresh = is_fresh
        self.sources = sources_digest()
        self.tests = tests_digest()
        self.killers: dict[str, str] = {}
        self.last: dict[str, Result] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            try:
                result = Result(**json.loads(line))
            except (ValueError, TypeError):
                continue  # A line cut by the end of a run.
            self.last[result.id] = result
            if result.is_kill:
                self.killers[result.id] = result.test

    def valid(self, id: str) -> Result | None:
        """The result of an earlier run, if today's sources and tests would give the same."""
        result = self.last.get(id)
        if self.is_fresh or result is None or result.sources != self.sources:
            return None
        return result if result.tests == (self.state_of(result.test) if result.is_kill else self.tests) else None

    def state_of(self, test: str) -> str:
        path = ROOT / file_of(test)
        return digest([path]) if path.is_file() else self.tests

    def keep(self, id: str, verdict: str, test: str = "", reason: str = "", seconds: float = 0.0) -> Result:
        tests = self.state_of(test) if verdict in KILLS else self.tests
        result = Result(id, verdict, test, reason, seconds, self.sources, tests)
        self.last[id] = result
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(result)) + "\n")
        return result
