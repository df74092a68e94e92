"""The packages of each extra of Fray, and the error of a program that uses an extra which is not installed."""

from __future__ import annotations

from types import TracebackType

__all__ = ["needs"]


class needs:
    """Surround the imports of `package`; where it is missing, the error names the extra that installs it.

    Args:
        extra: name of the extra, as in ``fray[extra]``.
        package: the module that is imported.
        user: name of the module that needs the package, the first words of the error.

    Raises:
        ModuleNotFoundError: the package is not installed, or so old that it lacks a module. Other errors pass.
    """

    __slots__ = ("_extra", "_package", "_user")

    def __init__(self, extra: str, package: str, user: str) -> None:
        self._extra = extra
        self._package = package
        self._user = user

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not isinstance(error, ModuleNotFoundError):
            return
        missing = error.name or ""
        if missing.partition(".")[0] != self._package:
            return
        if missing == self._package:
            state, install = "is not installed", "pip install"
        else:
            state, install = f"is of another version: it has no {missing}", "pip install --upgrade"
        text = f"{self._user} needs {self._package}, which {state}; {install} 'fray[{self._extra}]'"
        raise ModuleNotFoundError(text, name=missing) from None
