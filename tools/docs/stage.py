"""Puts the pages of the site into a folder: python -m tools.docs.stage FRAY_PROGRAM DOXYGEN_XML FOLDER.

The pages lie there as in the repository, so that their links hold. What changes on the way:

- `<!-- site: NAME -->` to `<!-- site: end -->` becomes what the program itself says, see `program_pages`.
- A file that a page links to and that is no page (an example, a list of packages) becomes one, below `files/`.
- The C++ headers become pages in `docs/reference/cpp/`, see `cpp_pages`.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from os.path import relpath
from pathlib import Path

from tools.check_docs import ROOT, pages
from tools.docs.cpp_pages import cpp_pages
from tools.docs.program_pages import Program

_FENCE = re.compile(r"(^ *```.*?^ *```)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\[[^\]]*\]\()([^)\s#]+)(#[^)\s]*)?\)")
_BLOCK = re.compile(r"^<!-- site: (\w+) -->\n.*?^<!-- site: end -->\n", re.MULTILINE | re.DOTALL)
_FRONT = "---\nhide: [navigation]\n---\n"
_IMAGES = (".png", ".svg")
_LANGUAGES = {".py": "python", ".cc": "cpp", ".h": "cpp", ".json": "json", ".toml": "toml", ".sh": "bash"}


def stage(folder: Path, program: Program, doxygen_xml: Path) -> None:
    """Fill the folder with all pages."""
    blocks: dict[str, Callable[[], str]] = {
        "commands": program.commands,
        "routes": program.routes,
        "settings": program.settings,
    }
    linked: set[Path] = set()
    for source in pages():
        if (ROOT / "tests") in source.parents:
            continue
        page = source.relative_to(ROOT)
        text, files = with_file_pages(with_blocks(source.read_text(), blocks), page)
        linked |= files
        _write(folder / page, _FRONT + text if page == Path("README.md") else text)
    if blocks:
        raise ValueError(f"no page has a block for: {', '.join(blocks)}")
    for file in linked:
        _write(folder / "files" / f"{file}.md", file_page(file, (ROOT / file).read_text()))
    for name, text in cpp_pages(doxygen_xml).items():
        _write(folder / "docs" / "reference" / "cpp" / name, text)
    shutil.copytree(ROOT / "docs" / "images", folder / "docs" / "images", dirs_exist_ok=True)
    shutil.copytree(ROOT / "tools" / "docs" / "assets", folder / "assets", dirs_exist_ok=True)


def with_blocks(text: str, blocks: dict[str, Callable[[], str]]) -> str:
    """Return the page with what the program says in its blocks; each is taken out of `blocks`, for it has one place."""
    return _BLOCK.sub(lambda match: blocks.pop(match[1])() + "\n", text)


def with_file_pages(text: str, page: Path) -> tuple[str, set[Path]]:
    """Return the page with links to pages in place of links to other files, and these files."""
    files: set[Path] = set()

    def link(match: re.Match[str]) -> str:
        start, target, anchor = match[1], match[2], match[3] or ""
        if re.match(r"[a-z]+:", target) or target.endswith((".md", *_IMAGES)):
            return match[0]
        file = (ROOT / page.parent / target).resolve().relative_to(ROOT)
        files.add(file)
        return f"{start}{relpath(f'files/{file}.md', page.parent)}{anchor})"

    parts = _FENCE.split(text)
    return "".join(part if number % 2 else _LINK.sub(link, part) for number, part in enumerate(parts)), files


def file_page(file: Path, text: str) -> str:
    """Return the page that shows a file."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"# {file}\n\n{fence}{_LANGUAGES.get(file.suffix, 'text')}\n{text}\n{fence}\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def main(args: list[str]) -> int:
    if len(args) != 3:
        print("usage: python -m tools.docs.stage FRAY_PROGRAM DOXYGEN_XML FOLDER", file=sys.stderr)
        return 2
    folder = Path(args[2])
    shutil.rmtree(folder, ignore_errors=True)
    stage(folder, Program(args[0]), Path(args[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
