"""The report of a run: a table by module, each survivor with its change, and whether the share of kills is high enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools.mutation.mutants import Mutation
from tools.mutation.results import Result

RATIO_MIN = 0.95


@dataclass(slots=True)
class Report:
    """`reasons` are those of the listed equivalents by id; `faults` what is wrong with the list itself."""

    mutations: Sequence[Mutation]
    results: Mapping[str, Result]
    reasons: Mapping[str, str]
    sources: Mapping[str, bytes]
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for mutation in self.mutations:
            result = self.results[mutation.id]
            if mutation.id in self.reasons and result.is_kill:
                self.faults.append(f"{place(mutation)}: listed as equivalent, but killed by {result.test}: {result.reason}")

    @property
    def judged(self) -> list[Mutation]:
        return [mutation for mutation in self.mutations if mutation.id not in self.reasons]

    @property
    def survivors(self) -> list[Mutation]:
        return [mutation for mutation in self.judged if not self.results[mutation.id].is_kill]

    @property
    def ratio(self) -> float:
        """Killed of those that are not equivalent; of none, all."""
        judged = self.judged
        return 1.0 if not judged else 1.0 - len(self.survivors) / len(judged)

    @property
    def is_good(self) -> bool:
        return self.ratio >= RATIO_MIN and not self.faults

    def text(self) -> str:
        lines = ["module                        mutations  killed  survived  equivalent"]
        total, judged = Counter(one.key.module for one in self.mutations), Counter(one.key.module for one in self.judged)
        survived = Counter(one.key.module for one in self.survivors)
        for name, count in sorted(total.items()):
            lines.append(row(name, count, judged[name] - survived[name], survived[name], count - judged[name]))
        lines.append(row("all", len(self.mutations), len(self.judged) - len(self.survivors), len(self.survivors), len(self.reasons_used)))
        for mutation in self.survivors:
            lines += ["", f"survived: {place(mutation)} {mutation.id} ({mutation.key.change})", mutation.diff(self.source_of(mutation))]
        lines += ["", *self.faults] if self.faults else []
        verdict = "enough" if self.ratio >= RATIO_MIN else f"less than {RATIO_MIN:.0%}"
        lines += ["", f"{self.ratio:.1%} of {len(self.judged)} mutations that are not equivalent were killed: {verdict}"]
        return "\n".join(lines)

    @property
    def reasons_used(self) -> list[Mutation]:
        return [mutation for mutation in self.mutations if mutation.id in self.reasons]

    def source_of(self, mutation: Mutation) -> bytes:
        return self.sources[mutation.key.module]

    def json(self) -> dict[str, Any]:
        return {
            "ratio": round(self.ratio, 4),
            "is_good": self.is_good,
            "faults": self.faults,
            "mutations": [self.json_of(mutation) for mutation in self.mutations],
        }

    def json_of(self, mutation: Mutation) -> dict[str, Any]:
        result = self.results[mutation.id]
        return {
            "id": mutation.id,
            "module": mutation.key.module,
            "line": mutation.line,
            "function": mutation.key.function,
            "text": mutation.key.text,
            "change": mutation.key.change,
            "verdict": result.verdict,
            "test": result.test,
            "reason": result.reason,
            "equivalent": self.reasons.get(mutation.id),
            "seconds": result.seconds,
        }


def place(mutation: Mutation) -> str:
    return f"metashell/{mutation.key.module}:{mutation.line}"


def row(name: str, *counts: int) -> str:
    return f"{name:<28}{counts[0]:>11}{counts[1]:>8}{counts[2]:>10}{counts[3]:>12}"
