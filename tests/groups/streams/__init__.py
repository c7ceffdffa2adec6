"""Tests of metashell.groups.streams."""
