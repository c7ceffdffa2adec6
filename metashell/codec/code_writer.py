"""Helpers of the generators of straight-line Python: a writer of indented lines, field groups, lookup tables; and the generator of writers.

The source for a (message, version, product) is made and executed on first use; it is never committed. `make_writer` makes straight-line
writers from a schema: `write(object, out)` appends one version of a message to a bytearray.

A field that the version lacks must hold its default, unless the schema marks it ignorable; else it is an EncodeError, like Kafka's
UnsupportedVersionException."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from struct import Struct
from struct import error as struct_error
from typing import Any, Final

from metashell.codec.primitives import encode_uvarint, read_uvarint
from metashell.codec.schema import FORMATS, NO_DEFAULT, FieldSchema, MessageSchema, StructSchema
from metashell.common.errors import DecodeError, EncodeError
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


Writer = Callable[[Any, bytearray], None]


class Shared(tuple[Any, ...]):
    """Structs that are part of many messages and never change: their bytes are made once, and then copied."""

    def __new__(cls, structs: Iterable[Any]) -> Shared:
        self = super().__new__(cls, structs)
        self.made = {}
        return self

    made: dict[tuple[str, str, int], bytes]


StepWriter = Callable[[Any, bytearray], Generator[None, None, None]]
_PIECE: Final = 64
"""The number of structs of an array between two rests of a step writer."""


def make_writer(schema: MessageSchema, version: int, make: Callable[[str], Any]) -> Writer:
    """Make `write(object, out)` for one version of a message; `make` gives a struct of defaults by name.

    Errors: EncodeError naming the message.
    """
    inner: Writer = _compiled(schema, version, make, in_steps=False)

    def write(value: Any, out: bytearray) -> None:
        try:
            inner(value, out)
        except _MISFITS as error:
            raise EncodeError(f"{schema.name} version {version}: {error}") from error

    return write


def make_step_writer(schema: MessageSchema, version: int, make: Callable[[str], Any]) -> StepWriter:
    """As `make_writer`, but a generator that yields now and then within the top-level arrays, so that others may run in between."""
    inner: StepWriter = _compiled(schema, version, make, in_steps=True)

    def write(value: Any, out: bytearray) -> Generator[None, None, None]:
        try:
            yield from inner(value, out)
        except _MISFITS as error:
            raise EncodeError(f"{schema.name} version {version}: {error}") from error

    return write


_MISFITS: Final = (struct_error, AttributeError, TypeError, UnicodeEncodeError)


def _compiled(schema: MessageSchema, version: int, make: Callable[[str], Any], *, in_steps: bool) -> Any:
    source = new_source({"encode_uvarint": encode_uvarint, "Struct": Struct, "EncodeError": EncodeError, "write_tags": write_tags})
    for struct in [*used_structs(schema, version), schema]:
        with source.block(f"def write_{struct.name}(o, w):"):
            source.add("yield" if in_steps and struct is schema else "pass")
            _write_struct(source, struct, schema, version, make, in_steps=in_steps and struct is schema)
    return source.execute(f"write {schema.name} {version}")[f"write_{schema.name}"]


def write_tags(out: bytearray, known: list[tuple[int, bytes]], unknown: tuple[tuple[int, bytes], ...]) -> None:
    """Write a section of tagged fields: known ones and unknown ones that were read, in ascending order."""
    tags = sorted([*known, *unknown]) if unknown else known
    out += encode_uvarint(len(tags))
    for tag, body in tags:
        out += encode_uvarint(tag)
        out += encode_uvarint(len(body))
        out += body


def _write_struct(
    source: Source, struct: StructSchema, schema: MessageSchema, version: int, make: Callable[[str], Any], *, in_steps: bool
) -> None:
    for field in struct.fields:
        if version not in field.versions and not field.ignorable:
            default = source.constant("default", default_of(field, make))
            with source.block(f"if o.{field.attribute} != {default}:"):
                reason = f"{struct.name}: {field.name} does not exist in version {version} and is not at its default"
                source.add(f"raise EncodeError({reason!r}, {field.name!r})")
    for run in field_groups(struct.untagged(version)):
        if is_fixed(run[0]):
            pack = source.packer("".join(FORMATS[field.type] for field in run))
            source.add(f"w += {pack}({', '.join(f'o.{field.attribute}' for field in run)})")
        else:
            source.add(f"v = o.{run[0].attribute}")
            _write_variable(source, run[0], schema, version, tagged=False, in_steps=in_steps)
    if version in schema.flexible:
        _write_tagged(source, struct, schema, version, make)


def _write_tagged(source: Source, struct: StructSchema, schema: MessageSchema, version: int, make: Callable[[str], Any]) -> None:
    source.add("tags = []")
    source.add("outer = w")
    for field in struct.tagged(version):
        default = default_of(field, make)
        source.add(f"v = o.{field.attribute}")
        # A list does not equal the default (), so an empty array is recognized by its length; null is not empty.
        differs = "v is None or len(v)" if field.is_array and default == () else f"v != {source.constant('default', default)}"
        with source.block(f"if {differs}:"):
            source.add("w = bytearray()")
            if is_fixed(field):
                source.add(f"w += {source.packer(FORMATS[field.type])}(v)")
            else:
                _write_variable(source, field, schema, version, tagged=True)
            source.add(f"tags.append(({field.tag}, bytes(w)))")
    source.add("write_tags(outer, tags, o.unknown_tags)")


def _write_variable(
    source: Source, field: FieldSchema, schema: MessageSchema, version: int, tagged: bool, *, in_steps: bool = False
) -> None:
    """Add lines that append `v` to `w`."""
    nullable = version in field.nullable
    if field.is_struct and not field.is_array:
        if nullable:
            with source.block("if v is None:"):
                source.add(f"w += {bytes((0 if tagged else 255,))!r}")
            with source.block("else:"):
                source.add("w += b'\\x01'")
                source.add(f"write_{field.type}(v, w)")
        else:
            source.add(f"write_{field.type}(v, w)")
        return
    with source.block("if v is None:"):
        if nullable:
            null = b"\0" if is_compact(field, schema, version) else b"\xff" * _length_size(field)
            source.add(f"w += {null!r}")
        else:
            source.add(f"raise EncodeError({f'{schema.name}: {field.name} must not be null'!r}, {field.name!r})")
    with source.block("else:"):
        if field.is_array:
            _write_array(source, field, schema, version, in_steps=in_steps)
        else:
            if field.type == "string":
                source.add("v = v.encode()")
            _write_length(source, field, schema, version)
            source.add("w += v")


def _length_size(field: FieldSchema) -> int:
    return 2 if field.type == "string" and not field.is_array else 4


def _write_length(source: Source, field: FieldSchema, schema: MessageSchema, version: int) -> None:
    if is_compact(field, schema, version):
        source.add("w += encode_uvarint(len(v) + 1)")
    else:
        source.add(f"w += {source.packer('h' if _length_size(field) == 2 else 'i')}(len(v))")


def _write_array(source: Source, field: FieldSchema, schema: MessageSchema, version: int, *, in_steps: bool) -> None:
    if field.is_struct and not in_steps:
        _write_shared(source, field, schema, version)
        return
    _write_length(source, field, schema, version)
    if field.type in FORMATS:
        form = FORMATS[field.type]
        if form == "16s":
            with source.block("for item in v:"):
                source.add(f"w += {source.packer('16s')}(item)")
        else:
            source.add(f"w += Struct(f'>{{len(v)}}{form}').pack(*v)")
        return
    with source.block("for number, item in enumerate(v, 1):" if in_steps else "for item in v:"):
        if in_steps:
            source.add(f"if not number % {_PIECE}: yield")
        if field.is_struct:
            source.add(f"write_{field.type}(item, w)")
        else:
            source.add("v = item")
            _write_variable(source, field.element(), schema, version, tagged=False)


def _write_shared(source: Source, field: FieldSchema, schema: MessageSchema, version: int) -> None:
    """Add lines that write an array of structs, and keep the bytes of a `Shared` one."""
    source.names["Shared"] = Shared
    key = source.constant("key", (schema.name, field.name, version))
    source.add(f"made = v.made.get({key}) if v.__class__ is Shared else None")
    with source.block("if made is None:"):
        source.add("begin = len(w)")
        _write_length(source, field, schema, version)
        with source.block("for item in v:"):
            source.add(f"write_{field.type}(item, w)")
        source.add(f"if v.__class__ is Shared: v.made[{key}] = bytes(w[begin:])")
    with source.block("else:"):
        source.add("w += made")
