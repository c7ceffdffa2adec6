"""Which mutations a run takes: a fixed share of every module, the same ones for the same seed as long as their names live."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from tools.mutation.mutants import Mutation


def sample(mutations: Mapping[str, Sequence[Mutation]], count: int, seed: int) -> list[Mutation]:
    """About `count` mutations, spread over the modules by how many each one has; a module that has any gives at least one.

    Within a module the order is that of a hash over seed and id, so an edit elsewhere changes little of the sample, and a larger sample
    holds the smaller one.
    """
    total = sum(len(found) for found in mutations.values())
    if total <= count:
        return [mutation for found in mutations.values() for mutation in found]
    chosen = []
    for found in mutations.values():
        share = max(1, round(count * len(found) / total)) if found else 0
        chosen += sorted(found, key=lambda mutation: rank(mutation, seed))[:share]
    return chosen


def rank(mutation: Mutation, seed: int) -> str:
    return hashlib.sha256(f"{seed} {mutation.id}".encode()).hexdigest()
