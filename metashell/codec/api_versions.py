"""Which ApiVersions requests a server answers.

Source: KIP-511; org.apache.kafka.common.requests.ApiVersionsRequest.isValid.
"""

from __future__ import annotations

import re
from typing import Any, Final

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")
_SOFTWARE_SINCE: Final = 3
_NODE_SINCE: Final = 5
_NO_NODE: Final = -1


def is_valid_api_versions(request: Any, version: int) -> bool:
    """Whether a request names its client's software as KIP-511 says, and from version 5 on both the cluster and the node, or neither."""
    if version >= _SOFTWARE_SINCE:
        names = request.client_software_name, request.client_software_version
        if not all(_SOFTWARE.fullmatch(name) for name in names):
            return False
    return version < _NODE_SINCE or (request.cluster_id is None) == (request.node_id == _NO_NODE)
