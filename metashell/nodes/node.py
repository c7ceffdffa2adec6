"""What every place of the tree is: a directory with children, or a leaf with a value."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from metashell.nodes.java_text import parse_int
from metashell.nodes.names import KAFKA_NAMES, NameStyle, sorted_names, utf16_key

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
"""What a leaf's value is made of."""


class Node:
    """A place in the tree, named as its parent lists it.

    `type` is the word that `find -type` knows it by. `is_view` marks the second view (names of Kafka 2.8 to 3.2),
    which `ls /` of the own voice shows and a walk from `/` leaves out.
    """

    __slots__ = ("is_view", "name", "type")
    is_directory: ClassVar[bool] = False

    def __init__(self, name: str, type: str, *, is_view: bool = False) -> None:
        self.name = name
        self.type = type
        self.is_view = is_view

    @property
    def envelope_info(self) -> dict[str, Any]:
        """What JSON says beside the value, in snake_case: words for codes, counts, whether something was redacted."""
        return {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class Directory(Node):
    """A node with children; subclasses give `child_names` and `child`, and more where they can be quicker."""

    __slots__ = ()
    is_directory: ClassVar[bool] = True

    def __init__(self, name: str, type: str = "dir", *, is_view: bool = False) -> None:
        super().__init__(name, type, is_view=is_view)

    def child_names(self) -> Sequence[str]:
        """The names of all children in Java's order of text; Kafka's voice may repeat one, and list one without a node."""
        raise NotImplementedError

    def child(self, name: str) -> Node | None:
        """The child of this name, listed or not; None where there is none."""
        raise NotImplementedError

    def iter_children(self) -> Iterator[Node]:
        """All children in order, each made when it is asked for; names without a node are passed over."""
        for name in self.child_names():
            node = self.child(name)
            if node is not None:
                yield node

    def child_count(self) -> int:
        """How many names `child_names` lists."""
        return len(self.child_names())

    def names_with_prefix(self, prefix: str, limit: int | None = None) -> list[str]:
        """The first `limit` names that start with `prefix`, found by bisection."""
        names = self.child_names()
        index = bisect_left(names, utf16_key(prefix), key=utf16_key)
        found: list[str] = []
        while index < len(names) and names[index].startswith(prefix) and (limit is None or len(found) < limit):
            found.append(names[index])
            index += 1
        return found


class Leaf(Node):
    """A node with a value: Kafka's text of it, and the JSON value of our own voice."""

    __slots__ = ()

    def __init__(self, name: str, type: str = "leaf", *, is_view: bool = False) -> None:
        super().__init__(name, type, is_view=is_view)

    def kafka_text(self, redact: bool = False) -> str:
        """What Kafka's shell prints for it, without the newline; with `redact`, what its own redaction would leave."""
        raise NotImplementedError

    def value(self, redact: bool = True) -> JsonValue:
        """The value as JSON knows it: dict, list, str, number, bool or None; `redact` hides secrets."""
        raise NotImplementedError


class ValueLeaf(Leaf):
    """A leaf whose value is at hand, with the text Kafka gives it where that is not just the value's text."""

    __slots__ = ("_info", "_text", "_value")

    def __init__(
        self,
        name: str,
        value: JsonValue,
        text: str | None = None,
        *,
        type: str = "leaf",
        info: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name, type)
        self._value = value
        self._text = str(value) if text is None else text
        self._info = info

    @property
    def envelope_info(self) -> dict[str, Any]:
        return dict(self._info or {})

    def kafka_text(self, redact: bool = False) -> str:
        return self._text

    def value(self, redact: bool = True) -> JsonValue:
        return self._value


class FixedDirectory(Directory):
    """A directory whose few children are known by name beforehand and made when they are asked for."""

    __slots__ = ("_makers", "_names")

    def __init__(self, name: str, makers: Mapping[str, Callable[[str], Node]], *, type: str = "dir", is_view: bool = False) -> None:
        super().__init__(name, type, is_view=is_view)
        self._makers = makers
        self._names = sorted_names(makers)

    def child_names(self) -> Sequence[str]:
        return self._names

    def child(self, name: str) -> Node | None:
        maker = self._makers.get(name)
        return maker(name) if maker is not None else None


class MapDirectory(Directory):
    """A directory with one child for each key of a collection of texts, named by it in the voice's style."""

    __slots__ = ("_keys", "_make", "_names", "_style")

    def __init__(
        self,
        name: str,
        keys: Collection[str],
        make: Callable[[str, str], Node],
        style: NameStyle = KAFKA_NAMES,
        *,
        type: str = "dir",
        is_view: bool = False,
    ) -> None:
        """`make(name, key)` gives the child; it is called for keys of the collection only."""
        super().__init__(name, type, is_view=is_view)
        self._keys = keys
        self._make = make
        self._style = style
        self._names: list[str] | None = None

    def child_names(self) -> Sequence[str]:
        if self._names is None:
            self._names = sorted_names(map(self._style.show, self._keys))
        return self._names

    def child(self, name: str) -> Node | None:
        key = self._style.parse(name)
        return self._make(self._style.show(key), key) if key in self._keys else None

    def child_count(self) -> int:
        return len(self._keys)


class NumberDirectory(Directory):
    """A directory with one child for each number of a collection; any text that Java reads as the number finds it."""

    __slots__ = ("_keys", "_make", "_names")

    def __init__(self, name: str, keys: Collection[int], make: Callable[[str, int], Node], *, is_view: bool = False) -> None:
        super().__init__(name, is_view=is_view)
        self._keys = keys
        self._make = make
        self._names: list[str] | None = None

    def child_names(self) -> Sequence[str]:
        if self._names is None:
            self._names = sorted_names(map(str, self._keys))
        return self._names

    def child(self, name: str) -> Node | None:
        number = parse_int(name)
        return self._make(name, number) if number is not None and number in self._keys else None

    def child_count(self) -> int:
        return len(self._keys)
