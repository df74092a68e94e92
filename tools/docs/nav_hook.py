"""Fills folders into the navigation: an entry `Title: FOLDER/*` in mkdocs.yml gets the pages that lie there.

A folder's README comes first. Pages that are added often, such as decisions, need no line of their own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Do so when MkDocs has read its settings."""
    config["nav"] = filled(config["nav"], Path(config["docs_dir"]))
    return config


def filled(entry: Any, pages: Path) -> Any:
    """Return an entry of the navigation, or a list of them, with folders filled in."""
    if isinstance(entry, list):
        return [filled(each, pages) for each in entry]
    if isinstance(entry, dict):
        return {title: filled(each, pages) for title, each in entry.items()}
    if entry.endswith("/*"):
        found = (pages / entry.removesuffix("/*")).glob("*.md")
        return sorted(
            (str(page.relative_to(pages)) for page in found), key=lambda name: (Path(name).stem != "README", name)
        )
    return entry
