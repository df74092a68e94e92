"""A Griffe extension: what a package imports for type checkers may be a name of that package.

Fray's packages import most names when they are first used, by `__getattr__`, which cannot be seen without running them.
Which of them are names of the package its `__all__` says.
"""

from __future__ import annotations

from typing import Any

import griffe


class LazyNames(griffe.Extension):
    """Lets `from package import *` bring such names along."""

    def on_alias_instance(self, *, alias: griffe.Alias, **_: Any) -> None:
        """Count what is imported into a package as there when the program runs."""
        if isinstance(alias.parent, griffe.Module) and alias.parent.is_init_module:
            alias.runtime = True
