"""Which typed lines are remembered: by the rules of Kafka's line editor, and none that sets a secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_HAS_NO_SECRETS = re.compile("topic|group|quota|metrics", re.IGNORECASE)
_SETS = re.compile(r"\bset\b")
_BETWEEN = re.compile(r"[\s;&|]+")
_COMMENT = re.compile(r"(?:^|[\s;&|])#+")
_GIVEN_KEY = re.compile(r"([\w.-]+)[+-]?\s*=")


def remember(history: list[str], line: str, aliases: Mapping[str, str] | None = None) -> None:
    """Add a typed line, stripped; not if it begins with a blank, is empty, repeats the line before, or sets a secret."""
    text = line.strip()
    if text and not line.startswith(" ") and history[-1:] != [text] and not sets_secret(text, aliases):
        history.append(text)


def sets_secret(line: str, aliases: Mapping[str, str] | None = None) -> bool:
    """Whether a line may give a value to a key whose values are secret, in any of its steps or in a comment.

    Shape: where a verb is misspelt or nothing can be parsed, a key of a password with a value is enough.
    """
    return any(_part_sets_secret(part, aliases or {}) for part in dict.fromkeys((line, *_COMMENT.split(line))))


def _part_sets_secret(line: str, aliases: Mapping[str, str]) -> bool:
    typed = set(_BETWEEN.split(line))
    may_set = bool(_SETS.search(line)) or any(name in typed and _SETS.search(text) for name, text in aliases.items())
    if not may_set and "=" not in line:
        return False
    from metashell.codec.config_types import TOPIC_RESOURCE
    from metashell.codec.redaction import is_sensitive_config
    from metashell.shell.lines.aliases import with_aliases
    from metashell.shell.lines.grammar import LineError, parse_line

    if any(is_sensitive_config(TOPIC_RESOURCE, key) for key in _GIVEN_KEY.findall(line)):
        return True
    try:
        steps = with_aliases(parse_line(line), aliases, line).steps
    except LineError:
        # Nobody knows what it would have set.
        return may_set
    return any(_step_sets_secret(step.words) for step in steps)


def _step_sets_secret(words: Sequence[str]) -> bool:
    from metashell.codec.config_types import BROKER_RESOURCE, TOPIC_RESOURCE
    from metashell.codec.redaction import is_sensitive_config

    name, *rest = words[1:] if words[0] == "time" and len(words) > 1 else words
    path, *settings = [word for word in rest if not word.startswith("-")] or [""]
    # A path may be relative to anywhere, and on a broker every key that is not known is a secret.
    resource = TOPIC_RESOURCE if _HAS_NO_SECRETS.search(path) else BROKER_RESOURCE
    if name == "set":
        keys = [word.partition("=")[0].rstrip("+-") for word in settings if "=" in word]
        if len(keys) < len(settings):
            keys.append(path.rpartition("/")[2])
    elif name in ("alter", "create"):
        keys = [word.removeprefix("--config=").partition("=")[0] for word in rest if "=" in word]
    else:
        return False
    return any(is_sensitive_config(resource, key) for key in keys)
