"""Tests of the group coordinator: rooms of `metashell/groups`, and the conversations of a real one (`golden.py`)."""
