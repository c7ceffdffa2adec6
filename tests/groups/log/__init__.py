"""Tests of the logs of groups; `making.py` writes logs from golden conversations."""
