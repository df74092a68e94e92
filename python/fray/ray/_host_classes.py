"""The classes of actors as the engine knows them: `_Host` under the name of the user's class, by which it is found."""

from __future__ import annotations

from fray.ray._host import Host as _Host

_named: dict[str, type[_Host]] = {}


def __getattr__(name: str) -> type[_Host]:
    if name.startswith("_"):
        raise AttributeError(name)
    return _named.setdefault(name, type(name, (_Host,), {"__module__": __name__, "__qualname__": name}))
