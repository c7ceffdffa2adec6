"""Logs to files, a table each, by a pool of processes over splits."""
