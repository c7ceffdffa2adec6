"""What a seed draws: a dataclass of options, each of which has a plain value, with which it does nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from random import Random
from typing import Self


@dataclass(slots=True)
class Plan:
    """One run's options; a simulation adds its own."""

    seed: int

    def without(self, names: Iterable[str]) -> Self:
        """Give these options their plain value."""
        plain = type(self)(self.seed)
        return self.having({name: getattr(plain, name) for name in names})

    def having(self, values: Mapping[str, object]) -> Self:
        """Give options other values than the seed drew."""
        for name, value in values.items():
            setattr(self, name, value)
        return self

    def differences(self) -> list[str]:
        """The options that do not have their plain value."""
        plain = type(self)(self.seed)
        return [item.name for item in fields(self) if item.name != "seed" and getattr(self, item.name) != getattr(plain, item.name)]


def sometimes(random: Random, share: float, low: float, high: float) -> float:
    """0 in most seeds, in a share of them from `low` to `high`, small ones more often."""
    return low * (high / low) ** random.random() if random.random() < share else 0
