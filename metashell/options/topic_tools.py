"""The command line of `metashell topics`."""

from __future__ import annotations

from metashell.options.administering import DRY_RUN, WAIT, YES, command, noun
from metashell.options.spec import Argument, Option, flag

_NAMES = Argument("topics", "names of topics", "+", "TOPIC")
_CONFIG = Option(names=("--config",), metavar="KEY=VALUE", multiple=True, help="a setting of the topic")
_ASSIGNMENT = Option(
    names=("--assignment",),
    metavar="IDS,...",
    help="the brokers of each new partition, the preferred leader first: 1:2:3,2:3:1 is two partitions of three replicas",
)
_UNHEALTHY = flag("--unhealthy", help="only what is not as it should be: no leader, or replicas that are not in sync")
_FILTERS = (
    flag("--under-replicated", help="only partitions with fewer replicas in sync than there should be, as kafka-topics.sh counts them"),
    flag("--unavailable", help="only partitions whose leader is not there"),
    flag("--under-min-isr", help="only partitions without a leader, or with fewer replicas in sync than min.insync.replicas"),
    flag("--at-min-isr", help="only partitions with just min.insync.replicas in sync"),
)

LIST = command(
    "list",
    "list topics",
    """
        Shows each topic with its partitions, its replication factor, and how many of its partitions have no leader or replicas that are
        not in sync. Kafka's own topics are left out without --internal, unless they are named.

        Through controllers it reads the metadata log as an observer, which needs the right CLUSTER_ACTION.
        """,
    options=(flag("--internal", help="also Kafka's own topics, such as __consumer_offsets"), _UNHEALTHY, *_FILTERS),
    arguments=(Argument("patterns", "only topics whose names match one of these: *, ? and [a-z]", "*", "PATTERN"),),
    examples=(
        ("metashell topics list -b localhost:9092", "all topics but Kafka's own"),
        ("metashell topics list 'order*' --internal -C localhost:9093 -o json", "some of them, when no broker answers"),
        ("metashell topics list --unhealthy -b localhost:9092", "where something is wrong"),
        ("metashell topics list /var/lib/kafka", "what the metadata on a disk has, where no node runs"),
    ),
    reads=True,
)
DESCRIBE = command(
    "describe",
    "show the partitions of topics",
    """
        Shows leader, replicas, ISR and ELR of each partition, and what is not as it should be. In the ELR are replicas that left the ISR
        and have all that was acknowledged.
        """,
    options=(_UNHEALTHY, *_FILTERS),
    arguments=(_NAMES._replace(nargs="*", help="names of topics; with --unhealthy alone it looks at all"),),
    examples=(
        ("metashell topics describe orders -b localhost:9092", "the partitions of a topic"),
        ("metashell topics describe --unhealthy -b localhost:9092", "all partitions of the cluster that are not as they should be"),
        ("metashell topics describe orders payments -b localhost:9092 -o jsonl", "one object for each partition"),
    ),
    reads=True,
)
CREATE = command(
    "create",
    "make topics",
    """
        Makes topics, all alike. Partitions and replication factor are the cluster's defaults unless they are given. With --dry-run the
        cluster checks everything and makes nothing.
        """,
    options=(
        Option(names=("--partitions", "-p"), metavar="N", type="int", help="number of partitions; else num.partitions of the cluster"),
        Option(
            names=("--replication-factor", "-r"),
            metavar="N",
            type="int",
            help="number of replicas of each; else default.replication.factor of the cluster",
        ),
        _ASSIGNMENT,
        _CONFIG,
        flag("--if-not-exists", help="a topic that is there already is no error"),
        DRY_RUN,
        WAIT._replace(help="return when every partition has a leader; status 1 where that takes longer than this (300)"),
    ),
    arguments=(_NAMES,),
    examples=(
        ("metashell topics create orders -p 12 -r 3 -b localhost:9092", "a topic of 12 partitions and 3 replicas"),
        ("metashell topics create orders --config retention.ms=3600000 --dry-run -b localhost:9092", "only ask whether it could be made"),
        ("metashell topics create orders --assignment 1:2:3,2:3:1 -b localhost:9092", "two partitions on brokers of choice"),
    ),
)
ALTER = command(
    "alter",
    "add partitions to topics",
    """
        Lets topics have this many partitions in all. Partitions cannot be taken away again, and records with a key go to another
        partition than before: what relies on the order of a key's records has to be emptied first. Settings are changed by
        `metashell configs`, replicas by `metashell reassign`.
        """,
    options=(
        Option(names=("--partitions", "-p"), metavar="N", type="int", required=True, help="number of partitions in all"),
        _ASSIGNMENT,
        DRY_RUN,
        YES,
    ),
    arguments=(_NAMES,),
    examples=(("metashell topics alter orders -p 24 -b localhost:9092 --yes", "let a topic have 24 partitions"),),
)
DELETE = command(
    "delete",
    "delete topics and all of their records",
    """
        Shows what would be lost and asks first; where nobody can be asked it needs --yes. It deletes the topics that it showed: one that
        was made again under the same name meanwhile stays.

        --dry-run rehearses it on a copy of the cluster's metadata.
        """,
    options=(
        flag("--if-exists", help="a topic that is not there is no error"),
        DRY_RUN,
        YES,
        WAIT._replace(help="return when the topics are gone from the metadata; status 1 where that takes longer than this (300)"),
    ),
    arguments=(_NAMES,),
    examples=(
        ("metashell topics delete orders -b localhost:9092", "ask, then delete it"),
        ("metashell topics delete old-1 old-2 --yes -b localhost:9092", "two at once, without asking"),
    ),
)
TOPICS = noun(
    "topics", "list, describe, create, alter and delete topics", "Topics and their partitions.", (LIST, DESCRIBE, CREATE, ALTER, DELETE)
)
