"""Kafka's wire: frames, ApiVersions, SASL and TLS as cores without I/O, and a thin asyncio transport.

Promises: a peer is hostile. A length is checked before anything is allocated for it (64 KiB before authentication, then by its API,
up to socket.request.max.bytes), what a connection and all of them may hold in memory is bounded, and no bytes of a peer make a core
raise: a fault is an event that ends the connection, with one line that says why. Answers leave in the order of their requests.
Large requests are decoded in a thread, with a bound on what they hold, and many requests of one connection keep no other waiting.
Cores take bytes and give bytes and events; time and sockets are the transport's. It knows no request's meaning but those of the
handshake. Logins go as at a listener of Kafka, but that nobody learns in the first round which users of SCRAM there are.

Nothing is imported here before it is used: asyncio only by `transport`, `listener` and `accepted_connection`, ssl only by `tls` and
`tls_layer`. Where to begin:

- to ask: `transport.connect` makes a `Connection` around the core `client_connection.ClientConnection`;
- to answer: `listener.serve` opens a `Listener` as `ListenerOptions` say. It makes an `AcceptedConnection` around the core
  `server_connection.ServerConnection` for each peer, and gives each `ServerRequest` to one function, which answers it at any time;
- on the wire: `frames` encodes and decodes requests and responses, `api_versions` finds the versions that both sides have;
- what bounds it: `limits`; `listener_options.options_of` reads them, and how a listener is secured, from a server's properties;
- who is who: `security` reads a client's or listener's properties (`jaas`, `providers`); `plain` and `scram` are the SASL mechanisms,
  whose interfaces are in `sasl`; `tls` makes contexts; `principal` and `principal_rules` name who has a certificate.
"""
