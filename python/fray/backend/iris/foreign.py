"""Actors of Iris's own, which other programs of the root job host: found by endpoint, called by Iris's actor protocol.

Only with ``FRAY_IRIS_OPEN_ACTORS=1``, because answers are unpickled although the actor has proved nothing.
"""

from __future__ import annotations

import http.client
import json
import pickle
import time
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from fray import _by_value, _iris_jobs, errors
from fray._iris_jobs import IrisJobs
from fray.backend.iris.actors import Description
from fray.backend.iris.directory import ActorDirectory
from fray.backend.iris.open_service import SERVICE, known_names
from fray.backend.iris.task import current_task
from fray.job.actor_methods import MethodKind

__all__ = ["ForeignRelay", "describe_foreign"]

_HEADERS = {"Content-Type": "application/proto", "Connect-Protocol-Version": "1"}
_TRIES = 10
_REST_SECONDS = 0.5


def describe_foreign(directory: ActorDirectory, endpoint: str) -> Description | None:
    """Return the description of the actor that is registered as `endpoint`; None where there is none."""
    if directory.address(endpoint) is None:
        return None
    _, names = _Line(endpoint, directory).look()
    name = endpoint.rpartition("/")[2]
    return Description(name, name, "default", dict.fromkeys(names, MethodKind.PLAIN), 0, -1, {})


class ForeignRelay:
    """Has the methods of an actor of Iris's own, and calls them one after the other.

    Args:
        endpoint: the name that it is registered under.
    """

    def __init__(self, endpoint: str) -> None:
        task = current_task()
        directory = ActorDirectory(IrisJobs(task.controller, user=task.user), task)
        self._fray_line = _Line(endpoint, directory)

    def __getattr__(self, method: str) -> Any:
        if method.startswith("_"):
            raise AttributeError(method)
        line = self._fray_line

        def forward(*args: Any, **kwargs: Any) -> Any:
            return line.call(method, args, kwargs)

        return forward


class _Line:
    """Sends requests to an actor, each on a new connection: the other side may have closed one that was kept."""

    def __init__(self, endpoint: str, directory: ActorDirectory) -> None:
        self._endpoint, self._directory = endpoint, directory
        self._actor: str | None = None

    def look(self) -> tuple[str, list[str]]:
        """Return the name by which its server knows the actor, and its methods.

        A server may host several, each under a name that its program chose; without a name its first one is asked.
        """
        for actor in (*known_names(self._endpoint), ""):
            answer = self.ask("ListMethods", _iris_jobs.actor_methods_question(actor))
            methods: list[str] = _iris_jobs.read_actor_methods(answer)
            if methods:
                return actor, methods
        return "", []

    def call(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what a method returns, or raise what it raises."""
        if self._actor is None:
            self._actor, _ = self.look()
        message = _iris_jobs.actor_call(method, self._actor, _by_value.dumps(args), _by_value.dumps(kwargs))
        value, failure = _iris_jobs.read_actor_response(self.ask("Call", message))
        if failure is None:
            return pickle.loads(value) if value else None
        kind, text, packed = failure
        try:
            error: Any = pickle.loads(packed)
        except Exception:
            error = None
        if isinstance(error, Exception):
            raise error
        raise errors.TaskError(f"{self._endpoint}: {kind}: {text}", task_name=method, type_name=kind)

    def ask(self, verb: str, body: bytes) -> bytes:
        """Return the answer to a request; one that cannot be sent is tried again while the actor is registered."""
        for _ in range(_TRIES):
            connection = self._connection()
            try:
                connection.connect()
            except OSError:
                time.sleep(_REST_SECONDS)
                continue
            with closing(connection):
                return self._answer(connection, verb, body)
        raise self._died("it is registered, and nobody answers there", "no")

    def _answer(self, connection: http.client.HTTPConnection, verb: str, body: bytes) -> bytes:
        try:
            connection.request("POST", SERVICE + verb, body, _HEADERS)
            answer = connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise self._died(f"the connection was lost: {error}", "unknown") from None
        if answer.status != 200:
            raise errors.TaskError(f"{self._endpoint} answered {answer.status}: {_message_in(data)}", task_name=verb)
        return data

    def _connection(self) -> http.client.HTTPConnection:
        address = self._directory.address(self._endpoint)
        if address is None:
            raise self._died("its endpoint is gone", "no")
        parts = urlsplit(address if "://" in address else f"http://{address}")
        return http.client.HTTPConnection(parts.hostname or "", parts.port or 80)

    def _died(self, why: str, executed: Any) -> errors.ActorDiedError:
        return errors.ActorDiedError(f"the actor {self._endpoint}: {why}", executed=executed, actor_name=self._endpoint)


def _message_in(data: bytes) -> str:
    try:
        return str(json.loads(data)["message"])
    except (ValueError, KeyError, TypeError):
        return data[:200].decode(errors="replace")
