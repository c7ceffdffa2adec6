"""Share groups: members, targets, and which partitions have share state."""
