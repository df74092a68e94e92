"""What texts that may hold addresses look like to people: without the names and passwords in them."""

from __future__ import annotations

__all__ = ["without_passwords"]


def without_passwords(text: str) -> str:
    """Return `text` with ``//...@`` in place of every ``//name:password@``, as the command line shows it."""
    import re  # for errors alone

    return re.sub(r"//[^/?#&,\s]*@", "//...@", text)
