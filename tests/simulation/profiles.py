"""Faults that hang together: half of the seeds draw one of these on top of what they drew by themselves.

Faults drawn apart rarely meet: a hanging disk, an election and a power cut each come every few seconds, the three at one replica within
one election in one seed of thousands. A profile sets what its story needs and leaves the rest as drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.options import Options


def hanging_disk_election_power_cut(options: Options, random: Random) -> None:
    """A follower whose disk hangs has a tail that others committed and it would lose; the leader dies, it stands, its power is cut."""
    options.voters = random.choice((3, 3, 5))
    options.hang_every = random.choice((600, 1_200))
    options.leader_crash_chance = 0.2
    options.crash_every = random.choice((1_500, 3_000))
    options.candidate_crash_chance = 0.7
    options.election_write_ms = random.choice((20, 60))
    options.append_every = 60
    options.down_ms = random.choice((500, 2_000))
    options.split_every = random.choice((0, 3_000))


def crash_inside_the_write_of_quorum_state(options: Options, random: Random) -> None:
    """Writes of quorum-state are slow, and processes die in the midst of them, with the log that is in the cache, or without. So much gets
    lost on the way that some learn of their leader only from what it has for them to append."""
    options.write_crash_chance = random.choice((0.1, 0.3))
    options.election_write_ms = random.choice((20, 60))
    options.drop_chance = random.choice((0.1, 0.3))
    options.block_every = random.choice((300, 600))
    options.leader_crash_chance = random.choice((0.3, 0.7))
    options.down_ms = random.choice((50, 500))
    options.voters = random.choice((3, 5))
    options.election_timeout_ms, options.fetch_timeout_ms = 250, 500
    options.fsync_ms = min(options.fsync_ms, 3)
    options.delay_ms = random.choice((5, 20))


def candidate_with_an_unsynced_tail(options: Options, random: Random) -> None:
    """Whoever stands with what is not durable loses it at once; no fsync ends soon."""
    options.fsync_ms = random.choice((100, 400))
    options.candidate_crash_chance = 1.0
    options.resign_every = random.choice((1_000, 3_000))
    options.append_every = 60
    options.burst = 5
    options.down_ms = 50
    options.voters = max(options.voters, 3)


def leaders_come_and_go(options: Options, random: Random) -> None:
    """Leaders die before anybody has what they wrote, and come back with it: logs of many epochs that fork everywhere."""
    options.leader_crash_chance = 0.8
    options.down_ms = random.choice((500, 2_000))
    options.cut_every = random.choice((600, 2_000))
    options.append_every = 60
    options.burst = 5
    options.linger_ms = 0
    options.fsync_ms = random.choice((0, 1, 3))
    options.fetch_max_size = 200
    options.snapshot_every = random.choice((0, 4_000))
    options.voters = random.choice((3, 5))


def voters_leave(options: Options, random: Random) -> None:
    """Voters come and go without a pause, leaders first, each cut off with its change now and then."""
    options.level, options.upgrade_every = 1, 0
    options.voters = random.choice((2, 3, 4))
    options.observers = max(options.observers, 1)
    options.member_every = random.choice((300, 800))
    options.leader_crash_chance = random.choice((0.0, 0.2))
    options.cut_every = random.choice((800, 2_000))
    options.delay_ms = random.choice((5, 20))
    options.append_every = 60


def half_a_quorum(options: Options, random: Random) -> None:
    """Larger quorums whose leaders often reach a minority only, with observers that go on asking."""
    options.voters = random.choice((4, 5, 5, 7))
    options.observers = 2
    options.split_every = random.choice((1_500, 3_000))
    options.cut_ms = 5_000
    options.crash_every = random.choice((0, 4_000))


def forgetful_disks(options: Options, random: Random) -> None:
    """quorum-state is lost, old or cut off; with an even number of voters also where a vote was in it."""
    options.voters = random.choice((2, 3, 4, 4, 6))
    options.election_state_every = random.choice((400, 1_000))
    options.resign_every = random.choice((1_000, 3_000))
    options.write_crash_chance = random.choice((0.0, 0.2))
    options.election_write_ms = random.choice((0, 20))
    options.down_ms = random.choice((50, 500))
    options.member_every = random.choice((0, 0, options.member_every))
    options.auto_join = False


def late_downloads_among_old_peers(options: Options, random: Random) -> None:
    """A snapshot is durable only after whoever fetched it gave up its leader; peers without pre-votes let it stand at once."""
    options.level, options.upgrade_every = 1, 0
    options.voters = random.choice((3, 4, 5))
    options.observers = max(options.observers, 1)
    options.generations = [random.choice(("3.9", "4.0", "4.3")) for _ in range(options.voters + options.observers)]
    options.snapshot_every = 500
    options.snapshot_padding = 1_000
    options.append_every = 60
    options.burst = 5
    options.member_every = random.choice((800, 3_000))
    options.evict_every = random.choice((2_000, 4_000))
    options.hang_every = random.choice((0, 1_000))
    options.crash_every = random.choice((0, 4_000))
    options.all_down_every = options.rot_every = 0
    options.replace_disk_every = 0
    options.election_timeout_ms, options.fetch_timeout_ms = 250, 500
    options.fsync_ms = min(options.fsync_ms, 3)
    options.down_ms = 2_000


def rotten_disks(options: Options, random: Random) -> None:
    """Bits flip and writes go astray on disks of replicas that are stopped."""
    options.log_on_disk = True
    options.voters = random.choice((3, 5))
    options.level, options.upgrade_every = 1, 0
    options.auto_join = False
    options.rot_every = random.choice((800, 2_000))
    options.down_ms = random.choice((50, 500))
    options.snapshot_every = random.choice((0, 2_000))
    options.member_every = 0


def strange_epochs(options: Options, random: Random) -> None:
    """Somebody names epochs that nobody can have reached."""
    options.stranger_every = random.choice((500, 3_000))


def lost_directories(options: Options, random: Random) -> None:
    """Metadata directories are lost, while those who have what was acknowledged are down, too."""
    options.directory_every = random.choice((500, 1_500))
    options.voters = random.choice((3, 3, 5))
    options.level, options.upgrade_every = random.choice((0, 1)), 0
    options.log_on_disk = options.auto_join = False
    options.member_every = options.replace_disk_every = options.election_state_every = options.evict_every = 0
    options.crash_every = random.choice((600, 1_500))
    options.leader_crash_chance = random.choice((0.0, 0.3))
    options.down_ms = random.choice((500, 2_000))
    options.append_every = 60
    options.fsync_ms = min(options.fsync_ms, 3)


PROFILES: dict[str, Callable[[Options, Random], None]] = {
    make.__name__.replace("_", "-"): make
    for make in (
        hanging_disk_election_power_cut,
        crash_inside_the_write_of_quorum_state,
        candidate_with_an_unsynced_tail,
        leaders_come_and_go,
        voters_leave,
        half_a_quorum,
        forgetful_disks,
        late_downloads_among_old_peers,
        rotten_disks,
        strange_epochs,
        lost_directories,
    )
}
SHARE = 0.5
ROT_SHARE = 0.1
"""Of the seeds with a profile: their logs lie on disk, which makes them ten times slower than others."""


def apply(options: Options, wanted: str | None = None) -> None:
    """Let a seed's plan follow a profile: the one that is wanted, else one that the seed draws, if it does."""
    random = Random(options.seed * 2)
    if wanted is None:
        if random.random() >= SHARE:
            return
        # Votes are lost in more ways than one: a bug in what a replica makes of what is left needs two candidates of one epoch besides.
        names = [name for name in PROFILES if name not in ("rotten-disks", "lost-directories")] + ["forgetful-disks"]
        wanted = "rotten-disks" if random.random() < ROT_SHARE else random.choice(names)
        # By a number of its own: the plans of all other seeds stay as they were without it.
        wanted = "lost-directories" if Random(options.seed * 2 + 7).random() < ROT_SHARE else wanted
    options.profile = wanted
    PROFILES[wanted](options, random)
    if options.level or options.upgrade_every:
        # What came before directory ids can only talk where there are none.
        options.generations = [max(name, "3.9") for name in options.generations]
    while 0 < len(options.generations) < options.voters + options.observers:
        options.generations.append(random.choice(options.generations))
