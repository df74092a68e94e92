"""Makes of Doxygen's XML one Markdown page for each public header: what it says of itself, its types, its functions."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

_PUBLIC = ("public", None)
_NAMESPACES = re.compile(r"\bfray::(v1::)?")


@dataclass
class _Header:
    text: str = ""
    types: list[ET.Element] = field(default_factory=list[ET.Element])
    members: dict[str, ET.Element] = field(default_factory=dict[str, ET.Element])


def cpp_pages(xml: Path) -> dict[str, str]:
    """Return name of the page to its text."""
    headers: dict[str, _Header] = defaultdict(_Header)
    for path in sorted(xml.glob("*.xml")):
        for compound in ET.parse(path).getroot().iter("compounddef"):
            _sort_in(compound, headers)
    return {name.removeprefix("fray/") + ".md": _page(name, header) for name, header in sorted(headers.items())}


def _sort_in(compound: ET.Element, headers: dict[str, _Header]) -> None:
    kind, location = compound.get("kind"), compound.find("location")
    if kind == "file" and location is not None:
        headers[location.get("file", "")].text = "".join(
            "".join(part.itertext()) for part in compound.findall("detaileddescription//preformatted")
        )
    if kind in ("file", "namespace"):
        for member in compound.iter("memberdef"):
            headers[_file_of(member)].members[member.get("id", "")] = member
    if kind in ("class", "struct") and compound.get("prot") == "public" and "<" not in _name_of(compound):
        headers[_file_of(compound)].types.append(compound)


def _page(name: str, header: _Header) -> str:
    parts = [f"# `{name}`", f"`#include <{name}>`"]
    if header.text.strip():
        parts += _prose(header.text.strip("\n"))
    for compound in sorted(header.types, key=_line_of):
        parts += _type(compound)
    members = sorted(header.members.values(), key=_line_of)
    for kind, title in (("function", "Functions"), ("enum", "Enumerations"), ("typedef", "Names of types")):
        of_kind = [member for member in members if member.get("kind") == kind]
        if of_kind:
            parts += [f"## {title}", *(text for member in of_kind for text in _member(member, "###"))]
    macros = [member for member in members if member.get("kind") == "define" and _described(member)]
    if macros:
        parts += ["## Macros", *(text for member in macros for text in _member(member, "###"))]
    return _with_anchors("\n\n".join(parts) + "\n", name)


def _with_anchors(text: str, header: str) -> str:
    """Give every heading an anchor that no other page has: Python's references look anchors up by name alone."""
    given: Counter[str] = Counter()

    def heading(match: re.Match[str]) -> str:
        anchor = re.sub(r"\W+", "-", f"{header} {match[2]}").strip("-")
        given[anchor] += 1
        number = f"-{given[anchor]}" if given[anchor] > 1 else ""
        return f"{match[1]} {match[2]} {{ #{anchor}{number} }}"

    return re.sub(r"^(##+) (.+)$", heading, text, flags=re.MULTILINE)


def _prose(text: str) -> list[str]:
    """Return a header's own description: paragraphs, code where it is indented, a list of its rules."""
    parts: list[str] = []
    for block in text.split("\n\n"):
        lines = block.split("\n")
        if all(line.startswith("  ") for line in lines):
            if parts and parts[-1].startswith("```"):
                parts[-1] = parts[-1].removesuffix("\n```") + f"\n\n{dedent(block)}\n```"
            else:
                parts.append(_code(dedent(block)))
        elif re.match(r" ?\w+: {2,}", block):
            items = re.sub(r"\n +", " ", block).strip().split("\n")
            parts.append("\n".join(re.sub(r"^(\w+): +", r"- **\1**: ", _escaped(item)) for item in items))
        else:
            parts.append(_escaped(" ".join(block.split())))
    return parts


def _type(compound: ET.Element) -> list[str]:
    parts = [f"## `{_name_of(compound)}`", _code(f"{_template(compound)}{compound.get('kind')} {_name_of(compound)};")]
    if described := _described(compound):
        parts.append(described)
    members = sorted((each for each in compound.iter("memberdef") if each.get("prot") in _PUBLIC), key=_line_of)
    if fields := [each for each in members if each.get("kind") == "variable"]:
        parts.append(_fields(fields))
    for member in members:
        if member.get("kind") in ("function", "enum", "typedef") and not _is_ordinary(member, compound):
            parts += _member(member, "###")
    return parts


def _is_ordinary(member: ET.Element, compound: ET.Element) -> bool:
    """Whether it is a constructor, assignment or destructor that nothing is said of."""
    name, own = _text(member.find("name")), _name_of(compound).split("::")[-1]
    return not _described(member) and name in (own, f"~{own}", "operator=")


def _member(member: ET.Element, heading: str) -> list[str]:
    parts = [f"{heading} `{_text(member.find('name'))}`", _code(_declaration(member))]
    if described := _described(member):
        parts.append(described)
    values = [each for each in member.findall("enumvalue") if _described(each)]
    if values:
        lines = [f"| `{_text(each.find('name'))}` | {_described(each)} |" for each in values]
        parts.append("\n".join(["| value | meaning |", "| --- | --- |", *lines]))
    return parts


def _declaration(member: ET.Element) -> str:
    name, kind = _text(member.find("name")), member.get("kind")
    if kind == "enum":
        values = ", ".join(
            f"{_text(each.find('name'))} {_text(each.find('initializer'))}".strip()
            for each in member.findall("enumvalue")
        )
        return f"enum {name} {{ {values} }};"
    if kind == "define":
        names = [_text(each.find("defname")) for each in member.findall("param")]
        return f"#define {name}" + (f"({', '.join(names)})" if names else "")
    definition = _text(member.find("definition"))
    if kind == "function":  # the qualified name gives way to the plain one
        before = "static " if member.get("static") == "yes" else ""
        result = _text(member.find("type"))
        definition = f"{before}{result} {name}{_text(member.find('argsstring'))}".strip()
    return _template(member) + _tidy(definition) + ";"


def _fields(fields: Iterable[ET.Element]) -> str:
    lines = ["| field | type | default | meaning |", "| --- | --- | --- | --- |"]
    for each in fields:
        value = _text(each.find("initializer")).removeprefix("=").strip()
        kind = _tidy(_text(each.find("type")))
        shown = f"`{value}`" if value and value != "{}" else ""
        lines.append(f"| `{_text(each.find('name'))}` | `{kind}` | {shown} | {_described(each)} |")
    return "\n".join(lines)


def _tidy(declaration: str) -> str:
    """Return a declaration without Fray's own namespaces and without the spaces that Doxygen puts into brackets."""
    return re.sub(r"(?<!operator)< | (?=>)", lambda match: match[0].strip(), _NAMESPACES.sub("", declaration))


def _template(element: ET.Element) -> str:
    names = [
        f"{_text(each.find('type'))} {_text(each.find('declname'))}".strip()
        for each in element.findall("templateparamlist/param")
    ]
    return f"template <{', '.join(names)}>\n" if names else ""


def _described(element: ET.Element) -> str:
    return _escaped(" ".join(_text(element.find(part)) for part in ("briefdescription", "detaileddescription")).strip())


def _escaped(text: str) -> str:
    """Return text in which nothing but what stands in backticks is Markdown."""
    plain_and_code = text.split("`")  # in turns
    return "`".join(
        part if number % 2 else re.sub(r"([<*_|])", r"\\\1", part) for number, part in enumerate(plain_and_code)
    )


def _code(text: str, language: str = "cpp") -> str:
    return f"```{language}\n{text}\n```"


def _text(element: ET.Element | None) -> str:
    """Return the text in an element, its white space evened, and `--` where Doxygen made a dash of it."""
    if element is None:
        return ""
    text = (element.text or "") + "".join(
        ("--" if child.tag == "ndash" else _text(child)) + (child.tail or "") for child in element
    )
    return " ".join(text.split())


def _name_of(compound: ET.Element) -> str:
    return _NAMESPACES.sub("", _text(compound.find("compoundname")))


def _file_of(element: ET.Element) -> str:
    location = element.find("location")
    return location.get("file", "") if location is not None else ""


def _line_of(element: ET.Element) -> int:
    location = element.find("location")
    return int(location.get("line", "0")) if location is not None else 0
