"""The command `metashell`: finds the command of the first word, loads its module and runs it.

`SUBCOMMANDS` maps the name of each command to its module and summary. It is static, so that `metashell --help` loads no command. A
module has its command as `main`, or under the name after a colon. `metashell completion`, which prints the completions of all commands,
is here too."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from metashell.cli.tool import declared_tool, parsed
from metashell.common import options
from metashell.common.command import STATUS_OK, STATUS_USAGE, Tool
from metashell.common.errors import MetashellError, UsageError
from metashell.common.options import Argument, CommandSpec, did_you_mean

if TYPE_CHECKING:
    from types import SimpleNamespace


NAME = "metashell"


def run_subcommand(words: list[str]) -> int:
    """Pass the words after a command's name to that command. Without a command, print help, the version or an error."""
    if not words:
        from metashell.common.option_parser import render_help

        sys.stderr.write(render_help(METASHELL))
        return STATUS_USAGE
    if words[0] == "help":
        words = [*words[1:2], "--help"]
    if words[0] not in SUBCOMMANDS and not (words := _command_words(words)):
        return STATUS_OK

    # From here on the command acts as its own program; even its --version imports little.
    return tool_of(words[0])(words[1:])


def tool_of(name: str) -> Tool:
    """Import the module of the command with that name and return the command."""
    module, _, attribute = SUBCOMMANDS[name][0].partition(":")
    tool = getattr(import_module(f"metashell.cli.{module}"), attribute or "main")
    assert isinstance(tool, Tool)
    return tool


def _command_words(words: list[str]) -> list[str]:
    """Return the words from the command's name on. If the line asks for help or the version, print it and return none."""
    values = parsed(METASHELL, words)
    if values is None:
        return []
    name = values.command[0]
    if name not in SUBCOMMANDS:
        raise UsageError(f"unknown command {name}{did_you_mean(name, list(SUBCOMMANDS))}", name)
    return list(values.command)


main = Tool(NAME, run_subcommand)


TASKS: dict[str, dict[str, tuple[str, str]]] = {
    "LOOK": {
        "shell": ("inspect.kafka_shell", "look at the metadata of a Kafka cluster as a tree of files"),
        "status": ("inspect.kafka_shell:status", "show what was read from a directory, a file or a quorum, and what is wrong in it"),
        "ls": ("inspect.kafka_shell:ls", "list directories of the metadata tree of a source"),
        "cat": ("inspect.kafka_shell:cat", "print values of the metadata tree of a source"),
        "find": ("inspect.kafka_shell:find", "search the metadata of a source"),
        "log": ("inspect.kafka_shell:log", "print the records that changed a path of the metadata"),
        "diff": ("inspect.kafka_shell:diff", "print what differs between two moments or two sources"),
        "why": ("inspect.kafka_shell:why", "what led to the state of a partition, topic, broker or voter, step by step"),
        "dump-log": ("inspect.dump_log", "print the batches and records of Kafka's logs and checkpoints as JSON lines"),
        "bundle": ("inspect.bundle", "pack a metadata log for a colleague or a ticket, without its secrets"),
    },
    "CHECK": {
        "health": ("inspect.checks:health_main", "say what is wrong with a cluster, why, and what to do next"),
        "cluster": ("cluster.brokers:cluster_main", "show how a cluster is: its quorum, brokers, features, and what is wrong"),
        "verify": ("inspect.checks:verify_main", "check what Kafka left on disk: checksums, offsets, epochs, indexes, checkpoints"),
    },
    "CHANGE": {
        "topics": ("cluster.topics", "list, describe, create, alter and delete topics"),
        "configs": ("cluster.configs", "show and change settings of topics, brokers, groups and client metrics"),
        "brokers": ("cluster.brokers:brokers_main", "list and describe brokers, and unregister those that are gone"),
        "features": ("cluster.features", "show, upgrade, downgrade and disable features"),
        "elect": ("cluster.elect", "let partitions have another leader"),
        "acls": ("cluster.acls", "access control entries: list, add, remove"),
        "quotas": ("cluster.users:quotas_main", "quotas of users, client ids and addresses: list, set, unset"),
        "scram": ("cluster.users:scram_main", "SCRAM credentials of users: list, set, delete"),
    },
    "PLAN": {
        "rehearse": ("cluster.rehearse", "what would happen to a cluster: steps tried on a copy of its metadata"),
        "reassign": ("cluster.reassign", "move replicas between brokers: plan, apply, status, cancel"),
    },
    "GROUPS": {
        "groups": ("groups.command", "what groups do with topics and partitions"),
        "simulate": ("groups.simulate", "how groups rebalance, simulated"),
    },
    "TABLES": {
        "sql": ("tables.sql", "ask questions of logs in SQL: the current state, and the events that led to it"),
        "report": ("tables.report", "answer an operator's question from the logs of a cluster, as a table and as a page"),
        "tables": ("tables.sql:tables_main", "what the tables of export, sql and reports are, and what each column means"),
        "export": ("tables.export", "write the records of logs as tables: Parquet, Arrow, CSV or JSON lines"),
        "lake": ("tables.lake", "what a lake holds, whether it is whole, and its upkeep"),
    },
    "CONTROLLERS": {
        "quorum": ("controllers.quorum", "a quorum of controllers on this machine, and the quorum of any cluster"),
        "server": ("controllers.server", "run a controller from Kafka's server.properties"),
        "storage": ("controllers.storage", "prepare, inspect and repair the log directories of a node"),
    },
    "SETUP": {
        "completion": ("main:completion_main", "print the completions of all commands for bash, zsh or fish"),
    },
    "KAFKA'S NAMES": {
        "kafka": ("main:kafka_main", "any of Kafka's names, where the name itself is another's: metashell kafka storage"),
        "kafka-metadata-shell": ("kafka.file_tools:shell_main", "Kafka's metadata shell: same options and output"),
        "kafka-dump-log": ("inspect.dump_log:kafka_main", "Kafka's dump-log tool: same options and output"),
        "kafka-storage": ("kafka.file_tools:storage_main", "Kafka's storage tool: same options and output"),
        "kafka-cluster": ("kafka.cluster", "Kafka's cluster tool: same options and output"),
        "kafka-metadata-quorum": ("kafka.metadata_quorum", "Kafka's quorum tool: same options and output"),
        "kafka-features": ("kafka.features", "Kafka's features tool: same options and output"),
    },
}
"""Commands in the order of the help. Only our own names have short forms; Kafka's tools keep Kafka's names."""

SUBCOMMANDS: dict[str, tuple[str, str]] = {name: command for commands in TASKS.values() for name, command in commands.items()}

KAFKA_NAMES: tuple[str, ...] = ("kafka-shell", *(name for name in SUBCOMMANDS if name.startswith("kafka-")))
"""Names that `metashell kafka` accepts. Each is also a command by itself, unless another package has taken the name."""


_SUMMARIES = options.listed({name: summary for name, (_, summary) in SUBCOMMANDS.items()}).split("\n")
_TASKS = tuple(
    (task, "\n".join(line for line, name in zip(_SUMMARIES, SUBCOMMANDS, strict=True) if name in commands))
    for task, commands in TASKS.items()
)

METASHELL = CommandSpec(
    name="metashell",
    summary="inspect the metadata and logs of Kafka clusters",
    description="""
        One name for all commands. The words after a command's name belong to that command: `metashell shell --help` shows its options.
        """,
    options=(options.VERSION,),
    arguments=(Argument(name="command", nargs="+", kind="subcommand", help="one of the commands below, and its words"),),
    examples=(
        ("metashell shell --demo", "a prompt on the directory that ships with the package"),
        ("metashell dump-log --cluster-metadata-decoder FILE", "the records of a metadata log as JSON lines"),
    ),
    epilog=(*_TASKS, options.EXIT_STATUS),
    files=options.LOG_FILES,
    first_word_ends_options=True,
)


COMPLETION = CommandSpec(
    name="metashell-completion",
    summary="print the completions of all commands for bash, zsh or fish",
    description="""
        Prints the script that completes commands, options, their values, reports, tables, record types, files, and paths inside the
        metadata, for `kafka-shell`, `dump-log`, `metashell` and the others. An installed package brings the same scripts in
        share/, where bash-completion, zsh and fish find them if its prefix is one that they search.
        """,
    options=(options.VERSION,),
    arguments=(Argument(name="shell", choices=("bash", "zsh", "fish"), type="choice", help="the shell to complete in"),),
    examples=(
        ("source <(metashell completion bash)", "in ~/.bashrc"),
        ("source <(metashell completion zsh)", "in ~/.zshrc, after compinit"),
        ("metashell completion fish | source", "in ~/.config/fish/config.fish"),
    ),
    epilog=(options.EXIT_STATUS,),
    files=(
        ("share/bash-completion/completions/, share/zsh/site-functions/, share/fish/vendor_completions.d/", "the same scripts, installed"),
        ("share/man/man1/", "the man pages"),
    ),
)


COMPLETION_NAME = "metashell completion"
_SCRIPTS = {"bash": "bash/metashell", "zsh": "zsh/_metashell", "fish": "fish/metashell.fish"}


def _print_script(values: SimpleNamespace) -> int:
    """Print the script of one shell."""

    from importlib.resources import files

    script = files("metashell").joinpath("completions", _SCRIPTS[values.shell])
    sys.stdout.write(script.read_text(encoding="utf-8") if script.is_file() else _made(values.shell))
    return STATUS_OK


def _made(shell: str) -> str:
    """Return the script of one shell. The tools of the source tree make it in their own process, since nothing here imports them."""
    import subprocess

    import metashell

    root = os.path.dirname(os.path.dirname(os.path.abspath(metashell.__file__)))
    if not os.path.exists(os.path.join(root, "tools", "gen_completions.py")):
        raise MetashellError("this copy was built without completions: build it from a source tree with `pip wheel`")
    argv = [sys.executable, "-m", "tools.gen_completions", "--print", shell]
    done = subprocess.run(argv, cwd=root, stdout=subprocess.PIPE, encoding="utf-8", check=False)
    if done.returncode:
        raise MetashellError("the completions could not be made")
    return done.stdout


completion_main = declared_tool(COMPLETION_NAME, COMPLETION, _print_script)


KAFKA_NAME = "metashell kafka"


def run_kafka(words: list[str]) -> int:
    """Pass the words after a name to the command of that name; without a name, list them."""
    if not words:
        sys.stdout.write("".join(f"{name}\n" for name in KAFKA_NAMES))
        return STATUS_OK
    if words[0].startswith("-"):
        values = parsed(KAFKA._replace(name=KAFKA_NAME), words)
        if values is None:
            return STATUS_OK
        words = list(values.name)
    name = words[0] if words[0].startswith("kafka-") else f"kafka-{words[0]}"
    if name not in KAFKA_NAMES:
        raise UsageError(f"unknown name {words[0]}{did_you_mean(name, list(KAFKA_NAMES))}", words[0])
    return tool_of("shell" if name == "kafka-shell" else name)(words[1:])


kafka_main = Tool(KAFKA_NAME, run_kafka)


KAFKA = CommandSpec(
    name="metashell-kafka",
    summary="any of Kafka's names, where the name itself is another's: metashell kafka storage",
    description="""
        Runs one of the commands below, with or without `kafka-` before its name. Confluent's packages, and any Kafka whose bin/ is on the
        PATH without `.sh`, have commands of the same names; this one is always ours.
        """,
    options=(options.VERSION,),
    arguments=(Argument(name="name", nargs="+", kind="kafka-name", help="one of the names below, and its words"),),
    examples=(
        ("metashell kafka storage random-uuid", "kafka-storage random-uuid, of this package"),
        ("metashell kafka dump-log --files FILE", "kafka-dump-log: what Kafka's own tool prints"),
    ),
    epilog=(
        ("NAMES", options.listed({name: SUBCOMMANDS[name.replace("kafka-shell", "shell")][1] for name in KAFKA_NAMES})),
        options.KAFKA_EXIT_STATUS,
    ),
    files=options.LOG_FILES,
    first_word_ends_options=True,
)
