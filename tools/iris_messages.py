"""Writes C++ structs for the messages of .proto files: plain data, with one function that visits the fields by number.

    iris_messages.py PROTO... --header OUT.h --source OUT.cc

What it reads is what src/iris/*.proto are written in: messages and enums at the top, fields of scalars, messages and
enums, `repeated` of texts and messages, maps, and `oneof`. src/iris/protobuf.h reads and writes them.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_SCALARS = {
    "string": "std::string",
    "bytes": "std::string",
    "int32": "std::int32_t",
    "int64": "std::int64_t",
    "bool": "bool",
    "double": "double",
}
_HEADERS = ("cstdint", "map", "optional", "string", "string_view", "vector")
_FIELD = re.compile(r"(?P<repeated>repeated )?(?P<type>map<\w+, \w+>|\w+) (?P<name>\w+) = (?P<number>\d+);$")
_SKIPPED = re.compile(r"(syntax|package|import|option)\b.*;$|$")


@dataclass
class Message:
    name: str
    fields: list[tuple[str, str, int]] = field(default_factory=list)  # C++ type, name, number


@dataclass
class Enum:
    name: str
    values: list[tuple[str, int]] = field(default_factory=list)


def lines_of(path: Path) -> Iterator[tuple[str, str]]:
    """Each line without its comment, with where it stands."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        yield f"{path}:{number}", line.partition("//")[0].strip()


def parse(paths: list[Path]) -> list[Message | Enum]:
    """What the files declare, in their order."""
    found: list[Message | Enum] = []
    enums: set[str] = set()
    for path in paths:
        block: Message | Enum | None = None
        in_oneof = False
        for where, line in lines_of(path):
            if block is None and (opened := re.fullmatch(r"(message|enum) (\w+) \{(\})?", line)):
                block = Message(opened[2]) if opened[1] == "message" else Enum(opened[2])
                if opened[1] == "enum":
                    enums.add(opened[2])
                found.append(block)
                block = None if opened[3] else block
            elif block is None and _SKIPPED.fullmatch(line):
                continue
            elif isinstance(block, Message) and re.fullmatch(r"oneof \w+ \{", line):
                in_oneof = True
            elif line == "}" and block is not None:
                block, in_oneof = (block, False) if in_oneof else (None, False)
            elif isinstance(block, Enum) and (value := re.fullmatch(r"(\w+) = (\d+);", line)):
                block.values.append((value[1], int(value[2])))
            elif isinstance(block, Message) and (read := _FIELD.fullmatch(line)):
                block.fields.append((cpp_type(read, in_oneof, enums), read["name"], int(read["number"])))
            elif line:
                sys.exit(f"{where}: cannot read {line!r}")
    return found


def cpp_type(read: re.Match[str], in_oneof: bool, enums: set[str]) -> str:
    def plain(name: str) -> str:
        return _SCALARS.get(name, name)

    kind = read["type"]
    if kind.startswith("map<"):
        key, value = kind[4:-1].split(", ")
        return f"std::map<{plain(key)}, {plain(value)}>"
    if read["repeated"]:
        if kind in enums or (kind in _SCALARS and kind not in ("string", "bytes")):
            sys.exit(f"repeated {kind} {read['name']}: numbers would be packed, which nothing here needs")
        return f"std::vector<{plain(kind)}>"
    is_message = kind not in _SCALARS and kind not in enums
    return f"std::optional<{plain(kind)}>" if in_oneof or is_message else plain(kind)


def declared(item: Message | Enum) -> str:
    if isinstance(item, Enum):
        values = "".join(f"  {name} = {number},\n" for name, number in item.values)
        return f"enum {item.name} : std::int32_t {{\n{values}}};\n"
    body = ""
    for kind, name, _ in item.fields:
        is_number = not kind.startswith("std::") or kind in ("std::int32_t", "std::int64_t")
        body += f"  {kind} {name}{'{}' if is_number else ''};\n"
    visits = "".join(f"    visit({number}, self.{name});\n" for _, name, number in item.fields)
    unused = "" if item.fields else "[[maybe_unused]] "
    return (
        f"struct {item.name} {{\n{body}\n"
        f"  template <typename Self, typename Visit>\n"
        f"  static void each({unused}Self& self, {unused}Visit& visit) {{\n{visits}  }}\n}};\n"
        f"std::string encode(const {item.name}& message);\n"
        f"bool decode(std::string_view bytes, {item.name}& message);\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("protos", nargs="+", type=Path)
    parser.add_argument("--header", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True)
    options = parser.parse_args()
    found = parse(options.protos)
    headers = "".join(
        f"#include <{name}>\n" for name in ("cstdint", "map", "optional", "string", "string_view", "vector")
    )
    declarations = "\n".join(declared(item) for item in found)
    begin, end = "namespace fray::iris::wire {\n\n", "\n}  // namespace fray::iris::wire\n"
    options.header.write_text(f"#pragma once\n\n{headers}\n{begin}{declarations}{end}")
    definitions = "".join(
        f"std::string encode(const {item.name}& message) {{ return encoded(message); }}\n"
        f"bool decode(std::string_view bytes, {item.name}& message) {{ return decoded(bytes, message); }}\n"
        for item in found
        if isinstance(item, Message)
    )
    includes = '#include "iris/messages.h"\n\n#include "iris/protobuf.h"\n\n'
    options.source.write_text(f"{includes}{begin}{definitions}{end}")


if __name__ == "__main__":
    main()
