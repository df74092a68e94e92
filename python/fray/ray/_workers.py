"""Loads the modules that fork servers need before they fork workers; FRAY_PRELOAD names this module to them."""

from __future__ import annotations

from fray.backend.native.context import NativeJobContext
from fray.ray import _host_classes, remote_function
from fray.ray._refs import ObjectRef
from fray.ray._title import IDLE, title_of

__all__ = ["loaded"]

loaded = (_host_classes, remote_function, title_of(IDLE))
NativeJobContext.extend_refs(ObjectRef)
