"""Commands that look at metadata and logs: kafka-shell, dump-log, verify, health and bundle."""
