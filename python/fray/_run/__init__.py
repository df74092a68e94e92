"""`fray run`: calls a function of a file or module on the engine, with its arguments from the command line."""

from __future__ import annotations
