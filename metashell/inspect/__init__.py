"""Reads what Kafka left on disk: dump-log prints it, verify checks it, bundle copies it without secrets.

Nothing here changes what it reads, and nothing here needs a running server."""
