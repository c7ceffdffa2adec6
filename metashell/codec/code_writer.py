"""Helpers of the generators of straight-line Python: a writer of indented lines, field groups, lookup tables.

The source for a (message, version, product) is made and executed on first use; it is never committed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any

from metashell.codec.primitives import read_uvarint
from metashell.codec.schema import FORMATS, NO_DEFAULT, FieldSchema, MessageSchema, StructSchema
from metashell.common.errors import DecodeError
from metashell.common.values import ZERO_UUID

SIZES = {name: Struct(">" + form).size for name, form in FORMATS.items()}
UNROLLED_COUNT_MAX = 16
"""Arrays up to this length have a prepared Struct; for a longer one it is made."""


class Unset:
    """Stands in a constructor for "not given", where None is a value."""

    def __repr__(self) -> str:
        return "..."


UNSET = Unset()


class Source:
    """Lines of Python under construction, with the names they use."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self.depth = 0
        self.serial = 0
        self.arguments = ""
        """The parameters of the functions that read a struct."""

    def add(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def block(self, line: str) -> Indent:
        """Add a line that opens a block; use as a context manager."""
        self.add(line)
        return Indent(self)

    def constant(self, prefix: str, value: Any) -> str:
        """A name for `value`; the same object always gets the same name."""
        for name, known in self.names.items():
            if known is value:
                return name
        self.serial += 1
        name = f"{prefix}_{self.serial}"
        self.names[name] = value
        return name

    def unpacker(self, formats: str) -> tuple[str, int]:
        """The name of `Struct(">" + formats).unpack_from` and the size it reads."""
        form = Struct(">" + formats)
        name = "unpack_" + formats.replace("?", "t")
        self.names[name] = form.unpack_from
        return name, form.size

    def packer(self, formats: str) -> str:
        name = "pack_" + formats.replace("?", "t")
        self.names[name] = Struct(">" + formats).pack
        return name

    def execute(self, title: str) -> dict[str, Any]:
        """Execute the lines and return their namespace. Tracebacks show `title` as the file."""
        exec(compile("\n".join(self.lines), f"<{title}>", "exec"), self.names)
        return self.names


class Indent:
    """Indents lines by one level while it is open."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __enter__(self) -> None:
        self.source.depth += 1

    def __exit__(self, *_: object) -> None:
        self.source.depth -= 1


class ElementUnpackers(list[Callable[..., tuple[Any, ...]]]):
    """`table[count](buf, pos)` unpacks `count` elements of a fixed width into a tuple."""

    def __init__(self, form: str) -> None:
        super().__init__(Struct(">" + form * count).unpack_from for count in range(UNROLLED_COUNT_MAX + 1))
        self.form = form
        self.size = Struct(">" + form).size

    def unpack(self, buf: bytes, pos: int, count: int, end: int) -> tuple[Any, ...]:
        """Unpack any number of elements. The count is compared with the bytes that are left before anything is allocated."""
        if count <= UNROLLED_COUNT_MAX:
            return self[count](buf, pos)
        if count * self.size > end - pos:
            raise DecodeError(f"{count} elements cannot lie in {end - pos} byte(s)", offset=pos)
        if self.form == "16s":
            return tuple([buf[at : at + 16] for at in range(pos, pos + 16 * count, 16)])
        return Struct(f">{count}{self.form}").unpack_from(buf, pos)


ELEMENTS = {name: ElementUnpackers(form) for name, form in FORMATS.items()}


def null_where_illegal() -> DecodeError:
    return DecodeError("null, which is not legal here")


def field_groups(fields: Sequence[FieldSchema]) -> list[list[FieldSchema]]:
    """Fields in order, with neighbours of a fixed width in one group: one `unpack` reads them all."""
    result: list[list[FieldSchema]] = []
    run: list[FieldSchema] | None = None
    for field in fields:
        if field.type in FORMATS and not field.is_array:
            if run is None:
                run = []
                result.append(run)
            run.append(field)
        else:
            run = None
            result.append([field])
    return result


def is_fixed(field: FieldSchema) -> bool:
    return field.type in FORMATS and not field.is_array


def is_compact(field: FieldSchema, schema: MessageSchema, version: int) -> bool:
    """Whether a field's length is an unsigned varint instead of a fixed integer."""
    return version in (schema.flexible if field.flexible is None else field.flexible)


def default_of(field: FieldSchema, make: Callable[[str], Any]) -> Any:
    """The default of a field; `make` gives a struct of defaults by name."""
    if field.default is not NO_DEFAULT:
        return field.default
    if field.is_array:
        return ()
    if field.is_struct:
        return make(field.type)
    zeros: dict[str, Any] = {"bool": False, "string": "", "bytes": b"", "records": b"", "uuid": ZERO_UUID, "float64": 0.0}
    return zeros.get(field.type, 0)


def used_structs(schema: MessageSchema, version: int) -> list[StructSchema]:
    """The structs that a version of a message reaches, innermost first."""
    seen: list[StructSchema] = []

    def visit(struct: StructSchema) -> None:
        for field in struct.at(version):
            if field.is_struct and schema.structs[field.type] not in seen:
                visit(schema.structs[field.type])
        if struct is not schema:
            seen.append(struct)

    visit(schema)
    unique: list[StructSchema] = []
    for struct in seen:
        if struct not in unique:
            unique.append(struct)
    return unique


def new_source(buf_names: dict[str, Any] | None = None) -> Source:
    """A source with the helpers that every product calls."""
    source = Source()
    source.names.update(
        uvarint=read_uvarint,
        DecodeError=DecodeError,
        null_where_illegal=null_where_illegal,
        unpack_h=Struct(">h").unpack_from,
        unpack_i=Struct(">i").unpack_from,
    )
    source.names.update(buf_names or {})
    return source


def add_count(source: Source, name: str) -> None:
    """Add lines that leave an unsigned varint in `name`, and its end in `p`."""
    source.add(f"{name} = b[p]")
    source.add("p += 1")
    source.add(f"if {name} > 127: {name}, p = uvarint(b, p - 1)")


def add_tag_loop(
    source: Source, struct: StructSchema, version: int, take: Callable[[FieldSchema], None], keep_unknown: Callable[[], None] = lambda: None
) -> None:
    """Add lines that read a section of tagged fields: `take` adds those for a known field, `keep_unknown` those for others.

    A tag that only other versions know is refused, as in Kafka's readers.
    """
    add_count(source, "n")
    with source.block("if n:"):
        source.add("if n > end - p: raise DecodeError('tagged fields run past the end')")
        with source.block("for _ in range(n):"):
            add_count(source, "tag")
            add_count(source, "n")
            word = "if"
            for field in struct.tagged(version):
                with source.block(f"{word} tag == {field.tag}:"):
                    take(field)
                word = "elif"
            for illegal in struct.illegal_tags(version):
                source.add(f"{word} tag == {illegal}: raise DecodeError('a tag of another version')")
                word = "elif"
            with source.block("else:" if word == "elif" else "if True:"):
                keep_unknown()
                source.add("p += n")
