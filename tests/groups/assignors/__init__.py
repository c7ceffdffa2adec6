"""Tests of `metashell.groups.assignors`."""
