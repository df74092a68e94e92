"""Which job hosts which named actor: the name of the job contains that of the actor."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["PREFIX", "ActorName", "actor_of", "job_prefix"]

PREFIX = "fray-actor"


class ActorName(NamedTuple):
    """The name of an actor, and its number among the actors that have had this name."""

    namespace: str
    name: str
    number: int

    def job_name(self) -> str:
        """Return the name of the job that hosts it."""
        return f"{job_prefix(self.namespace, self.name)}{self.number}"


def job_prefix(namespace: str, name: str) -> str:
    """Return the common beginning of the names of all jobs that host actors of that name."""
    return ".".join([PREFIX, _quoted(namespace), _quoted(name), ""])


def _quoted(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="").replace(".", "%2E").replace("~", "%7E")


def actor_of(job: str) -> ActorName | None:
    """Return the actor that a job hosts; None for every other job."""
    parts = job.rpartition("/")[2].split(".")
    if len(parts) != 4 or parts[0] != PREFIX or not parts[3].isdigit():
        return None
    from urllib.parse import unquote

    return ActorName(unquote(parts[1]), unquote(parts[2]), int(parts[3]))
