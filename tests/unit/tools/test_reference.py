import re

import fray
from fray import errors

from tools.check_layers import ROOT

PAGES = sorted((ROOT / "docs" / "reference").glob("*.md"))


def names_shown() -> list[str]:
    return [name for page in PAGES for name in re.findall(r"^::: ([\w.]+)$", page.read_text(), re.MULTILINE)]


def test_every_public_name_stands_in_the_reference() -> None:
    shown = names_shown()
    assert "fray.errors" in shown
    text = "".join(page.read_text() for page in PAGES)
    missing = [
        name
        for name in fray.__all__
        if f"fray.{name}" not in shown
        and not hasattr(errors, name)
        and name != "__version__"
        and f"`{name}`" not in text
    ]
    assert missing == []


def test_no_name_is_shown_twice() -> None:
    shown = names_shown()
    assert sorted(set(shown)) == sorted(shown)


def test_every_public_header_stands_in_the_navigation() -> None:
    settings = (ROOT / "tools" / "docs" / "mkdocs.yml").read_text()
    listed = re.findall(r"docs/reference/cpp/([\w.]+)\.md$", settings, re.MULTILINE)
    assert sorted(listed) == sorted(header.name for header in (ROOT / "include").rglob("*.h"))
