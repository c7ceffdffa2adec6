"""Kafka's voice: the text of kafka-dump-log 4.3.1, byte for byte."""
