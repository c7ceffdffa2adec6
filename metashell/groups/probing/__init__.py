"""Kafka Streams' version probing (KIP-268): what leader and followers send in each version.

Bytes of every version both ways (`subscription_info`, `assignment_info`), the rules by which a leader chooses a version for all and a
follower chooses the next one for itself (`versions`), what each release knows and what `upgrade.from` does to it (`releases`), and both
put together as an assignor that a member can have (`strategy`). Code of the future, one version above the newest that is real, is
simulated as Kafka's own upgrade test does it: both numbers one higher, the bytes as they are now.
"""
