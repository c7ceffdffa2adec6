"""Whether what Kafka left on disk holds together: checksums, offsets, epochs, indexes, checkpoints and the files beside them.

Promises:
- Each thing that does not hold is one finding with its file, byte and offset; the rest is checked all the same.
- A torn or zero-filled tail of a directory's last segment is how a node stops, so it is reported as information; so is what
  a running node changes meanwhile. In a file that was named it is a finding.
- Nothing is written, locked or repaired. Files are streamed: memory does not grow with them, but for a digest, which is
  made of an image.
- A finding is about bytes on disk. What records mean to each other is judged by the image alone, whose faults `--digest` reports.

`run_verify` checks each path by `check_directory` or `check_file`. `LogWalk` goes once over a log, front to back, and holds what lies
beside it against it: `indexes`, `epochs`, `promises`. `start` answers another question, what Kafka would do if it started here, and
so reads by Kafka's rules where these differ from ours.
"""

from metashell.verify.finding import Finding, Report
from metashell.verify.options import VerifyOptions
from metashell.verify.run import run_verify

__all__ = ["Finding", "Report", "VerifyOptions", "run_verify"]
