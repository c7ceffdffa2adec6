"""Command lines from the registries, run in this process, and what they let out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from metashell.cli.cluster import rehearse
from metashell.cli.cluster.rehearse import REHEARSE
from metashell.cli.connection import QUORUM_OPTIONS
from metashell.cli.controllers import storage
from metashell.cli.controllers.storage import STORAGE
from metashell.cli.groups import command as groups_command
from metashell.cli.groups.command import GROUPS
from metashell.cli.inspect import bundle, checks, dump_log, kafka_shell
from metashell.cli.inspect.bundle import BUNDLE
from metashell.cli.inspect.checks import VERIFY
from metashell.cli.inspect.dump_log import DUMP_LOG
from metashell.cli.shell_options import KAFKA_SHELL
from metashell.cli.tables import export, report, sql
from metashell.cli.tables.export import EXPORT
from metashell.cli.tables.report import REPORT
from metashell.cli.tables.sql import SQL
from metashell.common.options import CommandSpec, Option
from metashell.shell.commands import COMMANDS, FORMS
from metashell.shell.conditions import OPERATOR_OPTIONS
from metashell.shell.predicates import TEST_OPTIONS
from tests.pairs import pairs
from tests.running import Outcome, run_main
from tests.secret_logs import SECRETS, found_in, found_in_files

T = TypeVar("T")
MAINS = {
    DUMP_LOG.name: dump_log.main,
    KAFKA_SHELL.name: kafka_shell.main,
    VERIFY.name: checks.verify_main,
    BUNDLE.name: bundle.main,
    REHEARSE.name: rehearse.main,
    EXPORT.name: export.main,
    SQL.name: sql.main,
    REPORT.name: report.main,
    STORAGE.name: storage.main,
    GROUPS.name: groups_command.main,
}
WORDS = {
    "files": ["--files", "{file}"],
    "seeds": ["--seeds", "2"],
    "server_config": ["-c", "server.properties"],
    "max_bytes": ["--max-bytes", "2500"],
    "max_message_size": ["--max-message-size", "100"],
    "max_decompressed": ["--max-decompressed", "300"],
    "key_decoder_class": ["--key-decoder-class", "String"],
    "value_decoder_class": ["--value-decoder-class", "String"],
    "type": ["--type", "CONFIG_RECORD", "--type", "USER_SCRAM_CREDENTIAL_RECORD", "--type", "99"],
    "offset": ["--offset", "3.."],
    "since": ["--since", "2001-01-01"],
    "until": ["--until", "2031-01-01"],
    "key": ["--key", "."],
    "value": ["--value", "."],
    "jobs": ["--jobs", "2"],
    "digest": ["--digest=end"],
    "config": ["--start-safe", "--config", "server.properties"],
    "name": ["-name", "*"],
    "path_glob": ["-path", "*"],
    "regex": ["-regex", "."],
    "maxdepth": ["-maxdepth", "99"],
    "partitions": ["--partitions", "3"],
    "replication_factor": ["--replication-factor", "2"],
    "output": [],
    "sizes": ["--sizes", "{file}"],
    "assume": ["--assume", "voters=1,2,3"],
    "html": ["--html", "page.html"],
    "show": ["--show", "records,diff"],
    "state": ["--state", "Stable"],
    "metadata": ["--metadata", "."],
    "last": ["--last", "1"],
    "within": ["--within", "300d"],
    "retention": ["--retention", "1h"],
    "at": ["--at", "2031-01-01"],
    "to": ["--to", "2.8"],
    "mapping": ["--anonymise", "--mapping", "names.jsonl"],
    "by": ["--by", "leader"],
    "limit": ["--limit", "9"],
    "min_isr": ["--min-isr", "2"],
    "allow": ["--allow", "fault=3"],
    "stuck_after": ["--stuck-after", "1s"],
    "lag_after": ["--lag-after", "1s"],
    "sort": ["--sort", "type"],
    "number": ["-n", "3"],
    "leader": ["-leader", "1"],
    "replica": ["-replica", "1"],
    "rack": ["-rack", "a"],
    "isr_lt": ["-isr-lt", "9"],
    "with_config": ["-config", "*=*"],
    "changed_since": ["-changed-since", "0"],
    "newer": ["-newer", "/image/features"],
    "settings": ["--settings", "/dev/null"],
    "server_log": ["--server-log", "server.properties"],
    "over": ["--over", "0s"],
    "watch": ["--watch"],
    "where": ["--where", "'len(value)!=0'"],
}
"""How an option is given that takes a value which is not one of a few."""
ELSEWHERE = {
    "allow_changes",
    "version",
    "show_secrets",
    "output",
    "out",
    "tables",
    "snapshot",
    "demo",
    "follow",
    "log",
    "format",
    "on_error",
    *(option.dest for option in (*TEST_OPTIONS, *OPERATOR_OPTIONS) if option.is_flag),
}
"""Options that every command line here has anyway, that have a test of their own, that read no log, or that leave paths out of `find`."""


@dataclass
class Ran:
    """What command lines left behind, all together."""

    found: dict[str, set[str]] = field(default_factory=dict)
    count: int = 0
    outputs: int = 0

    def note(self, words: Sequence[str], outcome: Outcome, folder: Path | None = None) -> None:
        told = found_in(outcome.stdout) | found_in(outcome.stderr.encode())
        if folder is not None:
            told |= found_in_files(folder)
        assert "Traceback" not in outcome.stderr, words
        self.count += 1
        self.outputs += bool(outcome.stdout)
        for name in told:
            self.found.setdefault(name, set()).add(" ".join(words))

    def check(self, show: bool, secrets: Sequence[str] = tuple(SECRETS)) -> None:
        """With `show` each of these secrets must have come out, without it none at all may have."""
        if show:
            assert set(secrets) <= set(self.found)
        else:
            assert {name: sorted(lines)[:5] for name, lines in self.found.items()} == {}
        assert self.outputs, "nothing was printed at all"


def variants(option: Option) -> list[list[str]]:
    """The ways in which an option can be given."""
    name = max(option.names, key=lambda each: (each.startswith("--"), len(each)))
    if option.is_flag:
        return [[name]]
    if option.type == "choice":
        return [[name, choice] for choice in option.choices]
    if option.type == "optional-choice":
        return [[f"{name}={choice}"] for choice in option.choices]
    assert option.dest in WORDS, f"{option.names}: say in WORDS how it is given"
    return [WORDS[option.dest]]


def some(show: bool, lines: Sequence[T]) -> Sequence[T]:
    """With --show-secrets every third of the lines: it has to be shown that there is something to find, and no more."""
    return lines[::3] if show else lines


def single_options(spec: CommandSpec) -> list[list[str]]:
    """Every option of a command by itself, but for those that have their place."""
    names = {*ELSEWHERE, *(option.dest for option in QUORUM_OPTIONS)}
    return [words for option in spec.options if option.dest not in names for words in variants(option)]


def run(tool: CommandSpec, words: Sequence[str], folder: Path, show: bool) -> Outcome:
    return run_main(MAINS[tool.name], [*(["--show-secrets"] if show else []), *words], cwd=folder)


ENDLESS = {"watch", "follow"}
NODES = ["/", "/image", "/image/*", "/image/configs/*", "/image/configs/*/*", "/image/scram/*/*", "/image/faults", "/image/delegationToken"]


def shell_scripts(sources: Sequence[tuple[str, bool]]) -> dict[tuple[str, bool], str]:
    """Lines of every command of the shell for each source: its options, places where secrets are, forms and sources, in pairs."""
    forms = [[], *(["-o", form] for form in FORMS)]
    scripts = dict.fromkeys(sources, "")
    for command in COMMANDS:
        if command.name in {*ENDLESS, "exit"}:
            continue
        has_path = any(argument.kind == "node" for argument in command.spec.arguments)
        targets = [[], *([node] for node in NODES)] if has_path else [[], *([["0", "end"], ["end", "0"]] if command.name == "diff" else [])]
        first = [command.name, "."] if command.name == "grep" else [command.name]
        for target, words, form, source in pairs(targets, [[], *single_options(command.spec)], forms, sources):
            scripts[source] += " ".join([*first, *target, *words, *form]) + "\n"
    return scripts
