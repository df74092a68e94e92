"""Writes docs/backends.md from behaviours.toml: ``python -m tests.conformance.write_backends_doc``."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.behaviours import Table, load

PAGE = Path(__file__).resolve().parents[2] / "docs" / "backends.md"

HEADER = """\
# What each context does

Written from `tests/conformance/behaviours.toml` by `python -m tests.conformance.write_backends_doc`; do not edit.

Each line is a behaviour that the conformance suite in `tests/conformance/` checks on every context with a ✓. A number
points to the reason why a behaviour does not apply there. A test that is skipped anywhere else fails the suite.

"""


def page(table: Table) -> str:
    """Return the text of the page."""
    numbers = {reason: number for number, reason in enumerate(table.reasons, 1)}
    lines = [f"- **{name}**: {text}." for name, text in table.contexts.items()]
    lines += ["", "| id | behaviour | " + " | ".join(table.contexts) + " |"]
    lines += ["|---|---|" + "---|" * len(table.contexts)]
    for name, title in table.titles.items():
        cells = [_cell(table, name, context, numbers) for context in table.contexts]
        lines.append(f"| {name} | {title} | " + " | ".join(cells) + " |")
    lines += ["", "Why not:", ""]
    lines += [f"{numbers[reason]}. {text}." for reason, text in table.reasons.items()]
    return HEADER + "\n".join(lines) + "\n"


def _cell(table: Table, name: str, context: str, numbers: dict[str, int]) -> str:
    reason = table.exceptions[name].get(context)
    return "✓" if reason is None else f"({numbers[reason]})"


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(load()))
