"""The command line of `metashell rehearse`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.administering import ENVIRONMENT
from metashell.options.quorum import ADDRESS_MAP, BOOTSTRAP_SERVER, COMMAND_CONFIG, CONTROLLERS, TIMEOUT
from metashell.options.rehearse_sections import SECTIONS
from metashell.options.shell_tools import KAFKA_SHELL
from metashell.options.spec import Argument, CommandSpec, Option, file_option

STEPS = (
    *(
        "kill-broker",
        "restart-broker",
        "roll-brokers",
        "lose-rack",
        "lose-directory",
        "unregister",
        "unregister-controller",
        "remove-controller",
        "reassign",
        "add-broker",
        "elect",
        "feature",
    ),
    *("lose-controller", "topic", "config"),
)
"""The words that steps begin with."""

_STEPS = """\
kill-broker ID
    the broker dies at once, as by kill -9, and stays away
restart-broker ID [--down TIME] [--empty all|DIRECTORY,...]
    it shuts down in order, is off for TIME, and comes back; a dead one starts;
    --empty: with new disks in place of all log directories, or these
roll-brokers [ID,...] [--max-offline N] [--down TIME]
    restart all brokers, or these, N at a time
lose-rack RACK
    all brokers of a rack die at once
lose-directory ID [DIRECTORY]
    a log directory of a broker fails; a broker without another one dies
unregister ID
    remove the registration of a broker, dead or alive
unregister-controller ID
    remove that of a controller; one that runs registers again at once
remove-controller ID
    take a voter out of the voter set, alive or dead
reassign FILE [--throttle SIZE]
    move partitions as Kafka's JSON says; each broker SIZE bytes a second
add-broker ID [--rack RACK]
    a new broker joins
elect preferred|unclean [TOPIC[:PARTITION,...]...]
    elect leaders, everywhere or in these partitions
feature upgrade NAME LEVEL
    finalise a higher level; metadata.version takes names such as 4.4-IV2
feature downgrade NAME LEVEL [--unsafe]
    finalise a lower level
lose-controller [ID] [--back TIME]
    a controller dies, the active one without ID; it is back after TIME
topic create NAME [--partitions N] [--replication-factor N]
    [--config KEY=VALUE]
topic delete NAME
config set TYPE:NAME KEY=VALUE...
    TYPE is topic, broker, group or client-metrics; broker:default is for all
config unset TYPE:NAME KEY..."""

_PLAN = """\
title = "Patch day"
[assume]
copy-rate = "100M"          # as --assume copy-rate=100M
[[step]]
do = "kill-broker 3"        # the words of a step, as above
[[step]]
at = "2m"                   # or after = "30s", since the step before began;
do = "restart-broker 3"     # with neither: once nothing changes any more"""

_ASSUME = """\
session-timeout     9 s      a broker that is silent for so long is fenced
heartbeat-interval  2 s      brokers send heartbeats this often
commit              5 ms     the quorum needs this long to commit a record
boot                10 s     a broker needs this long to start and register
recovery            20 s     and this much longer after a crash
down                30 s     a broker that restarts is off for so long
catch-up-percent    10%      a replica that was away takes this part of it
catch-up-min        1 s      and at least this long
copy-rate           50 MB/s  of all replicas that a broker copies
partition-size      1 GB     of a partition for which no size is given
replica-lag         30 s     a follower so far behind leaves the ISR
quorum-failover     3 s      the quorum needs this long to elect a leader
shutdown-timeout    5 min    a controlled shutdown is given up then
patience            1 d      the rehearsal ends here, whatever still changes
lagging-catch-up    no       replicas that are out of sync at first catch up
seed                0        draws heartbeats and the places of new replicas
voters                       1,2,3: the controllers, if the image names none
A name with dots is a setting of server.properties, which no image holds:
min.insync.replicas, auto.leader.rebalance.enable. -c reads those that count,
and a live node is asked for them; the answer says which were read. Times are
90s, 2m, 1h30m or 250ms, sizes 5000000, 64k or 100M."""

REHEARSE = CommandSpec(
    name="metashell-rehearse",
    summary="what would happen to a cluster: steps tried on a copy of its metadata",
    description="""
        Puts the real quorum controller on a copy of a cluster's metadata, in memory, with modelled brokers and a clock that nobody waits
        for, and runs steps on it. Nothing is changed anywhere, neither the files nor the cluster.

        The first line of the answer is the verdict. Then come what happens when, which partitions are in trouble and for how long,
        leaders and replicas of each broker before and after, what the controller writes, and what was assumed. The steps are words of
        the command line, with `then` between two of them, or a plan in TOML. A step begins as soon as nothing changes any more after the
        one before, or `at` a time: `kill-broker 3 then after 2s kill-broker 4`.

        Without a step it answers the standing questions: which single broker, rack or controller can this cluster not lose?
        """,
    options=(
        KAFKA_SHELL.option("snapshot"),
        CONTROLLERS,
        BOOTSTRAP_SERVER,
        COMMAND_CONFIG._replace(names=("--command-config",)),
        ADDRESS_MAP,
        TIMEOUT,
        KAFKA_SHELL.option("demo"),
        Option(
            names=("--server-config", "-c"),
            metavar="FILE",
            kind="file",
            multiple=True,
            help="a server.properties, of a controller and of a broker: its timeouts and defaults in place of assumed ones",
        ),
        file_option("--sizes", help="sizes of partitions: what `kafka-log-dirs --describe` prints"),
        Option(names=("--assume",), metavar="NAME=VALUE", multiple=True, help="assume something else; ASSUMPTIONS lists the names"),
        Option(
            names=("--seeds",),
            metavar="N",
            type="int",
            help="rehearse N times with other chance, and show the worst of them and what differs: from the least to the most",
        ),
        file_option("--html", help="write the answer as one HTML page with a timeline, too")._replace(type="page"),
        Option(
            names=("--show",),
            metavar="PART,...",
            help=f"print only these parts, whole: {', '.join(SECTIONS)}",
        ),
        shared.output("text", "json", "jsonl", "table", "csv", default="text"),
        shared.CERTAIN_ONLY,
        shared.MAX_DECOMPRESSED,
        shared.VERBOSE,
        shared.NO_COLOR,
        shared.VERSION,
    ),
    arguments=(
        Argument(
            choices=STEPS,
            name="words",
            metavar="STEP|PLAN",
            nargs="*",
            help="the name of a plan, or a step and its words; before them may stand the path to rehearse on, or @NAME of the settings",
        ),
    ),
    examples=(
        ("metashell rehearse /var/lib/kafka", "what can this cluster not lose?"),
        ("metashell rehearse DIR kill-broker 3", "what if broker 3 dies?"),
        ("metashell rehearse -C controller-1:9093 roll-brokers --max-offline 2", "a rolling restart, tried on what a live quorum has now"),
        ("metashell rehearse DIR kill-broker 3 then unregister 3 then topic create orders-2 --partitions 12", "several steps"),
        ("metashell rehearse DIR --sizes log-dirs.json reassign moves.json", "how long moving data takes, and what suffers"),
        ("metashell rehearse DIR roll-brokers --seeds 20", "how much of the answer is chance?"),
        ("metashell rehearse DIR plan.toml --html plan.html", "a plan, as a page to show around"),
        ("metashell rehearse DIR lose-rack a --show troubles -o csv", "each partition in trouble, as rows"),
    ),
    epilog=(
        ("STEPS", _STEPS),
        ("PLANS", _PLAN),
        ("ASSUMPTIONS", _ASSUME),
        (
            "EXIT STATUS",
            "0  nothing went offline; without a step: any one of them can be lost\n"
            "1  something went offline, was refused, or costs records; without a step:\n"
            "   something cannot be lost; or the metadata could not be read\n"
            "2  the command line or the plan is wrong",
        ),
    ),
    files=shared.METADATA_FILES,
    environment=(*ENVIRONMENT, *shared.TERMINAL_ENVIRONMENT),
)
