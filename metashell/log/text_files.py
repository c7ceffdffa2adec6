"""Small text files that a log directory holds beside its logs."""

from typing import Any

from metashell.errors import LogCorruptError

SIZE_MAX = 16 * 1024 * 1024
"""No such file is ever larger: the largest has a line for each partition of a broker."""


def read_text_file(path: str) -> bytes:
    """All of a small file.

    Errors: OSError as the system gives it; LogCorruptError for a file too large to be one of these.
    """
    with open(path, "rb") as file:
        data = file.read(SIZE_MAX + 1)
    if len(data) > SIZE_MAX:
        raise LogCorruptError(path, SIZE_MAX, f"is larger than {SIZE_MAX} bytes")
    return data


def json_object(data: bytes, *, ignores_rest: bool = False) -> dict[str, Any]:
    """The JSON object that a small file holds; with `ignores_rest` anything may follow it, as for Kafka's own readers.

    Errors: ValueError, which says in one line what is wrong.
    """
    import json

    try:
        value = json.JSONDecoder().raw_decode(data.decode("utf-8", "replace").lstrip())[0] if ignores_rest else json.loads(data)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        text = error.doc.rstrip()
        raise ValueError(
            ("the JSON is cut off" if text else "the file is empty") if error.pos >= len(text) else f"no JSON from character {error.pos} on"
        ) from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value
