"""The nodes of the tree: directories with children, leaves with a value, and the state that all nodes of one tree share."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

from metashell.common.values import uuid_from_text, uuid_text
from metashell.metadata.nodes.names import KAFKA_NAMES, OWN_NAMES, NameStyle, is_uuid_text, parse_int, sorted_names, utf16_key

if TYPE_CHECKING:
    from metashell.metadata.image import MetadataImage


JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
"""The types of a leaf's value."""


class Node:
    """A place in the tree, with the name that its parent lists.

    `type` is its word in `find -type`. `is_view` marks the second view (names of Kafka 2.8 to 3.2), which `ls /` of the own voice shows
    and a walk from `/` leaves out.
    """

    __slots__ = ("is_view", "name", "type")
    is_directory: ClassVar[bool] = False

    def __init__(self, name: str, type: str, *, is_view: bool = False) -> None:
        self.name = name
        self.type = type
        self.is_view = is_view

    @property
    def envelope_info(self) -> dict[str, Any]:
        """The facts that JSON shows beside the value, in snake_case: words for codes, counts, whether a value is a secret."""
        return {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class Directory(Node):
    """A node with children; subclasses define `child_names` and `child`, and may override the rest to be faster."""

    __slots__ = ()
    is_directory: ClassVar[bool] = True

    @property
    def has_directories(self) -> bool:
        """Return whether a child may be a directory; False spares a walk that looks for directories."""
        return True

    def __init__(self, name: str, type: str = "dir", *, is_view: bool = False) -> None:
        super().__init__(name, type, is_view=is_view)

    def child_names(self) -> Sequence[str]:
        """The names of all children in Java's order of text; Kafka's voice may repeat one, and list one without a node."""
        raise NotImplementedError

    def child(self, name: str) -> Node | None:
        """The child of this name, listed or not; None if there is none."""
        raise NotImplementedError

    def iter_children(self) -> Iterator[Node]:
        """All children in order, each made when it is reached; names without a node are skipped."""
        for name in self.child_names():
            node = self.child(name)
            if node is not None:
                yield node

    def child_count(self) -> int:
        """Return the number of names that `child_names` lists."""
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
        """The text that Kafka's shell prints, without the newline; with `redact`, after Kafka's own redaction."""
        raise NotImplementedError

    def value(self, redact: bool = True) -> JsonValue:
        """The value for JSON: dict, list, str, number, bool or None; `redact` hides secrets."""
        raise NotImplementedError


class LeafKind(NamedTuple):
    """The functions that show a leaf's subject: Kafka's text, the JSON value, and the facts beside it in snake_case.

    A kind that holds secrets also has `safe_text` and `safe_value`, which leave them out.
    """

    type: str
    text: Callable[[Any], str]
    value: Callable[[Any], JsonValue]
    info: Callable[[Any], dict[str, Any]] = lambda subject: {}
    safe_text: Callable[[Any], str] | None = None
    safe_value: Callable[[Any], JsonValue] | None = None


class SubjectLeaf(Leaf):
    """A leaf over a part of the image; its text and value are made when they are needed."""

    __slots__ = ("_kind", "_subject")

    def __init__(self, name: str, kind: LeafKind, subject: Any, *, type: str = "") -> None:
        super().__init__(name, type or kind.type)
        self._kind = kind
        self._subject = subject

    @property
    def envelope_info(self) -> dict[str, Any]:
        return self._kind.info(self._subject)

    def kafka_text(self, redact: bool = False) -> str:
        kind = self._kind
        return (kind.safe_text if redact and kind.safe_text else kind.text)(self._subject)

    def value(self, redact: bool = True) -> JsonValue:
        kind = self._kind
        return (kind.safe_value if redact and kind.safe_value else kind.value)(self._subject)


class ValueLeaf(Leaf):
    """A leaf whose value is known already, with Kafka's text of it if that is not `str(value)`."""

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
    """A directory with a few fixed names, whose children are made when they are needed."""

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


def value_directory(name: str, values: Mapping[str, JsonValue], *, is_view: bool = False) -> FixedDirectory:
    """A directory of leaves whose values are known already."""
    return FixedDirectory(name, dict.fromkeys(values, lambda name: ValueLeaf(name, values[name])), is_view=is_view)


class KeyedDirectory(Directory):
    """A directory with one child for each key of a mapping.

    `show(key)` is the name of a key's child, `read(name)` gives the keys that a name may mean, the likeliest first, and
    `make(name, key, value)` makes the child. Its name is `show(key)` or, with `keeps_typed`, the requested one (`007` for 7).
    `names` gives all names if the tree keeps them sorted.
    """

    __slots__ = ("_items", "_keeps_typed", "_make", "_names", "_read", "_show", "_sorted")

    def __init__(
        self,
        name: str,
        items: Mapping[Any, Any],
        make: Callable[[str, Any, Any], Node],
        *,
        show: Callable[[Any], str],
        read: Callable[[str], Iterable[Any]],
        keeps_typed: bool = False,
        names: Callable[[], list[str]] | None = None,
        is_view: bool = False,
    ) -> None:
        super().__init__(name, is_view=is_view)
        self._items = items
        self._make = make
        self._show = show
        self._read = read
        self._keeps_typed = keeps_typed
        self._sorted = names
        self._names: list[str] | None = None

    def child_names(self) -> Sequence[str]:
        if self._names is None:
            self._names = sorted_names(map(self._show, self._items)) if self._sorted is None else self._sorted()
        return self._names

    def child(self, name: str) -> Node | None:
        for key in self._read(name):
            value = self._items.get(key)
            if value is not None:
                return self._make(name if self._keeps_typed else self._show(key), key, value)
        return None

    def child_count(self) -> int:
        return len(self._items)


def text_directory(
    name: str, items: Mapping[str, Any], make: Callable[[str, str, Any], Node], style: NameStyle, **traits: Any
) -> KeyedDirectory:
    """The directory of a mapping from texts, named in the voice's style."""
    return KeyedDirectory(name, items, make, show=style.show, read=lambda text: (style.parse(text),), **traits)


def number_directory(name: str, items: Mapping[int, Any], make: Callable[[str, int, Any], Node], **traits: Any) -> KeyedDirectory:
    """The directory of a mapping from numbers; any text that Java reads as the number finds it."""
    return KeyedDirectory(name, items, make, show=str, read=_numbers, keeps_typed=True, **traits)


def _numbers(text: str) -> Iterable[int]:
    number = parse_int(text)
    return () if number is None else (number,)


def uuid_directory(name: str, items: Mapping[bytes, Any], make: Callable[[str, bytes, Any], Node], **traits: Any) -> KeyedDirectory:
    """The directory of a mapping from ids, which Java reads padded too."""
    return KeyedDirectory(name, items, make, show=uuid_text, read=_ids, keeps_typed=True, **traits)


def _ids(text: str) -> Iterable[bytes]:
    return (uuid_from_text(text),) if is_uuid_text(text) else ()


Voice = Literal["own", "kafka"]


class LocalInfo(NamedTuple):
    """The content of /local: the version of this software and the commit it was made from."""

    version: str = "unknown"
    commit_id: str = "unknown"


class Tree:
    """One image in one voice; an image never changes, so sorted names stay valid."""

    __slots__ = ("_topic_ids", "_topic_names", "image", "is_own", "local", "names")

    def __init__(self, image: MetadataImage, voice: Voice, local: LocalInfo, before: Tree | None = None) -> None:
        """The sorted names of `before`, a tree of the same voice, are kept if its image has the same topics."""
        self.image = image
        self.local = local
        self.is_own = voice == "own"
        self.names: NameStyle = OWN_NAMES if self.is_own else KAFKA_NAMES
        self._topic_names: list[str] | None = None
        self._topic_ids: list[str] | None = None
        if before is not None and before.image.topics is image.topics:
            self._topic_names, self._topic_ids = before._topic_names, before._topic_ids

    def topic_names(self) -> list[str]:
        """The components of all topics' names, sorted at the first call."""
        if self._topic_names is None:
            self._topic_names = sorted_names(map(self.names.show, self.image.topics.by_name))
        return self._topic_names

    def topic_ids(self) -> list[str]:
        """The texts of all topics' ids, sorted at the first call."""
        if self._topic_ids is None:
            self._topic_ids = sorted_names(map(uuid_text, self.image.topics.by_id))
        return self._topic_ids
