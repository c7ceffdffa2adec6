"""Tests of metashell.groups.coordinator."""
