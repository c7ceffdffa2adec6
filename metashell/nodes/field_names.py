"""One vocabulary of fields: snake_case of Kafka's names, as SQL and `ls -l` write them.

`cat` and `-o json` keep Kafka's own names of what comes from a record (`addingReplicas`). Wherever somebody types a name (--where,
--sort) each spelling stands for the same field.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from metashell.codec.schema import snake_case

SYNONYMS: Final = (
    ("partition_id", "partition"),
    ("partition_count", "partitions"),
    ("topic_id", "id"),
    ("epoch", "broker_epoch"),
    ("permission", "permission_type"),
    ("pattern_type", "pattern"),
    ("cordoned_directories", "cordoned_log_dirs"),
    ("directories", "log_dirs"),
    ("is_under_replicated", "under_replicated"),
)
"""Names of one field: first that of the tables of SQL, then that of Kafka's record or of `ls -l`."""


@lru_cache(maxsize=256)
def spellings(name: str) -> tuple[str, ...]:
    """Every spelling of a field's name, the one that was given first."""
    plain = snake_case(name)
    group = next((names for names in SYNONYMS if plain in names), (plain,))
    return tuple(dict.fromkeys((name, *(each for one in (plain, *group) for each in (one, camel_case(one))))))


def camel_case(name: str) -> str:
    """The name that Kafka's JSON has: `adding_replicas` is `addingReplicas`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
