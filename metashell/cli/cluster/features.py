"""The command line of `metashell features`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.cli.cluster.noun_tool import Work, noun_tool
from metashell.cli.connection import DRY_RUN, YES, command, noun
from metashell.codec.releases import KRAFT_VERSION, METADATA_VERSION, metadata_version_name
from metashell.common.errors import ConfigError, MetashellError, StorageError, UsageError
from metashell.common.options import Argument, Option, flag

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from metashell.cli.admin.cluster import ApiSupport, Change, Feature, FeaturesDescription
    from metashell.metadata.checks.rules.metadata import LowestMaximum


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


API_COLUMNS = ("api", "key", "min", "max", "usable", "nodes")
_UNKNOWN = -1
COLUMNS = ("feature", "finalized", "supported_min", "supported_max", "registered_max", "held_by", "release")


def _describe(work: Work) -> None:
    from metashell.cli.admin.cluster import describe_features

    described = _stored(work) if work.stored is not None else describe_features(work.admin)
    lowest = _lowest_maxima(work)
    # Brokers do not know the level of kraft.version: in their answer it is always 0.
    is_told = {feature.name: work.asks_controllers or feature.name != KRAFT_VERSION or feature.level > 0 for feature in described.features}
    work.note_newer({feature.name: feature.level for feature in described.features})
    rows = [
        {
            "type": "feature",
            "feature": feature.name,
            "finalized": feature.level if is_told[feature.name] else None,
            "supported_min": None if feature.low == _UNKNOWN else feature.low,
            "supported_max": None if feature.high == _UNKNOWN else feature.high,
            "registered_max": lowest[feature.name].level if feature.name in lowest else None,
            "held_by": list(lowest[feature.name].nodes) if feature.name in lowest else None,
            "release": level_name(feature.name, feature.level),
            "epoch": described.epoch,
        }
        for feature in described.features
    ]
    work.rows(rows, COLUMNS)
    if not all(is_told.values()):
        work.note(f"brokers do not tell what is finalized of {KRAFT_VERSION}: controllers do (-C)")


def _stored(work: Work) -> FeaturesDescription:
    """Return the finalized levels of metadata on disk, which does not have the levels that its node supports."""
    from metashell.cli.admin.cluster import Feature, FeaturesDescription

    image = work.image()
    levels = sorted(image.features.finalized.items())
    features = tuple(Feature(name=name, low=_UNKNOWN, high=_UNKNOWN, level=level) for name, level in levels)
    return FeaturesDescription(features=features, epoch=image.provenance.offset)


def _lowest_maxima(work: Work) -> Mapping[str, LowestMaximum]:
    """Return the lowest maximum of the registered nodes for each feature, the limit of an upgrade; empty if it cannot be read.

    Through brokers it covers only the brokers that run, and a remark says so.
    """
    from metashell.metadata.checks.rules.metadata import lowest_maxima, registered_nodes

    try:
        if work.asks_controllers:
            return lowest_maxima(registered_nodes(work.image()))
        nodes = [(f"broker {node.id}", work.admin.features(node.id).supported) for node in work.admin.nodes()]
    except MetashellError as error:
        work.note(f"what all registered nodes support is not known: {error}")
        return {}
    work.note("registered_max is that of the brokers that run: what else is registered, controllers tell (-C)")
    return lowest_maxima(nodes)


def level_name(feature: str, level: int) -> str | None:
    """Return the release of a level of metadata.version; None for other features, and if none is finalized."""
    return metadata_version_name(level) if feature == METADATA_VERSION and level > 0 else None


def _upgrade(work: Work) -> None:
    from metashell.cli.admin.cluster import Change

    _update(work, Change.UPGRADE, _asked(work, is_upgrade=True))


def _downgrade(work: Work) -> None:
    from metashell.cli.admin.cluster import Change

    change = Change.UNSAFE_DOWNGRADE if work.values.unsafe else Change.SAFE_DOWNGRADE
    _update(work, change, _asked(work, is_upgrade=False))


def _disable(work: Work) -> None:
    from metashell.cli.admin.cluster import Change

    change = Change.UNSAFE_DOWNGRADE if work.values.unsafe else Change.SAFE_DOWNGRADE
    _update(work, change, dict.fromkeys(work.values.features, 0))


def _asked(work: Work, *, is_upgrade: bool) -> dict[str, int]:
    """Return the levels that the command line names; of a release only those that the command raises or lowers. Errors: UsageError."""
    from metashell.disk.bootstrap import parse_feature_levels, release_level

    values = work.values
    try:
        words = [_with_level(word) for word in values.features]
        named = parse_feature_levels(words)
        if values.release_version is None:
            if not named:
                raise UsageError("name features (NAME=LEVEL), or a release (-r 4.4)")
            return named
        if named:
            raise UsageError("--release-version has all features: leave NAME=LEVEL out")
        level = release_level(values.release_version, unstable=True)
    except ConfigError as error:
        raise UsageError(error.plain) from None
    except StorageError as error:
        raise UsageError(str(error), values.release_version or "") from None
    return _of_release(work, level, is_upgrade=is_upgrade)


def _with_level(word: str) -> str:
    """Replace the release in a word like `metadata.version=4.4` by its level; other words are unchanged."""
    from metashell.disk.bootstrap import release_level

    name, equals, text = word.partition("=")
    is_release = name.strip() == METADATA_VERSION and "." in text
    return f"{name}={release_level(text.strip(), unstable=True)}" if equals and is_release else word


def _of_release(work: Work, level: int, *, is_upgrade: bool) -> dict[str, int]:
    """Return the levels of a release that differ in the direction of the command, of features that the cluster supports."""
    from metashell.cli.admin.cluster import describe_features
    from metashell.codec.releases import FEATURES
    from metashell.disk.bootstrap import default_level

    wanted = {METADATA_VERSION: level, **{name: default_level(name, level) for name in FEATURES}}
    found = {}
    supported = describe_features(work.admin).features
    for feature in supported:
        if feature.name == KRAFT_VERSION and not _may_raise_kraft_version(supported):
            continue
        target = wanted.get(feature.name)
        if target is not None and (target > feature.level if is_upgrade else target < feature.level):
            found[feature.name] = target
    return found


KRAFT_UPGRADE = "4.1"
"""The first release that can make a static quorum dynamic. Older ones accept the level, but their quorum stays static."""


def _may_raise_kraft_version(supported: Iterable[Feature]) -> bool:
    from metashell.disk.bootstrap import release_level

    newest = next((feature.high for feature in supported if feature.name == METADATA_VERSION), 0)
    return newest >= release_level(KRAFT_UPGRADE, unstable=True)


def _update(work: Work, change: Change, levels: Mapping[str, int]) -> None:
    from metashell.cli.admin.cluster import Change, describe_features, update_features

    supported = describe_features(work.admin).features
    before = {feature.name: feature.level for feature in supported}
    if levels.get(KRAFT_VERSION, 0) > before.get(KRAFT_VERSION, 0) and not _may_raise_kraft_version(supported):
        raise MetashellError(f"{KRAFT_VERSION}: a quorum whose voters are in server.properties stays so before Kafka {KRAFT_UPGRADE}")
    for name in [name for name, level in levels.items() if before.get(name) == level]:
        work.tell(f"{name}: is {_level(name, levels[name])} already", type="feature", feature=name, result="unchanged", level=levels[name])
        levels = {other: level for other, level in levels.items() if other != name}
    if not levels:
        work.note("nothing to do: the cluster has these levels already")
        return
    warnings = _warnings(change, levels)
    changed = ", ".join(
        f"{name} from {_level(name, before.get(name, 0))} to {_level(name, level)}" for name, level in sorted(levels.items())
    )
    work.confirm(*warnings, question=f"Change {changed}?")
    would = "would be " if work.is_dry else ""
    # Before 4.0 each feature is changed separately. Validating first keeps a refused feature from leaving the others changed.
    results = update_features(work.admin, levels, change, dry_run=True)
    if not work.is_dry and not any(results.values()):
        with work.looking_after(lambda: _levels_now(work, levels)):
            results = update_features(work.admin, levels, change)
    elif not work.is_dry:
        work.note("nothing was changed")
        results = {name: error for name, error in results.items() if error is not None}
    for name, error in sorted(results.items()):
        level, was = levels[name], before.get(name, 0)
        fields: dict[str, object] = {"type": "feature", "feature": name}
        if error is not None:
            work.failed(error, **fields, level=level, level_before=was)
            continue
        done = "disabled" if not level else "upgraded" if change is Change.UPGRADE else "downgraded"
        to = f" to {_level(name, level)}" if level else ""
        work.tell(
            f"{name}: {would}{done}{to}, {_level(name, was)} before", **fields, result=f"{would}{done}", level=level, level_before=was
        )


def _levels_now(work: Work, names: Iterable[str]) -> str:
    from metashell.cli.admin.cluster import describe_features

    found = {feature.name: feature.level for feature in describe_features(work.admin).features}
    return ", ".join(f"{name} is at {_level(name, found.get(name, 0))}" for name in sorted(names))


def _warnings(change: Change, levels: Mapping[str, int]) -> list[str]:
    from metashell.cli.admin.cluster import Change

    found = []
    if change is Change.UPGRADE and METADATA_VERSION in levels:
        found.append("nodes of a release older than the new metadata.version cannot join any more, and going back may lose metadata")
    if levels.get(KRAFT_VERSION):
        found.append("kraft.version cannot be lowered again: from then on the voters are in the log, not in server.properties")
    if change is Change.UNSAFE_DOWNGRADE:
        found.append("metadata that the lower levels do not know is lost for good")
    elif change is Change.SAFE_DOWNGRADE:
        found.append("what the higher levels bring stops working")
    return found


def _level(name: str, level: int) -> str:
    release = level_name(name, level)
    return f"{level} ({release})" if release else str(level) if level else "off"


# ---- versions of APIs


def _apis(work: Work) -> None:
    from metashell.cli.admin.cluster import describe_api_versions

    nodes: dict[ApiSupport, list[int]] = {}
    for node, apis in describe_api_versions(work.admin):
        if not isinstance(apis, list):
            work.failed(apis)
            continue
        for api in apis:
            nodes.setdefault(api, []).append(node.id)
    rows = [
        {
            "type": "api",
            "api": api.name,
            "key": api.key,
            "min": api.versions[0],
            "max": api.versions[1],
            "usable": api.usable,
            "nodes": ids,
        }
        for api, ids in sorted(nodes.items(), key=lambda item: item[0].key)
        if api.versions is not None
    ]
    work.rows(rows, API_COLUMNS)


main = noun_tool(
    "features",
    FEATURES,
    {"describe": _describe, "upgrade": _upgrade, "downgrade": _downgrade, "disable": _disable, "apis": _apis},
)
