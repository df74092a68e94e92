"""`ray.cloudpickle`: cloudpickle, which Ray brings along."""

# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# Programs give values of any type; the private names are Ray's, or of this package.

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
