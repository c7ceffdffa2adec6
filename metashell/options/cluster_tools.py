"""The command lines of `metashell cluster` and `metashell brokers`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.administering import DRY_RUN, WATCH, YES, command, noun
from metashell.options.spec import Argument, CommandSpec, flag

_IDS = Argument("ids", "ids of brokers", "+", "ID", type="int32")

CLUSTER: CommandSpec = command(
    "metashell-cluster",
    "show how a cluster is: its quorum, brokers, features, and what is wrong",
    """
        Shows ids, the active controller, voters, brokers, feature levels and partitions, and what the checks find (docs/checks.md): causes
        first, each with the next step; then how many checks ran, and which could not. With -C each voter is asked for itself, where the
        voter set says that it is; with -b brokers tell what they know, also without a controller. Status 1 where anything bad was
        found, or something could not be seen.
        """,
    options=(shared.VERSION, WATCH),
    reads=True,
    examples=(
        ("metashell cluster /var/lib/kafka", "what a disk says of the cluster"),
        ("metashell cluster -b localhost:9092", "is everything all right?"),
        ("metashell cluster -C localhost:9093 -o json", "the same from the controllers, when no broker answers"),
    ),
)

BROKERS_LIST = command(
    "list",
    "list brokers",
    """
        Shows each broker with its state, address and rack, the partitions that it leads, its replicas, and those that are not in sync.
        Brokers that still have replicas and are not registered any more are `gone`.
        """,
    options=(WATCH,),
    examples=(
        ("metashell brokers list -b localhost:9092", "all of them, fenced ones too"),
        ("metashell brokers list -C localhost:9093 -o csv", "as the controllers have it, for a spreadsheet"),
        ("metashell brokers list /var/lib/kafka", "the brokers as a disk has them"),
    ),
    reads=True,
)
BROKERS_DESCRIBE = command(
    "describe",
    "show brokers in full",
    """
        Shows a broker's state, address, rack, what it carries, and, through brokers, the size of its log directories. Through controllers
        also its epoch, listeners, features and directory ids.
        """,
    arguments=(_IDS,),
    examples=(("metashell brokers describe 1 -b localhost:9092", "one broker, with its disks"),),
    reads=True,
)
UNREGISTER = command(
    "unregister",
    "let the cluster forget brokers that are gone for good",
    """
        For brokers that will never come back under their ids. Replicas that are still assigned to one stay assigned, and their partitions
        stay under-replicated until they are moved. A broker that runs is refused without --force: it would stay up, serve old data to
        clients that know it, and not come back before it is restarted. So it is where this user cannot see all topics: whether the
        last copy of a partition goes with the broker is not known then.

        --dry-run rehearses it on a copy of the cluster's metadata.
        """,
    options=(flag("--force", help="also a broker that is not fenced, and where not all topics can be seen"), DRY_RUN, YES),
    arguments=(_IDS,),
    examples=(("metashell brokers unregister 3 -b localhost:9092", "after broker 3 was taken away"),),
)
BROKERS = noun(
    "brokers", "list and describe brokers, and unregister those that are gone", "Brokers.", (BROKERS_LIST, BROKERS_DESCRIBE, UNREGISTER)
)
