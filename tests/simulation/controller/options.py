"""What a seed of the controller's worlds draws beside the faults of the production worlds.

Units: as in `tests.simulation.options`.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.simulation.production.options import ProductionOptions
from tests.simulation.production.options import draw as draw_production


@dataclass(slots=True)
class ControllerOptions(ProductionOptions):
    """One run's plan."""

    clients: int = 4
    fake_brokers: int = 3
    broker_crash_every: int = 0
    """How often a broker dies without a word; some leave in order."""
    isr_every: int = 400
    """How often each broker reports an ISR, or takes producer ids."""
    session_timeout_ms: int = 3_000
    metadata_version: int = 30
    has_elr: bool = True
    idle_ms: int = 0
    """metadata.max.idle.interval.ms."""
    snapshot_after_ms: int = 0
    """How old a snapshot may become; 0: any age."""
    kraft_upgrade_every: int = 0
    """How often a client asks for kraft.version 1, which a static quorum takes once."""
    transaction_every: int = 0
    """How often the controller writes in a metadata transaction that stays open for a while, as none of its decisions does today."""
    batch_records: int = 10_000
    """The records of one batch of a decision that is not atomic."""
    is_black_box: bool = False
    """Whether only what clients were told is held against what they find, and nobody looks into the controllers."""


def draw(seed: int, profile: str | None = None) -> ControllerOptions:
    """The plan of a seed: the faults of the production worlds, on voters that stay the same."""
    drawn = draw_production(seed, profile)
    options = ControllerOptions(**{name: getattr(drawn, name) for name in drawn.__dataclass_fields__})
    random = Random(seed * 2 + 9_000_001)
    chance, pick = random.random, random.choice

    options.rot_every = 0
    options.undecodable_every = 0
    options.append_every = pick((100, 200, 400))
    options.linger_ms = pick((0, 5, 25, 25, 300))
    options.clients = pick((2, 4, 6))
    options.fake_brokers = pick((3, 3, 4))
    options.isr_every = pick((150, 400, 1_000))
    options.broker_crash_every = pick((0, 2_000, 6_000))
    options.session_timeout_ms = pick((1_500, 3_000, 9_000))
    options.metadata_version = pick((14, 20, 25, 30, 30))
    options.has_elr = options.metadata_version >= 23 and chance() < 0.6
    options.idle_ms = pick((0, 0, 500))
    options.transaction_every = pick((0, 0, 1_500))
    options.batch_records = pick((1, 3, 10_000))
    options.snapshot_after_ms = pick((0, 0, 2_000))
    options.kraft_upgrade_every = pick((0, 2_000)) if options.level == 0 else 0
    return options
