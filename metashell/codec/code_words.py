"""Words for the codes that records carry, as Java's enumerations name them.

Source: the enumerations in org.apache.kafka.common and org.apache.kafka.clients.admin.
"""

from __future__ import annotations

SECURITY_PROTOCOLS = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}

CONFIG_TYPES = {32: "GROUP", 16: "CLIENT_METRICS", 8: "BROKER_LOGGER", 4: "BROKER", 2: "TOPIC", 0: "UNKNOWN"}
"""In Java's order of declaration, in which a name is tried against them: BROKER_LOGGER before BROKER."""

ACL_RESOURCE_TYPES = {
    0: "UNKNOWN",
    1: "ANY",
    2: "TOPIC",
    3: "GROUP",
    4: "CLUSTER",
    5: "TRANSACTIONAL_ID",
    6: "DELEGATION_TOKEN",
    7: "USER",
}

ACL_PATTERN_TYPES = {0: "UNKNOWN", 1: "ANY", 2: "MATCH", 3: "LITERAL", 4: "PREFIXED"}

ACL_OPERATIONS = {
    0: "UNKNOWN",
    1: "ANY",
    2: "ALL",
    3: "READ",
    4: "WRITE",
    5: "CREATE",
    6: "DELETE",
    7: "ALTER",
    8: "DESCRIBE",
    9: "CLUSTER_ACTION",
    10: "DESCRIBE_CONFIGS",
    11: "ALTER_CONFIGS",
    12: "IDEMPOTENT_WRITE",
    13: "CREATE_TOKENS",
    14: "DESCRIBE_TOKENS",
    15: "TWO_PHASE_COMMIT",
}

ACL_PERMISSION_TYPES = {0: "UNKNOWN", 1: "ANY", 2: "DENY", 3: "ALLOW"}

SCRAM_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}

RECOVERY_STATES = {0: "RECOVERED", 1: "RECOVERING"}

ZK_MIGRATION_STATES = {0: "NONE", 1: "MIGRATION", 2: "PRE_MIGRATION", 3: "POST_MIGRATION"}

FENCING_CHANGES = {-1: "UNFENCE", 0: "NONE", 1: "FENCE"}

SHUTDOWN_CHANGES = {0: "NONE", 1: "IN_CONTROLLED_SHUTDOWN"}


def code_name(names: dict[int, str], code: int) -> str:
    """The word for a code, `UNKNOWN` for one that Java has no word for either."""
    return names.get(code, "UNKNOWN")


def code_of(names: dict[int, str], word: str) -> int:
    """The code of a word. Errors: KeyError for one that is not there."""
    return {name: code for code, name in names.items()}[word]
