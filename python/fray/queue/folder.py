"""Where the files of a `FileQueue` lie: a folder of a mounted file system, or a place that fsspec knows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from fray.errors import UnsupportedError

__all__ = ["Folder", "MountedFolder", "RemoteFolder", "open_folder"]


class Folder(Protocol):
    """Files by their names, which may have one folder in front: ``pending/x.pkl``."""

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder, in order."""
        ...

    def read(self, name: str) -> bytes:
        """Return a file's content; FileNotFoundError where there is none."""
        ...

    def write(self, name: str, data: bytes) -> None:
        """Write a file, which is seen whole or not at all."""
        ...

    def move(self, name: str, target: str) -> bool:
        """Rename a file, and return whether it was there."""
        ...

    def remove(self, name: str) -> bool:
        """Remove a file, and return whether it was there."""
        ...


class MountedFolder:
    """A folder of a mounted file system, where renaming is atomic: of several attempts at once, one succeeds."""

    def __init__(self, path: str, folders: tuple[str, ...]) -> None:
        self._root = Path(path).absolute()
        for folder in (*folders, "new"):
            (self._root / folder).mkdir(parents=True, exist_ok=True)

    def names(self, folder: str) -> list[str]:
        return sorted(os.listdir(self._root / folder))

    def read(self, name: str) -> bytes:
        return (self._root / name).read_bytes()

    def write(self, name: str, data: bytes) -> None:
        written = self._root / "new" / name.rpartition("/")[2]
        try:
            written.write_bytes(data)
            written.rename(self._root / name)
        except BaseException:
            written.unlink(missing_ok=True)
            raise

    def move(self, name: str, target: str) -> bool:
        try:
            (self._root / name).rename(self._root / target)
        except FileNotFoundError:
            return False
        return True

    def remove(self, name: str) -> bool:
        try:
            (self._root / name).unlink()
        except FileNotFoundError:
            return False
        return True


class RemoteFolder:
    """A place in a store that fsspec knows, such as ``gs://bucket/queue``.

    Renaming there is copying and then removing, so two attempts at the same moment may both seem to succeed.
    """

    def __init__(self, url: str, folders: tuple[str, ...], fs_args: Mapping[str, Any]) -> None:
        try:
            import fsspec  # pyright: ignore[reportMissingTypeStubs, reportMissingImports]
        except ImportError:
            raise UnsupportedError(
                f"FileQueue at {url!r} needs fsspec; run `pip install fsspec` and the package for the store, such as "
                "gcsfs or s3fs, or name a folder on a mounted file system"
            ) from None
        try:
            # Without a cache, so that files of other processes are seen.
            arguments = {"use_listings_cache": False, **fs_args}
            opened: tuple[Any, str] = fsspec.core.url_to_fs(url, **arguments)  # pyright: ignore
        except (ImportError, ValueError) as error:
            raise UnsupportedError(f"FileQueue cannot use {url!r}: {error}") from None
        self._fs, self._root = opened
        for folder in folders:
            self._fs.makedirs(f"{self._root}/{folder}", exist_ok=True)

    def names(self, folder: str) -> list[str]:
        self._fs.invalidate_cache(f"{self._root}/{folder}")
        try:
            found = self._fs.ls(f"{self._root}/{folder}", detail=False)
        except FileNotFoundError:
            return []  # stores without folders have no folder without files
        return sorted(name for path in found if (name := path.rpartition("/")[2]).endswith(".pkl") or "__" in name)

    def read(self, name: str) -> bytes:
        return self._fs.cat_file(f"{self._root}/{name}")

    def write(self, name: str, data: bytes) -> None:
        self._fs.pipe_file(f"{self._root}/{name}", data)

    def move(self, name: str, target: str) -> bool:
        source, there = f"{self._root}/{name}", f"{self._root}/{target}"
        try:
            self._fs.cp_file(source, there)
        except FileNotFoundError:
            return False
        try:
            self._fs.rm_file(source)
        except FileNotFoundError:  # another process has moved the file
            self._fs.rm_file(there)
            return False
        return True

    def remove(self, name: str) -> bool:
        if not self._fs.exists(f"{self._root}/{name}"):
            return False  # some stores report no error for a file that does not exist
        try:
            self._fs.rm_file(f"{self._root}/{name}")
        except FileNotFoundError:
            return False
        return True


def open_folder(path: str | os.PathLike[str], folders: tuple[str, ...], fs_args: Mapping[str, Any] | None) -> Folder:
    """Return the folder at a path or URL, with folders in it; they are made if they do not exist.

    Raises:
        UnsupportedError: a URL, and fsspec, or what it needs for that store, is not installed.
    """
    place = os.fspath(path)
    scheme, _, rest = place.partition("://")
    if rest and scheme in ("file", "local"):  # fsspec would write in place, so that others see half-written files
        return MountedFolder(rest, folders)
    if "://" in place:
        return RemoteFolder(place.rstrip("/"), folders, fs_args or {})
    if fs_args:
        raise TypeError(f"FileQueue: fs_args are for a URL such as gs://bucket/queue, and {place!r} is a folder")
    return MountedFolder(place, folders)
