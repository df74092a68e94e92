"""Checks a site as it lies on the disk: python -m tools.docs.check_site FOLDER.

MkDocs checks the links that stand in Markdown. Here every page is read as a browser does: what it loads must be a file
of the site, what it links to must be a page, and an anchor must be on it.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}

_STYLE_LOADS = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")


class _Page(HTMLParser):
    """The anchors of a page, what it loads and what it links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.loads: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := values.get(name))}
        if tag in _LOADING and (target := values.get(_LOADING[tag])):
            self.loads.append(target)
        if tag == "a" and (target := values.get("href")):
            self.links.append(target)


def problems(site: Path) -> list[str]:
    """Return a line for each thing that a page loads from elsewhere, and for each link that leads nowhere."""
    pages = {path.resolve(): _Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    found: list[str] = []
    for path, page in pages.items():
        if path.name == "404.html":  # of a server's: its links begin at the root
            continue
        name = path.relative_to(site.resolve())
        for target in page.loads:
            if urlsplit(target).scheme not in ("", "data") or target.startswith("//"):
                found.append(f"{name}: is loaded from another host: {target}")
        for target in [*page.links, *page.loads]:
            parts = urlsplit(target)
            if parts.scheme or target.startswith("//"):
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not file.is_file():
                found.append(f"{name}: no such file: {target}")
            elif file in pages and unquote(parts.fragment) not in pages[file].anchors:
                found.append(f"{name}: no such anchor: {target}")
    for path in sorted(site.rglob("*.css")):
        for target in _STYLE_LOADS.findall(path.read_text()):
            found.append(f"{path.relative_to(site)}: is loaded from another host: {target}")
    if not pages:
        found.append(f"{site}: there is no page")
    return found


def main(args: list[str]) -> int:
    if len(args) != 1:
        print("usage: python -m tools.docs.check_site FOLDER", file=sys.stderr)
        return 2
    found = problems(Path(args[0]))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
