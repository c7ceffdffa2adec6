"""Every API that a controller lists: its name, its versions, and whether brokers forward it for their clients.

Raft and the server answer some of them; a broker's descriptions of users and tokens are listed too, as Kafka lists them.
Source: the request schemas of Kafka 4.4.0 with the listener `controller`, ApiKeys.forwardable.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Api(NamedTuple):
    """One API, at versions `low` to `high`."""

    name: str
    low: int
    high: int
    is_forwarded: bool = False

    def has(self, version: int) -> bool:
        return self.low <= version <= self.high


APIS: Final[dict[int, Api]] = {
    1: Api("Fetch", 4, 18),
    17: Api("SaslHandshake", 0, 1),
    18: Api("ApiVersions", 0, 5),
    19: Api("CreateTopics", 2, 7, is_forwarded=True),
    20: Api("DeleteTopics", 1, 6, is_forwarded=True),
    29: Api("DescribeAcls", 1, 3),
    30: Api("CreateAcls", 1, 3, is_forwarded=True),
    31: Api("DeleteAcls", 1, 3, is_forwarded=True),
    32: Api("DescribeConfigs", 1, 4),
    33: Api("AlterConfigs", 0, 2, is_forwarded=True),
    36: Api("SaslAuthenticate", 0, 2),
    37: Api("CreatePartitions", 0, 3, is_forwarded=True),
    38: Api("CreateDelegationToken", 1, 3, is_forwarded=True),
    39: Api("RenewDelegationToken", 1, 2, is_forwarded=True),
    40: Api("ExpireDelegationToken", 1, 2, is_forwarded=True),
    41: Api("DescribeDelegationToken", 1, 3),
    43: Api("ElectLeaders", 0, 2, is_forwarded=True),
    44: Api("IncrementalAlterConfigs", 0, 1, is_forwarded=True),
    45: Api("AlterPartitionReassignments", 0, 1, is_forwarded=True),
    46: Api("ListPartitionReassignments", 0, 0, is_forwarded=True),
    49: Api("AlterClientQuotas", 0, 1, is_forwarded=True),
    50: Api("DescribeUserScramCredentials", 0, 0),
    51: Api("AlterUserScramCredentials", 0, 0, is_forwarded=True),
    52: Api("Vote", 0, 2),
    53: Api("BeginQuorumEpoch", 0, 1),
    54: Api("EndQuorumEpoch", 0, 1),
    55: Api("DescribeQuorum", 0, 2, is_forwarded=True),
    56: Api("AlterPartition", 2, 3),
    57: Api("UpdateFeatures", 0, 2, is_forwarded=True),
    58: Api("Envelope", 0, 0),
    59: Api("FetchSnapshot", 0, 1),
    60: Api("DescribeCluster", 0, 2),
    62: Api("BrokerRegistration", 0, 4),
    63: Api("BrokerHeartbeat", 0, 2),
    64: Api("UnregisterBroker", 0, 0, is_forwarded=True),
    67: Api("AllocateProducerIds", 0, 0, is_forwarded=True),
    70: Api("ControllerRegistration", 0, 0),
    73: Api("AssignReplicasToDirs", 0, 0),
    80: Api("AddRaftVoter", 0, 1, is_forwarded=True),
    81: Api("RemoveRaftVoter", 0, 0, is_forwarded=True),
    82: Api("UpdateRaftVoter", 0, 0),
    94: Api("UnregisterController", 0, 0, is_forwarded=True),
}
"""By api key."""
