"""The command line of kafka-metadata-quorum, as Kafka 4.4.0 declares it. Source: org.apache.kafka.tools.MetadataQuorumCommand of 4.4.0."""

from __future__ import annotations

import os
import sys
import time
from base64 import urlsafe_b64decode
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
    usage_error,
    with_kafka_errors,
)
from metashell.cli.tool import kafka_tool
from metashell.common import options
from metashell.common.command import STATUS_OK
from metashell.common.errors import MetashellError, UsageError
from metashell.common.options import CommandSpec, Option, file_option, flag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import SimpleNamespace

    from metashell.cli.admin.client import Admin
    from metashell.cli.admin.cluster import QuorumDescription, Replica
    from metashell.common.errors import MetashellError
    from metashell.common.values import ReplicaKey


_QUORUM_DRY_RUN = flag("--dry-run", help="True if we should print what would be done, but not do it.")

KAFKA_METADATA_QUORUM = CommandSpec(
    name="kafka-metadata-quorum",
    summary="This tool describes kraft metadata quorum status.",
    description="""
        Kafka's own quorum tool under its name: options, output and exit statuses are those of Apache Kafka 4.4.0, except that a cluster
        that cannot be reached is reported at once, and that a change of leader while it runs is followed. `-o json` gives the same as JSON.
        """,
    options=(
        bootstrap("server", required=True, help=host_port_pairs("cluster")),
        bootstrap("controller", required=True, help=host_port_pairs("controllers")),
        file_option(
            "--command-config",
            metavar="COMMAND_CONFIG",
            help="Property file containing configs to be passed to Admin Client. For add-controller, the file is used to specify the "
            "controller properties as well.",
        ),
    ),
    commands=(
        admin_command(
            "describe",
            "Describe the metadata quorum info",
            flag(
                "--status",
                heading="Status",
                help="A short summary of the quorum status and the other provides detailed information about the status of replication.",
            ),
            flag("--replication", heading="Replication", help="Detailed information about the status of replication"),
            flag("--human-readable", heading="Replication", help="Human-readable output"),
        ),
        admin_command("add-controller", "Add a controller to the KRaft controller cluster", _QUORUM_DRY_RUN),
        admin_command(
            "remove-controller",
            "Remove a controller from the KRaft controller cluster",
            Option(
                names=("--controller-id", "-i"),
                metavar="CONTROLLER_ID",
                type="java-integer",
                required=True,
                help="The id of the controller to remove.",
            ),
            Option(
                names=("--controller-directory-id", "-d"),
                metavar="CONTROLLER_DIRECTORY_ID",
                required=True,
                help="The directory ID of the controller to remove.",
            ),
            _QUORUM_DRY_RUN,
            flag("--unregister", help="If set, also unregister the controller after successfully removing it from the voter set."),
        ),
    ),
    examples=(
        ("kafka-metadata-quorum --bootstrap-server localhost:9092 describe --status", "who leads, and how far behind the others are"),
        ("kafka-metadata-quorum --bootstrap-controller localhost:9093 describe --replication", "a line for each replica"),
    ),
    epilog=(options.KAFKA_EXIT_STATUS,),
    files=ADMIN_FILES,
    voice="kafka",
)


NAME = "kafka-metadata-quorum"
_HEADS = ("NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status")
_NO_FILE = "You must supply the configuration file of the controller you are adding when using add-controller."
_UNREGISTER_LATER = "{}. To unregister the controller from the cluster, run `kafka-cluster.sh unregister-controller --id {}`."


def run_kafka_metadata_quorum(words: list[str]) -> int:
    """Run the sub-command. Errors that Kafka prints in one line have the same wording."""
    from metashell.common.kafka_options import command_help_text, parse_argparse4j_command

    try:
        command, values = parse_argparse4j_command(KAFKA_METADATA_QUORUM, words)
    except UsageError as error:
        raise usage_error(KAFKA_METADATA_QUORUM, error) from None
    if values.help:
        sys.stdout.write(command_help_text(command, None if command is KAFKA_METADATA_QUORUM else KAFKA_METADATA_QUORUM))
        return STATUS_OK
    return with_kafka_errors(lambda: _perform(command.name, values))


def _perform(command: str, values: SimpleNamespace) -> int:
    config = values.command_config
    if config is not None and not os.path.exists(config):
        raise TerseError(f"Properties file {config} does not exist.")
    with open_admin(NAME, config, values.bootstrap_server, values.bootstrap_controller) as admin:
        return _COMMANDS[command](admin, values)


def _describe(admin: Admin, values: SimpleNamespace) -> int:
    from metashell.cli.admin.cluster import describe_quorum

    if values.status and values.replication:
        raise TerseError("Only one of --status or --replication should be specified with describe sub-command")
    if not (values.status or values.replication):
        raise TerseError("One of --status or --replication must be specified with describe sub-command")
    if values.status and values.human_readable:
        raise TerseError("The option --human-readable is only supported along with --replication")
    if values.replication:
        found = describe_quorum(admin)
        return _show(_replication_lines(found, is_human=values.human_readable), _replication_json(found), values)
    cluster_id = admin.cluster_id
    found = describe_quorum(admin)
    return _show(_status_lines(cluster_id, found), _status_json(cluster_id, found), values)


def _show(lines: Iterable[str], found: dict[str, object], values: SimpleNamespace) -> int:
    if values.output == "json":
        print_json(found)
    else:
        print_lines(lines)
    return STATUS_OK


# ---- describe


def _status_lines(cluster_id: str, found: QuorumDescription) -> list[str]:
    lag, lag_ms = _lags(found)
    rows = (
        ("ClusterId", cluster_id),
        ("LeaderId", found.leader_id),
        ("LeaderEpoch", found.leader_epoch),
        ("HighWatermark", found.high_watermark),
        ("MaxFollowerLag", lag),
        ("MaxFollowerLagTimeMs", lag_ms),
        ("CurrentVoters", f"[{', '.join(map(_member, found.voters))}]"),
        ("CurrentObservers", f"[{', '.join(map(_member, found.observers))}]"),
    )
    return [f"{name + ':':<24}{value}" for name, value in rows]


def _lags(found: QuorumDescription) -> tuple[int, int]:
    """Return the lag of the slowest voter in records and in ms, -1 ms if that is unknown."""
    leader = found.leader
    if leader is None:
        raise TerseError("No value present")
    last = min(found.voters, key=lambda voter: voter.log_end_offset)
    if last is leader:
        lag_ms = 0
    elif leader.last_caught_up_ms is None or last.last_caught_up_ms is None:
        lag_ms = -1
    else:
        lag_ms = leader.last_caught_up_ms - last.last_caught_up_ms
    return leader.log_end_offset - last.log_end_offset, lag_ms


def _member(replica: Replica) -> str:
    from metashell.common.values import uuid_text

    parts = [f'"id": {replica.id}']
    if replica.directory_id is not None:
        parts.append(f'"directoryId": "{uuid_text(replica.directory_id)}"')
    if replica.endpoints:
        quoted = ", ".join(f'"{endpoint}"' for endpoint in replica.endpoints)
        parts.append(f'"endpoints": [{quoted}]')
    return f"{{{', '.join(parts)}}}"


def _replication_lines(found: QuorumDescription, *, is_human: bool) -> list[str]:
    """Return the lines of Kafka's table, where every cell is padded to its column and ends with a tab."""
    rows = [_HEADS, *(_replica_row(found, replica, status, is_human) for replica, status in _by_status(found))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["".join(f"{cell:<{width}}\t" for cell, width in zip(row, widths, strict=True)) for row in rows]


def _by_status(found: QuorumDescription) -> list[tuple[Replica, str]]:
    leader = found.leader
    if leader is None:
        raise TerseError("No value present")
    followers = [(voter, "Follower") for voter in found.voters if voter.id != found.leader_id]
    return [(leader, "Leader"), *followers, *((observer, "Observer") for observer in found.observers)]


def _replica_row(found: QuorumDescription, replica: Replica, status: str, is_human: bool) -> Sequence[str]:
    from metashell.common.values import ZERO_UUID, uuid_text

    times = (replica.last_fetch_ms, "last fetch"), (replica.last_caught_up_ms, "last caught up")
    return (
        str(replica.id),
        uuid_text(replica.directory_id or ZERO_UUID),
        str(replica.log_end_offset),
        str(found.lag_of(replica)),
        *("-1" if moment is None else _ago(moment, what) if is_human else str(moment) for moment, what in times),
        status,
    )


def _ago(moment_ms: int, what: str) -> str:
    """Return how long ago a moment was. Errors: TerseError for a moment in the future."""
    now_ms = int(time.time() * 1000)
    if not 0 < moment_ms <= now_ms:
        raise TerseError(
            "Error while computing relative time, possible drift in system clock.\n"
            f"Current timestamp is {now_ms}, {what} timestamp is {moment_ms}"
        )
    return f"{now_ms - moment_ms} ms ago"


def _status_json(cluster_id: str, found: QuorumDescription) -> dict[str, object]:
    lag, lag_ms = _lags(found)
    return {
        "type": "quorum",
        "cluster_id": cluster_id,
        "leader_id": found.leader_id,
        "leader_epoch": found.leader_epoch,
        "high_watermark": found.high_watermark,
        "max_follower_lag": lag,
        "max_follower_lag_ms": None if lag_ms < 0 else lag_ms,
        "voters": [_member_json(voter) for voter in found.voters],
        "observers": [_member_json(observer) for observer in found.observers],
    }


def _member_json(replica: Replica) -> dict[str, object]:
    from metashell.common.values import uuid_text

    return {
        "id": replica.id,
        "directory_id": None if replica.directory_id is None else uuid_text(replica.directory_id),
        "endpoints": [str(endpoint) for endpoint in replica.endpoints],
    }


def _replication_json(found: QuorumDescription) -> dict[str, object]:
    replicas = [
        {
            "type": "replica",
            **_member_json(replica),
            "log_end_offset": replica.log_end_offset,
            "lag": found.lag_of(replica),
            "last_fetch_timestamp": replica.last_fetch_ms,
            "last_caught_up_timestamp": replica.last_caught_up_ms,
            "status": status.lower(),
        }
        for replica, status in _by_status(found)
    ]
    return {"type": "replication", "replicas": replicas}


# ---- voters


def _add_controller(admin: Admin, values: SimpleNamespace) -> int:
    from metashell.cli.admin.cluster import add_voter
    from metashell.cli.controllers.voters import read_new_controller
    from metashell.common.values import uuid_text

    if values.command_config is None:
        raise TerseError(_NO_FILE)
    try:
        voter, endpoints, _ = read_new_controller(values.command_config)
    except MetashellError as error:
        raise TerseError(str(error)) from None
    if not values.dry_run:
        add_voter(admin, voter, endpoints)
    directory_id = uuid_text(voter.directory_id)
    done = "DRY RUN of adding" if values.dry_run else "Added"
    text = f"{done} controller {voter.id} with directory id {directory_id} and endpoints: {', '.join(map(str, endpoints))}"
    result = "would be added" if values.dry_run else "added"
    found = {"id": voter.id, "directory_id": directory_id, "endpoints": list(map(str, endpoints))}
    return _show([text], {"type": "controller", **found, "result": result}, values)


def _remove_controller(admin: Admin, values: SimpleNamespace) -> int:
    from metashell.common.values import ReplicaKey, uuid_from_text, uuid_text

    id = values.controller_id
    if id < 0:
        raise TerseError(f"Invalid negative --controller-id: {id}")
    try:
        directory_id = uuid_from_text(values.controller_directory_id)
    except ValueError as error:
        raise TerseError(f"Failed to parse --controller-directory-id: {_uuid_fault(values.controller_directory_id) or error}") from None
    if not values.dry_run:
        _remove_voter(admin, ReplicaKey(id, directory_id), unregisters=values.unregister)
    done, result = ("DRY RUN of removing", "would be removed") if values.dry_run else ("Removed", "removed")
    lines = [f"{done} KRaft controller {id} with directory id {uuid_text(directory_id)}"]
    found = {"type": "controller", "id": id, "directory_id": uuid_text(directory_id), "result": result}
    try:
        if values.unregister:
            found["registration"] = "failed"
            if not values.dry_run:
                _unregister_controller(admin, id)
            done, found["registration"] = (
                ("DRY RUN of unregistering", "would be unregistered") if values.dry_run else ("Unregistered", "unregistered")
            )
            lines.append(f"{done} KRaft controller {id}")
    finally:
        # The voter is removed, even if unregistering fails.
        _show(lines, found, values)
    return STATUS_OK


def _remove_voter(admin: Admin, voter: ReplicaKey, *, unregisters: bool) -> None:
    """Remove a voter.

    Errors: AdminError, MetashellError; TerseError if there is no such voter and its registration, which was to be removed too, stays.
    """
    from metashell.cli.admin.cluster import remove_voter
    from metashell.cli.admin.protocol import AdminError, UnsupportedError
    from metashell.codec.error_codes import UNSUPPORTED_VERSION, VOTER_NOT_FOUND

    try:
        remove_voter(admin, voter)
    except (AdminError, UnsupportedError) as error:
        if not unregisters or (isinstance(error, AdminError) and error.code not in (UNSUPPORTED_VERSION, VOTER_NOT_FOUND)):
            raise
        text = f"Failed to remove KRaft voter {voter.id}: {_words(error)}"
        raise TerseError(_UNREGISTER_LATER.format(text, voter.id)) from None


def _unregister_controller(admin: Admin, id: int) -> None:
    """Unregister a controller. Errors: TerseError."""
    from metashell.cli.admin.cluster import unregister_controller

    try:
        unregister_controller(admin, id)
    except MetashellError as error:
        raise TerseError(_UNREGISTER_LATER.format(f"Failed to unregister controller {id}: {_words(error)}", id)) from None


def _words(error: MetashellError) -> str:
    """Return the message of the exception that Kafka raises for an error."""
    from metashell.cli.admin.protocol import AdminError, UnsupportedError

    return error.words if isinstance(error, AdminError) else error.java if isinstance(error, UnsupportedError) else str(error)


def _uuid_fault(text: str) -> str:
    """Return Kafka's message for a uuid of the wrong length; empty if the fault is another."""
    if len(text) > 24:
        return f"Input string with prefix `{text[:24]}` is too long to be decoded as a base64 UUID"
    try:
        size = len(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except ValueError:
        return ""
    return f"Input string `{text}` decoded as {size} bytes, which is not equal to the expected 16 bytes of a base64-encoded UUID"


_COMMANDS: dict[str, Callable[[Admin, SimpleNamespace], int]] = {
    "describe": _describe,
    "add-controller": _add_controller,
    "remove-controller": _remove_controller,
}

main = kafka_tool(NAME, run_kafka_metadata_quorum)
