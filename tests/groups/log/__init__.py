"""Tests of the logs of groups; `written_logs.py` writes logs from golden conversations."""
