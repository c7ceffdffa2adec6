"""What members of classic groups send each other inside the records of a group: subscriptions, assignments, user data.

The broker stores these blobs without reading them; their form depends on the group's protocol type and on the assignor.
Every one decodes to its object or message in all versions ever released, and writes back to the same bytes. Nothing raises
for what a blob holds: what does not decode stays base64, with a finding that says why.

| protocol type | assignor | subscription's user data | assignment's user data |
| --- | --- | --- | --- |
| consumer | range, roundrobin | none | none |
| consumer | sticky | what was owned | none |
| consumer | cooperative-sticky | the generation | none |
| consumer | stream | Kafka Streams' SubscriptionInfo 1 to 11 | its AssignmentInfo 1 to 11 |
| connect | default, compatible, sessioned | the whole blob is a worker's metadata | the whole blob is an assignment |

Source: ConsumerProtocol, AbstractStickyAssignor, ConnectProtocol, SubscriptionInfo, AssignmentInfo; KIP-268, 415, 429, 792, 881.
"""

from __future__ import annotations

from metashell.codec.blobs.embedded import Embedded, decode_assignment, decode_subscription
from metashell.codec.blobs.groups import DecodedRecord, decode_group_record

__all__ = ["DecodedRecord", "Embedded", "decode_assignment", "decode_group_record", "decode_subscription"]
