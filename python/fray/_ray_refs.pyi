"""What refs of the Ray backend are made of. Written by hand: the extension is plain C and says nothing of types."""

from typing import Any, TypeVar

_Type = TypeVar("_Type", bound=type[Any])

class HeldRef:
    """HeldRef(raw, context=None): holds a ref of Ray's."""

    def __init__(self, raw: Any, context: Any = None, /) -> None: ...
    @property
    def _raw(self) -> Any:
        """Ray's ref."""

    _context: Any
    """The context, None while it is not known."""

def uncollected(cls: _Type, /) -> _Type:
    """Decorator: instances of the class are left out of the collection of garbage."""
