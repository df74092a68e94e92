"""What a program for Ray has to change: a walk over each file hands its nodes to parts, one for each concept.

finder        the walk; finding, what all parts share
definitions   decorated functions and classes        starts        ray.remote(x), x.options(...), x.remote(...)
methods       calls of actors' methods               call_options  how the options of a call are written
verbs         get, put, wait and their like          calls         what takes the place of .remote(...)
sessions      init, is_initialized                   constants     names of options that calls share
values        remote functions as values             names         types and exceptions
pools         pools of processes
held_options  dicts that options are kept in         mixtures      what crosses to libraries of Ray
"""

from __future__ import annotations

from fray.migrate.from_ray.constants import Constants
from fray.migrate.from_ray.finder import find_ray

__all__ = ["Constants", "find_ray"]
