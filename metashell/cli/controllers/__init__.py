"""Commands about controllers: `metashell quorum` on this machine and of any cluster, `metashell server`, `metashell storage`."""
