"""Command lines of Kafka's own tools and of AdminClients, run on a quorum with two real brokers.

The commands are transcripts in tests/golden/admin, together with what they printed on a quorum of real Kafka controllers.
"""
