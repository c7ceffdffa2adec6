"""What a seed of the production worlds draws, and the profiles: faults that come together, as they do in a bad week.

Units: as in `tests.simulation.options`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from random import Random

from tests.simulation import plan
from tests.simulation.options import Options


@dataclass(slots=True)
class ProductionOptions(Options):
    """One run's plan. `profile` names the faults that come together, empty for none."""

    # Network: chances of a write that arrives in two pieces.
    split_chance: float = 0.0
    reset_every: int = 0
    stall_every: int = 0
    stall_ms: int = 500

    # Disk.
    hang_ms: int = 2_000
    failing_disk_every: int = 0

    # Processes: how many of the crashes take the power with them.
    power_share: float = 0.5
    trouble_every: int = 0
    """How often what the profile says comes to pass."""

    snapshot_after_size: int = 20_000
    machine_ms: int = 0
    """How long an application takes for a piece, at most."""
    segment_size: int = 20_000
    retention_size: int = 20_000
    has_sasl: bool = False
    """Whether listeners ask who connects (PLAIN)."""
    undecodable_every: int = 0
    """How often a client appends a record that nobody can decode."""


SLOW_DISK = "slow disk, election, power loss"
PROFILES = ("", "", SLOW_DISK, "crash while writing quorum-state", "failing disks", "flapping network")


def draw(seed: int, profile: str | None = None) -> ProductionOptions:
    """The plan of a seed; with `profile` of that one."""
    random = Random(seed * 2 + 7_000_003)
    chance, pick, sometimes = random.random, random.choice, partial(plan.sometimes, random)
    options = ProductionOptions(seed)
    drawn = pick(PROFILES)
    options.profile = drawn if profile is None else profile
    options.level = pick((0, 1, 1))
    options.voters = pick((1, 3, 3, 3, 3, 5))
    options.observers = pick((0, 0, 0, 1)) if options.level else 0
    scale = pick((1, 2, 4))
    options.election_timeout_ms = 1_000 // scale
    options.fetch_timeout_ms = 2_000 // scale
    options.linger_ms = pick((0, 0, 5, 25))
    options.fetch_max_size = pick((1 << 20, 1 << 14, 1 << 10))
    options.fetch_snapshot_max_size = pick((1 << 20, 2_000, 500))

    options.append_every = pick((40, 80, 200))
    options.burst = pick((1, 1, 3))
    options.snapshot_after_size = pick((1_000, 4_000, 20_000, 1 << 30))
    options.machine_ms = pick((0, 0, 0, 20, 300))
    options.retention_size = pick((3_000, 20_000, 20_000))
    options.snapshot_every = 1
    options.segment_size = pick((700, 5_000, 50_000))

    options.delay_ms = pick((0, 1, 5, 15))
    options.tail_chance = sometimes(0.4, 0.002, 0.05)
    options.tail_ms = 300
    options.split_chance = sometimes(0.5, 0.01, 0.3)
    options.cut_every = int(sometimes(0.4, 800, 8_000))
    options.split_every = int(sometimes(0.4, 1_500, 10_000))
    options.cut_ms = pick((500, 2_000, 5_000))
    options.reset_every = int(sometimes(0.4, 500, 5_000))
    options.stall_every = int(sometimes(0.4, 500, 5_000))

    options.fsync_ms = pick((0, 1, 3, 10))
    options.slow_disk_every = int(sometimes(0.3, 2_000, 8_000))
    options.slow_disk_ms = 500
    options.hang_every = int(sometimes(0.3, 2_000, 8_000))
    options.failing_disk_every = int(sometimes(0.15, 3_000, 9_000))

    options.rot_every = int(sometimes(0.25, 2_000, 8_000))
    options.directory_every = int(sometimes(0.3, 1_000, 8_000))

    options.crash_every = int(sometimes(0.6, 1_500, 8_000))
    options.all_down_every = int(sometimes(0.2, 5_000, 15_000))
    options.fuse_share = pick((0.0, 0.5, 1.0))
    options.power_share = pick((0.0, 0.5, 1.0))
    options.down_ms = pick((50, 500, 2_000))
    options.pause_every = int(sometimes(0.3, 1_000, 8_000))
    options.shutdown_every = int(sometimes(0.2, 3_000, 9_000))
    options.resign_every = int(sometimes(0.2, 2_000, 9_000))
    options.has_sasl = chance() < 0.25
    if options.level == 1 and chance() < 0.4:
        options.observers = max(options.observers, 1)
        options.member_every = int(sometimes(1.0, 800, 5_000))
    options.skew_percent = pick((0, 0, 3, 10))
    options.wall_step_every = int(sometimes(0.2, 1_000, 8_000))
    if chance() < 0.05:
        options.undecodable_every = 3_000
    apply_profile(options)
    return options


def apply_profile(options: ProductionOptions) -> None:
    """What a profile sets over what was drawn."""
    match options.profile:
        case "slow disk, election, power loss":
            options.voters = 3
            options.observers = options.member_every = 0
            options.trouble_every = 1_500
            options.crash_every = options.all_down_every = options.split_every = options.cut_every = 0
            options.down_ms = 50
            options.append_every = 40
        case "crash while writing quorum-state":
            options.trouble_every = 1_000
            options.voters = max(options.voters, 3)
        case "failing disks":
            options.failing_disk_every = 1_500
            options.hang_every = 1_500
        case "flapping network":
            options.reset_every = 200
            options.stall_every = 300
            options.cut_every = 1_000
