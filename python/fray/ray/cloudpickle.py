"""`ray.cloudpickle`: cloudpickle, which Ray brings along."""

from __future__ import annotations

import cloudpickle as _cloudpickle
from cloudpickle import Pickler, dump, dumps, load, loads, register_pickle_by_value, unregister_pickle_by_value

__all__ = [
    "CloudPickler",
    "Pickler",
    "dump",
    "dumps",
    "load",
    "loads",
    "register_pickle_by_value",
    "unregister_pickle_by_value",
]

CloudPickler = _cloudpickle.CloudPickler
