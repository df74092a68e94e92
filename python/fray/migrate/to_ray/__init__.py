"""Finds the sites and blockers of a program for Fray: a walk over each file hands its nodes to parts, one a concept.

finder      the walk                             finding         the state that all parts share
starts      create_task, run, create_actor       task_arguments  how the arguments of a task are written
methods     methods of actors                    options         how options are written
verbs       get, put, wait and their like        decorating      what `@ray.remote` may stand on
sessions    init, shutdown, loose options        executors       executors, which become pools
contexts    variables that hold a context        names           types and exceptions
facts       what is true of all programs
"""

from __future__ import annotations

from fray.migrate.to_ray.finder import find_fray

__all__ = ["find_fray"]
