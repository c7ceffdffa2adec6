"""How people pack logs: the marks that compressed files and archives begin with, and the suffixes they are given.

No log begins with any of these marks: its first eight bytes are an offset, which would have to be beyond 10^17.
"""

from typing import Final, Literal

Packing = Literal["gzip", "bzip2", "xz", "zstd", "lz4"]

COMPRESSED_SUFFIXES: Final = ("gz", "bz2", "xz", "zst", "lz4")
MAGICS: Final[tuple[tuple[bytes, Packing], ...]] = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "lz4"),
)
"""Compression that is expanded while it is read."""
FOREIGN_MAGICS: Final = (
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a rar archive"),
    (b"LZIP", "an lzip file"),
    (b"\x89LZO", "an lzop file"),
    (b"\x1f\x9d", "a file of compress (.Z)"),
    (b"\xff\x06\x00\x00sNaPpY", "a snappy file"),
    (b"\x82SNAPPY\x00", "a snappy file"),
    (b"\x02\x21\x4c\x18", "an lz4 file of the legacy format"),
)
"""Archives that have to be unpacked first, and their names."""
HEAD_SIZE: Final = max(len(magic) for magic, _ in (*MAGICS, *FOREIGN_MAGICS))
TAR_MARK: Final = b"ustar"
TAR_MARK_AT: Final = 257


def packing_of(head: bytes) -> Packing | None:
    """How a file that begins with these bytes is compressed, None where it is not."""
    return next((packing for magic, packing in MAGICS if head.startswith(magic)), None)


def archive_of(head: bytes) -> str | None:
    """The name of the archive that begins like this."""
    return next((name for magic, name in FOREIGN_MAGICS if head.startswith(magic)), None)
