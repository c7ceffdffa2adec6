"""Bugs that the server really had until a seed of the controller's worlds found them: each as it was, and a seed in which it shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from metashell.server.driver import Driver
from tests.simulation.planted import Patch

if TYPE_CHECKING:
    import asyncio

    from metashell.values import OffsetAndEpoch


def a_download_is_there_before_its_step() -> list[Patch]:
    """A downloaded snapshot counts as soon as it is durable: the steps that wait behind a slow disk find it ahead of the log."""

    def freeze(driver: Driver, id: OffsetAndEpoch) -> None:
        part = driver.node.downloaded_part()
        if part is None or part.id != id:
            return

        def frozen(done: asyncio.Future[None]) -> None:
            if not driver.is_stopped:
                part.end_freeze()
                driver.step(lambda now_ms: driver.node.snapshot_frozen(id, now_ms))

        driver.beside(part.begin_freeze()).add_done_callback(frozen)

    return [(Driver, "_freeze", freeze)]


FOUND: dict[Callable[[], list[Patch]], tuple[int, dict[str, object]]] = {
    a_download_is_there_before_its_step: (140, {"member_every": 0, "observers": 0}),
}
"""Each with a seed, and options of it that are set to make the bug show."""
