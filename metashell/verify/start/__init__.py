"""Whether Apache Kafka would start on a disk, in each release, what it would cut or delete, and what would be lost by that.

Promises:
- Nothing is written: Kafka's own rules are carried out on paper, in Kafka's order, up to the step at which it would end.
- The rules are Kafka's and not ours: it cuts a log at the first bad batch and deletes all segments behind it, takes gaps and torn
  checkpoints without a word, and never looks at offsets and epochs, which no checksum covers. `metashell.log` recovers otherwise.
- What is not known is called not known, and is not safe.
- The judge is Kafka: tests/interop/test_start_safe.py starts real servers on copies of damaged directories and compares.
Only the metadata log is judged, and the files that a controller reads before it: logs of topics, and other log directories of the same
server, are named as not looked at.
"""

from metashell.verify.start.verdict import Change, StartVerdict, verdict_value

__all__ = ["Change", "StartVerdict", "verdict_value"]
