"""Topics: created, deleted, given more partitions, and where their replicas go."""
