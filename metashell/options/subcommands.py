"""The commands behind `metashell`: name to module of `cli` and summary; static, so that listing them imports none."""

SUBCOMMANDS: dict[str, tuple[str, str]] = {
    "shell": ("kafka_shell", "look at the metadata of a Kafka cluster as a tree of files"),
    "dump-log": ("dump_log", "print the batches and records of Kafka's logs and checkpoints as JSON lines"),
    "verify": ("verify", "check what Kafka left on disk: checksums, offsets, epochs, indexes, checkpoints"),
    "report": ("report", "answer an operator's question from the logs of a cluster, as a table and as a page"),
    "storage": ("storage", "prepare and inspect the log directories of a node"),
    "quorum": ("quorum", "a quorum of controllers on this machine, and the quorum of any cluster"),
    "topics": ("admin_topics", "list, describe, create, alter and delete topics"),
    "configs": ("admin_configs", "show and change settings of topics, brokers, groups and client metrics"),
    "cluster": ("admin_cluster", "show how a cluster is, and what is wrong with it"),
    "brokers": ("admin_brokers", "list and describe brokers, and unregister those that are gone"),
    "features": ("admin_features", "show, upgrade, downgrade and disable features"),
    "elect": ("admin_elect", "let partitions have another leader"),
    "acls": ("admin_acls", "access control entries: list, add, remove"),
    "quotas": ("admin_quotas", "quotas of users, client ids and addresses: list, set, unset"),
    "scram": ("admin_scram", "SCRAM credentials of users: list, set, delete"),
    "server": ("server", "run a controller from Kafka's server.properties"),
    "export": ("export", "write the records of logs as tables: Parquet, Arrow, CSV or JSON lines"),
    "sql": ("sql", "ask questions of logs in SQL"),
    "completion": ("completion", "print the completions of all commands for bash, zsh or fish"),
    "kafka-metadata-shell": ("kafka_metadata_shell", "Kafka's metadata shell: same options and output"),
    "kafka-dump-log": ("kafka_dump_log", "Kafka's dump-log tool: same options and output"),
    "kafka-storage": ("kafka_storage", "Kafka's storage tool: same options and output"),
}
"""Only our own names have short forms; what Kafka ships is called as Kafka calls it."""
