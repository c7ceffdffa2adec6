"""The logs that there are, what they are called, and which command reads each."""

from typing import Final, Literal

LogKind = Literal["metadata", "offsets", "transactions", "share", "remote_log", "data"]
METADATA: Final = "metadata"
OFFSETS: Final = "offsets"
TRANSACTIONS: Final = "transactions"
SHARE: Final = "share"
REMOTE_LOG: Final = "remote_log"
DATA: Final = "data"
"""The log of a topic that holds whatever its users write."""

KNOWN_LOGS: Final[tuple[LogKind, ...]] = (METADATA, OFFSETS, TRANSACTIONS, SHARE, REMOTE_LOG)
"""The logs whose records we decode."""
TOPICS: Final[dict[str, LogKind]] = {
    "__cluster_metadata": METADATA,
    "__consumer_offsets": OFFSETS,
    "__transaction_state": TRANSACTIONS,
    "__share_group_state": SHARE,
    "__remote_log_metadata": REMOTE_LOG,
}
LOG_NAMES: Final[dict[LogKind, str]] = {
    METADATA: "the metadata log",
    OFFSETS: "the log of groups (__consumer_offsets)",
    TRANSACTIONS: "the log of transactions (__transaction_state)",
    SHARE: "the log of share groups (__share_group_state)",
    REMOTE_LOG: "the log of remote storage (__remote_log_metadata)",
    DATA: "the log of a topic",
}
READERS: Final[dict[LogKind, str]] = {
    METADATA: "dump-log --cluster-metadata-decoder",
    OFFSETS: "dump-log --offsets-decoder",
    TRANSACTIONS: "dump-log --transaction-log-decoder",
    SHARE: "dump-log --share-group-state-decoder",
    REMOTE_LOG: "dump-log --remote-log-metadata-decoder",
    DATA: "dump-log --print-data-log",
}
"""The command that reads a log of each kind."""
