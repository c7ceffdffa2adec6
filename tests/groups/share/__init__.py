"""Tests of metashell.groups.share."""
