"""Names that programs import and seldom use, and those of other languages and of clusters."""

from __future__ import annotations

import enum
import logging
from dataclasses import dataclass, field
from typing import Any, NoReturn

__all__ = [
    "ClientBuilder",
    "Language",
    "LoggingConfig",
    "client",
    "cpp_function",
    "java_actor_class",
    "java_function",
    "show_in_dashboard",
]

_CPP = "fray.cpp_function(library, name) is a function of C++"


class Language(enum.Enum):
    """Languages of remote functions."""

    PYTHON = 0
    JAVA = 1
    CPP = 2


@dataclass
class LoggingConfig:
    """Taken by `init`, which leaves logging as it is."""

    encoding: str = "TEXT"
    log_level: str = "INFO"
    additional_log_standard_attrs: list[str] = field(default_factory=list[str])
    logger: logging.Logger | None = None


def java_function(*args: Any) -> NoReturn:
    """Refused: there is no Java here."""
    raise NotImplementedError(f"ray.java_function{args}: there is no Java here; {_CPP}")


def java_actor_class(*args: Any) -> NoReturn:
    """Refused: there is no Java here."""
    raise NotImplementedError(f"ray.java_actor_class{args}: there is no Java here")


def cpp_function(*args: Any) -> NoReturn:
    """Refused: functions of C++ are called through the context API."""
    raise NotImplementedError(f"ray.cpp_function{args}: {_CPP}, which fray.JobContext runs")


def client(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: there is no cluster to connect to."""
    raise NotImplementedError("ray.client: Ray's remote client is for clusters; fray.ray runs on one machine")


class ClientBuilder:
    """Refused: there is no cluster to connect to."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        client()


def show_in_dashboard(message: str, key: str = "", dtype: str = "text") -> None:
    """Do nothing: there is no dashboard."""
    del message, key, dtype
