"""The command line of `metashell features`."""

from __future__ import annotations

from metashell.options.administering import DRY_RUN, YES, command, noun
from metashell.options.spec import Argument, Option, flag

_LEVELS = Argument("features", "features and their levels; metadata.version also by release: metadata.version=4.4", "*", "NAME=LEVEL")
_RELEASE = Option(names=("--release-version", "-r"), metavar="VERSION", help="the levels of this release, for all features")
FEATURES_DESCRIBE = command(
    "describe",
    "show feature levels",
    """
        Shows the level that is finalized for each feature, and the levels that the node that was asked supports. A feature without a
        finalized level is off.
        """,
    examples=(("metashell features describe -b localhost:9092", "what is finalized, and what could be"),),
    reads=True,
)
_CHANGE = (_RELEASE, DRY_RUN, YES)
UPGRADE = command(
    "upgrade",
    "finalize higher feature levels",
    """
        A higher metadata.version lets brokers and controllers use what it brings; nodes of an older release cannot join any more, and going
        back may lose metadata. With --dry-run the active controller checks it and changes nothing.
        """,
    options=_CHANGE,
    arguments=(_LEVELS,),
    examples=(
        ("metashell features upgrade -r 4.4 --dry-run -b localhost:9092", "could the cluster be upgraded?"),
        ("metashell features upgrade group.version=1 -b localhost:9092 --yes", "one feature"),
    ),
)
_UNSAFE = flag("--unsafe", help="also where that loses metadata")
DOWNGRADE = command(
    "downgrade",
    "finalize lower feature levels",
    "Goes back to lower levels. With --unsafe also where metadata is lost by it.",
    options=(_UNSAFE, *_CHANGE),
    arguments=(_LEVELS,),
    examples=(("metashell features downgrade metadata.version=4.2 --dry-run -b localhost:9092", "could we go back?"),),
)
DISABLE = command(
    "disable",
    "switch features off",
    "Removes the finalized levels of features. metadata.version cannot be switched off.",
    options=(_UNSAFE, DRY_RUN, YES),
    arguments=(Argument("features", "names of features", "+", "NAME"),),
    examples=(("metashell features disable share.version -b localhost:9092", "switch a feature off"),),
)
APIS = command(
    "apis",
    "show which versions of which APIs the nodes have",
    """
        Shows for each API the versions that nodes have, the highest that both they and this program know, and which nodes they are: brokers
        with -b, controllers with -C. Nodes of different releases have lines of their own.
        """,
    examples=(("metashell features apis -C localhost:9093", "what the controllers speak, while they are upgraded"),),
)
FEATURES = noun(
    "features",
    "show, upgrade, downgrade and disable features",
    "Feature levels of a cluster, and the versions of APIs.",
    (FEATURES_DESCRIBE, UPGRADE, DOWNGRADE, DISABLE, APIS),
)
