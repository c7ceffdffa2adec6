"""Dynamic configuration: definitions, checks, changes, and the values that count."""
