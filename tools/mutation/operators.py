"""The edits of one source text: where each operator, bound, condition and statement stands, and what it is changed to.

Left out, since no behaviour hangs on them or the first import would break: annotations, assertions, messages (f-strings and what is
raised), patterns of `match`, Protocols, and the plain assignments of an `__init__`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitOr: ("|", "&"),
    ast.BitAnd: ("&", "|"),
    ast.BitXor: ("^", "&"),
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
LEFT_OUT = frozenset({"sorted", "reversed", "set", "frozenset", "abs", "round", "dict"})
"""Calls of one value that the value can stand for."""
METHODS_LEFT_OUT = frozenset({"strip", "lstrip", "rstrip", "lower", "upper", "copy", "casefold"})
SYMMETRIC = frozenset({"min", "max", "isinstance", "issubclass", "cast", "TypeVar", "zip", "gcd", "NewType"})
COMMENT = re.compile(rb"#[^\n]*")
DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Edit:
    """`source[start:end]`, in bytes, becomes `new`; `change` says it in words, `line` counts from 1."""

    function: str
    line: int
    start: int
    end: int
    new: bytes
    change: str


def edits_of(source: bytes) -> list[Edit]:
    """Every edit of a module, in the order of its lines. Errors: SyntaxError of a source that is none."""
    finder = _Finder(source)
    finder.block(ast.parse(source).body, is_tail=False)
    return sorted(finder.edits, key=lambda edit: (edit.start, edit.end, edit.new))


class _Finder(ast.NodeVisitor):
    """Walks statements by `block`, which knows where it stands in the function, and expressions as a visitor does."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.edits: list[Edit] = []
        self.names: list[str] = []
        self.assigned: list[dict[str, int]] = []
        begins = [0]
        for line in source.splitlines(keepends=True):
            begins.append(begins[-1] + len(line))
        self.begins = begins

    # Where things stand.

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.begins[node.lineno - 1] + node.col_offset, self.begins[node.end_lineno - 1] + node.end_col_offset

    def add(self, start: int, end: int, new: str, change: str = "") -> None:
        old = " ".join(self.source[start:end].decode().split())
        line = self.source.count(b"\n", 0, start) + 1
        self.edits.append(Edit(".".join(self.names), line, start, end, new.encode(), change or f"{old} -> {new}"))

    def replace(self, node: ast.expr, new: str) -> None:
        if any(isinstance(part, ast.NamedExpr) for part in ast.walk(node)):
            return  # Without the name that it binds, the next line breaks: that tests nothing.
        self.add(*self.span(node), new)

    def drop(self, node: ast.stmt) -> None:
        self.add(*self.span(node), "pass", DROPPED)

    def swap_between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> None:
        """Swap the operator `old`, which stands between two expressions, perhaps among brackets and comments."""
        start, end = self.span(left)[1], self.span(right)[0]
        between = COMMENT.sub(lambda match: b" " * len(match[0]), self.source[start:end])
        pattern = re.escape(old).replace(r"\ ", r"\s+")
        match = re.search(pattern.encode(), between)
        assert match is not None, (old, between)
        self.add(start + match.start(), start + match.end(), new)

    # Statements.

    def block(self, body: list[ast.stmt], *, is_tail: bool) -> None:
        """`is_tail`: after this block the function, or the round of its loop, ends."""
        for number, statement in enumerate(body):
            self.statement(statement, is_tail and number == len(body) - 1)

    def statement(self, node: ast.stmt, is_tail: bool) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.function(node)
            case ast.ClassDef():
                self.class_(node)
            case ast.If():
                self.if_(node, is_tail)
            case ast.For() | ast.AsyncFor():
                self.visit(node.iter)
                self.block(node.body, is_tail=True)
                self.block(node.orelse, is_tail=is_tail)
            case ast.While():
                if not isinstance(node.test, ast.Constant):
                    self.replace(node.test, "False")
                    self.visit(node.test)
                self.block(node.body, is_tail=True)
                self.block(node.orelse, is_tail=is_tail)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self.visit(item.context_expr)
                self.block(node.body, is_tail=is_tail)
            case ast.Try():
                self.block(node.body, is_tail=False)
                for handler in node.handlers:
                    self.rethrow(handler)
                    self.block(handler.body, is_tail=is_tail and not node.finalbody)
                self.block(node.orelse, is_tail=is_tail and not node.finalbody)
                self.block(node.finalbody, is_tail=is_tail)
            case ast.Match():
                self.visit(node.subject)
                for case in node.cases:
                    if case.guard is not None:
                        self.condition(case.guard)
                    self.block(case.body, is_tail=is_tail)
            case _:
                self.plain_statement(node, is_tail)

    def plain_statement(self, node: ast.stmt, is_tail: bool) -> None:
        match node:
            case ast.Expr(value=ast.Call() as call):
                if not _is_super_init(call):
                    self.drop(node)
                self.visit(call)
            case ast.Expr(value=ast.Await(value=ast.Call() as call)):
                self.drop(node)
                self.visit(node.value)
            case ast.Assign():
                self.assignment(node, node.targets)
                self.visit(node.value)
            case ast.AnnAssign(value=value) if value is not None and "TypeAlias" not in ast.dump(node.annotation):
                self.assignment(node, [node.target])
                self.visit(value)
            case ast.AugAssign():
                self.drop(node)
                if (swap := ARITHMETIC.get(type(node.op))) is not None:
                    self.swap_between(node.target, node.value, f"{swap[0]}=", f"{swap[1]}=")
                self.visit(node.value)
            case ast.Raise(exc=ast.Call(func=ast.Name(id="AssertionError"))):
                pass  # An invariant, as `assert` is.
            case ast.Delete() | ast.Raise() | ast.Break():
                self.drop(node)
            case ast.Continue():
                if not is_tail:
                    self.drop(node)
            case ast.Return(value=value):
                if not is_tail and self.names:
                    self.drop(node)
                if value is not None:
                    self.visit(value)
            case ast.Expr(value=value) if not isinstance(value, ast.Constant):
                self.visit(value)

    def rethrow(self, handler: ast.ExceptHandler) -> None:
        """An error that is dealt with here reaches the caller instead."""
        first = handler.body[0]
        if not isinstance(first, ast.Raise):
            self.add(*self.span(first), "raise", "the error is passed on")

    def assignment(self, node: ast.stmt, targets: list[ast.expr]) -> None:
        """Drop what leaves an older value behind: a field, an item, a name that is assigned elsewhere too."""
        if not self.assigned or (self.names and self.names[-1] == "__init__"):
            return
        for target in targets:
            is_older = isinstance(target, ast.Attribute | ast.Subscript)
            if is_older or (isinstance(target, ast.Name) and self.assigned[-1].get(target.id, 0) > 1):
                self.drop(node)
                return

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        if all(isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) for part in body):
            return  # A Protocol's, or one without anything to change.
        self.names.append(node.name)
        self.assigned.append(_assigned_names(node))
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self.block(body, is_tail=True)
        self.assigned.pop()
        self.names.pop()

    def class_(self, node: ast.ClassDef) -> None:
        if any("Protocol" in ast.dump(base) for base in node.bases):
            return
        outer, self.assigned = self.assigned, []
        self.names.append(node.name)
        self.block(node.body, is_tail=False)
        self.names.pop()
        self.assigned = outer

    def if_(self, node: ast.If, is_tail: bool) -> None:
        if "TYPE_CHECKING" in ast.dump(node.test):
            return
        self.condition(node.test)
        self.block(node.body, is_tail=is_tail)
        self.block(node.orelse, is_tail=is_tail)

    # Expressions.

    def condition(self, test: ast.expr) -> None:
        self.replace(test, "True")
        self.replace(test, "False")
        self.visit(test)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.condition(node.test)
        self.visit(node.body)
        self.visit(node.orelse)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self.visit(node.iter)
        for test in node.ifs:
            self.condition(test)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new, neutral = ("and", "or", "True") if isinstance(node.op, ast.And) else ("or", "and", "False")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.swap_between(left, right, old, new)
        for value in node.values:
            self.replace(value, neutral)
            self.visit(value)

    def visit_Compare(self, node: ast.Compare) -> None:
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            self.swap_between(left, right, *COMPARISONS[type(operator)])
            left = right
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        swap = ARITHMETIC.get(type(node.op))
        if swap is not None and not (_is_text(node.left) or _is_text(node.right)):
            self.swap_between(node.left, node.right, *swap)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
                self.move_bound(node, -value)
                return
            case ast.UnaryOp(op=ast.Not()):
                start, end = self.span(node)
                text = " ".join(self.source[start:end].decode().split())
                self.add(start, start + len("not "), "", f"{text} -> without not")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.replace(node, str(not node.value))
        elif isinstance(node.value, int):
            self.move_bound(node, node.value)

    def move_bound(self, node: ast.expr, value: int) -> None:
        self.replace(node, str(value + 1))
        self.replace(node, str(value - 1))

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name):
            if node.func.id in CALLS:
                self.replace(node.func, CALLS[node.func.id])
            if node.func.id in ("isinstance", "issubclass", "cast", "TypeVar"):
                self.visit(node.args[0])
                return
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            self.drop_arguments(node.args)
        else:
            self.leave_out(node)
            self.exchange(node)
        self.generic_visit(node)

    def visit_Await(self, node: ast.Await) -> None:
        start, end = self.span(node)
        text = " ".join(self.source[start:end].decode().split())
        self.add(start, self.span(node.value)[0], "", f"{text} -> without await")
        self.visit(node.value)

    def leave_out(self, node: ast.Call) -> None:
        """A call of one value becomes the value: not sorted, not stripped, not copied, repeated ones kept."""
        match node.func:
            case ast.Name(id=name) if name in LEFT_OUT and node.args:
                value = node.args[0]
            case ast.Attribute(value=value, attr=name) if name in METHODS_LEFT_OUT and not node.args:
                pass
            case _:
                return
        start, end = self.span(value)
        text = self.source[start:end].decode()
        self.replace(node, f"list({text})" if name in ("sorted", "reversed") else text)

    def exchange(self, node: ast.Call) -> None:
        """Two values of a call change places."""
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if len(node.args) != 2 or name in SYMMETRIC or any(isinstance(part, ast.NamedExpr) for part in ast.walk(node)):
            return
        (start, middle), (begin, end) = (self.span(argument) for argument in node.args)
        first, second = self.source[start:middle].decode(), self.source[begin:end].decode()
        if first != second and not any(isinstance(argument, ast.GeneratorExp | ast.Lambda) for argument in node.args):
            words = " ".join(f"{first}, {second}".split())
            self.add(start, end, f"{second}{self.source[middle:begin].decode()}{first}", f"{words} exchanged")

    def drop_arguments(self, arguments: list[ast.expr]) -> None:
        """A call that takes any number of steps or values can do without each one."""
        spans = [self.span(argument) for argument in arguments]
        for number, (start, end) in enumerate(spans):
            old = " ".join(self.source[start:end].decode().split())
            if number + 1 < len(spans):
                self.add(start, spans[number + 1][0], "", f"{old} -> no argument")
            elif number:
                self.add(spans[number - 1][1], end, "", f"{old} -> no argument")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """A message: its wording is not behaviour, and its positions are not exact before Python 3.12."""

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.body)


def _is_super_init(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super"))):
            return True
        case _:
            return False


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr | ast.List) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _assigned_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, int]:
    """How often each name gets a value in a function; an argument has one from the start."""
    counts = {argument.arg: 1 for argument in _arguments(function.args)}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            counts[node.id] = counts.get(node.id, 0) + 1
    return counts


def _arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
