"""What the AdminClients of confluent-kafka and kafka-python answer, one line for each thing that was asked about.

A command is `confluent` or `kafka-python` and a call of a method of the client, as Python: `confluent create_topics([NewTopic("a", 1)])`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, Final

LIMIT_S: Final = 120.0


def confluent(bootstrap: str, call: str) -> list[str]:
    """What confluent-kafka answers."""
    import confluent_kafka
    from confluent_kafka import admin

    client = admin.AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    found = _called({**vars(confluent_kafka), **vars(admin)}, client, call)
    return list(_lines(found))


def kafka_python(bootstrap: str, call: str) -> list[str]:
    """What kafka-python answers."""
    import kafka
    from kafka import admin

    client = admin.KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        return list(_lines(_called({**vars(kafka), **vars(admin), "TopicPartition": kafka.TopicPartition}, client, call)))
    finally:
        client.close()


CALLS: Final[dict[str, Callable[[str, str], list[str]]]] = {"confluent": confluent, "kafka-python": kafka_python}


def _called(words: Mapping[str, Any], client: object, call: str) -> object:
    """The value of `client.CALL`; an exception is a value too."""
    try:
        return eval(f"client.{call}", {**words, "client": client})
    except Exception as error:
        return error


def _lines(found: object) -> Iterator[str]:
    """One line for each entry of a mapping or list, or one for all."""
    if isinstance(found, Mapping):
        for key, value in found.items():
            yield f"{_shown(key)}: {_shown(value)}"
    elif isinstance(found, list | tuple):
        yield from map(_shown, found)
    else:
        yield _shown(found)


def _shown(value: object) -> str:
    """A value as text that depends on nothing but what was answered."""
    match value:
        case Future():
            error = value.exception(LIMIT_S)
            return _shown(value.result() if error is None else error)
        case enum.Enum():
            return value.name
        case None | bool() | int() | float() | str() | bytes():
            return str(value)
        case BaseException():
            return f"{type(value).__name__}: {value}"
        case Mapping():
            pairs = sorted((_shown(key), _shown(part)) for key, part in value.items())
            return "{" + ", ".join(f"{key}: {part}" for key, part in pairs) + "}"
        case set() | frozenset():
            return "{" + ", ".join(sorted(map(_shown, value))) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_shown, value)) + "]"
        case _ if hasattr(value, "__dict__") and vars(value):
            parts = ", ".join(f"{name}={_shown(part)}" for name, part in sorted(vars(value).items()) if not name.startswith("_"))
            return f"{type(value).__name__}({parts})"
        case _:
            return str(value)
