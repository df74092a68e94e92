"""`signals`: the functions and numbers of the module `signal`, as that one calls them, without its enums.

To make the enums takes a millisecond or two of the start of each program, and each number and handler is looked up
among them, in memory that workers share with the fork server.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["signals"]

signals: Any = import_module("_signal")
