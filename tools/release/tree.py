"""The same facts as this tree has them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

from metashell.codec import error_codes
from metashell.codec.error_codes import MESSAGES
from metashell.codec.redaction import broker_config_keys
from metashell.codec.registry import SCHEMA_FOLDER
from metashell.codec.releases import (
    FEATURES,
    METADATA_VERSION,
    NEWEST_LEVEL,
    NEWEST_RELEASE,
    metadata_version_name,
    record_versions,
    supported_features,
)
from metashell.quorum.controller.authorizer import APIS
from tests.running import run_process
from tools import gen_config_definitions, gen_config_keys
from tools.release.facts import KNOWN, Facts, Message, level_line, settings_of
from tools.release.jars import DUMP_LOG_OPTIONS, VOICES, option_names, subcommands

ROOT: Final = Path(__file__).resolve().parents[2]
SCHEMAS: Final = Path(SCHEMA_FOLDER)
FAMILIES: Final = ("control", "data", "header", "metadata", "offsets", "remote_log", "request", "response", "share", "transactions")
"""The folders of schemas whose texts are the newest release's; the others are what some program or draft wrote once."""
_NAMES: Final = {"quorum": "kafka-metadata-quorum", "shell": "kafka-metadata-shell"}


def tree_facts(release: Facts, areas: frozenset[str]) -> Facts:
    """What this tree says of these areas, as far as the release speaks of them.

    Adds to the release's settings which keys the tree's list of known ones has to have, for what is redacted.
    """
    facts = Facts("this tree")
    if "messages" in areas:
        for family in FAMILIES:
            for path in (SCHEMAS / family).glob("*.schema"):
                facts.messages[f"{family}/{path.stem}"] = Message(path.read_text(encoding="utf-8"))
    facts.apis = {str(key): f"{api.name} {api.low}-{api.high}{' forwarded' if api.is_forwarded else ''}" for key, api in APIS.items()}
    facts.levels = dict(_levels(release))
    _add_features(facts)
    _add_errors(facts)
    if "settings" in areas:
        facts.settings |= settings_of("server", gen_config_keys.KEYS.read_text(encoding="utf-8"))
        for kind in gen_config_definitions.KINDS:
            facts.settings |= settings_of(kind, (gen_config_definitions.FOLDER / f"{kind}.tsv").read_text(encoding="utf-8"))
        defined = {key.partition(" ")[2]: text for key, text in release.settings.items() if key.startswith("server ")}
        release.settings |= {f"{KNOWN} {key}": "password" if text.startswith("PASSWORD") else "plain" for key, text in defined.items()}
        known = {f"{KNOWN} {key}": "password" if is_password else "plain" for key, is_password in broker_config_keys().items()}
        facts.settings |= {key: mark for key, mark in known.items() if key in release.settings}
    if "help" in areas:
        _add_help(facts, release)
    # Of what only Kafka's own classes say there is nothing here that could differ.
    facts.questions = release.questions
    return facts


def _levels(release: Facts) -> list[tuple[str, str]]:
    oldest = min((int(level) for level in release.levels), default=1)
    found = []
    for level in range(oldest, NEWEST_LEVEL + 1):
        versions = record_versions(level)
        records = f"RegisterBrokerRecord {versions.register_broker}, PartitionRecord {versions.partition}"
        found.append((str(level), level_line(metadata_version_name(level), records, is_released=level <= NEWEST_RELEASE.newest_level)))
    return found


def _add_features(facts: Facts) -> None:
    for name, (low, high) in supported_features().items():
        facts.features[name] = f"{low}-{high}"
    for name, levels in FEATURES.items():
        for level, step in enumerate(levels):
            needs = f", needs {METADATA_VERSION}={step.needs}" if step.needs else ""
            facts.features[f"{name} {level}"] = f"default from {step.default_from}{needs}"


def _add_errors(facts: Facts) -> None:
    for name, code in vars(error_codes).items():
        if name.isupper() and isinstance(code, int):
            facts.errors[str(code)] = f"{name}: {MESSAGES[code]}" if code in MESSAGES else name


def _add_help(facts: Facts, release: Facts) -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    for name in release.help:
        tool, *command = name.split()
        if tool not in VOICES or name == "dump-log":
            facts.help[name] = release.help[name]
            continue
        script = scripts[_NAMES.get(tool, f"kafka-{tool}")]
        if name == DUMP_LOG_OPTIONS:
            facts.help[name] = option_names(_our_help(script))
            continue
        facts.help[name] = _our_help(script, *command)
        if not command:
            # A command of ours that the release does not have is a difference too.
            for extra in set(subcommands(facts.help[name])) - {one.partition(" ")[2] for one in release.help}:
                facts.help[f"{tool} {extra}"] = "a command of ours\n"


def _our_help(script: str, *command: str) -> str:
    done = run_process(script, [*command, "--help"], cwd=ROOT)
    return done.stdout.decode() or done.stderr
