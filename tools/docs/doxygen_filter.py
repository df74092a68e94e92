"""Makes of a public header's plain comments what Doxygen reads: doxygen_filter.py FILE, to standard output.

A comment that opens the file describes the file, one of a line's own what comes below it, one at a line's end the
line; the C header's comments are `/* */`. No line is added or removed, so that warnings name the right one.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_OWN_LINE = re.compile(r"^(\s*)//( .*)?$")
_AT_THE_END = re.compile(r"^(.*\S) +// (?!NOLINT|IWYU|namespace\b)(.*)$")
_SECTION = re.compile(r"^\s*(// ---- .* ----|/\* ---- .* ---- \*/)$")
_C_OWN_LINE = re.compile(r"^(\s*)/\*( .*?)( \*/)?$")
_C_AT_THE_END = re.compile(r"^(.*\S) +/\* (.*) \*/$")


def filtered(name: str, text: str) -> str:
    """Return the header with Doxygen's comment marks."""
    lines = text.splitlines()
    if lines and lines[0].startswith("/*"):
        return c_filtered(name, lines)
    head = next((number for number, line in enumerate(lines) if not line.startswith("//")), len(lines))
    result = [f"/// @file {name} <pre>" + escaped(lines[0][2:])] if head else []
    result += ["///" + escaped(line[2:]) for line in lines[1:head]]
    if head:
        result[-1] += "</pre>"
    return "\n".join([*result, *(marked(line) for line in lines[head:])]) + "\n"


def c_filtered(name: str, lines: list[str]) -> str:
    """Return the C header with Doxygen's comment marks."""
    result = [f"/** @file {name} <pre>{escaped(lines[0][2:])}"]
    inside, end = True, "</pre>*/"  # of a comment that has more than one line, and what ends it
    for line in lines[1:]:
        if inside:
            closed = line.endswith("*/")
            text = line.removesuffix("*/").strip().removeprefix("*").removeprefix(" ")
            result.append(escaped(text) + (f" {end}" if closed else ""))
            inside = not closed
        elif _SECTION.match(line):
            result.append("")
        elif own := _C_OWN_LINE.match(line):
            result.append(f"{own[1]}/**{escaped(own[2])}{own[3] or ''}")
            inside, end = own[3] is None, "*/"
        elif behind := _C_AT_THE_END.match(line):
            result.append(f"{behind[1]} /**< {escaped(behind[2])} */")
        else:
            result.append(line)
    return "\n".join(result) + "\n"


def marked(line: str) -> str:
    """Return one line of code or comment."""
    if _SECTION.match(line):
        return "//"
    if own := _OWN_LINE.match(line):
        return f"{own[1]}///{escaped(own[2] or '')}"
    if end := _AT_THE_END.match(line):
        return f"{end[1]}  ///< {escaped(end[2])}"
    return line


def escaped(text: str) -> str:
    """Return text in which nothing is a command of Doxygen's or HTML."""
    return re.sub(r"([@\\#&<>])", r"\\\1", text)


if __name__ == "__main__":
    sys.stdout.write(filtered(Path(sys.argv[1]).name, Path(sys.argv[1]).read_text()))
