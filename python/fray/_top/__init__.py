"""`fray top`: what the dashboard shows first, in a terminal. `__main__` is what the program `fray` becomes.

`figures` reads the node's documents and makes texts of them; `app` shows these live, with Textual.
"""

from __future__ import annotations

__all__: list[str] = []
