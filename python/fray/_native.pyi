"""The native engine's client and worker."""

import types
from typing import Any

RELEASE: str = "0.1.0"

def connect(*args, **kwargs) -> Any:
    """
    connect(fd, role, process, release, prestart, command, path, folder, environment) -> Client
    """

def empty(*args, **kwargs) -> Any:
    """empty(client, bytes) -> Room"""

class ObjectRef:
    """Stands for the result of a task or for a value that was put."""

    def __repr__(self, /):
        """Return repr(self)."""

    def __hash__(self, /):
        """Return hash(self)."""

    def __lt__(self, value, /):
        """Return self<value."""

    def __le__(self, value, /):
        """Return self<=value."""

    def __eq__(self, value, /):
        """Return self==value."""

    def __ne__(self, value, /):
        """Return self!=value."""

    def __gt__(self, value, /):
        """Return self>value."""

    def __ge__(self, value, /):
        """Return self>=value."""

    def __iter__(self, /):
        """Implement iter(self)."""

    def __next__(self, /):
        """Implement next(self)."""

    def __await__(self, /):
        """Return an iterator to be used in await expression."""

    __reduce__: types.MethodDescriptorType = ...

    result: types.MethodDescriptorType = ...

def make_function(*args, **kwargs) -> Any:
    """make_function(kind, payload, name, max_calls) -> Function"""

def make_plan(*args, **kwargs) -> Any:
    """
    make_plan(resources, key, max_retries, returns, generator, timeout, item_budget) -> Plan
    """

def submit(*args, **kwargs) -> Any:
    """submit(client, function, plan, args, kwargs) -> ref or list of refs"""

def put(*args, **kwargs) -> Any:
    """put(client, value) -> ref"""

def get(*args, **kwargs) -> Any:
    """get(client, ref, timeout) -> value"""

def get_many(*args, **kwargs) -> Any:
    """get_many(client, refs, timeout) -> list of values"""

def wait(*args, **kwargs) -> Any:
    """wait(client, refs, num_returns, timeout) -> (ready, others)"""

def cancel(*args, **kwargs) -> Any:
    """cancel(client, ref, force) -> whether the task had not ended"""

def make_queue(*args, **kwargs) -> Any:
    """make_queue(client) -> CompletionQueue"""

def run_worker(*args, **kwargs) -> Any:
    """run_worker(client, support, page_fd)"""

def interrupt_reason(*args, **kwargs) -> Any:
    """0 nothing, 1 cancelled, 2 past its timeout"""

def run_fork_server(*args, **kwargs) -> Any:
    """run_fork_server(fd) -> (process, control_fd, page_fd), in each child"""
