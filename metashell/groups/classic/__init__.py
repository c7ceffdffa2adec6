"""Groups of the classic protocol: joins that wait, syncs, static members."""
