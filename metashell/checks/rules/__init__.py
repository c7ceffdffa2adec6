"""The rules, one file a subject. Importing this package registers them; the order here is that of findings."""

from metashell.checks.rules import (
    acls,
    brokers,
    disks,
    elections,
    features,
    incarnations,
    lint,
    metadata,
    migration,
    partitions,
    quorum,
    registrations,
    throttles,
    transactions,
    voters,
)

__all__ = [
    "acls",
    "brokers",
    "disks",
    "elections",
    "features",
    "incarnations",
    "lint",
    "metadata",
    "migration",
    "partitions",
    "quorum",
    "registrations",
    "throttles",
    "transactions",
    "voters",
]
