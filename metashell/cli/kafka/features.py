"""The command line of kafka-features, as Kafka 4.4.0 declares it. Source: org.apache.kafka.tools.FeatureCommand of 4.4.0."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

from metashell.cli.kafka import (
    ADMIN_FILES,
    TerseError,
    admin_command,
    bootstrap,
    host_port_pairs,
    open_admin,
    print_json,
    print_lines,
    with_kafka_errors,
    write_error,
)
from metashell.cli.tool import kafka_tool
from metashell.codec.releases import FEATURES, METADATA_VERSION, metadata_version_name
from metashell.common import options
from metashell.common.command import STATUS_OK
from metashell.common.errors import ConfigError, StorageError, UsageError
from metashell.common.options import CommandSpec, Option, file_option, flag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import SimpleNamespace

    from metashell.cli.admin.client import Admin
    from metashell.cli.admin.cluster import Change, FeaturesDescription
    from metashell.cli.admin.protocol import AdminError


_FEATURES = Option(names=("--feature",), metavar="FEATURE", multiple=True, help="A feature flag to disable.")


def _release(verb: str) -> Option:
    return Option(
        names=("--release-version",),
        metavar="RELEASE_VERSION",
        help=f"The release version to {verb} all features to. For example, 3.9-IV0 will set metadata.version=21 and kraft.version=1. Use "
        "the version-mapping command to learn which features will be set for any given version.",
    )


def _metadata(verb: str, example: str) -> Option:
    return Option(
        names=("--metadata",),
        metavar="METADATA",
        help=f"DEPRECATED -- The level to which we should {verb} the metadata. For example, {example}.",
    )


def _feature(verb: str) -> Option:
    return _FEATURES._replace(
        help=f"A feature {verb} we should perform, in feature=level format. For example: `metadata.version=5`.",
    )


KAFKA_FEATURES = CommandSpec(
    name="kafka-features",
    summary="This tool manages feature flags in Kafka.",
    description="""
        Kafka's own features tool under its name: options, output and exit statuses are those of Apache Kafka 4.4.0, except that a cluster
        or node that cannot be reached is reported at once. `-o json` gives the same as JSON.
        """,
    options=(
        bootstrap("server", required=False, help=host_port_pairs("cluster")),
        bootstrap(
            "controller",
            required=False,
            help="A comma-separated list of host:port pairs to use for establishing the connection to the KRaft quorum.",
        ),
        file_option("--command-config", metavar="COMMAND_CONFIG", help="Property file containing configs to be passed to Admin Client."),
    ),
    commands=(
        admin_command(
            "describe",
            "Describes the current active feature flags.",
            Option(
                names=("--node-id",),
                metavar="NODE_ID",
                type="java-integer",
                help="The node id to which the requests should be sent. If not specified, the requests will be sent to an arbitrary "
                "controller/broker.",
            ),
        ),
        admin_command(
            "upgrade",
            "Upgrade one or more feature flags.",
            _metadata("upgrade", "3.3-IV3"),
            _release("update"),
            _feature("upgrade"),
            flag("--dry-run", help="Validate this upgrade, but do not perform it."),
        ),
        admin_command(
            "downgrade",
            "Downgrade one or more feature flags.",
            _metadata("downgrade", "3.3-IV0"),
            _release("downgrade"),
            _feature("downgrade"),
            flag("--unsafe", help="Perform this downgrade even if it may irreversibly destroy metadata."),
            flag("--dry-run", help="Validate this downgrade, but do not perform it."),
        ),
        admin_command(
            "disable",
            "Disable one or more feature flags. This is the same as downgrading the version to zero.",
            _FEATURES,
            flag("--unsafe", help="Disable this feature flag even if it may irreversibly destroy metadata."),
            flag("--dry-run", help="Perform a dry-run of this disable operation."),
        ),
        admin_command(
            "version-mapping",
            "Look up the corresponding features for a given metadata version. Using the command with no --release-version  argument will "
            "return the mapping for the latest stable metadata version",
            Option(
                names=("--release-version",),
                metavar="RELEASE_VERSION",
                help="The release version to use for the corresponding feature mapping. The minimum is 3.3-IV3; the default is 4.4-IV2",
            ),
        ),
        admin_command(
            "feature-dependencies",
            "Look up dependencies for a given feature version. If the feature is not known or the version not yet defined, an error is "
            "thrown. Multiple features can be specified.",
            _FEATURES._replace(
                required=True,
                help="The feature and version to look up dependencies for, in feature=version format. For example: `metadata.version=5`.",
            ),
        ),
    ),
    examples=(
        ("kafka-features --bootstrap-server localhost:9092 describe", "the features of a cluster"),
        ("kafka-features --bootstrap-server localhost:9092 upgrade --release-version 4.4 --dry-run", "would an upgrade be taken?"),
    ),
    epilog=(options.KAFKA_EXIT_STATUS,),
    files=ADMIN_FILES,
    voice="kafka",
)


NAME = "kafka-features"
_NO_ADDRESS = "You must specify either --bootstrap-controller or --bootstrap-server."
_DEPRECATED = " `metadata` flag is deprecated and may be removed in a future release."
_NOT_BOTH = "Can not specify `release-version` with other feature flags."


def run_kafka_features(words: list[str]) -> int:
    """Run the sub-command. Errors that Kafka prints in one line have the same wording."""
    from metashell.common.kafka_options import command_help_text, parse_argparse4j_command

    try:
        command, values = parse_argparse4j_command(KAFKA_FEATURES, words)
        if not values.help and command.name not in _OFFLINE and not values.given & {"bootstrap_server", "bootstrap_controller"}:
            raise UsageError(_NO_ADDRESS)
    except UsageError as error:
        return write_error(f"Command line error: {error}. Type --help for help.")
    if values.help:
        sys.stdout.write(command_help_text(command, None if command is KAFKA_FEATURES else KAFKA_FEATURES))
        return STATUS_OK
    return with_kafka_errors(lambda: _perform(command.name, values))


def _perform(command: str, values: SimpleNamespace) -> int:
    try:
        if command in _OFFLINE:
            return _look_up(command, values)
        with open_admin(NAME, values.command_config, values.bootstrap_server, values.bootstrap_controller) as admin:
            return _ONLINE[command](admin, values)
    except (ConfigError, StorageError) as error:
        raise TerseError(str(error)) from None


def _look_up(command: str, values: SimpleNamespace) -> int:
    """Run a command that needs no cluster, as the storage tool does. Only its wording for an invalid level differs."""

    from metashell.cli.controllers.storage import run_storage_command
    from metashell.disk.bootstrap import parse_feature_levels

    if command == "version-mapping" or values.output == "json":
        return run_storage_command(NAME, command, values)
    for text in values.feature:
        parse_feature_levels([text])
        run_storage_command(NAME, command, SimpleNamespace(feature=(text,), output=values.output))
    return STATUS_OK


# ---- describe


def _describe(admin: Admin, values: SimpleNamespace) -> int:
    from metashell.cli.admin.cluster import describe_features

    # Through controllers Kafka asks the active one, and fails for users who may not ask which one that is.
    node = admin.active_id() if values.node_id is None and values.bootstrap_controller else values.node_id
    found = describe_features(admin, node=node)

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
    """Return a level as Kafka prints it: that of metadata.version by its name."""
    from metashell.disk.bootstrap import NEWEST_TESTING_LEVEL, OLDEST_RELEASE_LEVEL

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
    from metashell.cli.admin.cluster import Change

    return _update(admin, "upgrade", _wanted_levels("upgrade", values), Change.UPGRADE, values)


def _downgrade(admin: Admin, values: SimpleNamespace) -> int:
    return _update(admin, "downgrade", _wanted_levels("downgrade", values), _downgrade_of(values), values)


def _disable(admin: Admin, values: SimpleNamespace) -> int:
    levels: dict[str, int] = {}
    for name in values.feature:
        _add(levels, name, 0)
    return _update(admin, "disable", levels, _downgrade_of(values), values)


def _downgrade_of(values: SimpleNamespace) -> Change:
    from metashell.cli.admin.cluster import Change

    return Change.UNSAFE_DOWNGRADE if values.unsafe else Change.SAFE_DOWNGRADE


def _wanted_levels(verb: str, values: SimpleNamespace) -> dict[str, int]:
    """Return the levels that the command line asks for. Errors: TerseError, StorageError."""
    from metashell.disk import bootstrap

    if values.release_version is not None:
        if values.metadata is not None or values.feature:
            raise TerseError(_NOT_BOTH)
        release = bootstrap.release_level(values.release_version, unstable=True)
        levels = {METADATA_VERSION: release, **{name: bootstrap.default_level(name, release) for name in FEATURES}}
        return {name: level for name, level in levels.items() if level or verb == "downgrade"}
    levels = {}
    if values.metadata is not None:
        sys.stdout.write(f"{_DEPRECATED}\n")
        levels[METADATA_VERSION] = bootstrap.release_level(values.metadata, unstable=True)
    for text in values.feature:
        ((name, level),) = bootstrap.parse_feature_levels([text]).items()
        _add(levels, name, level)
    return levels


def _add(levels: dict[str, int], name: str, level: int) -> None:
    if name in levels:
        raise TerseError(f"Feature {name} was specified more than once.")
    levels[name] = level


def _update(admin: Admin, verb: str, levels: Mapping[str, int], change: Change, values: SimpleNamespace) -> int:
    from metashell.cli.admin.cluster import update_features

    if not levels:
        raise TerseError(f"You must specify at least one feature to {verb}")
    _check(levels, verb)
    errors = update_features(admin, levels, change, dry_run=values.dry_run)

    if values.output == "json":
        print_json({"type": "feature_updates", "dry_run": values.dry_run, "updates": _updates_json(verb, levels, errors)})
    else:
        print_lines(_update_text(verb, name, levels[name], errors[name], is_dry=values.dry_run) for name in sorted(levels))
    failed = sum(error is not None for error in errors.values())
    if failed:
        raise TerseError(f"{failed} out of {len(levels)} operation(s) failed.")
    return STATUS_OK


def _check(levels: Mapping[str, int], verb: str) -> None:
    """Raise TerseError for changes that Kafka's client refuses before it sends anything."""
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

main = kafka_tool(NAME, run_kafka_features)
