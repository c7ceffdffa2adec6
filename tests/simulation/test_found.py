"""Seeds that found something: they hold now, and each breaks a rule again where the old code is put back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation.found import FOUND
from tests.simulation.options import Options, draw
from tests.simulation.planted import Patch, patched
from tests.simulation.run import run


@pytest.mark.parametrize("make", FOUND, ids=lambda make: make.__name__)
def test_what_a_seed_found_stays_mended(make: Callable[[], list[Patch]]) -> None:
    seed, special = FOUND[make]
    assert run(seed, options=options_of(seed, special)).violation is None
    with patched(make()):
        assert run(seed, options=options_of(seed, special)).violation is not None


def options_of(seed: int, special: dict[str, object]) -> Options:
    options = draw(seed, "")
    for name, value in special.items():
        setattr(options, name, value)
    return options
