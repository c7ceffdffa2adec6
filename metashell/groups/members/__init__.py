"""Members of groups as machines, as Kafka's Java consumer is one: callbacks, requests and answers."""
