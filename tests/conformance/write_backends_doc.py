"""Writes docs/backends.md from behaviours.toml: ``python -m tests.conformance.write_backends_doc``."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.behaviours import Table, Tables, load

PAGE = Path(__file__).resolve().parents[2] / "docs" / "backends.md"

HEADER = """\
# What each context and each cluster does

Written from `tests/conformance/behaviours.toml` by `python -m tests.conformance.write_backends_doc`; do not edit.

Each line is a behaviour that the conformance suite in `tests/conformance/` checks on every context, or every cluster,
with a ✓. A number points to the reason why a behaviour does not apply there. A test that is skipped anywhere else fails
the suite.

"""


def page(tables: Tables) -> str:
    """Return the text of the page."""
    return f"{HEADER}## Contexts\n\n{_section(tables.contexts)}\n## Clusters\n\n{_section(tables.clusters)}"


def _section(table: Table) -> str:
    numbers = {reason: number for number, reason in enumerate(table.reasons, 1)}
    lines = [f"- **{name}**: {text}." for name, text in table.places.items()]
    lines += ["", "| id | behaviour | " + " | ".join(table.places) + " |"]
    lines += ["|---|---|" + "---|" * len(table.places)]
    for name, title in table.titles.items():
        cells = [_cell(table, name, place, numbers) for place in table.places]
        lines.append(f"| {name} | {title} | " + " | ".join(cells) + " |")
    lines += ["", "Why not:", ""]
    lines += [f"{numbers[reason]}. {text}." for reason, text in table.reasons.items()]
    return "\n".join(lines) + "\n"


def _cell(table: Table, name: str, place: str, numbers: dict[str, int]) -> str:
    reason = table.exceptions[name].get(place)
    return "✓" if reason is None else f"({numbers[reason]})"


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(load()))
