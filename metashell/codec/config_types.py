"""Which resources have settings, and of which types settings are.

Source: org.apache.kafka.common.config.ConfigResource.Type, ConfigDef.Type.
"""

from typing import Final, Literal

TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
BROKER_LOGGER_RESOURCE: Final = 8
CLIENT_METRICS_RESOURCE: Final = 16
GROUP_RESOURCE: Final = 32

ConfigType = Literal["BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"]
