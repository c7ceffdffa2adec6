"""Kafka's assignors, of clients and of the broker: members and topics in, an assignment out."""
