"""Which resources have settings, and of which types settings are.

Source: org.apache.kafka.common.config.ConfigResource.Type, ConfigDef.Type.
"""

from typing import Final, Literal

TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
BROKER_LOGGER_RESOURCE: Final = 8
CLIENT_METRICS_RESOURCE: Final = 16
GROUP_RESOURCE: Final = 32

THROTTLE_RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""Settings of brokers, in bytes a second, for the replicas that THROTTLED_REPLICAS of topics name, side by side (KIP-73)."""
THROTTLED_REPLICAS: Final = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")

ConfigType = Literal["BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"]
