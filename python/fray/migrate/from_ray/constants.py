"""Names the constants for options that several calls share."""

from __future__ import annotations

import re

from fray.migrate.kinds import Definition

__all__ = ["Constants", "is_global"]


class Constants:
    """The names of constants for options that several calls share: ``PROCESS_OPTIONS = fray.TaskOptions(...)``.

    Args:
        taken: names that the programs use already.
    """

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._names: dict[int, str] = {}
        self.calls: dict[int, int] = {}
        """The number of calls that have the options of a definition and no others, by the id of the definition."""

    def name(self, definition: Definition) -> str:
        """Return the name of the constant for the options of `definition`."""
        known = self._names.get(id(definition.node))
        if known is None:
            words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", definition.name or "task").strip("_")
            known = f"{words.upper()}_OPTIONS" if is_global(definition) else f"{words.lower()}_options"
            while known in self._taken:
                known += "_"
            self._taken.add(known)
            self._names[id(definition.node)] = known
        return known

    def is_named(self, definition: Definition) -> bool:
        """Return whether a call uses the constant for the options of `definition`."""
        return id(definition.node) in self._names


def is_global(definition: Definition) -> bool:
    node = definition.node
    return definition.source.function_of(node) is None and definition.source.class_of(node) is None
