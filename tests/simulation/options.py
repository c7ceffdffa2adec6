"""What a seed draws: who takes part, which faults there are and how often. Swarm testing: each fault is absent from many seeds.

Units: times are ms of the world's clock, chances are between 0 and 1, `every` is the mean time between two of a kind.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from random import Random

from tests.simulation import plan, profiles

GENERATIONS = ("3.9", "4.0", "4.3")


@dataclass(slots=True)
class Options(plan.Plan):
    """One run's plan; what is not drawn stays as it is here."""

    voters: int = 3
    observers: int = 0
    brokers: int = 0
    level: int = 1
    generations: list[str] = field(default_factory=list)
    codec_share: int = 50
    """One message in that many is encoded and decoded."""

    # Timing of the replicas.
    election_timeout_ms: int = 1_000
    fetch_timeout_ms: int = 2_000
    linger_ms: int = 0
    fetch_max_size: int = 1 << 20
    fetch_snapshot_max_size: int = 1 << 20
    auto_join: bool = False

    # Work.
    append_every: int = 200
    burst: int = 1
    snapshot_every: int = 0
    snapshot_padding: int = 0

    # Network.
    delay_ms: int = 5
    tail_chance: float = 0.0
    tail_ms: int = 400
    drop_chance: float = 0.0
    duplicate_chance: float = 0.0
    corrupt_chance: float = 0.0
    late_read_chance: float = 0.0
    refuse_chance: float = 0.5
    cut_every: int = 0
    split_every: int = 0
    slow_link_every: int = 0
    block_every: int = 0
    """Nobody can open a connection to a replica for a while; its own work."""
    cut_ms: int = 2_000

    # Disk.
    fsync_ms: int = 1
    election_write_ms: int = 0
    slow_disk_every: int = 0
    slow_disk_ms: int = 1_500
    full_disk_every: int = 0
    rot_every: int = 0
    hang_every: int = 0
    election_state_every: int = 0
    """quorum-state is lost, old or torn."""
    directory_every: int = 0
    """The metadata directory is lost, and meta.properties beside it is not."""

    # Processes.
    crash_every: int = 0
    all_down_every: int = 0
    fuse_share: float = 0.0
    down_ms: int = 1_500
    pause_every: int = 0
    pause_ms: int = 1_000
    shutdown_every: int = 0
    resign_every: int = 0
    candidate_crash_chance: float = 0.0
    """That a replica which stands or leads with a tail that is not durable loses its power."""
    leader_crash_chance: float = 0.0
    write_crash_chance: float = 0.0
    """That a replica dies while its quorum-state is written."""
    stranger_every: int = 0

    # Clocks.
    skew_percent: int = 0
    wall_step_every: int = 0

    # Membership.
    member_every: int = 0
    evict_every: int = 0
    replace_disk_every: int = 0
    move_every: int = 0
    upgrade_every: int = 0

    profile: str = ""
    """Which of `profiles` it follows."""
    log_on_disk: bool = False
    """Whether metashell's own log on disk takes part instead of the one in memory."""


def draw(seed: int, profile: str | None = None) -> Options:
    """The plan of a seed; `profile` names the one to follow, "" for none, where the seed is not to draw it."""
    options = draw_alone(seed)
    if profile != "":
        profiles.apply(options, profile)
    return options


def draw_alone(seed: int) -> Options:
    """The plan of a seed, each fault drawn for itself."""
    random = Random(seed * 2 + 1)
    chance, pick, sometimes = random.random, random.choice, partial(plan.sometimes, random)
    options = Options(seed)
    options.voters = pick((1, 2, 3, 3, 3, 3, 4, 5, 5, 7))
    options.observers = pick((0, 0, 0, 1, 1, 2))
    options.brokers = pick((0, 0, 1))
    options.level = 0 if chance() < 0.25 else 1
    scale = pick((1, 1, 1, 2, 4))
    options.election_timeout_ms = 1_000 // scale
    options.fetch_timeout_ms = 2_000 // scale
    options.linger_ms = pick((0, 0, 0, 5, 25, 100))
    options.fetch_max_size = pick((1 << 20, 1 << 20, 1 << 10, 200))
    options.fetch_snapshot_max_size = pick((1 << 20, 2_000, 500))

    options.append_every = pick((60, 120, 250, 500))
    options.burst = pick((1, 1, 2, 5))
    options.snapshot_every = int(sometimes(0.6, 500, 8_000))
    options.snapshot_padding = pick((0, 0, 1_000, 5_000))

    options.delay_ms = pick((0, 2, 5, 20))
    options.tail_chance = sometimes(0.4, 0.002, 0.05)
    options.drop_chance = sometimes(0.5, 0.001, 0.1)
    options.duplicate_chance = sometimes(0.5, 0.001, 0.1)
    options.corrupt_chance = sometimes(0.3, 0.001, 0.05)
    options.late_read_chance = sometimes(0.4, 0.01, 0.3)
    options.refuse_chance = pick((0.0, 0.5, 1.0))
    options.cut_every = int(sometimes(0.5, 800, 8_000))
    options.split_every = int(sometimes(0.5, 1_500, 10_000))
    options.slow_link_every = int(sometimes(0.2, 2_000, 8_000))
    options.cut_ms = pick((500, 2_000, 5_000))

    options.fsync_ms = pick((0, 1, 3, 20))
    options.election_write_ms = pick((0, 0, 0, 3, 20))
    options.slow_disk_every = int(sometimes(0.3, 2_000, 8_000))
    options.full_disk_every = int(sometimes(0.2, 3_000, 9_000))
    options.rot_every = int(sometimes(0.15, 5_000, 15_000))

    options.crash_every = int(sometimes(0.65, 1_000, 8_000))
    options.all_down_every = int(sometimes(0.2, 5_000, 15_000))
    options.fuse_share = pick((0.0, 0.5, 1.0))
    options.down_ms = pick((50, 500, 2_000))
    options.pause_every = int(sometimes(0.3, 1_000, 8_000))
    options.shutdown_every = int(sometimes(0.2, 3_000, 9_000))
    options.resign_every = int(sometimes(0.2, 2_000, 9_000))

    options.skew_percent = pick((0, 0, 3, 10))
    options.wall_step_every = int(sometimes(0.2, 1_000, 8_000))

    if options.level == 1:
        options.auto_join = chance() < 0.2
        options.member_every = int(sometimes(0.6, 400, 4_000))
        options.replace_disk_every = int(sometimes(0.25, 4_000, 12_000))
        options.move_every = int(sometimes(0.25, 2_000, 8_000))
        if options.member_every:
            options.observers = max(options.observers, 1)
    else:
        options.upgrade_every = int(sometimes(0.4, 1_000, 5_000))
    if chance() < 0.35:
        # What came before directory ids can only talk where there are none.
        names = GENERATIONS if options.level or options.upgrade_every or chance() < 0.5 else ("3.7", *GENERATIONS)
        options.generations = [pick(names) for _ in range(options.voters + options.observers)]
    # Below a quarter of a second nothing is left of a timeout on a disk or a network as slow as that.
    if scale == 4:
        options.fsync_ms = min(options.fsync_ms, 3)
    options.log_on_disk = seed % 50 == 7
    return options
