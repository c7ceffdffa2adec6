"""Kafka Streams' version probing (KIP-268): what leader and followers send in each version."""
