"""What all recordings of a real Kafka need that are played into ours: lists whose order says nothing, places that differ, a command.

Requests of controllers are played by `quorum/controller/golden.py` and, over a listener, `quorum/server/listener_golden.py`; conversations
of groups by `groups/golden.py` and `groups/server/listener_player.py`; stories of members by `groups/members/traces.py`.
"""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

SAME = ("equal", "order", "varies", "raft", "stays")
Compared = tuple[str, str]
"""A verdict on a row, a step or a member, and what differs, in words."""


def in_order(value: Any) -> str:
    """Any value as a text by which values are sorted."""
    return json.dumps(value, sort_keys=True)


def sorted_structs(value: Any, *, every_list: bool = False) -> Any:
    """A value with its lists of structs, or all lists, in a fixed order."""
    if isinstance(value, dict):
        return {key: sorted_structs(item, every_list=every_list) for key, item in value.items()}
    if isinstance(value, list):
        items = [sorted_structs(item, every_list=every_list) for item in value]
        return sorted(items, key=in_order) if every_list or (items and all(isinstance(item, dict) for item in items)) else items
    return value


def differing(left: Any, right: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two values differ, as deep as they are alike."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in {**left, **right}:
            yield from differing(left.get(key), right.get(key), f"{place}.{key}")
    elif isinstance(left, list) and isinstance(right, list):
        for at, (one, other) in enumerate(itertools.zip_longest(left, right)):
            yield from differing(one, other, f"{place}[{at}]")
    elif left != right:
        yield place, left, right


def show(argv: Sequence[str], names: Iterable[str], play: Callable[[str], Iterable[Compared]]) -> int:
    """Print how recordings compare: those whose names begin with a word of `argv`, with `-v` also what differs. The status of a command."""
    words = tuple(word for word in argv if not word.startswith("-"))
    total: Counter[str] = Counter()
    for name in names:
        if words and not name.startswith(words):
            continue
        began = time.monotonic()
        counts: Counter[str] = Counter()
        try:
            for verdict, text in play(name):
                counts[verdict] += 1
                if "-v" in argv and verdict not in SAME:
                    print(f"  {name}: {text}")
        except Exception as error:
            if "--raise" in argv:
                raise
            counts["raised"] += 1
            print(f"  {name}: {type(error).__name__}: {error}")
        total += counts
        print(f"{name}: {dict(counts)} {time.monotonic() - began:.1f} s", flush=True)
    print(dict(total))
    return int(bool(total.keys() - set(SAME)))
