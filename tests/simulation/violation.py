"""What a checker raises."""

from __future__ import annotations


class Violation(AssertionError):
    """A rule that does not hold: its name as in the list of invariants, and what was seen."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{rule}: {text}")
        self.rule = rule
        self.text = text
