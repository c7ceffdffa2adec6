"""Whether a row of a base table is of a checkpoint, and where it stands among all others: once, for SQL and for Python.

A checkpoint is told by the name of its file. Folders may be called anything, `x.checkpoints` too; a URI may have a query with slashes.
"""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = "([.]checkpoint[^/]*$|^[a-zA-Z][a-zA-Z0-9+]*://[^?]*[.]checkpoint[^/?]*[?])"
_END: Final = "([0-9]{20})-[0-9]{10}[.]checkpoint"
_IN_CHECKPOINT: Final = f"regexp_extract(file, '{_NAME}', 1) <> ''"
_CHECKPOINT_END: Final = f"coalesce(try_cast(regexp_extract(file, '{_END}', 1) as bigint), 0)"
_SQL: Final = {
    "in_checkpoint(file)": f"({_IN_CHECKPOINT})",
    "position_of(file, log_offset)": f"(case when {_IN_CHECKPOINT} then 2 * {_CHECKPOINT_END} else 2 * log_offset + 1 end)",
}
INT64_MAX: Final = (1 << 63) - 1


def with_places(sql: str) -> str:
    """A question in which `in_checkpoint(file)` and `position_of(file, log_offset)` are what both engines know.

    Positions: what a checkpoint holds stands just before the first record that it does not hold.
    """
    for name, text in _SQL.items():
        sql = sql.replace(name, text)
    return sql


def in_checkpoint(file: str) -> bool:
    """Whether a file is a checkpoint."""
    return re.search(_NAME, file) is not None


def checkpoint_end(file: str) -> int:
    """The first offset that a checkpoint does not hold, 0 where its name does not say one."""
    found = re.search(_END, file)
    end = int(found[1]) if found else 0
    return end if end <= INT64_MAX else 0
