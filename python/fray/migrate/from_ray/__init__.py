"""Finds the sites and blockers of a program for Ray: a walk over each file hands its nodes to parts, one a concept.

finder        the walk                                finding       the state that all parts share
definitions   decorated functions and classes        starts        ray.remote(x), x.options(...), x.remote(...)
methods       calls of actors' methods               call_options  how the options of a call are written
verbs         get, put, wait and their like          calls         what takes the place of .remote(...)
sessions      init, is_initialized                   constants     names of options that calls share
values        remote functions as values             names         types and exceptions
pools         pools of processes and queues
held_options  dicts that hold options                mixtures      refs that cross to libraries of Ray
"""

from __future__ import annotations

from fray.migrate.from_ray.constants import Constants
from fray.migrate.from_ray.finder import find_ray

__all__ = ["Constants", "find_ray"]
