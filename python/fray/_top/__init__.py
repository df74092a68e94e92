"""`fray top`: the first page of the dashboard, in a terminal. The program `fray` executes `__main__`.

`figures` reads the node's documents and turns them into texts; `app` shows these live, with Textual.
"""

from __future__ import annotations

__all__: list[str] = []
