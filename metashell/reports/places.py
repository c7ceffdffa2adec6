"""What the column `file` says of a row: of which log it is, whether of a checkpoint, and where that stands among all others.

Once, for SQL and for Python. A checkpoint is told by the name of its file, a log by its folder. Folders may be called anything,
`x.checkpoints` too; the query of a URI may have slashes.
"""

from __future__ import annotations

import re
from typing import Final

from metashell.codec.uris import file_name

_END: Final = "([0-9]{20})-[0-9]{10}[.]checkpoint"
_PLACE: Final = "(case when file like '%://%' then regexp_extract(file, '^[^?]*', 0) else file end)"
_IN_CHECKPOINT: Final = f"(regexp_extract({_PLACE}, '[.]checkpoint[^/]*$', 0) <> '')"
_CHECKPOINT_END: Final = f"coalesce(try_cast(regexp_extract({_PLACE}, '{_END}[^/]*$', 1) as bigint), 0)"
_SQL: Final = {
    "log_of(file)": f"regexp_extract({_PLACE}, '([^/]+)/[^/]+$', 1)",
    "in_checkpoint(file)": _IN_CHECKPOINT,
    "position_of(file, log_offset)": f"(case when {_IN_CHECKPOINT} then 2 * {_CHECKPOINT_END} else 2 * log_offset + 1 end)",
}
INT64_MAX: Final = (1 << 63) - 1


def with_places(sql: str) -> str:
    """A question in which `log_of(file)`, `in_checkpoint(file)` and `position_of(file, log_offset)` are what both engines know.

    Positions: what a checkpoint holds stands just before the first record that it does not hold.
    """
    for name, text in _SQL.items():
        sql = sql.replace(name, text)
    return sql


def in_checkpoint(file: str) -> bool:
    """Whether a file is a checkpoint."""
    return ".checkpoint" in file_name(file)


def checkpoint_end(file: str) -> int:
    """The first offset that a checkpoint does not hold, 0 where its name does not say one."""
    found = re.search(_END, file_name(file))
    end = int(found[1]) if found else 0
    return end if end <= INT64_MAX else 0
