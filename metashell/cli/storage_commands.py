"""The sub-commands of `metashell storage` and `kafka-storage`, in the form that `-o` names."""

from __future__ import annotations

import os
import sys
from itertools import chain
from typing import TYPE_CHECKING, Any

from metashell.cli.common import STATUS_FAILED, STATUS_OK, complain
from metashell.forms import spaced_json, standard_output
from metashell.storage import report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import SimpleNamespace

    from metashell.storage.plan import FormatPlan, FormatRequest, Given

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


def _print_answer(
    form: str,
    *,
    text: Callable[[], Iterable[str]],
    json: Callable[[], dict[str, Any]],
    kafka: Callable[[], Iterable[str]] | None = None,
) -> int:
    """Print an answer in the form that was asked for; where Kafka's text is ours, `kafka` is left out. Returns the status of success."""
    if form == "json":
        display = standard_output()
        display.out.write(display.colored_json(spaced_json(json())) + "\n")
    else:
        _print(kafka() if form == "kafka" and kafka is not None else text())
    return STATUS_OK


def _info(tool: str, values: SimpleNamespace) -> int:
    return _kafka_info(tool, values.config) if values.output == "kafka" else _own_info(values)


def _kafka_info(tool: str, path: str) -> int:
    """What Kafka's tool finds, as it prints it."""
    from metashell.storage.config import load_config
    from metashell.storage.info import read_info

    info = read_info(load_config(path).log_directories)
    _print(report.kafka_info_lines(info))
    for explanation in info.explanations:
        complain(tool, explanation)
    return STATUS_FAILED if info.problems else STATUS_OK


def _own_info(values: SimpleNamespace) -> int:
    """The directories, and what the checks of disks find: the same as `verify` and `health` say."""
    from metashell.checks.disks import judge_disks
    from metashell.facts import gather
    from metashell.shell.verdict_text import finding_row, shown_of, verdict_lines, verdict_row
    from metashell.storage.config import load_config
    from metashell.storage.errors import ConfigError
    from metashell.storage.info import read_info
    from metashell.storage.surprises import surprises

    facts = gather((), [values.config])
    try:
        warnings = surprises(load_config(values.config))
    except ConfigError as error:
        if error.directories is None:
            raise
        warnings = []
    info = read_info(facts.configurations[0].log_directories)
    verdict = judge_disks(facts)
    shown = shown_of(verdict, 100)
    _print_answer(
        values.output,
        text=lambda: chain(
            report.info_lines(info, warnings),
            verdict_lines(standard_output(), shown),
            [verdict.summary("this configuration and its disks")],
        ),
        json=lambda: {**report.info_json(info, warnings), "findings": [finding_row(one) for one in shown], "verdict": verdict_row(verdict)},
    )
    return STATUS_FAILED if verdict.bad else STATUS_OK


def _version_mapping(tool: str, values: SimpleNamespace) -> int:
    from metashell.codec.releases import FEATURES
    from metashell.storage import features

    typed = values.release_version
    level = features.NEWEST_RELEASE_LEVEL if typed is None else features.release_level(typed, unstable=True)
    levels = {name: features.default_level(name, level) for name in FEATURES}
    return _print_answer(
        values.output,
        text=lambda: report.mapping_lines(level, levels),
        json=lambda: report.mapping_json(level, levels),
        kafka=lambda: report.kafka_mapping_lines(level, typed, levels),
    )


def _feature_dependencies(tool: str, values: SimpleNamespace) -> int:
    from metashell.storage.features import dependencies

    return _print_answer(
        values.output,
        # What comes before a wrong one is still printed.
        text=lambda: (line for text in values.feature for line in report.dependency_lines(dependencies(text))),
        json=lambda: report.dependencies_json([dependencies(text) for text in values.feature]),
    )


def _random_uuid(tool: str, values: SimpleNamespace) -> int:
    from metashell.values import uuid_text

    text = uuid_text(new_uuid())
    return _print_answer(values.output, text=lambda: [text], json=lambda: {"type": "random_uuid", "uuid": text})


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
    if plan.needs_newer_server and any(directory.holds_partition for directory in plan.directories):
        complain(
            tool,
            f"warning: only servers from 4.4 on take the records of this layout into the log, also at metadata.version {plan.release} "
            "(4.3 begins without them); --layout 4.3 writes what all servers read",
        )
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
    return _print_plan(plan, values, "would be formatted")


def _print_plan(plan: FormatPlan, values: SimpleNamespace, done: str) -> int:
    """Print a plan in our words; `done` says what became, or would become, of each directory."""
    return _print_answer(
        values.output,
        text=lambda: chain(report.plan_lines(plan), report.directory_rows(plan, done)),
        json=lambda: report.plan_json(plan, dry_run=values.dry_run, show_secrets=values.show_secrets),
    )


def _refuse_locked(paths: Iterable[str]) -> None:
    from metashell.errors import MetashellError
    from metashell.log.disk import is_locked

    for path in paths:
        if is_locked(path):
            raise MetashellError(f"{path}: in use by a running process, which holds its .lock")


def _carry_out(plan: FormatPlan, values: SimpleNamespace) -> int:
    from metashell.storage.perform import perform

    if values.output != "kafka":
        perform(plan, lambda directory: None)
        return _print_plan(plan, values, "formatted")
    _print([report.kafka_bootstrap_line(plan) if plan.directories else report.ALL_FORMATTED])
    perform(plan, lambda directory: _print([report.kafka_directory_line(plan, directory)]))
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
        layout=values.layout,
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
