"""The coordinator as its driver sees it: which room decides what, and the loop of a driver in memory."""
