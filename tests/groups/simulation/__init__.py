"""Tests of metashell.groups.simulation."""
