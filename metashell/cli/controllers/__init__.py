"""Commands on controllers: `metashell quorum` for a quorum on this machine or of any cluster, `metashell server`, `metashell storage`."""
