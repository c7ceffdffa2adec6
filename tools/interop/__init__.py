"""Starts real Kafka nodes on directories that we formatted, on free ports of this machine, and always stops them."""
