"""metashell groups and metashell simulate: consumer, share and streams groups, from logs, from a live cluster, or simulated."""
