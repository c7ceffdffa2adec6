"""The rules, one file a subject. Importing this package registers them."""

# ruff: noqa: F401
from metashell.checks.rules import (
    acls,
    brokers,
    checkpoints,
    configuration,
    disks,
    features,
    identity,
    incarnations,
    leader_elections,
    lint,
    metadata,
    migration,
    partitions,
    probes,
    quorum,
    quorum_state,
    registrations,
    strays,
    throttles,
    transactions,
    voters,
)
