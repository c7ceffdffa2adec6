"""The facts of a release, out of its jars; needs Java, and fetches the jars by Maven (`tests/java.py`)."""

from __future__ import annotations

import re
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from metashell.codec.registry import SCHEMA_FOLDER
from tests.java import jars, kafka, run_program
from tools import gen_config_definitions, gen_config_keys
from tools.release.definitions import class_schema, definition, json_schema
from tools.release.facts import Facts, Message, levels_with_questions, settings_of

_PROGRAM: Final = Path(__file__).parent / "Facts.java"
_COORDINATORS: Final = {
    "kafka-group-coordinator": "offsets",
    "kafka-share-coordinator": "share",
    "kafka-transaction-coordinator": "transactions",
}
_RECORDS: Final = "org/apache/kafka/common/metadata/"
_REMOTE: Final = "org/apache/kafka/server/log/remote/metadata/storage/generated/"
_CONVERTER: Final = "JsonConverter.class"
_OTHER_TOOLS: Final = (
    *("AclCommand", "DelegationTokenCommand", "LeaderElectionCommand", "reassign.ReassignPartitionsCommand", "LogDirsCommand"),
    *("GroupsCommand", "consumer.group.ConsumerGroupCommand", "consumer.group.ShareGroupCommand", "streams.StreamsGroupCommand"),
    *("TransactionsCommand", "GetOffsetShell", "DeleteRecordsCommand", "ClientMetricsCommand", "ProducerPerformance"),
)
VOICES: Final = ("storage", "cluster", "quorum", "features", "dump-log", "shell")
"""The tools that are ours too, with every word of their help; of dump-log only the options, since our own page is the longer one."""
ALL_TOOLS: Final = (*VOICES, "topics", "configs", *(f"org.apache.kafka.tools.{name}" for name in _OTHER_TOOLS))
DUMP_LOG_OPTIONS: Final = "dump-log options"


def release_facts(version: str, areas: frozenset[str], tools: Sequence[str] = VOICES) -> Facts:
    """What the release says of these areas; of help, that of these tools."""
    facts = Facts(version)
    definitions = dict(_definitions(version)) if "messages" in areas else {}
    lines = run_program(_PROGRAM, *(_classes(version) if definitions else ()), version=version).decode().splitlines()
    rows = [line.split("\t") for line in lines if "\t" in line]
    facts.messages = definitions | dict(_class_messages(rows))
    _add_tables(facts, rows)
    if "settings" in areas:
        _add_settings(facts, version)
    if "help" in areas:
        for tool in tools:
            facts.help |= dict(_helps(version, tool))
    return facts


def _definitions(version: str) -> Iterator[tuple[str, Message]]:
    """The messages whose definitions lie in the jars, by `family/Name`."""
    for jar in sorted(jars(version).glob("kafka*.jar")):
        with zipfile.ZipFile(jar) as archive:
            for entry in sorted(archive.namelist()):
                if entry.startswith("common/message/") and entry.endswith(".json"):
                    read = definition(archive.read(entry).decode())
                    if read is not None:
                        family = _COORDINATORS.get(jar.name.removesuffix(f"-{version}.jar")) or _family(read)
                        yield f"{family}/{read['name']}", Message(json_schema(read, family))


def _family(read: dict[str, Any]) -> str:
    if read["type"] != "data":
        return str(read["type"])
    is_control = (Path(SCHEMA_FOLDER) / "control" / f"{read['name']}.schema").exists()
    return "control" if is_control else "data"


def _classes(version: str) -> list[str]:
    """The classes of the messages whose definitions do not."""
    found = []
    for jar in sorted(jars(version).glob("kafka*.jar")):
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                if entry.startswith((_RECORDS, _REMOTE)) and entry.endswith(_CONVERTER) and "$" not in entry:
                    name = entry.removesuffix(_CONVERTER)
                    if f"{name}.class" in archive.namelist():
                        found.append(name.replace("/", "."))
    return found


def _class_messages(rows: list[list[str]]) -> Iterator[tuple[str, Message]]:
    groups: list[list[list[str]]] = []
    for row in rows:
        if row[0] == "message":
            groups.append([])
        if row[0] in ("message", "field", "flexible"):
            groups[-1].append(row)
    for group in groups:
        _, name, key, *_ = group[0]
        family = "data" if key == "-1" else "metadata" if name.startswith(_RECORDS.replace("/", ".")) else "remote_log"
        yield f"{family}/{name.rpartition('.')[2]}", Message(class_schema(group, "data" if key == "-1" else "metadata"), is_partial=True)


def _add_tables(facts: Facts, rows: list[list[str]]) -> None:
    levels = []
    for kind, *words in rows:
        if kind == "error":
            code, name, message = words
            facts.errors[code] = name if message in ("null", name) else f"{name}: {message}"
        elif kind == "level":
            levels.append((int(words[0]), words[1], words[2] == "true", words[3].split()))
        elif kind == "range":
            facts.features[words[0]] = f"{words[1]}-{words[2]}"
        elif kind == "feature":
            name, level, default_from, needs = words
            facts.features[f"{name} {level}"] = f"default from {default_from}" + ("" if needs == "{}" else f", needs {needs[1:-1]}")
        elif kind == "api":
            key, name, low, high, _, listeners, is_forwarded = words
            if "controller" in listeners.split(","):
                facts.apis[key] = f"{name} {low}-{high}{' forwarded' if is_forwarded == 'true' else ''}"
    facts.levels, facts.questions = levels_with_questions(levels)


def _add_settings(facts: Facts, version: str) -> None:
    facts.settings |= settings_of("server", gen_config_keys.keys(version))
    for kind in gen_config_definitions.KINDS:
        try:
            facts.settings |= settings_of(kind, gen_config_definitions.definitions(version, [kind])[kind])
        except AssertionError as error:
            # Java says first which options it takes from the environment.
            lines = [line for line in str(error).strip().splitlines() if not line.startswith(("NOTE: Picked up", "Picked up"))]
            reason = lines[0].rpartition("/")[2]
            facts.unread.append(f"settings of {kind} and what follows: {version} does not run {reason}")
            return


def _helps(version: str, tool: str) -> Iterator[tuple[str, str]]:
    """The help of a tool and of its subcommands."""
    top = help_text(kafka(version, tool, "--help"))
    yield tool, top
    if tool == "dump-log":
        yield DUMP_LOG_OPTIONS, option_names(top)
    if tool in VOICES:
        for command in subcommands(top):
            yield f"{tool} {command}", help_text(kafka(version, tool, command, "--help"))


def help_text(done: subprocess.CompletedProcess[bytes]) -> str:
    """What a tool says of itself, on whichever stream."""
    return (done.stdout or done.stderr).decode()


def option_names(text: str) -> str:
    """The options that a help describes, a line each."""
    return "".join(f"{name}\n" for name in sorted(set(re.findall(r"^ *(--[a-z][a-z-]+)", text, re.MULTILINE)) - {"--help", "--version"}))


def subcommands(text: str) -> list[str]:
    """The commands that a usage lists in braces, for those tools that have some."""
    usage = text.partition("\n\n")[0]
    found = re.search(r"\{([a-z,\s-]+)\}", usage)
    return [] if found is None or "--snapshot" in usage else [word.strip() for word in found[1].split(",")]
