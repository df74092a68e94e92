"""`EndpointTable`: names under which tasks are found. An endpoint goes with the attempt that registered it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

from tests.iris import messages
from tests.iris.errors import ConnectError
from tests.iris.jobs import TASK_ENDED, JobTable
from tests.iris.names import WrongNameError


@dataclass
class EndpointTable:
    jobs: JobTable
    system: dict[str, str] = field(default_factory=dict)
    _registered: dict[str, tuple[Any, int]] = field(default_factory=dict)

    def register(self, request: Any) -> str:
        try:
            found = self.jobs.task(request.task_id)
        except WrongNameError:
            found = None
        if found is None:
            raise ConnectError("not_found", f"Task {request.task_id} not found")
        task = found[1]
        if task.state in TASK_ENDED:
            raise ConnectError(
                "failed_precondition", f"Task {request.task_id} is already terminal; endpoint not registered"
            )
        if task.current is None or task.current.number != request.attempt_id:
            raise ConnectError(
                "failed_precondition", f"Stale attempt for task {request.task_id} (attempt {request.attempt_id})"
            )
        endpoint_id = request.endpoint_id or str(uuid.uuid4())
        endpoint = messages.Endpoint(
            endpoint_id=endpoint_id,
            name=request.name,
            address=request.address,
            task_id=request.task_id,
            metadata=request.metadata,
        )
        self._registered[endpoint_id] = (endpoint, request.attempt_id)
        return endpoint_id

    def unregister(self, endpoint_id: str) -> None:
        self._registered.pop(endpoint_id, None)

    def list(self, prefix: str, exact: bool) -> list[Any]:
        """Those of attempts that live, in no order; those of the cluster itself where their prefix is asked for."""
        self._drop_ended()
        if prefix.startswith("/system/"):
            every = [messages.Endpoint(endpoint_id=name, name=name, address=at) for name, at in self.system.items()]
        else:
            every = [self._registered[endpoint_id][0] for endpoint_id in sorted(self._registered)]
        return [each for each in every if (each.name == prefix if exact else each.name.startswith(prefix))]

    def _drop_ended(self) -> None:
        for endpoint_id, (endpoint, attempt) in list(self._registered.items()):
            found = self.jobs.task(endpoint.task_id)
            current = found[1].current if found else None
            if current is None or current.number != attempt or current.state in TASK_ENDED:
                del self._registered[endpoint_id]
