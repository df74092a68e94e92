"""`BundleStore`: workspaces as ZIP archives, by the SHA-256 of their bytes."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

from tests.iris.errors import ConnectError

MOST_BYTES = 25 << 20


class BundleStore:
    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}

    def add(self, blob: bytes) -> str:
        if len(blob) > MOST_BYTES:
            raise ConnectError(
                "invalid_argument", f"Bundle size {len(blob) / (1 << 20):.1f}MB exceeds maximum {MOST_BYTES >> 20}MB"
            )
        bundle_id = hashlib.sha256(blob).hexdigest()
        self._blobs[bundle_id] = blob
        return bundle_id

    def get(self, bundle_id: str) -> bytes | None:
        return self._blobs.get(bundle_id)

    def unpack(self, bundle_id: str, folder: Path) -> None:
        """As a worker does before it starts a task: no file can be executed then, whatever the archive says.

        Raises:
            FileNotFoundError: nobody has sent that bundle.
        """
        blob = self.get(bundle_id)
        if blob is None:
            raise FileNotFoundError(f"Bundle {bundle_id} not found")
        with zipfile.ZipFile(io.BytesIO(blob)) as archive:
            archive.extractall(folder)
