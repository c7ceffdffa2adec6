"""Kafka's wire: frames, ApiVersions, SASL and TLS as cores without I/O, and a thin asyncio transport.

Promises: a peer is hostile. A length is checked before anything is allocated for it (512 KiB before authentication), what a
connection may hold in memory is bounded, and no bytes of a peer make a core raise: a fault is an event that ends the
connection, with one line that says why. Answers leave in the order of their requests. Cores take bytes and give bytes and events;
time and sockets are the transport's. It knows no request's meaning but those of the handshake.

Public names, by module (nothing here is imported before it is used; asyncio only by `transport` and `listener`, ssl only by `tls`
and `tls_layer`):

- `frames`: `FrameReader(limit)` (`feed(data)`, `next_frame() -> bytes | None`, `fault`), `RequestHeader(api_key, api_version,
  correlation_id, client_id)`, `encode_request(message, version, correlation_id, client_id) -> bytes`, `decode_request(frame) ->
  (RequestHeader, message)`, `encode_response(api_key, version, correlation_id, message) -> bytes`, `decode_response(frame, api_key,
  version) -> (correlation_id, message)`. Encoded requests and responses are whole frames with their length.
- `api_versions`: `ApiRanges = Mapping[int, tuple[int, int]]` (api key to lowest and highest version), `supported_ranges(keys)`,
  `ALL_RANGES`, `common_versions(ours, theirs) -> dict[int, int]`, `NodeFeatures`, `answer_api_versions(...)`.
- `client_connection`: `ClientConnection`, the core of a connection that we opened: `start()`, `request(message) -> correlation id`,
  `receive_data(data)`, `next_event() -> Ready | Answer | Closed | None`, `take_output() -> bytes`.
- `server_connection`: `ServerConnection`, the core of a connection that we accepted: `receive_data(data)`, `next_event() -> Received |
  Authenticated | Closed | None`, `respond(request_id, message)`, `take_output()`, `wants_read`, `idle_expired()`;
  `ConnectionLimits`, `Counters` (in `limits`).
- `sasl`: `PlainClient`, `PlainServer`, `ScramCredential`, the `Credentials` Protocol, `StaticCredentials(passwords)`,
  `server_mechanisms(names, credentials)`; `scram`: `ScramClient`, `ScramServer`, `make_credential`.
- `security`: `SecurityConfig` (`sasl_client()`), `security_config(properties, listener="")` for who connects, `ListenerSecurity`,
  `listener_security(properties, listener)` for who is connected to; `jaas`, `providers`: the parts of it.
- `tls`: `client_context(config) -> ssl.SSLContext`, `server_context(config)`; `tls_layer`: TLS of an accepted connection without I/O.
- `addresses`: `Address(host, port)`, `parse_addresses("[::1]:9092,b:1")`, `AddressMap.parse("a:1=b:2")`.
- `transport`: `await connect(address, core=ClientConnection(...), tls=None) -> Connection` (`await connection.request(message) ->
  response`, `connection.versions`, `connection.closed`, `connection.close()`); `ConnectionFailedError`.
- `listener`: `await serve(on_request, ListenerOptions(ranges=..., ...), on_closed=None) -> Listener` (`listener.port`,
  `listener.counters`, `await listener.stop(grace_s)`), where `on_request(request: ServerRequest)` is called on the loop and answers
  whenever it likes with `request.respond(message)`; `secured_options(listener_security, credentials)` gives `tls` and `mechanisms`.
"""
