"""Counts lines of code, places that stand twice, and circles of imports.

    python -m tools.structure                    the counts of metashell/, and each package's lines
    python -m tools.structure --twice            each place that stands twice, the longest first
    python -m tools.structure --package dump     one package only
    python -m tools.structure --against REV      the same counts of another commit beside these
    python -m tools.structure --check            status 1 when a size is larger than tools/structure_limits.toml says (`make check` runs it)
    python -m tools.structure --record "WHY"     write the sizes of today there; WHY names the capability that a growth buys

Lines are those that hold code: no blank line, comment or docstring counts. A place stands twice when six or more lines of code
in a row are the same in two places, as they are ("same") or with other names, numbers and strings ("alike"). Imports, lone brackets,
decorators, declared fields and parameters, rows of a table and generated files are no code for this, nor is a shape that stands in
more than COMMON places. A circle is a set of modules that import each other, also late and for types.

Three of these counts are sizes: lines of code, files, and imports inside functions. None grows unless a commit records the growth and its
reason. A size that shrank is recorded without a reason (`--record`), so that what was won is not lost again.
"""

from __future__ import annotations

import argparse
import ast
import io
import keyword
import re
import subprocess
import tarfile
import tempfile
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMITS = ROOT / "tools" / "structure_limits.toml"
RUN_LINES = 6
# A window with fewer names than this says nothing of its own: closing brackets, bare returns, one-word lines.
NAMES_MIN = 8
# Of the lines of a window, so many must differ in shape: the rest are rows of a table.
SHAPES_MIN = 4
COMMON = 8
GENERATED = re.compile(r"(?i)\b(generated|made) by .*\bdo not edit\b", re.DOTALL)
DECLARED = re.compile(r"n : [^=()]*(= [ns\d.]+ ?)?,?$|[nsd] ,$")
LAYOUT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENCODING, tokenize.ENDMARKER}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of code: its number in the file, its text without layout, and its shape (names, numbers and strings left out)."""

    number: int
    text: str
    shape: str
    names: int


@dataclass(frozen=True, slots=True)
class Twice:
    """Two places with the same run: (path, first line, last line) each, and how many lines of code they share."""

    one: tuple[str, int, int]
    other: tuple[str, int, int]
    lines: int


@dataclass(frozen=True, slots=True)
class Counts:
    """What stands in one tree: lines of code by package, places that stand twice, circles of imports."""

    lines: Counter[str]
    files: int
    late_imports: int
    same: list[Twice]
    alike: list[Twice]
    circles: list[list[str]]


def docstring_lines(tree: ast.Module) -> set[int]:
    """The lines of every string that stands alone as a statement."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def import_lines(tree: ast.Module) -> set[int]:
    """The lines of every import."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def code_lines(text: str) -> list[Line]:
    """The lines of code of one file, imports included."""
    left_out = docstring_lines(ast.parse(text))
    words: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in LAYOUT:
            continue
        for number in range(token.start[0], token.end[0] + 1):
            if number not in left_out:
                words[number].append((token.string if token.start[0] == number else "", _shape_of(token)))
    return [
        Line(number, " ".join(word for word, _ in line), " ".join(shape for _, shape in line), sum(shape in "nsd" for _, shape in line))
        for number, line in sorted(words.items())
    ]


def _shape_of(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.NAME:
        return token.string if keyword.iskeyword(token.string) else "n"
    if token.type == tokenize.STRING:
        return "s"
    return "d" if token.type == tokenize.NUMBER else token.string


def late_imports(text: str) -> int:
    """How many import statements of one file stand inside functions."""
    tree = ast.parse(text)
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    # A set, since a function inside a function is walked twice.
    return len({id(node) for function in functions for node in ast.walk(function) if isinstance(node, ast.Import | ast.ImportFrom)})


def lines_to_compare(text: str) -> list[Line]:
    """The lines of code that say something: no imports, lone brackets, decorators, declared fields or parameters."""
    if GENERATED.search(text[:400]):
        return []
    imports = import_lines(ast.parse(text))
    return [
        line
        for line in code_lines(text)
        if line.number not in imports and line.names and not line.text.startswith("@") and not DECLARED.match(line.shape)
    ]


def places_twice(files: dict[str, list[Line]], *, by_shape: bool) -> list[Twice]:
    """Every pair of places that share a run of RUN_LINES or more lines; a run that goes on is one pair."""
    windows: defaultdict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for path, lines in files.items():
        for index in range(len(lines) - RUN_LINES + 1):
            window = lines[index : index + RUN_LINES]
            if sum(line.names for line in window) >= NAMES_MIN and len({line.shape for line in window}) >= SHAPES_MIN:
                windows[tuple(line.shape if by_shape else line.text for line in window)].append((path, index))
    matches = {
        (one, other)
        for places in windows.values()
        if len(places) <= COMMON
        for position, one in enumerate(places)
        for other in places[position + 1 :]
        if one[0] != other[0] or other[1] - one[1] >= RUN_LINES
    }
    found = []
    for one, other in sorted(matches):
        if (_before(one), _before(other)) in matches:
            continue
        length = RUN_LINES
        while (_after(one, length - RUN_LINES + 1), _after(other, length - RUN_LINES + 1)) in matches:
            length += 1
        found.append(Twice(_place(files, one, length), _place(files, other, length), length))
    return sorted(found, key=lambda twice: (-twice.lines, twice.one, twice.other))


def _before(place: tuple[str, int]) -> tuple[str, int]:
    return place[0], place[1] - 1


def _after(place: tuple[str, int], count: int) -> tuple[str, int]:
    return place[0], place[1] + count


def _place(files: dict[str, list[Line]], start: tuple[str, int], length: int) -> tuple[str, int, int]:
    path, index = start
    return path, files[path][index].number, files[path][index + length - 1].number


def module_imports(root: Path, paths: Iterable[Path]) -> dict[str, set[str]]:
    """For each module, the modules of the same tree that it names in an import, late and for types too."""
    names = {_module_name(root, path): path for path in paths}
    found: dict[str, set[str]] = {}
    for name, path in names.items():
        imported: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                # A module by way of its package is that module: Python has begun with the package anyway.
                full = [f"{node.module}.{alias.name}" for alias in node.names]
                imported.update(name if name in names else node.module for name in full)
        found[name] = (imported & names.keys()) - {name}
    return found


def _module_name(root: Path, path: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Every set of modules that reach each other by imports."""

    def reached_from(start: str) -> set[str]:
        found: set[str] = set()
        waiting = list(imports[start])
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting.extend(imports[name])
        return found

    reach = {name: reached_from(name) for name in imports}
    inside = {frozenset(other for other in reach[name] if name in reach[other]) for name in imports if name in reach[name]}
    return sorted(sorted(circle) for circle in inside)


def count_tree(root: Path, package: str | None = None) -> Counts:
    """The counts of metashell/ below `root`; with `package`, of that part of it alone."""
    texts = source_texts(root, package)
    lines: Counter[str] = Counter()
    for name, text in texts.items():
        parts = Path(name).parts
        lines[parts[1] if len(parts) > 2 else "."] += len(code_lines(text))
    files = {name: lines_to_compare(text) for name, text in texts.items()}
    return Counts(
        lines,
        len(texts),
        sum(map(late_imports, texts.values())),
        places_twice(files, by_shape=False),
        places_twice(files, by_shape=True),
        circles(module_imports(root, [root / name for name in texts])),
    )


def source_texts(root: Path, package: str | None = None) -> dict[str, str]:
    """The source files of metashell/ below `root`, by their paths there."""
    paths = sorted((root / "metashell" / (package or "")).rglob("*.py"))
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in paths}


def sizes(root: Path) -> dict[str, int]:
    """What may only grow with a reason, by the names in LIMITS. Much quicker than `count_tree`."""
    counted = [size_of(text) for text in source_texts(root).values()]
    return {
        "lines": sum(lines for lines, _ in counted),
        "files": len(counted),
        "late_imports": sum(late for _, late in counted),
    }


def size_of(text: str) -> tuple[int, int]:
    """How many lines `code_lines` finds in a file, and how many imports `late_imports` does: of one walk, and without tokens."""
    bare = [line.strip() for line in text.splitlines()]
    code = {number for number, line in enumerate(bare, 1) if line and not line.startswith("#")}
    texts: set[int] = set()
    late = 0
    waiting: list[tuple[ast.AST, bool]] = [(ast.parse(text), False)]
    while waiting:
        node, is_inside = waiting.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            code.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            continue
        if isinstance(node, ast.Constant | ast.JoinedStr):
            texts.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        late += is_inside and isinstance(node, ast.Import | ast.ImportFrom)
        is_inside = is_inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        waiting += [(child, is_inside) for child in ast.iter_child_nodes(node)]
    return len(code | texts), late


def grown(now: Mapping[str, int], limits: Mapping[str, int]) -> list[str]:
    """One line for each size that is larger than its limit."""
    return [f"{name} {limits[name]} -> {count}" for name, count in now.items() if count > limits[name]]


def limits_text(now: Mapping[str, int], limits: Mapping[str, int], raises: Iterable[str], why: str) -> str:
    """The file LIMITS with the sizes of today, and a line for what grew; without `why` nothing may have grown.

    Errors: ValueError names what grew without a reason.
    """
    growth = ", ".join(grown(now, limits))
    why = " ".join(why.split())
    if growth and not why:
        raise ValueError(f"{growth}: say what capability that buys: python -m tools.structure --record 'WHY'")
    reasons = [*raises, *([f"{growth}: {why}"] if growth else [])]
    quoted = "".join(f"    {_toml_string(line)},\n" for line in reasons)
    return (
        "# The sizes of metashell/; `make check` fails when one is larger. Made by `python -m tools.structure --record`.\n"
        + "".join(f"{name} = {count}\n" for name, count in now.items())
        + f"# Each growth, and the capability that it bought; the newest last.\nraises = [\n{quoted}]\n"
    )


def _toml_string(line: str) -> str:
    escaped = line.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def recorded(path: Path) -> tuple[dict[str, int], list[str]]:
    """The limits and the reasons of a file like LIMITS."""
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: value for name, value in values.items() if isinstance(value, int)}, list(values["raises"])


def check() -> int:
    """Print what has grown without a record; gives the exit status."""
    limits, _ = recorded(LIMITS)
    now = sizes(ROOT)
    for line in grown(now, limits):
        print(f"metashell/ has grown: {line}. Make it smaller, or say what capability that buys: python -m tools.structure --record 'WHY'")
    return 1 if grown(now, limits) else 0


def record(why: str) -> int:
    """Write the sizes of today to LIMITS; gives the exit status."""
    limits, raises = recorded(LIMITS)
    try:
        LIMITS.write_text(limits_text(sizes(ROOT), limits, raises, why), encoding="utf-8")
    except ValueError as error:
        print(error)
        return 2
    return 0


def tree_at(revision: str, folder: Path) -> Path:
    """metashell/ of a commit, unpacked into `folder`."""
    packed = subprocess.run(["git", "archive", revision, "metashell"], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder)
    return folder


def rows(counts: Counts) -> Iterator[tuple[str, int]]:
    """Name and value of each figure."""
    yield "lines of code", counts.lines.total()
    yield "files", counts.files
    yield "imports inside functions", counts.late_imports
    yield "places that stand twice, same", len(counts.same)
    yield "places that stand twice, alike", len(counts.alike)
    yield "circles of imports", len(counts.circles)
    for package, number in sorted(counts.lines.items()):
        yield f"lines of {package}", number


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--twice", action="store_true", help="list the places that stand twice, and the circles")
    parser.add_argument("--package", help="one package of metashell/ only")
    parser.add_argument("--against", metavar="REV", help="show the counts of this commit beside these")
    parser.add_argument("--check", action="store_true", help="status 1 when a size is larger than recorded")
    parser.add_argument("--record", metavar="WHY", nargs="?", const="", help="record the sizes of today; WHY is needed when one grew")
    options = parser.parse_args()
    if options.check:
        return check()
    if options.record is not None:
        return record(options.record)
    now = count_tree(ROOT, options.package)
    before: dict[str, int] = {}
    if options.against:
        with tempfile.TemporaryDirectory() as folder:
            before = dict(rows(count_tree(tree_at(options.against, Path(folder)), options.package)))
    values = dict(rows(now))
    for name in values | before:
        value = values.get(name, 0)
        old = before.get(name, 0)
        change = f"  before {old:6}  {(value - old) / old:+7.1%}" if old else ""
        print(f"{name:34} {value:6}{change}")
    if options.twice:
        for kind, found in (("same", now.same), ("alike", now.alike)):
            for twice in found:
                (one, first, last), (other, other_first, other_last) = twice.one, twice.other
                print(f"{kind:5} {twice.lines:3}  {one}:{first}-{last} ~ {other}:{other_first}-{other_last}")
        for circle in now.circles:
            print("circle", " ".join(circle))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
