"""Checks that each relative link in the Markdown files leads to a file, and each `#heading` to a heading."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _CODE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def check(page: Path) -> list[str]:
    problems: list[str] = []
    for target in _LINK.findall(_CODE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not path.exists():
            problems.append(f"{page.relative_to(ROOT)}: no such file: {target}")
        elif anchor and path.suffix == ".md" and anchor not in anchors(path.read_text()):
            problems.append(f"{page.relative_to(ROOT)}: no such heading: {target}")
    return problems


def pages() -> list[Path]:
    folders = ("docs", "src", "examples", "benchmarks", "tests")
    return sorted(ROOT.glob("*.md")) + [page for folder in folders for page in sorted((ROOT / folder).rglob("*.md"))]


def main() -> int:
    problems = [problem for page in pages() for problem in check(page)]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
