"""Seeds that found something: they hold now, and each breaks a rule again where the old code is put back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation.found import FOUND
from tests.simulation.planted import Patch, patched
from tests.simulation.run import run


@pytest.mark.parametrize(("make", "seed"), FOUND.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_what_a_seed_found_stays_mended(make: Callable[[], list[Patch]], seed: int) -> None:
    assert run(seed).violation is None
    with patched(make()):
        assert run(seed).violation is not None
