"""The rules, one file a subject. Importing this package registers them."""

# ruff: noqa: F401
from metashell.checks.rules import (
    acls,
    brokers,
    checkpoints,
    configuration,
    disks,
    election,
    elections,
    features,
    identity,
    incarnations,
    lint,
    metadata,
    migration,
    partitions,
    probes,
    quorum,
    registrations,
    strays,
    throttles,
    transactions,
    voters,
)
