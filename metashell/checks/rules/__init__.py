"""The rules, one file a subject. Importing this package registers them."""

# ruff: noqa: F401

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
    probes,
    quorum,
    registrations,
    throttles,
    transactions,
    voters,
)
