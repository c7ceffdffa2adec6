"""Every command that is installed, as declared: completions and man pages are made of this list."""

from __future__ import annotations

from metashell.options.acl_tools import ACLS
from metashell.options.bundle_tools import BUNDLE
from metashell.options.cluster_tools import BROKERS, CLUSTER
from metashell.options.completion_tools import COMPLETION
from metashell.options.config_tools import CONFIGS
from metashell.options.dictionary_tools import TABLES
from metashell.options.dump_tools import DUMP_LOG, KAFKA_DUMP_LOG
from metashell.options.elect_tools import ELECT
from metashell.options.export_tools import EXPORT
from metashell.options.feature_tools import FEATURES
from metashell.options.front_door import METASHELL
from metashell.options.group_tools import GROUPS
from metashell.options.health_tools import HEALTH
from metashell.options.kafka_cluster_tools import KAFKA_CLUSTER
from metashell.options.kafka_feature_tools import KAFKA_FEATURES
from metashell.options.kafka_names import KAFKA
from metashell.options.kafka_quorum_tools import KAFKA_METADATA_QUORUM
from metashell.options.kafka_storage_tools import KAFKA_STORAGE
from metashell.options.lake_tools import LAKE
from metashell.options.quorum_tools import QUORUM
from metashell.options.quota_tools import QUOTAS
from metashell.options.reassign_tools import REASSIGN
from metashell.options.rehearse_tools import REHEARSE
from metashell.options.report_tools import REPORT, SPARK_REPORTS
from metashell.options.scram_tools import SCRAM
from metashell.options.server_tools import SERVER
from metashell.options.shell_command_tools import SHELL_COMMANDS
from metashell.options.shell_tools import KAFKA_METADATA_SHELL, KAFKA_SHELL
from metashell.options.simulate_tools import SIMULATE
from metashell.options.spec import CommandSpec
from metashell.options.sql_tools import SQL
from metashell.options.storage_tools import STORAGE
from metashell.options.topic_tools import TOPICS
from metashell.options.verify_tools import VERIFY

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
"""By name, in the order of the lists."""
