"""What texts that may hold addresses look like to people: without the names and passwords in them."""

from __future__ import annotations

__all__ = ["without_passwords"]


def without_passwords(text: str) -> str:
    """Return `text` with ``//...@`` in place of every ``//name:password@``, as the command line shows it.

    The marks may be percent-encoded: ``%2F%2F`` and ``%40``. `src/base/passwords.h` does the same in C++.
    """
    import re  # for errors alone

    text = re.sub(r"//[^/\s]+@", "//...@", text)
    return re.sub(r"(%2F%2F)[^/\s]+(@|%40)", r"\1...\2", text, flags=re.IGNORECASE)
