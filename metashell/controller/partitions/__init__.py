"""What happens to partitions that exist: one procedure changes a partition, and everything that changes one sets its targets."""
