"""The image seen as directories and leaves.

`build_root(image, voice=..., local=...)` gives the directory `/`. A node knows its name, its type and its
contents; it never prints, colours, expands globs or reads a file, and it never changes.

Two voices over one image:

- Kafka's tree (`voice="kafka"`): names, order of children and every leaf's text (`kafka_text`) as Kafka 4.4.0
  has them, with its oddities. A listed name may have no node, and a name may be listed twice: a quota entity
  of only defaults has the empty name, once for each such entity, `child("")` is None, and a mixed entity has
  the name of another one. Some names resolve without being listed: `finalized_anything`, `+1`, `007`, padded uuids.
- Our own (`voice="own"`): the same tree, but each name belongs to one node and resolves to it (`names.py`
  escapes what a path cannot hold). Leaves have a JSON value (`value`): what comes from a
  record keeps Kafka's JSON field names, all fields always there, codes as numbers, as dump-log prints them;
  `envelope_info` has words for the codes and other facts beside the value, in snake_case. Secrets are
  redacted by codec's table unless `redact=False`. /image also has `voters` and `faults`, and
  `provenance` says how far the image is certain.

The second view (`second_view.py`) puts the names of Kafka 2.8 to 3.2 into `/` of our own voice, with
`is_view` set: listings of `/` and completion show it, a walk from `/` leaves it out.

Names are in Java's order of text (UTF-16 units). A list of names is made at the first call and kept; children
are made one by one as `iter_children` is read, and a partition is decoded when its leaf is read. So a walk over
a million partitions needs only the memory for the names of one directory.
"""

from metashell.nodes.names import name_escape, name_unescape
from metashell.nodes.node import Directory, Leaf, Node
from metashell.nodes.root import build_root
from metashell.nodes.tree import LocalInfo, Voice

__all__ = ["Directory", "Leaf", "LocalInfo", "Node", "Voice", "build_root", "name_escape", "name_unescape"]
