"""Marks the lines of several replicas' output with the number of the replica."""

from __future__ import annotations

__all__ = ["numbered_lines"]


def numbered_lines(text: str, replica: int) -> str:
    """Return the text with the replica's number before each line.

    Only a newline ends a line. A newline is added to the last line, since lines of other replicas may follow it.
    """
    lines = text.removesuffix("\n").split("\n")
    return "".join(f"[replica-{replica}] {line}\n" for line in lines) if text else ""
