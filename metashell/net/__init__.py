"""Kafka's wire protocol: frames, ApiVersions, SASL and TLS as cores without I/O, a thin asyncio transport, and a client.

Promises: a peer is hostile. A length is checked before anything is allocated for it (64 KiB before authentication, then by its API,
up to socket.request.max.bytes), what a connection and all of them may hold in memory is bounded, and no bytes of a peer make a core
raise: a fault is an event that ends the connection, with one line that says why. Answers leave in the order of their requests.
Large requests are decoded in a thread, with a bound on what they hold, and many requests of one connection keep no other waiting.
Cores take bytes and give bytes and events; time and sockets belong to the transport. The cores know no request but those of the
handshake. Logins go as at a listener of Kafka, except that the first round never shows which SCRAM users exist.
A call of the client answers or fails within its deadline; a failure is one line that names each address that was tried and why it
failed. The client keeps one connection a node and sends nothing that it was not asked to send.

Nothing is imported here before it is used: asyncio only by `transport`, `listener`, `accepted_connection` and `client`, ssl only by
`tls`. Where to begin:

- to ask a cluster: `client.Client(bootstrap, security=..., client_id=..., deadline_ms=...)` is the blocking client for tools
  (`client.request(message)`, `client.request(message, node=3)`, `client.close()`, a context manager); `client.AsyncClient` is the
  same on a running loop; `client_config.client_config(properties, ...)` reads what --command-config names;
- to ask one node: `transport.connect` makes a `Connection` around the core `client_connection.ClientConnection`;
- to answer: `listener.serve` opens a `Listener` as `ListenerOptions` say. It makes an `AcceptedConnection` around the core
  `server_connection.ServerConnection` for each peer, and gives each `ServerRequest` to one function, which answers it at any time;
- on the wire: `frames` encodes and decodes requests and responses, `api_versions` finds the versions that both sides have;
- shares: `shares` divides descriptors, memory and time among those who ask, in fair turns (`fair_queue`);
- limits: `listener_options` holds them, and `options_of` reads them and the security of a listener from a server's properties;
- identity: `security` reads a client's or listener's properties, `sasl` has the mechanisms PLAIN and SCRAM, `tls` makes contexts,
  `principal` names the owner of a certificate.

Errors: `ConnectError` (no address answered), `UsageError`. An answer with an error code is an answer: the caller looks at it."""
