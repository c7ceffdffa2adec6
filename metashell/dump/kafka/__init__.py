"""Kafka's voice: the text of kafka-dump-log 4.4.0, byte for byte."""
