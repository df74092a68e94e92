"""tools/figures.py [TREE] [--field NAME]: prints what a tree of C++ and Python is like, in figures, as a table.

Production is what is neither a test, nor a fuzz target, a simulator, a benchmark or a stand-in, by the names of files
(src/README.md). Functions and classes of C++ are found by their brackets, with comments, texts and preprocessor lines
left out: good enough to compare trees and to see where one grows, and no compiler is needed.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

if __package__:
    from tools.check_circles import circles, imports
else:
    from check_circles import circles, imports

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "include", "python")
_CPP = (".h", ".hpp", ".c", ".cc", ".cpp")
_NO_PRODUCTION = re.compile(
    r"(^|/)(tests?|testing|benchmarks?|examples?|build|sim|\.[^/]+|[^/]*_corpus)/"
    r"|(^|/)(test_[^/]*|conftest\.py)$"
    r"|_(test|fuzz|benchmark|audit|world|world_[a-z]+|sim_main)\.[a-z]+$"
)
_TESTS = re.compile(r"(^|/)tests?/|(^|/)(test_[^/]*|conftest\.py)$|_test\.[a-z]+$")


@dataclass(frozen=True)
class Function:
    name: str
    place: str
    lines: int


@dataclass
class Class:
    name: str
    place: str
    lines: int = 0
    methods: int = 0
    fields: int = 0


@dataclass
class Language:
    """What was found in the production files of one language."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    functions: list[Function] = field(default_factory=list[Function])
    classes: list[Class] = field(default_factory=list[Class])
    graph: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    test_lines: int = 0


# ---- C++

_PLAIN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ACCESS = re.compile(r"\s*(public|private|protected|signals|slots)\s*$")
_CLASS = re.compile(r"^(?:class|struct|union|enum(?:\s+(?:class|struct))?)\b(?:\s*\[\[[^]]*\]\])?\s*([\w:]*)")
_NAME = re.compile(r"((?:[\w:~]+::)?(?:operator\s*\S{1,3}|~?\w+))\s*$")
_NO_MEMBER = re.compile(r"^(?:using|friend|typedef|static_assert|template\s*<[^>]*>\s*friend|FRAY_)\b")


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _without_templates(head: str) -> str:
    """The head of a declaration without what is in angle brackets, and without `template` in front."""
    before = None
    while before != head:
        before, head = head, re.sub(r"<[^<>()]*>", "", head)
    return re.sub(r"^(?:template\s*|requires\s+\w+\s*)+", "", head.strip()).strip()


def _outside_parentheses(head: str) -> str:
    before = None
    while before != head:
        before, head = head, re.sub(r"\([^()]*\)", "", head)
    return head


@dataclass
class _Block:
    kind: str
    start: int
    owner: Class | None = None
    name: str = ""


class _CppReader:
    """Finds the functions and classes of one file."""

    def __init__(self, place: str, text: str) -> None:
        self._place = place
        self._text = _PLAIN.sub(_blank, text)
        self._starts = [match.end() for match in re.finditer(r"\n", self._text)]
        self._blocks: list[_Block] = []
        self.functions: list[Function] = []
        self.classes: list[Class] = []

    def read(self) -> None:
        begin = depth = 0
        for match in re.finditer(r"[(){};]|(?<!:):(?!:)", self._text):
            mark, at = match[0], match.start()
            if mark == "(":
                depth += 1
            elif mark == ")":
                depth = max(0, depth - 1)
            elif mark == "{":
                block = self._open(self._text[begin:at], begin, inside=depth > 0)
                self._blocks.append(block)
                if block.kind != "part":
                    begin = at + 1
            elif mark == "}":
                if self._blocks and self._close(self._blocks.pop(), at) != "part":
                    begin = at + 1
            elif depth == 0 and mark == ";":
                self._declared(self._text[begin:at])
                begin = at + 1
            elif depth == 0 and _ACCESS.match(self._text[begin:at]):
                begin = at + 1

    def _line(self, at: int) -> int:
        return bisect_right(self._starts, at) + 1

    def _open(self, raw: str, begin: int, *, inside: bool) -> _Block:
        start = begin + len(raw) - len(raw.lstrip())
        parent = self._blocks[-1].kind if self._blocks else "scope"
        if inside or parent == "part":
            return _Block("part", start)
        if parent not in ("scope", "class"):
            return _Block("code", start)
        head = _without_templates(raw)
        if re.match(r"^(inline\s+)?(namespace|extern)\b", head):
            return _Block("scope", start)
        outside = _outside_parentheses(head)
        if (kind := _CLASS.match(head)) and "(" not in re.sub(r"\b(alignas|[A-Z_]{3,})\s*\([^()]*\)", "", head):
            made = Class(kind[1] or "(no name)", f"{self._place}:{self._line(start)}")
            return _Block("class", start, owner=made)
        if "(" not in head or ("=" in outside and "operator" not in outside):
            return _Block("value", start)
        if re.search(r"\)\s*(noexcept\s*)?:(?!:)", head) and re.search(r"[,:]\s*[\w:]+$", head):
            return _Block("part", start)  # a member that a constructor begins with braces
        name = _NAME.search(head[: head.index("(")])
        return _Block("function", start, name=name[1] if name else "?")

    def _close(self, block: _Block, at: int) -> str:
        lines = self._line(at) - self._line(block.start) + 1
        owner = self._blocks[-1].owner if self._blocks else None
        if block.kind == "function":
            self.functions.append(Function(block.name, f"{self._place}:{self._line(block.start)}", lines))
            if owner:
                owner.methods += 1
        elif block.kind == "class" and block.owner:
            block.owner.lines = lines
            self.classes.append(block.owner)
        elif block.kind == "value" and owner:
            owner.fields += 1
        return block.kind

    def _declared(self, raw: str) -> None:
        owner = self._blocks[-1].owner if self._blocks else None
        head = _without_templates(raw)
        if owner is None or not head or _NO_MEMBER.match(head) or (_CLASS.match(head) and " " not in head.strip()):
            return
        if "(" in re.sub(r"\b[A-Z_]{3,}\s*\([^()]*\)", "", head.split("=")[0]):
            owner.methods += 1
        elif not re.match(r"^(class|struct|enum)\s+\w+$", head):
            owner.fields += 1


def _includes(root: Path, texts: dict[str, str]) -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {}
    for place, text in texts.items():
        found: set[str] = set()
        for target in re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', text, re.MULTILINE):
            near = Path(place).parent / target
            found |= {
                str(path) for path in (near, *(Path(folder) / target for folder in ("", *FOLDERS)))
            } & texts.keys()
        graph[place] = found - {place}
    return graph


# ---- Python


def _read_python(place: str, text: str, language: Language) -> None:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            where = f"{place}:{node.lineno}"
            if isinstance(node, ast.ClassDef):
                methods = sum(isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) for each in node.body)
                language.classes.append(Class(node.name, where, lines, methods, len(_fields_of(node))))
            else:
                language.functions.append(Function(node.name, where, lines))


def _fields_of(node: ast.ClassDef) -> set[str]:
    fields = {
        each.target.id for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and ast.unparse(each.value) == "self":
            fields.add(each.attr)
    return fields


# ---- A tree


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    folders = [root / folder for folder in FOLDERS if (root / folder).is_dir()]
    for folder in [*folders, root / "tests"] if folders else [root]:
        for path in sorted(folder.rglob("*")):
            if path.suffix in (*_CPP, ".py") and path.is_file():
                yield str(path.relative_to(root)), path


def read_tree(root: Path) -> tuple[Language, Language]:
    """What is in C++, and what is in Python."""
    cpp, python = Language(), Language()
    for place, path in _files(root):
        language = python if path.suffix == ".py" else cpp
        text = path.read_text(errors="replace")
        if _NO_PRODUCTION.search(place):
            language.test_lines += _lines(text) if _TESTS.search(place) else 0
            continue
        language.texts[place] = text
        if language is python:
            _read_python(place, text, python)
        else:
            reader = _CppReader(place, text)
            reader.read()
            cpp.functions += reader.functions
            cpp.classes += reader.classes
    cpp.graph = _includes(root, cpp.texts)
    if python.texts:
        found = imports(root, *sorted({place.split("/", 1)[0] for place in python.texts}))
        python.graph = {place: others & python.texts.keys() for place, others in found.items() if place in python.texts}
    return cpp, python


# ---- The table


def _lines(text: str) -> int:
    return text.count("\n")


def spread(numbers: Iterable[int], *shares: float) -> str:
    """`median / p90 / greatest` of some numbers, for shares of 0.5 and 0.9."""
    ordered = sorted(numbers)
    if not ordered:
        return "none"
    at = [ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in shares]
    return " / ".join(f"{number:,}" for number in (*at, ordered[-1]))


def _longest_function(language: Language) -> str:
    longest = max(language.functions, key=lambda each: each.lines, default=None)
    return f"{longest.name}, {longest.lines} lines, {longest.place}" if longest else "none"


def _largest_class(language: Language) -> str:
    largest = max(language.classes, key=lambda each: each.methods, default=None)
    if largest is None:
        return "none"
    return f"{largest.name}, {largest.methods} methods, {largest.fields} fields, {largest.lines} lines, {largest.place}"


def _contracts(language: Language) -> str:
    headers = [text for place, text in language.texts.items() if Path(place).suffix in (".h", ".hpp")]
    if not headers:
        return "no headers"
    shares = [
        sum(f"// {word}:" in text for text in headers) / len(headers) for word in ("Threading", "Ownership", "Failure")
    ]
    return " / ".join(f"{share:.0%}" for share in shares)


def named_in(language: Language, name: str) -> list[str]:
    """The production files whose code has this name, comments left out."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    return [
        place
        for place, text in language.texts.items()
        if word.search(re.sub(r"#[^\n]*", "", text) if place.endswith(".py") else _COMMENT.sub("", text))
    ]


def rows(both: tuple[Language, Language], names: Iterable[str] = ()) -> list[tuple[str, str, str]]:
    """The rows of the table: what is measured, of C++, and of Python."""

    def row(title: str, figure: Callable[[Language], str]) -> tuple[str, str, str]:
        return title, figure(both[0]), figure(both[1])

    table = [
        row("production files", lambda of: f"{len(of.texts):,}"),
        row("production lines", lambda of: f"{sum(map(_lines, of.texts.values())):,}"),
        row("lines of tests", lambda of: f"{of.test_lines:,}"),
        row("lines of a file: median / p90 / max", lambda of: spread(map(_lines, of.texts.values()), 0.5, 0.9)),
        row(
            "lines of a function: median / p90 / p99 / max",
            lambda of: spread((each.lines for each in of.functions), 0.5, 0.9, 0.99),
        ),
        row("longest function", _longest_function),
        row("largest class", _largest_class),
        row("headers that state threading / ownership / failure", _contracts),
        row("circles of includes, of imports", lambda of: f"{len(circles(of.graph))}"),
    ]
    return table + [
        row(f"files that name `{name}`", lambda of, name=name: f"{len(named_in(of, name))}") for name in names
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Prints what a tree is like, in figures.")
    parser.add_argument("tree", nargs="?", type=Path, default=ROOT, help="a folder with sources; by default this tree")
    parser.add_argument("--field", action="append", default=[], metavar="NAME", help="which files name it")
    arguments = parser.parse_args()
    if not arguments.tree.is_dir():
        parser.error(f"{arguments.tree} is no folder")
    both = read_tree(arguments.tree.resolve())
    print("|  | C++ | Python |\n| --- | --- | --- |")
    for row in rows(both, arguments.field):
        print("| " + " | ".join(row) + " |")
    for name in arguments.field:
        print(f"\nFiles that name `{name}`:", *sorted(named_in(both[0], name) + named_in(both[1], name)), sep="\n- ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
