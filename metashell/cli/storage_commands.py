"""The sub-commands of `metashell storage` and `kafka-storage`, in the form that `-o` names."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from metashell.cli.common import STATUS_FAILED, STATUS_OK, complain
from metashell.forms import spaced_json, standard_output
from metashell.storage import report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import SimpleNamespace

    from metashell.storage.plan import FormatPlan, FormatRequest, Given, PlannedDirectory

_SALT_BITS = 130
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
_RESERVED_IDS = 100
_STANDARD_INPUT = "-"


def run_storage_command(tool: str, command: str, values: SimpleNamespace) -> int:
    """Run one sub-command, print its answer in the form `values.output`, and give the status."""
    return _COMMANDS[command](tool, values)


def _print(lines: Iterable[str]) -> None:
    display = standard_output()
    for line in lines:
        display.line(line)


def _print_json(value: dict[str, Any]) -> None:
    display = standard_output()
    display.out.write(display.colored_json(spaced_json(value)) + "\n")


def _info(tool: str, values: SimpleNamespace) -> int:
    from metashell.storage.config import load_config
    from metashell.storage.info import read_info

    info = read_info(load_config(values.config).log_directories)
    if values.output == "json":
        _print_json(report.info_json(info))
    elif values.output == "kafka":
        _print(report.kafka_info_lines(info))
        for explanation in info.explanations:
            complain(tool, explanation)
    else:
        _print(report.info_lines(info))
    return STATUS_FAILED if info.problems else STATUS_OK


def _version_mapping(tool: str, values: SimpleNamespace) -> int:
    from metashell.storage import features

    typed = values.release_version
    level = features.NEWEST_RELEASE_LEVEL if typed is None else features.release_level(typed, unstable=True)
    levels = {name: features.default_level(name, level) for name in features.FEATURES}
    if values.output == "json":
        _print_json(report.mapping_json(level, levels))
    elif values.output == "kafka":
        _print(report.kafka_mapping_lines(level, typed, levels))
    else:
        _print(report.mapping_lines(level, levels))
    return STATUS_OK


def _feature_dependencies(tool: str, values: SimpleNamespace) -> int:
    from metashell.storage.features import dependencies

    if values.output == "json":
        _print_json(report.dependencies_json([dependencies(text) for text in values.feature]))
        return STATUS_OK
    for text in values.feature:
        _print(report.dependency_lines(dependencies(text)))
    return STATUS_OK


def _random_uuid(tool: str, values: SimpleNamespace) -> int:
    from metashell.values import uuid_text

    text = uuid_text(new_uuid())
    if values.output == "json":
        _print_json({"type": "random_uuid", "uuid": text})
    else:
        _print([text])
    return STATUS_OK


def _format(tool: str, values: SimpleNamespace) -> int:
    from metashell.storage.config import load_config
    from metashell.storage.plan import plan_format

    plan = plan_format(load_config(values.config), _request(values), given())
    for path, reason in plan.unreadable.items():
        if values.output == "kafka" and not values.dry_run:
            _print([report.kafka_unreadable_line(path)])
        complain(tool, f"{path}: {reason}")
    if plan.refusal is not None:
        from metashell.storage.errors import StorageError

        raise StorageError(plan.refusal)
    _warn(tool, plan)
    if values.dry_run:
        return _show_plan(plan, values)
    return _carry_out(plan, values)


def _warn(tool: str, plan: FormatPlan) -> None:
    """Warn about what works now and fails later."""
    if plan.finishes:
        complain(tool, f"finishing an interrupted format; already done: {', '.join(plan.formatted)}")
    if os.geteuid() != 0:
        return
    for directory in plan.directories:
        owner = _other_owner(directory.path)
        if owner is not None:
            complain(tool, f"warning: formatting as root, but {owner} belongs to another user, who may not be able to write the result")


def _other_owner(path: str) -> str | None:
    """The directory, or the nearest existing one above it, if it does not belong to root."""
    place = os.path.abspath(path)
    while not os.path.isdir(place):
        place = os.path.dirname(place)
    return place if os.stat(place).st_uid != 0 else None


def _show_plan(plan: FormatPlan, values: SimpleNamespace) -> int:
    _refuse_locked([directory.path for directory in plan.directories] + list(plan.formatted))
    if values.output == "json":
        _print_json(report.plan_json(plan, dry_run=True, show_secrets=values.show_secrets))
        return STATUS_OK
    _print(report.plan_lines(plan))
    _print(report.directory_rows(plan, "would be formatted"))
    return STATUS_OK


def _refuse_locked(paths: Iterable[str]) -> None:
    from metashell.errors import MetashellError
    from metashell.log.disk import is_locked

    for path in paths:
        if is_locked(path):
            raise MetashellError(f"{path}: in use by a running process, which holds its .lock")


def _carry_out(plan: FormatPlan, values: SimpleNamespace) -> int:
    from metashell.storage.perform import perform

    is_kafka = values.output == "kafka"
    if is_kafka:
        _print([report.kafka_bootstrap_line(plan) if plan.directories else report.ALL_FORMATTED])

    def report_formatted(directory: PlannedDirectory) -> None:
        if is_kafka:
            _print([report.kafka_directory_line(plan, directory)])

    perform(plan, report_formatted)
    if values.output == "json":
        _print_json(report.plan_json(plan, dry_run=False, show_secrets=values.show_secrets))
    elif not is_kafka:
        _print(report.plan_lines(plan) if plan.directories else [report.ALL_FORMATTED])
        _print(report.directory_rows(plan, "formatted"))
    return STATUS_OK


def _request(values: SimpleNamespace) -> FormatRequest:
    from metashell.storage.plan import FormatRequest

    quorum = "standalone" if values.standalone else "none" if values.no_initial_controllers else ""
    if values.initial_controllers is not None:
        quorum = "initial"
    return FormatRequest(
        cluster_id=values.cluster_id,
        release=values.release_version,
        features=values.feature,
        scram=(*values.add_scram, *_scram_from_files(values.add_scram_file)),
        quorum=quorum,
        initial_controllers=values.initial_controllers or "",
        ignore_formatted=values.ignore_formatted,
    )


def _scram_from_files(paths: Iterable[str]) -> list[str]:
    """The credentials in files, one a line; empty lines and comments (`#`) are skipped."""
    found: list[str] = []
    for path in paths:
        if path == _STANDARD_INPUT:
            lines = sys.stdin.read().splitlines()
        else:
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
        found += [line for line in lines if line.strip() and not line.startswith("#")]
    return found


def given() -> Given:
    """The current time, and random values."""
    from time import localtime, strftime, time

    from metashell.storage.plan import Given

    return Given(
        now_ms=int(time() * 1000),
        date=strftime("%a %b %d %H:%M:%S %Z %Y", localtime()),
        new_uuid=new_uuid,
        new_salt=new_salt,
    )


def new_uuid() -> bytes:
    """A random uuid of version 4 that Kafka does not reserve and whose text does not begin with a dash."""
    while True:
        raw = bytearray(os.urandom(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        # The text begins with the six highest bits; 62 of them is the dash.
        if raw[0] >> 2 != 62 and int.from_bytes(raw, "big") >= _RESERVED_IDS:
            return bytes(raw)


def new_salt() -> bytes:
    """A salt as Kafka makes it: a random number of 130 bits in base 36, as ASCII."""
    number = int.from_bytes(os.urandom(17), "big") & ((1 << _SALT_BITS) - 1)
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _BASE36[digit] + digits
    return digits.encode() or b"0"


_COMMANDS: dict[str, Callable[[str, SimpleNamespace], int]] = {
    "format": _format,
    "info": _info,
    "version-mapping": _version_mapping,
    "feature-dependencies": _feature_dependencies,
    "random-uuid": _random_uuid,
}
