"""The declarations of all installed commands; completions and man pages are generated from this list.

Importing it imports every command module. Code that runs a command does not import it."""

from __future__ import annotations

from metashell.cli.cluster.acls import ACLS
from metashell.cli.cluster.brokers import BROKERS, CLUSTER
from metashell.cli.cluster.configs import CONFIGS
from metashell.cli.cluster.elect import ELECT
from metashell.cli.cluster.features import FEATURES
from metashell.cli.cluster.reassign import REASSIGN
from metashell.cli.cluster.rehearse import REHEARSE
from metashell.cli.cluster.topics import TOPICS
from metashell.cli.cluster.users import QUOTAS, SCRAM
from metashell.cli.controllers.quorum_options import QUORUM
from metashell.cli.controllers.server import SERVER
from metashell.cli.controllers.storage import STORAGE
from metashell.cli.groups.command import GROUPS
from metashell.cli.groups.simulate import SIMULATE
from metashell.cli.inspect.bundle import BUNDLE
from metashell.cli.inspect.checks import HEALTH, VERIFY
from metashell.cli.inspect.dump_log import DUMP_LOG, KAFKA_DUMP_LOG
from metashell.cli.kafka.cluster import KAFKA_CLUSTER
from metashell.cli.kafka.features import KAFKA_FEATURES
from metashell.cli.kafka.file_tools import KAFKA_STORAGE
from metashell.cli.kafka.metadata_quorum import KAFKA_METADATA_QUORUM
from metashell.cli.main import COMPLETION, KAFKA, METASHELL
from metashell.cli.shell_options import KAFKA_METADATA_SHELL, KAFKA_SHELL, SHELL_COMMANDS
from metashell.cli.tables.export import EXPORT
from metashell.cli.tables.lake import LAKE
from metashell.cli.tables.report import REPORT
from metashell.cli.tables.sql import SQL, TABLES
from metashell.common.options import CommandSpec
from metashell.tables.read_options import SPARK_REPORTS

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
"""The declarations by name, in the order of the lists."""
