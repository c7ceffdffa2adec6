"""Offsets: commits, fetches, what a transaction holds back, expiry and deletion."""
