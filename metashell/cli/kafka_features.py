"""kafka-features: Kafka's features tool by its own name, with its command line, output and statuses."""

from __future__ import annotations

import sys

from metashell.cli.common import STATUS_OK, kafka_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import SimpleNamespace

    from metashell.admin.admin import Admin
    from metashell.admin.errors import AdminError
    from metashell.admin.features import Change, FeaturesDescription

NAME = "kafka-features"
_NO_ADDRESS = "You must specify either --bootstrap-controller or --bootstrap-server."
_DEPRECATED = " `metadata` flag is deprecated and may be removed in a future release."
_NOT_BOTH = "Can not specify `release-version` with other feature flags."


def run(words: list[str]) -> int:
    """Run the sub-command; errors that Kafka prints in one line have the same words."""
    from metashell.cli.kafka_admin import guarded, say
    from metashell.errors import UsageError
    from metashell.options.argparse_help import command_help_text
    from metashell.options.kafka_feature_tools import KAFKA_FEATURES
    from metashell.options.kafka_parsers import parse_argparse4j_command

    try:
        command, values = parse_argparse4j_command(KAFKA_FEATURES, words)
        if not values.help and command.name not in _OFFLINE and not values.given & {"bootstrap_server", "bootstrap_controller"}:
            raise UsageError(_NO_ADDRESS)
    except UsageError as error:
        return say(f"Command line error: {error}. Type --help for help.")
    if values.help:
        sys.stdout.write(command_help_text(command, None if command is KAFKA_FEATURES else KAFKA_FEATURES))
        return STATUS_OK
    return guarded(lambda: _perform(command.name, values))


def _perform(command: str, values: SimpleNamespace) -> int:
    from metashell.cli.kafka_admin import TerseError, open_admin
    from metashell.storage.errors import ConfigError, StorageError

    try:
        if command in _OFFLINE:
            return _look_up(command, values)
        with open_admin(NAME, values.command_config, values.bootstrap_server, values.bootstrap_controller) as admin:
            return _ONLINE[command](admin, values)
    except (ConfigError, StorageError) as error:
        raise TerseError(str(error)) from None


def _look_up(command: str, values: SimpleNamespace) -> int:
    """What needs no cluster, and is the storage tool's too, but for the words for a level that is none."""
    from types import SimpleNamespace

    from metashell.cli.storage_commands import run_storage_command
    from metashell.storage.features import parse_feature_levels

    if command == "version-mapping" or values.output == "json":
        return run_storage_command(NAME, command, values)
    for text in values.feature:
        parse_feature_levels([text])
        run_storage_command(NAME, command, SimpleNamespace(feature=(text,), output=values.output))
    return STATUS_OK


# ---- describe


def _describe(admin: Admin, values: SimpleNamespace) -> int:
    from metashell.admin.features import describe_features

    # Through controllers Kafka asks the active one, and fails for those who may not ask which that is.
    node = admin.active_id() if values.node_id is None and values.bootstrap_controller else values.node_id
    found = describe_features(admin, node=node)
    from metashell.cli.kafka_admin import print_json, print_lines

    if values.output == "json":
        print_json(_features_json(found))
    else:
        print_lines(_feature_lines(found))
    return STATUS_OK


def _feature_lines(found: FeaturesDescription) -> Iterator[str]:
    epoch = "-" if found.epoch is None else found.epoch
    for feature in found.features:
        low, high, level = (_level_text(feature.name, level) for level in (feature.low, feature.high, feature.level))
        yield (
            f"Feature: {feature.name:<40}  SupportedMinVersion: {low:<15}  SupportedMaxVersion: {high:<15}  "
            f"FinalizedVersionLevel: {level:<15}  Epoch: {epoch}"
        )


def _level_text(feature: str, level: int) -> str:
    """A level as Kafka prints it: that of metadata.version by its name."""
    from metashell.codec.metadata_version import METADATA_VERSION, metadata_version_name
    from metashell.storage.features import NEWEST_TESTING_LEVEL, OLDEST_RELEASE_LEVEL

    if feature != METADATA_VERSION:
        return str(level)
    return metadata_version_name(level) if OLDEST_RELEASE_LEVEL <= level <= NEWEST_TESTING_LEVEL else f"UNKNOWN {level}"


def _features_json(found: FeaturesDescription) -> dict[str, object]:
    features = [
        {"type": "feature", "name": one.name, "supported_min": one.low, "supported_max": one.high, "finalized": one.level}
        for one in found.features
    ]
    return {"type": "features", "epoch": found.epoch, "features": features}


# ---- changes


def _upgrade(admin: Admin, values: SimpleNamespace) -> int:
    from metashell.admin.features import Change

    return _update(admin, "upgrade", _wanted_levels("upgrade", values), Change.UPGRADE, values)


def _downgrade(admin: Admin, values: SimpleNamespace) -> int:
    return _update(admin, "downgrade", _wanted_levels("downgrade", values), _downgrade_of(values), values)


def _disable(admin: Admin, values: SimpleNamespace) -> int:
    levels: dict[str, int] = {}
    for name in values.feature:
        _add(levels, name, 0)
    return _update(admin, "disable", levels, _downgrade_of(values), values)


def _downgrade_of(values: SimpleNamespace) -> Change:
    from metashell.admin.features import Change

    return Change.UNSAFE_DOWNGRADE if values.unsafe else Change.SAFE_DOWNGRADE


def _wanted_levels(verb: str, values: SimpleNamespace) -> dict[str, int]:
    """The levels that the command line asks for. Errors: TerseError, StorageError."""
    from metashell.cli.kafka_admin import TerseError
    from metashell.codec.metadata_version import METADATA_VERSION
    from metashell.codec.releases import FEATURES
    from metashell.storage import features

    if values.release_version is not None:
        if values.metadata is not None or values.feature:
            raise TerseError(_NOT_BOTH)
        release = features.release_level(values.release_version, unstable=True)
        levels = {METADATA_VERSION: release, **{name: features.default_level(name, release) for name in FEATURES}}
        return {name: level for name, level in levels.items() if level or verb == "downgrade"}
    levels = {}
    if values.metadata is not None:
        sys.stdout.write(f"{_DEPRECATED}\n")
        levels[METADATA_VERSION] = features.release_level(values.metadata, unstable=True)
    for text in values.feature:
        ((name, level),) = features.parse_feature_levels([text]).items()
        _add(levels, name, level)
    return levels


def _add(levels: dict[str, int], name: str, level: int) -> None:
    from metashell.cli.kafka_admin import TerseError

    if name in levels:
        raise TerseError(f"Feature {name} was specified more than once.")
    levels[name] = level


def _update(admin: Admin, verb: str, levels: Mapping[str, int], change: Change, values: SimpleNamespace) -> int:
    from metashell.admin.features import update_features
    from metashell.cli.kafka_admin import TerseError

    if not levels:
        raise TerseError(f"You must specify at least one feature to {verb}")
    _check(levels, verb)
    errors = update_features(admin, levels, change, dry_run=values.dry_run)
    from metashell.cli.kafka_admin import print_json, print_lines

    if values.output == "json":
        print_json({"type": "feature_updates", "dry_run": values.dry_run, "updates": _updates_json(verb, levels, errors)})
    else:
        print_lines(_update_text(verb, name, levels[name], errors[name], is_dry=values.dry_run) for name in sorted(levels))
    failed = sum(error is not None for error in errors.values())
    if failed:
        raise TerseError(f"{failed} out of {len(levels)} operation(s) failed.")
    return STATUS_OK


def _check(levels: Mapping[str, int], verb: str) -> None:
    """What Kafka's client refuses before it sends anything. Errors: TerseError."""
    from metashell.cli.kafka_admin import TerseError

    for name, level in levels.items():
        if level < 0:
            raise TerseError("Cannot specify a negative version level.")
        if level == 0 and verb == "upgrade":
            raise TerseError(
                "The upgradeType flag should be set to SAFE_DOWNGRADE or UNSAFE_DOWNGRADE when the provided "
                f"maxVersionLevel:{level} is < 1."
            )
        if not name.strip():
            raise TerseError("Provided feature can not be empty.")


def _update_text(verb: str, name: str, level: int, error: AdminError | None, *, is_dry: bool) -> str:
    if error is not None:
        wanted = f"{verb} {name}" if verb == "disable" else f"{verb} {name} to {level}"
        return f"{'Can' if is_dry else 'Could'} not {wanted}. {error.words}"
    done = "disabled." if verb == "disable" else f"{verb}d to {level}."
    return f"{name} {'can be' if is_dry else 'was'} {done}"


def _updates_json(verb: str, levels: Mapping[str, int], errors: Mapping[str, AdminError | None]) -> Sequence[Mapping[str, object]]:
    found = []
    for name in sorted(levels):
        error = errors[name]
        told = {"error": error.name, "message": error.words} if error else {"error": None}
        found.append({"type": "feature", "name": name, "level": levels[name], "change": verb, **told})
    return found


_OFFLINE = ("version-mapping", "feature-dependencies")
_ONLINE: dict[str, Callable[[Admin, SimpleNamespace], int]] = {
    "describe": _describe,
    "upgrade": _upgrade,
    "downgrade": _downgrade,
    "disable": _disable,
}

main = kafka_tool(NAME, run)
