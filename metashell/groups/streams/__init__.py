"""Streams groups (KIP-1071): topologies, tasks and their reconciliation."""
