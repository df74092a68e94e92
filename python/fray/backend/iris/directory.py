"""`ActorDirectory`: which named actors the tree of a root job has, and where.

An actor is hosted by a job of its own, a child of the root job. The job's name says which actor it is, and a number
that grows by one with each new actor of that name, because Iris never frees the name of a stopped job. Iris refuses
a job whose name is taken, so of many tasks that create an actor at the same time one succeeds.

The host registers the job's id as an endpoint when it can be called, with the actor's description, and a second
endpoint, ``.../ended``, once the actor has ended, before its job ends: who comes then learns why. Both vanish with the
attempt of the host.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from fray import errors
from fray._iris_jobs import IrisJobRequest, IrisJobs
from fray.backend.iris.names import PREFIX, ActorName, actor_of, job_prefix
from fray.backend.iris.task import IrisTask

__all__ = ["ENDED", "ActorDirectory", "Host"]

ENDED = "/ended"
_OVER = ("SUCCEEDED", "FAILED", "KILLED", "WORKER_FAILED", "UNSCHEDULABLE")
_FIRST_LOOK_SECONDS = 0.02
_LONGEST_LOOK_SECONDS = 0.5


class Host(NamedTuple):
    """Where an actor can be called.

    Args:
        job: the id of the job that hosts it.
        endpoint: the endpoint of one attempt of that job.
        address: ``http://host:port``.
        description: the facts that its handles carry.
    """

    job: str
    endpoint: str
    address: str
    description: Mapping[str, Any]


class ActorDirectory:
    """Asks the controller for the actors of one tree of jobs. Thread-safe; every method may wait for the controller.

    Args:
        jobs: the client of the controller.
        task: the task that asks.
    """

    def __init__(self, jobs: IrisJobs, task: IrisTask) -> None:
        self._jobs, self._task = jobs, task

    def named(self) -> dict[tuple[str, str], str]:
        """Return the jobs of all living actors, by namespace and name."""
        return {(actor.namespace, actor.name): job for actor, job in self._living(f"{PREFIX}.")[0]}

    def find(self, namespace: str, name: str) -> tuple[str | None, ActorName]:
        """Return the job of the living actor of that name, if there is one, and the name for the next actor."""
        living, last = self._living(job_prefix(namespace, name))
        return (living[-1][1] if living else None), ActorName(namespace, name, last + 1)

    def _living(self, prefix: str) -> tuple[list[tuple[ActorName, str]], int]:
        """Return the living actors whose jobs' names begin with `prefix`, in order, and the largest number of any."""
        start = f"{self._task.root}/{prefix}"
        names: set[str] = {entry["name"] for entry in _entries(self._jobs, start)}
        jobs: list[dict[str, Any]] = self._jobs.list_jobs(prefix=start)
        jobs = [job for job in jobs if job["id"].startswith(start) and job["id"].count("/") == 3]
        found = [(actor_of(job["id"]), job) for job in jobs]
        known = [(actor, job) for actor, job in found if actor is not None]
        living = [
            (actor, str(job["id"]))
            for actor, job in known
            if job["state"] not in _OVER and job["id"] + ENDED not in names
        ]
        return sorted(living), max((actor.number for actor, _ in known), default=-1)

    def launch(self, order: IrisJobRequest, actor: ActorName) -> str | None:
        """Launch the job that hosts an actor; return its id, or None where another task has launched it first."""
        order.parent, order.name = self._task.root, actor.job_name()
        try:
            return self._jobs.submit(order)
        except errors.JobExistsError:
            return None

    def host(self, job: str) -> Host | None:
        """Return where the actor of `job` can be called now; None before the host is ready and after its end."""
        return self._host_at(job, job)

    def _host_at(self, job: str, endpoint: str) -> Host | None:
        entries = _entries(self._jobs, endpoint, exact=True)
        if not entries:
            return None
        entry = entries[-1]
        return Host(job, entry["id"], entry["address"], json.loads(entry["metadata"].get("fray", "{}")))

    def address(self, endpoint: str) -> str | None:
        """Return the address of the endpoint of that name; None where there is none."""
        entries = _entries(self._jobs, endpoint, exact=True)
        return entries[-1]["address"] if entries else None

    def is_over(self, job: str) -> bool:
        """Return whether a job has ended; one that the controller has forgotten has."""
        return self._jobs.states([job]).get(job, "KILLED") in _OVER

    def wait_for_host(self, job: str) -> Host | None:
        """Return where the actor that `job` hosts can be called, waiting until it can; None once the job has ended.

        The host of an actor that has ended is found as long as it is there: it alone knows the whole error.
        """
        pause = _FIRST_LOOK_SECONDS
        while (found := self.host(job)) is None:
            if self.is_over(job):
                return None
            if (ended := self._host_at(job, job + ENDED)) is not None:
                return ended
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_LOOK_SECONDS)
        return found

    def why_over(self, job: str) -> str:
        """Return what the controller says of the end of a job, in words."""
        try:
            found = self._jobs.get(job)
        except errors.FrayError as error:
            return str(error)
        return f"its job {job} is {str(found['state']).lower()}" + (f": {found['error']}" if found["error"] else "")

    def stop(self, job: str) -> None:
        """Stop the job that hosts an actor; no effect on one that has ended."""
        self._jobs.stop(job)


def _entries(jobs: IrisJobs, name: str, exact: bool = False) -> list[dict[str, Any]]:
    found: Any = jobs.endpoints(name, exact)
    return found
