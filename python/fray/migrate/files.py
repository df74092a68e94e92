"""Finds, reads and replaces files.

A file that cannot be moved raises `RefusedError`, which says why. A file is replaced as a whole and keeps its mode,
its encoding, its byte order mark and its line endings. If one of several files cannot be replaced, none is.
"""

from __future__ import annotations

import codecs
import io
import os
import stat
import tempfile
import tokenize
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["RefusedError", "Text", "find_files", "read_text", "write_all"]

_SUFFIXES = (".py", ".ipynb")


class RefusedError(Exception):
    """A file is left as it is; the message is a clause whose subject is the file."""


@dataclass(frozen=True, slots=True)
class Text:
    """The content of a text file.

    Args:
        content: the bytes of the file.
        text: the decoded text, without the byte order mark.
        encoding: Python's name of the encoding.
        mark: the byte order mark; empty if the file has none.
    """

    content: bytes
    text: str
    encoding: str
    mark: bytes = b""

    def encode(self, text: str) -> bytes:
        """Return the bytes of a new text, with the encoding and the byte order mark of this one."""
        return self.mark + text.encode(self.encoding)


def find_files(path: Path) -> Iterator[Path]:
    """Yield the programs and notebooks at and below `path`, sorted, without hidden folders and virtual environments."""
    if not path.is_dir():
        yield path
        return
    for folder, names, files in os.walk(path):
        names[:] = sorted(name for name in names if not _is_foreign(Path(folder, name)))
        yield from (Path(folder, name) for name in sorted(files) if name.endswith(_SUFFIXES))


def _is_foreign(folder: Path) -> bool:
    if folder.name.startswith(".") or folder.name in ("__pycache__", "node_modules", "site-packages"):
        return True
    return (folder / "pyvenv.cfg").exists()


def read_text(path: Path) -> Text:
    """Return the content of a text file.

    Raises:
        RefusedError: the file cannot be read as text.
    """
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            raise RefusedError("is a symbolic link: give the file that it points to")
        if not stat.S_ISREG(status.st_mode):
            raise RefusedError("is no regular file")
        content = path.read_bytes()
    except OSError as error:
        raise RefusedError(f"cannot be read: {error.strerror}") from None
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    body = content[len(mark) :]
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise RefusedError("is not UTF-8 but UTF-16: Python does not read that")
    try:
        encoding = "utf-8" if path.suffix == ".ipynb" else _declared(body)
        text = body.decode(encoding)
    except (UnicodeDecodeError, SyntaxError, LookupError):
        raise RefusedError("is not UTF-8, nor in the encoding that it declares: save it as UTF-8") from None
    if "\0" in text:
        raise RefusedError("has a null character, which Python does not read")
    if text.encode(encoding) != body:
        raise RefusedError(f"cannot be written in its encoding {encoding} as it was: save it as UTF-8")
    return Text(content, text, encoding, mark)


def _declared(body: bytes) -> str:
    return tokenize.detect_encoding(io.BytesIO(body).readline)[0]


def check_writable(path: Path) -> None:
    """Raise RefusedError if the file could not be replaced."""
    if not path.stat().st_mode & 0o222 or not os.access(path, os.W_OK):
        raise RefusedError("is read-only: make it writable first")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise RefusedError("is in a folder that cannot be written to")


def write_all(changes: Mapping[Path, tuple[bytes, bytes]]) -> None:
    """Replace the content of all these files, or of none.

    Args:
        changes: the bytes before and after, by the path of the file.

    Raises:
        RefusedError: a file cannot be written, or was changed by somebody else meanwhile; the message names the file.
    """
    made: dict[Path, Path] = {}
    done: list[Path] = []
    path = Path()
    try:
        for path, (before, after) in changes.items():
            if path.read_bytes() != before:
                raise RefusedError(f"{path} was changed by another program meanwhile; nothing was written")
            made[path] = _beside(path, after)
        for path, temporary in made.items():
            os.replace(temporary, path)
            done.append(path)
    except OSError as error:
        for written in done:
            with suppress(OSError):
                os.replace(_beside(written, changes[written][0]), written)
        raise RefusedError(f"{path} cannot be written: {error.strerror}; nothing was changed") from None
    finally:
        for temporary in made.values():
            with suppress(OSError):
                temporary.unlink()


def _beside(path: Path, content: bytes) -> Path:
    """Write a new file beside `path`, with the same mode and, if this process may set it, the same owner."""
    status = path.stat()
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            with suppress(OSError):
                os.fchown(file.fileno(), status.st_uid, status.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary
