"""The command line of `metashell`, the front door, and the list of all tools."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.acl_tools import ACLS
from metashell.options.analyse_tools import EXPORT, SQL
from metashell.options.bundle_tools import BUNDLE
from metashell.options.cluster_tools import BROKERS, CLUSTER, FEATURES
from metashell.options.completion_tools import COMPLETION
from metashell.options.dictionary_tools import TABLES
from metashell.options.dump_tools import DUMP_LOG, KAFKA_DUMP_LOG
from metashell.options.group_tools import GROUPS
from metashell.options.health_tools import HEALTH
from metashell.options.kafka_admin_tools import KAFKA_CLUSTER, KAFKA_FEATURES, KAFKA_METADATA_QUORUM
from metashell.options.kafka_names import KAFKA
from metashell.options.lake_tools import LAKE
from metashell.options.quota_tools import QUOTAS
from metashell.options.reassign_tools import REASSIGN
from metashell.options.rehearse_tools import REHEARSE
from metashell.options.report_tools import REPORT, SPARK_REPORTS
from metashell.options.scram_tools import SCRAM
from metashell.options.server_tools import QUORUM, SERVER
from metashell.options.shell_command_tools import SHELL_COMMANDS
from metashell.options.shell_tools import KAFKA_METADATA_SHELL, KAFKA_SHELL
from metashell.options.simulate_tools import SIMULATE
from metashell.options.spec import Argument, CommandSpec
from metashell.options.storage_tools import KAFKA_STORAGE, STORAGE
from metashell.options.subcommands import SUBCOMMANDS, TASKS
from metashell.options.topic_tools import CONFIGS, ELECT, TOPICS
from metashell.options.verify_tools import VERIFY

_SUMMARIES = shared.listed({name: summary for name, (_, summary) in SUBCOMMANDS.items()}).split("\n")
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
    options=(shared.VERSION,),
    arguments=(Argument(name="command", nargs="+", kind="subcommand", help="one of the commands below, and its words"),),
    examples=(
        ("metashell shell --demo", "a prompt on the directory that ships with the package"),
        ("metashell dump-log --cluster-metadata-decoder FILE", "the records of a metadata log as JSON lines"),
    ),
    epilog=(*_TASKS, shared.EXIT_STATUS),
    files=shared.LOG_FILES,
    first_word_ends_options=True,
)

TOOLS: dict[str, CommandSpec] = {
    spec.name: spec
    for spec in (
        METASHELL,
        KAFKA_SHELL,
        HEALTH,
        *SHELL_COMMANDS.values(),
        DUMP_LOG,
        KAFKA_METADATA_SHELL,
        KAFKA_DUMP_LOG,
        VERIFY,
        BUNDLE,
        REHEARSE,
        SIMULATE,
        STORAGE,
        KAFKA_STORAGE,
        KAFKA_CLUSTER,
        KAFKA_METADATA_QUORUM,
        KAFKA_FEATURES,
        KAFKA,
        QUORUM,
        TOPICS,
        CONFIGS,
        CLUSTER,
        BROKERS,
        FEATURES,
        ELECT,
        REASSIGN,
        ACLS,
        QUOTAS,
        SCRAM,
        GROUPS,
        SERVER,
        EXPORT,
        LAKE,
        SQL,
        REPORT,
        TABLES,
        COMPLETION,
        SPARK_REPORTS,
    )
}
"""Every command that is installed: what completions and man pages are made of."""
