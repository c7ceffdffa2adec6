"""Tests of metashell.rebalance."""
