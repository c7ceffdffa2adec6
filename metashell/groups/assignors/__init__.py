"""Kafka's assignors, of clients and of the broker: members and topics in, an assignment out.

Promises:
- What Kafka 4.3.1's classes give for the same input, errors and order included, also where that follows from the order in which Java's hash
  sets iterate.
- Only inputs decide: no chance, no state between two calls. Nothing that is handed in is changed.

Those of the broker are `server.assign` with `uniform`, `range` and `simple` (share groups). They take the previous target of each member,
and know topics by id. Those of clients are `client.assign` with `range`, `roundrobin`, `sticky` and `cooperative-sticky`. They take what
members say that they own, and know topics by name.

`rows` has the JSON form of inputs and outputs that `metashell groups assign` reads and writes.
"""
