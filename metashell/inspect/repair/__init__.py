"""The repair of log directories in place.

Promises:
- Planning writes nothing: `facts` reads, the other modules decide, `disk.mend` writes, with a copy of each file and a way back.
- Nothing is guessed. A step has its proof in words; what no fact proves is left as it is, with the next step.
- No vote can come back, and no log is cut below what its node may have acknowledged."""
