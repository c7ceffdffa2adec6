"""Options, arguments and sections that several commands declare alike, so that one name means one thing everywhere."""

from typing import Any

from metashell.options.spec import Option, choice, file_option, flag, source_argument

OUTPUT_FORMS = ("text", "json", "jsonl", "table", "csv", "kafka")

OUTPUT = choice("--output", "-o", choices=OUTPUT_FORMS, help="form of the output")
SHOW_SECRETS = flag("--show-secrets", help="print passwords, keys and salts instead of redacting them")
OLD_COLUMNS = flag(
    "--old-columns",
    help="the columns of before: times in ms, ids as bytes, codes without words, lists instead of maps; goes with the next release",
)
MAX_DECOMPRESSED = Option(
    names=("--max-decompressed",),
    metavar="SIZE",
    type="size",
    default=128 << 20,
    help="largest size of a batch after decompression; a larger batch is reported as a fault",
)
CERTAIN_ONLY = flag(
    "--certain-only", help="stop at the newest complete checkpoint of a directory: what follows may not have been committed"
)
VERBOSE = flag("--verbose", "-v", help="report on standard error what was read, torn tails and every fault")
NO_COLOR = flag("--no-color", help="print no colours, as if NO_COLOR were set in the environment")
SETTINGS = file_option("--settings", help="read aliases, defaults and colours from this file, not from ~/.config/metashell/config.toml")
VERSION = flag("--version", help="print the version and exit")
CONFIG = file_option("--config", "-c", help="the server's configuration, a properties file")
OVERRIDE = Option(
    names=("--override",),
    metavar="NAME=VALUE",
    multiple=True,
    help="a setting in place of that in the configuration; other users of this machine can see it",
)
JOBS = Option(names=("--jobs", "-j"), metavar="N", type="int", default=0, help="number of processes; 0 means one for each core")
OUT = file_option("--out", metavar="DIR", required=True, help="directory or s3://bucket/folder to write to; created if it does not exist")
ON_ERROR = choice(
    "--on-error",
    metavar="WHAT",
    choices=("fail", "skip"),
    default="fail",
    help="at a corrupt batch or record: end the run, or skip it and list it among the faults",
)
LOG_KINDS = ("metadata", "offsets", "transactions", "share", "remote_log")
LOG_KIND = choice(
    "--log",
    metavar="KIND",
    choices=LOG_KINDS,
    help="what the files hold, where neither their records nor their directory shows it; files of other logs are skipped",
)
DEMO = flag("--demo", help="read the directory of a real controller that ships with the package")
LOG_PATHS = source_argument(
    "paths",
    "PATH",
    "+",
    "logs, checkpoints, directories of them at any depth, quoted patterns, URIs such as s3://bucket/folder, or @NAME of the settings",
)


def output(*forms: str, default: str | None = "text", **more: Any) -> Option:
    """`--output` of a command that has only these forms."""
    return OUTPUT._replace(choices=forms, default=default, **more)


def own_forms(*forms: str) -> Option:
    """`--output` of a command by Kafka's name, whose help does not show what Kafka does not have."""
    return output(*forms, default=None, hidden=True)


def listed(entries: dict[str, str]) -> str:
    """Names and what they mean, one a line, aligned."""
    width = max(map(len, entries)) + 2
    return "\n".join(f"{name:<{width}}{meaning}" for name, meaning in entries.items())


EXIT_STATUS = (
    "EXIT STATUS",
    "0  success\n1  a fault was found or something failed; everything readable was still printed\n2  the command line is wrong",
)
KAFKA_EXIT_STATUS = ("EXIT STATUS", "0  success\n1  anything else, as in Kafka's own tool")

METADATA_FILES = (
    ("LOGDIR/__cluster_metadata-0/", "the metadata log of a node: segments (.log), indexes and checkpoints"),
    ("LOGDIR/__cluster_metadata-0/OFFSET-EPOCH.checkpoint", "a snapshot of the metadata up to an offset"),
    ("LOGDIR/__cluster_metadata-0/quorum-state", "the leader and epoch that the node knows, and its vote"),
    ("LOGDIR/meta.properties", "the ids of the cluster, the node and the directory"),
    ("LOGDIR/bootstrap.checkpoint", "the records that a new cluster begins with"),
)
LOG_FILES = (
    *METADATA_FILES,
    ("LOGDIR/TOPIC-PARTITION/", "the log of another partition, for example __consumer_offsets-12"),
)
TERMINAL_ENVIRONMENT = (
    ("NO_COLOR", "if set and not empty, output has no colours"),
    ("TERM", "dumb means a terminal without colours"),
    ("COLUMNS", "width of the output, where it is not that of the terminal"),
)
CONFIG_VARIABLE = "METASHELL_CONFIG"
SOURCE_VARIABLE = "METASHELL_SOURCE"
SETTINGS_FILES = (
    ("~/.config/metashell/config.toml", "aliases, defaults, names of sources and colours; below $XDG_CONFIG_HOME where that is set"),
)
SETTINGS_ENVIRONMENT = (
    (CONFIG_VARIABLE, "another file of aliases, defaults and colours; /dev/null for none"),
    ("XDG_CONFIG_HOME", "directory of that file, where it is not named"),
)
TEMPORARY_ENVIRONMENT = (("TMPDIR", "where temporary files are created; they are deleted at the end"),)
STORE_ENVIRONMENT = (
    ("AWS_*, GOOGLE_APPLICATION_CREDENTIALS", "credentials for s3:// and gs:// paths, as Arrow reads them"),
    ("AWS_ENDPOINT_URL", "an S3 server that is not Amazon's, such as http://127.0.0.1:9000"),
)
SQL_FORMS = ("text", "json", "jsonl", "csv", "table", "line")
"""The forms of answers in SQL: of `metashell sql` and of its prompt."""
EVENT_TABLES = """\
TYPE           one for each record type: partition, partition_change, topic, register_broker, offset_commit, ...
records        on request: every record with offset, epoch, timestamp, type, version, size, its log, and its JSON text
control        control records: leader changes, snapshot headers, transaction markers
batches        a row for each batch: offsets, position, size, codec, producer
faults         what could not be read: file, offset, position, size, reason, and those bytes that hold no secret"""
"""The tables that `metashell export` writes and `metashell sql` asks."""
REPORT_SUMMARIES = {
    "timeline": "elections, states of brokers, ISR storms, feature and config changes",
    "leadership_churn": "leaders won and lost, ISR shrinks and expands",
    "unclean_elections": "unclean elections, use of ELR, leaderless partitions",
    "under_replicated": "which partitions lacked replicas, and how long",
    "topic_history": "every change of topics and configurations",
    "quota_history": "every change of a client quota",
    "acl_history": "ACLs added and removed",
    "scram_history": "SCRAM credentials set and removed, without secrets",
    "replica_skew": "replicas and leaders by broker and rack, against the mean",
    "broker_sessions": "registrations, fencing, orderly shutdowns",
    "controller_elections": "leaders of the metadata quorum",
    "metadata_growth": "records and bytes by type, checkpoints",
    "group_rebalances": "generations, members, moved partitions",
    "group_offsets": "commits, rewinds and deletions by hour",
    "group_expiring": "committed offsets that expire, and when",
}
"""The reports and what each answers, in the order in which the command line lists them."""
