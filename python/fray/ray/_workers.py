"""What the processes that workers are forked from load ahead, named to them by FRAY_PRELOAD; see `_session`."""

from __future__ import annotations

from fray.backend.native.context import NativeJobContext
from fray.ray import _host_classes, remote_function
from fray.ray._refs import ObjectRef

__all__ = ["loaded"]

loaded = (_host_classes, remote_function)
NativeJobContext.extend_refs(ObjectRef)
