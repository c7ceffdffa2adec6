"""The command line of `metashell elect`."""

from __future__ import annotations

from metashell.options.administering import DRY_RUN, YES, command, noun
from metashell.options.spec import Argument, flag

_PARTITIONS = Argument("partitions", "orders (all of its partitions), orders:0 or orders:0,3,7", "*", "TOPIC[:IDS]")
PREFERRED = command(
    "preferred",
    "let the preferred replicas lead",
    """
        Lets the first replica of each partition lead again where it is in sync and does not lead. Nothing is lost; clients of these
        partitions look for the new leader once. --dry-run rehearses it on a copy of the cluster's metadata.
        """,
    options=(flag("--all", help="all partitions that need it"), DRY_RUN),
    arguments=(_PARTITIONS,),
    examples=(
        ("metashell elect preferred --all -b localhost:9092", "after brokers were restarted"),
        ("metashell elect preferred orders:0 -b localhost:9092", "one partition"),
    ),
)
UNCLEAN = command(
    "unclean",
    "let a replica lead that is not in sync",
    """
        For partitions without a leader whose in-sync replicas do not come back: one that is alive leads, and every record that it does
        not have is lost for good, also acknowledged ones. It shows the partitions and asks first. --dry-run rehearses it on a copy of the
        cluster's metadata.
        """,
    options=(
        flag("--all", help="all partitions without a leader"),
        flag("--force", help="with --all, also where topics could not be seen"),
        DRY_RUN,
        YES,
    ),
    arguments=(_PARTITIONS,),
    examples=(("metashell elect unclean orders:3 -b localhost:9092", "give up what the lost replicas had"),),
)
ELECT = noun("elect", "let partitions have another leader", "Elections of partition leaders.", (PREFERRED, UNCLEAN))
