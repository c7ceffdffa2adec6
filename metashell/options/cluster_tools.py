"""The command lines of `metashell cluster`, `brokers`, `features`, and of the commands of `metashell quorum` that ask a live one."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.administering import DRY_RUN, WAIT, WATCH, YES, command, noun
from metashell.options.spec import Argument, CommandSpec, Option, file_option, flag

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

QUORUM_DESCRIBE = command(
    "describe",
    "show the quorum of a cluster: leader, voters, observers, and how far each is",
    """
        Shows for each voter and observer its log end offset, how many records it is behind, and when it last fetched and was last caught
        up. With -C it connects to each voter where the voter set says: `reached` is what was there. Where nobody leads it shows what
        each controller answers. Status 1 where the checks find anything bad: a voter that does not fetch or is not reached, no leader.
        """,
    options=(WATCH,),
    examples=(
        ("metashell quorum describe -b localhost:9092", "who leads, and who lags"),
        ("metashell quorum describe -C localhost:9093 --watch", "again every two seconds"),
        ("metashell quorum describe /var/lib/kafka", "leader and voters as a disk has them"),
    ),
    reads=True,
)
_CONTROLLER_ID = Argument("id", "node.id of the controller", "1", "ID", type="int32")
_DIRECTORY_ID = Option(names=("--directory-id", "-d"), metavar="UUID", help="its directory.id, as meta.properties has it")
ADD_CONTROLLER = command(
    "add-controller",
    "let a controller vote",
    """
        The controller has to run already, with this quorum as its controller.quorum.bootstrap.servers: it follows as an observer, and
        becomes a voter here. Id, directory id and endpoints come from its server.properties, or from --id, --directory-id and --endpoint.
        It refuses a controller that does not follow yet, since a voter that is missing brings the quorum closer to its end.
        """,
    options=(
        file_option("--server-config", help="the new controller's server.properties, on the machine that it runs on"),
        Option(names=("--id",), metavar="ID", type="int32", help="its node.id"),
        _DIRECTORY_ID,
        Option(names=("--endpoint",), metavar="NAME://HOST:PORT", multiple=True, help="a controller listener, as it advertises it"),
        flag("--force", help="also a controller that is not seen to follow"),
        DRY_RUN,
        WAIT._replace(help="return when the new voter has caught up; status 1 where that takes longer than this (300)"),
    ),
    examples=(
        ("metashell quorum add-controller --server-config server.properties -C localhost:9093", "the controller of this machine"),
        (
            "metashell quorum add-controller --id 4 -d Sj7YxLXCQJmKyKJH3Qcsxg --endpoint CONTROLLER://host4:9093 -C host1:9093",
            "one on another machine",
        ),
    ),
)
REMOVE_CONTROLLER = command(
    "remove-controller",
    "take a controller's vote away",
    """
        Says how many voters remain and how many of them may fail, and asks first. The directory id is looked up unless it is given.
        It refuses where those that remain and are caught up would be no majority.

        With --unregister the cluster then forgets the controller too, as quorum unregister-controller does: stop it before, since one that
        runs registers again at once.
        """,
    options=(
        _DIRECTORY_ID,
        flag("--unregister", help="also remove its registration, once it has no vote"),
        flag("--force", help="also where the rest may not be able to elect a leader"),
        DRY_RUN,
        YES,
    ),
    arguments=(_CONTROLLER_ID,),
    examples=(
        ("metashell quorum remove-controller 3 -C localhost:9093", "before controller 3 is taken away"),
        ("metashell quorum remove-controller 3 --unregister -C localhost:9093", "after controller 3 was stopped for good"),
    ),
)
UNREGISTER_CONTROLLER = command(
    "unregister-controller",
    "let the cluster forget a controller that is gone for good",
    """
        For a controller that will never come back under its id: as long as it is registered, the features that it supported limit those
        of the cluster. It needs metadata.version 4.4-IV2. The registration alone goes, no vote: it refuses a voter, which
        quorum remove-controller is for. A controller that runs is refused too, since it registers again at once. --force
        unregisters either all the same.
        """,
    options=(flag("--force", help="also a controller that votes or runs"), DRY_RUN, YES),
    arguments=(_CONTROLLER_ID,),
    examples=(("metashell quorum unregister-controller 3 -b localhost:9092", "after controller 3 was removed and taken away"),),
)
LIVE_QUORUM = (QUORUM_DESCRIBE, ADD_CONTROLLER, REMOVE_CONTROLLER, UNREGISTER_CONTROLLER)
"""They join start, status and stop, which are about a quorum of this machine."""
