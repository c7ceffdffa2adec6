"""The report of a run: a table by room and module, each survivor with its change, and whether each room found its share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools.mutation.modules import ROOT, path_of
from tools.mutation.mutants import Mutation
from tools.mutation.results import Result
from tools.mutation.rooms import Room


@dataclass(slots=True)
class Report:
    """`reasons` are those of the listed equivalents by id; `faults` what is wrong with the list itself."""

    mutations: Sequence[Mutation]
    results: Mapping[str, Result]
    reasons: Mapping[str, str]
    rooms: Mapping[Room, Sequence[str]]
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

    def ratio(self, modules: Collection[str]) -> float:
        """Killed of those in some modules that are not equivalent; of none, all."""
        judged = [one for one in self.judged if one.key.module in modules]
        survived = [one for one in self.survivors if one.key.module in modules]
        return 1.0 if not judged else 1.0 - len(survived) / len(judged)

    @property
    def is_good(self) -> bool:
        return all(self.ratio(modules) >= room.goal for room, modules in self.rooms.items()) and not self.faults

    def text(self) -> str:
        lines = ["module                             mutations  killed  survived  equivalent"]
        total, judged = Counter(one.key.module for one in self.mutations), Counter(one.key.module for one in self.judged)
        survived = Counter(one.key.module for one in self.survivors)
        for name, count in sorted(total.items()):
            lines.append(row(name, count, judged[name] - survived[name], survived[name], count - judged[name]))
        lines.append("")
        for room, modules in self.rooms.items():
            counts = [sum(counter[module] for module in modules) for counter in (total, judged, survived)]
            if counts[0]:
                share = f"  {self.ratio(modules):.1%} of {counts[1]}, goal {room.goal:.0%}"
                lines.append(row(f"room {room.name}", counts[0], counts[1] - counts[2], counts[2], counts[0] - counts[1]) + share)
        for mutation in self.survivors:
            lines += ["", f"survived: {place(mutation)} {mutation.id} ({mutation.key.change})", mutation.diff(self.source_of(mutation))]
        lines += ["", *self.faults] if self.faults else []
        lines += ["", "every room found its share" if self.is_good else "not every room found its share, or a list is wrong"]
        return "\n".join(lines)

    @property
    def reasons_used(self) -> list[Mutation]:
        return [mutation for mutation in self.mutations if mutation.id in self.reasons]

    def source_of(self, mutation: Mutation) -> bytes:
        return self.sources[mutation.key.module]

    def json(self) -> dict[str, Any]:
        return {
            "rooms": {room.name: round(self.ratio(modules), 4) for room, modules in self.rooms.items()},
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
    return f"{path_of(mutation.key.module).relative_to(ROOT)}:{mutation.line}"


def row(name: str, *counts: int) -> str:
    return f"{name:<33}{counts[0]:>11}{counts[1]:>8}{counts[2]:>10}{counts[3]:>12}"
