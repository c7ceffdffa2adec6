"""The keys of the APIs that code names; `codec/dispatch.py` has the messages of all keys.

Source: org.apache.kafka.common.protocol.ApiKeys.
"""

from __future__ import annotations

from typing import Final

FETCH: Final = 1
METADATA: Final = 3
SASL_HANDSHAKE: Final = 17
API_VERSIONS: Final = 18
SASL_AUTHENTICATE: Final = 36
VOTE: Final = 52
BEGIN_QUORUM_EPOCH: Final = 53
END_QUORUM_EPOCH: Final = 54
DESCRIBE_QUORUM: Final = 55
ALTER_PARTITION: Final = 56
ENVELOPE: Final = 58
FETCH_SNAPSHOT: Final = 59
DESCRIBE_CLUSTER: Final = 60
BROKER_HEARTBEAT: Final = 63
UNREGISTER_BROKER: Final = 64
ALLOCATE_PRODUCER_IDS: Final = 67
CONTROLLER_REGISTRATION: Final = 70
ADD_RAFT_VOTER: Final = 80
REMOVE_RAFT_VOTER: Final = 81
UPDATE_RAFT_VOTER: Final = 82
