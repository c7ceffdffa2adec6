"""Members of groups as machines, as Kafka's Java consumer is one: callbacks, requests and answers.

A driver hands in what happens to a client: its application subscribes, polls and closes, answers come, time passes. Every input gives
what comes out of it, in order: requests to send, callbacks, the end. Callbacks come out of `poll` and `close` only, for that is where
Java calls its application; while one runs (until `called_back`) only heartbeats go on. So a slow application is one that polls late or
whose callbacks return late, and a lost connection is an answer that does not come (`unanswered`).

`ClassicMember` is eager or cooperative by its strategies (KIP-429), `ConsumerMember` speaks KIP-848. What is between them and a
coordinator, and how long that takes, is the driver's: requests of one member share a connection, which brokers serve in order.
"""
