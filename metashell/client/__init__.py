"""Requests to a cluster: several addresses, retries with back-off and a deadline, on top of `metashell.net`.

Promises: a call answers or fails within its deadline; a failure is one line that names each address that was tried and why it
failed. It keeps one connection a node and sends nothing that it was not asked to send.

Public names: `Client(bootstrap, security=..., client_id=..., deadline_ms=...)` in `client.client` is the blocking face for tools
(`client.request(message)`, `client.request(message, node=3)`, `client.close()`, a context manager); `AsyncClient` in
`client.async_client` is the same on a running loop; `client_config(properties, environ=..., parse=...)` in `client.config` reads what
a property file given as --command-config says (`Client(config.bootstrap, **config.options())`).

Errors: `ConnectError` (no address answered), `UsageError`. An answer with an error code is an answer: the caller looks at it.
"""
