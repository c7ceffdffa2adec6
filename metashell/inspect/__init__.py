"""Works on Kafka's files: dump-log prints them, verify checks them, bundle copies a metadata log without its secrets.

Nothing here changes a file that it reads, or needs a running server."""
