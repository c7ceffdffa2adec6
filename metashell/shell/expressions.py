"""The language of `--where`: a small part of Python's expressions over the fields of a node.

It has comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `not in`), `and`, `or`, `not`, parentheses, `len(NAME)`, names, text,
numbers, `true`, `false`, `null`, and lists of those. A name is a field of the node, null if the node lacks it. Order and `in` are false
between values that have none, such as null and 5; `not` makes that true. `ast` parses the text, and closures are made from its tree;
Python never evaluates the text.

`leader == "4"` is false for every partition, since 4 is a number, and the empty answer would look like a true one. So a comparison
remembers the kinds of values it met. One that met only values it cannot compare is reported at the end."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.shell.words import CaretError

if TYPE_CHECKING:
    import ast


Value = Any
"""A JSON value: text, number, bool, null, or a list or object of those."""
Lookup = Callable[[str], Value]
"""A function that returns the value of a name, None for null and for a missing field."""
Evaluate = Callable[[Lookup], Value]

LENGTH_MAX: Final = 1000
_BRACKETS_MAX: Final = 100
_DEPTH_MAX: Final = 50
_COMPARED_MAX: Final = 8
_ITEMS_MAX: Final = 100
_TOO_DEEP: Final = "the expression is nested too deeply"
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_SYMBOLS: Final = {
    "Eq": "==",
    "NotEq": "!=",
    "Lt": "<",
    "LtE": "<=",
    "Gt": ">",
    "GtE": ">=",
    "In": "in",
    "NotIn": "not in",
}


class Where(NamedTuple):
    """An expression: `holds` returns whether it is true for a lookup, `names` are the names it uses.

    Shape: `bare` is the name if the whole expression is one. `parts` are expressions that must all hold, at least this one.
    `comparisons` are those between a name and a constant; they remember the values they met.
    """

    text: str
    names: frozenset[str]
    holds: Callable[[Lookup], bool]
    bare: str | None
    parts: tuple[Where, ...]
    comparisons: tuple[Comparison, ...]


def parse_where(text: str) -> Where:
    """Return the expression of a text. Errors: CaretError."""
    _refuse_odd_text(text)
    return _Compiler(text).where()


def _refuse_odd_text(text: str) -> None:
    if not text.strip():
        raise CaretError("the expression is empty", text, 0)
    if len(text) > LENGTH_MAX:
        raise CaretError(f"the expression has more than {LENGTH_MAX} characters", text, LENGTH_MAX)
    unsafe = _UNSAFE.search(text)
    if unsafe is not None:
        raise CaretError("a character that no expression may contain", text, unsafe.start())
    brackets = [match.start() for match in re.finditer(r"[(\[{]", text)]
    if len(brackets) > _BRACKETS_MAX:
        raise CaretError(f"more than {_BRACKETS_MAX} brackets", text, brackets[_BRACKETS_MAX])


def _parsed(text: str, shift: int) -> ast.expr:
    """Return the syntax tree of the text from `shift` on. It is only read, never compiled or evaluated."""
    import ast

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text[shift:], mode="eval").body
        except SyntaxError as error:
            # An error at the end of the text has no place.
            index = shift + error.offset - 1 if error.offset else len(text.rstrip())
            is_assignment = text[index : index + 1] == "=" and text[index : index + 2] != "=="
            message = "use == to compare" if is_assignment else _lowered(error.msg.partition(" (detected")[0])
            raise CaretError(message, text, min(index, len(text))) from None
        except ValueError as error:
            raise CaretError(_lowered(str(error)), text, 0) from None
        except (MemoryError, RecursionError):
            raise CaretError(_TOO_DEEP, text, 0) from None


def _lowered(message: str) -> str:
    return message[:1].lower() + message[1:]


class _Compiler:
    """Makes closures from the syntax tree of one text, and refuses any node that is not listed here."""

    def __init__(self, text: str) -> None:
        self._text = text
        # Leading blanks would be an indentation to Python.
        self._shift = len(text) - len(text.lstrip(" "))
        self._bytes = text.encode()[self._shift :]
        self._names: set[str] = set()
        self._comparisons: list[Comparison] = []

    def where(self) -> Where:
        return self._where(_parsed(self._text, self._shift))

    def _where(self, node: ast.expr) -> Where:
        import ast

        parts: tuple[Where, ...] = ()
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            parts = tuple(part for value in node.values for part in self._where(value).parts)
        self._names = set()
        self._comparisons = []
        evaluate = self._expression(node, 0)
        bare = node.id if isinstance(node, ast.Name) and node.id not in _CONSTANTS else None
        comparisons = tuple(self._comparisons)
        where = Where(self._text, frozenset(self._names), lambda lookup: _is_true(evaluate(lookup)), bare, parts, comparisons)
        return where if parts else where._replace(parts=(where,))

    def _expression(self, node: ast.expr, depth: int) -> Evaluate:
        import ast

        if depth > _DEPTH_MAX:
            raise self._error(_TOO_DEEP, node)
        if isinstance(node, ast.BoolOp):
            parts = [self._expression(value, depth + 1) for value in node.values]
            return _any_of(parts) if isinstance(node.op, ast.Or) else _all_of(parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            part = self._expression(node.operand, depth + 1)
            return lambda lookup: not _is_true(part(lookup))
        if isinstance(node, ast.Compare):
            return self._comparison(node, depth)
        return self._value(node)

    def _comparison(self, node: ast.Compare, depth: int) -> Evaluate:
        if len(node.ops) > _COMPARED_MAX:
            raise self._error(f"more than {_COMPARED_MAX} comparisons in a row", node.comparators[_COMPARED_MAX])
        sides = [self._expression(side, depth + 1) for side in (node.left, *node.comparators)]
        tests = []
        for index, op in enumerate(node.ops):
            symbol = _SYMBOLS.get(type(op).__name__)
            if symbol is None:
                raise self._error("`is` compares nothing here: use == or !=", node.comparators[index])
            around = (node.left, *node.comparators)[index : index + 2]
            tests.append((self._remembering(symbol, *around), sides[index], sides[index + 1]))
        if len(tests) == 1:
            compare, left, right = tests[0]
            return lambda lookup: compare(left(lookup), right(lookup))
        return lambda lookup: all(compare(left(lookup), right(lookup)) for compare, left, right in tests)

    def _remembering(self, symbol: str, left: ast.expr, right: ast.expr) -> Callable[[Value, Value], bool]:
        """Return the comparison; between a name and a constant, one that remembers the values it met."""
        import ast

        compare = _COMPARISONS[symbol]
        for name, other, is_left in ((left, right, True), (right, left, False)):
            if not isinstance(name, ast.Name) or name.id in _CONSTANTS:
                continue
            try:
                constant = self._constant(other)
            except CaretError:
                continue
            met = Comparison(self._source(name), self._error("", name).index, symbol, constant, is_left=is_left)
            self._comparisons.append(met)
            return met.remembering(compare)
        return compare

    def _value(self, node: ast.expr) -> Evaluate:
        import ast

        if isinstance(node, ast.Name):
            name = self._source(node)
            if name in _CONSTANTS:
                constant = _CONSTANTS[name]
                return lambda lookup: constant
            self._names.add(name)
            return lambda lookup: lookup(name)
        if isinstance(node, ast.Call):
            return self._length(node)
        value = self._constant(node)
        return lambda lookup: value

    def _length(self, node: ast.Call) -> Evaluate:
        import ast

        if not isinstance(node.func, ast.Name) or node.func.id != "len":
            raise self._error("the only function is len(NAME)", node)
        if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.Name):
            raise self._error("len takes one name", node)
        part = self._value(node.args[0])
        return lambda lookup: _length(part(lookup))

    def _constant(self, node: ast.expr) -> Value:
        import ast

        match node:
            case ast.Constant(value=bool() | str() | int() | None):
                return node.value
            case ast.Constant(value=float(number)) if number == number and abs(number) != float("inf"):
                return number
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=number)) if _is_number(number):
                return -number  # type: ignore[operator]
            case ast.List(elts=items) | ast.Tuple(elts=items):
                if len(items) > _ITEMS_MAX:
                    raise self._error(f"more than {_ITEMS_MAX} items", items[_ITEMS_MAX])
                return [self._constant(item) for item in items]
            case ast.Name(id=name) if name in _CONSTANTS:
                return _CONSTANTS[name]
        raise self._error(f"not understood: {_WHAT.get(type(node).__name__, 'this')}", node)

    def _source(self, node: ast.Name) -> str:
        """Return a name as it was typed: Python normalises letters that look alike."""
        return self._bytes[node.col_offset : node.end_col_offset].decode()

    def _error(self, message: str, node: ast.expr) -> CaretError:
        return CaretError(message, self._text, self._shift + len(self._bytes[: node.col_offset].decode()))


_SETTINGS: Final = "; find -config KEY=VALUE asks for settings"
_WHAT: Final = {
    "BinOp": "arithmetic",
    "Attribute": f"a dot{_SETTINGS}",
    "Subscript": f"square brackets after a name{_SETTINGS}",
    "JoinedStr": "an f-string",
    "Lambda": "a function",
    "IfExp": "`if`",
    "Dict": "an object",
    "Set": "braces",
    "Name": "a name in a list",
    "NamedExpr": "`:=`",
}


def _any_of(parts: list[Evaluate]) -> Evaluate:
    return lambda lookup: any(_is_true(part(lookup)) for part in parts)


def _all_of(parts: list[Evaluate]) -> Evaluate:
    return lambda lookup: all(_is_true(part(lookup)) for part in parts)


def _is_true(value: Value) -> bool:
    return bool(value)


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _length(value: Value) -> int | None:
    return len(value) if isinstance(value, str | list | tuple | dict) else None


def _equal(left: Value, right: Value) -> bool:
    """Return whether two values are equal; unlike in Python, true is not 1."""
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


def _contains(item: Value, whole: Value) -> bool:
    if isinstance(whole, str):
        return isinstance(item, str) and item in whole
    return isinstance(whole, list | tuple | dict) and any(_equal(item, other) for other in whole)


def _have_order(left: Value, right: Value) -> bool:
    return (_is_number(left) and _is_number(right)) or (isinstance(left, str) and isinstance(right, str))


_COMPARISONS: Final[dict[str, Callable[[Value, Value], bool]]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": lambda left, right: _have_order(left, right) and left < right,
    "<=": lambda left, right: _have_order(left, right) and left <= right,
    ">": lambda left, right: _have_order(left, right) and left > right,
    ">=": lambda left, right: _have_order(left, right) and left >= right,
    "in": _contains,
    "not in": lambda left, right: not _contains(left, right),
}


Compare = Callable[[Any, Any], bool]

_TRUTH: Final = "true or false"
_NUMBER: Final = "a number"
_TEXT: Final = "text"
_LIST: Final = "a list"
_OBJECT: Final = "an object"
_ORDERED: Final = frozenset({_NUMBER, _TEXT})


class Comparison:
    """A comparison of the field `name`, at `index` of the expression, with a constant. With `is_left` the field comes first."""

    def __init__(self, name: str, index: int, symbol: str, constant: object, *, is_left: bool) -> None:
        self.name = name
        self.index = index
        self._symbol = symbol
        self._constant = constant
        self._is_left = is_left
        self._has_met = False
        self._other: object = None

    def remembering(self, compare: Compare) -> Compare:
        """Return the same comparison, which examines values until it meets one that can be compared."""

        def look(left: object, right: object) -> bool:
            if not self._has_met:
                self._meet(left if self._is_left else right)
            return compare(left, right)

        return look

    @property
    def complaint(self) -> str:
        """Return why it never held or always did; empty if it met a value that can be compared, or none at all."""
        if self._has_met or self._other is None:
            return ""
        found, written = self._other, self._constant
        if "in" in self._symbol and not self._is_left and kind_of(found) not in (_LIST, _TEXT, _OBJECT):
            return f"{self.name} is {kind_of(found)} and holds nothing"
        if "in" in self._symbol and self._is_left and kind_of(written) not in (_LIST, _TEXT):
            return f"{json.dumps(written)} is {kind_of(written)} and holds nothing"
        value = _item(found) if "in" in self._symbol and not self._is_left else found
        constant = _item(written) if "in" in self._symbol and self._is_left else written
        if kind_of(value) == kind_of(constant):
            return f"{self.name} is {kind_of(value)}, which has no order"
        verb = "is" if value is found else "holds"
        return f"{self.name} {verb} {kind_of(value)}, not {kind_of(constant)}{_hint(value, constant)}"

    def _meet(self, value: object) -> None:
        can = None if value is None else self._can_compare(value)
        if can:
            self._has_met = True
        elif can is False and (self._other is None or (_is_whole(value) and not _is_whole(self._other))):
            self._other = value

    def _can_compare(self, value: object) -> bool | None:
        """Return whether the value and the constant can be compared, or None if that cannot be told."""
        if self._constant is None:
            return True
        if "in" in self._symbol:
            item, whole = (value, self._constant) if self._is_left else (self._constant, value)
            return _can_hold(whole, item)
        kind, other = kind_of(value), kind_of(self._constant)
        return kind == other and (self._symbol in ("==", "!=") or kind in _ORDERED)


def kind_of(value: object) -> str:
    """Return the kind of a value in words."""
    match value:
        case bool():
            return _TRUTH
        case int() | float():
            return _NUMBER
        case str():
            return _TEXT
        case list() | tuple():
            return _LIST
        case None:
            return "null"
    return _OBJECT


def _can_hold(whole: object, item: object) -> bool | None:
    if isinstance(whole, list | tuple):
        return any(each is None or item is None or kind_of(each) == kind_of(item) for each in whole) if whole else None
    return isinstance(item, str) and kind_of(whole) in (_TEXT, _OBJECT)


def _is_whole(value: object) -> bool:
    return isinstance(value, list | tuple)


def _item(value: object) -> object:
    """Return the first item of a list, which names its kind; any other value itself."""
    return value[0] if isinstance(value, list | tuple) and value else value


def _hint(found: object, written: object) -> str:
    if isinstance(found, int | float) and isinstance(written, str) and written.lstrip("-").isdigit():
        return f": write {written} without quotes"
    if isinstance(found, str) and isinstance(written, int | float) and not isinstance(written, bool):
        return f': write "{written}"'
    return ""
