"""The commands behind `metashell`, by task: name to module of `cli` and summary; static, so that listing them imports none.

A module has its command as `main`, or one named behind a colon.
"""

TASKS: dict[str, dict[str, tuple[str, str]]] = {
    "LOOK": {
        "shell": ("kafka_shell", "look at the metadata of a Kafka cluster as a tree of files"),
        "status": ("shell_commands:status", "show what was read from a directory, a file or a quorum, and what is wrong in it"),
        "ls": ("shell_commands:ls", "list directories of the metadata tree of a source"),
        "cat": ("shell_commands:cat", "print values of the metadata tree of a source"),
        "find": ("shell_commands:find", "search the metadata of a source"),
        "log": ("shell_commands:log", "print the records that changed a path of the metadata"),
        "diff": ("shell_commands:diff", "print what differs between two moments or two sources"),
        "why": ("shell_commands:why", "what led to the state of a partition, topic, broker or voter, step by step"),
        "dump-log": ("dump_log", "print the batches and records of Kafka's logs and checkpoints as JSON lines"),
        "bundle": ("bundle", "pack a metadata log for a colleague or a ticket, without its secrets"),
    },
    "CHECK": {
        "health": ("health", "say what is wrong with a cluster, why, and what to do next"),
        "cluster": ("admin_cluster", "show how a cluster is: its quorum, brokers, features, and what is wrong"),
        "verify": ("verify", "check what Kafka left on disk: checksums, offsets, epochs, indexes, checkpoints"),
    },
    "CHANGE": {
        "topics": ("admin_topics", "list, describe, create, alter and delete topics"),
        "configs": ("admin_configs", "show and change settings of topics, brokers, groups and client metrics"),
        "brokers": ("admin_brokers", "list and describe brokers, and unregister those that are gone"),
        "features": ("admin_features", "show, upgrade, downgrade and disable features"),
        "elect": ("admin_elect", "let partitions have another leader"),
        "acls": ("admin_acls", "access control entries: list, add, remove"),
        "quotas": ("admin_quotas", "quotas of users, client ids and addresses: list, set, unset"),
        "scram": ("admin_scram", "SCRAM credentials of users: list, set, delete"),
    },
    "PLAN": {
        "rehearse": ("rehearse", "what would happen to a cluster: steps tried on a copy of its metadata"),
        "reassign": ("admin_reassign", "move replicas between brokers: plan, apply, status, cancel"),
    },
    "GROUPS": {
        "groups": ("groups", "what groups do with topics and partitions"),
        "simulate": ("simulate", "how groups rebalance, simulated"),
    },
    "TABLES": {
        "sql": ("sql", "ask questions of logs in SQL: the current state, and the events that led to it"),
        "report": ("report", "answer an operator's question from the logs of a cluster, as a table and as a page"),
        "tables": ("tables", "what the tables of export, sql and reports are, and what each column means"),
        "export": ("export", "write the records of logs as tables: Parquet, Arrow, CSV or JSON lines"),
        "lake": ("lake", "what a lake holds, how it came to that, and whether it is whole"),
    },
    "CONTROLLERS": {
        "quorum": ("quorum", "a quorum of controllers on this machine, and the quorum of any cluster"),
        "server": ("server", "run a controller from Kafka's server.properties"),
        "storage": ("storage", "prepare and inspect the log directories of a node"),
    },
    "SETUP": {
        "completion": ("completion", "print the completions of all commands for bash, zsh or fish"),
    },
    "KAFKA'S NAMES": {
        "kafka": ("kafka", "any of Kafka's names, where the name itself is another's: metashell kafka storage"),
        "kafka-metadata-shell": ("kafka_metadata_shell", "Kafka's metadata shell: same options and output"),
        "kafka-dump-log": ("kafka_dump_log", "Kafka's dump-log tool: same options and output"),
        "kafka-storage": ("kafka_storage", "Kafka's storage tool: same options and output"),
        "kafka-cluster": ("kafka_cluster", "Kafka's cluster tool: same options and output"),
        "kafka-metadata-quorum": ("kafka_metadata_quorum", "Kafka's quorum tool: same options and output"),
        "kafka-features": ("kafka_features", "Kafka's features tool: same options and output"),
    },
}
"""In the order of the help. Only our own names have short forms; what Kafka ships is called as Kafka calls it."""

SUBCOMMANDS: dict[str, tuple[str, str]] = {name: command for commands in TASKS.values() for name, command in commands.items()}

KAFKA_NAMES: tuple[str, ...] = ("kafka-shell", *(name for name in SUBCOMMANDS if name.startswith("kafka-")))
"""What `metashell kafka` finds: each of them is also a command by itself, unless another package has taken the name."""
