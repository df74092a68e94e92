"""The native engine's client and worker."""

import enum
import types
from collections.abc import Sequence
from typing import Any

RELEASE: str = "0.1.0"

class StatusCode(enum.IntEnum):
    OK = 0

    INVALID_ARGUMENT = 1

    NOT_FOUND = 2

    ALREADY_EXISTS = 3

    RESOURCE_EXHAUSTED = 4

    STORE_FULL = 5

    TIMED_OUT = 6

    CANCELLED = 7

    UNAVAILABLE = 8

    WORKER_DIED = 9

    OWNER_DIED = 10

    OBJECT_LOST = 11

    DEADLOCK = 12

    IO_ERROR = 13

    CORRUPTION = 14

    INTERNAL = 15

    VERSION_MISMATCH = 16

    WORKER_OUT_OF_MEMORY = 17

    ACTOR_DIED = 18

    RUNTIME_ENV = 19

    PERMISSION_DENIED = 20

    CLOSED = 21

    FORKED = 22

class FunctionKind(enum.IntEnum):
    PYTHON_NAME = 0

    PICKLE = 1

    METHOD = 2

    CPP = 3

    CPP_METHOD = 4

    CPP_RETRYING = 5

class TaskStatus(enum.IntEnum):
    OK = 0

    FAILED = 1

    CANCELLED = 2

    TIMED_OUT = 3

    RETRY = 4

class Executed(enum.IntEnum):
    NO = 0

    YES = 1

    UNKNOWN = 2

class ActorFate(enum.IntEnum):
    ENDED = 0

    CONSTRUCTOR_FAILED = 1

    LIVES_ON = 2

class Interrupt(enum.IntEnum):
    NONE = 0

    CANCELLED = 1

    TIMED_OUT = 2

class ActorMode(enum.IntEnum):
    SERIAL = 0

    THREADS = 1

    EVENT_LOOP = 2

def find_node(*args: Any, **kwargs: Any) -> Any:
    """
    find_node(address) -> the path of the socket that 'auto', a home or a socket means
    """

def content_hash(*args: Any, **kwargs: Any) -> Any:
    """content_hash(path) -> what the file's content is known by"""

def open_node(*args: Any, **kwargs: Any) -> Any:
    """
    open_node(address or None, program, options, prestart, command, path, folder, environment) -> Client
    """

def become_worker(*args: Any, **kwargs: Any) -> Any:
    """become_worker(process, fd) -> Client"""

def empty(*args: Any, **kwargs: Any) -> Any:
    """empty(client, bytes) -> Room"""

def extend_refs(*args: Any, **kwargs: Any) -> Any:
    """
    extend_refs(methods) -> the type of new refs, which has those methods too
    """

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

def is_pickling(*args: Any, **kwargs: Any) -> Any:
    """Whether this thread is pickling a value that goes to another process."""

def receiving_client(*args: Any, **kwargs: Any) -> Any:
    """The client whose value this thread is unpickling, or None."""

def make_function(*args: Any, **kwargs: Any) -> Any:
    """make_function(kind, payload, name, max_calls) -> Function"""

def make_plan(*args: Any, **kwargs: Any) -> Any:
    """
    make_plan(shape, max_retries, returns, generator, timeout, item_budget) -> Plan
    """

def submit(*args: Any, **kwargs: Any) -> Any:
    """submit(client, function, plan, args, kwargs) -> ref or list of refs"""

def put(*args: Any, **kwargs: Any) -> Any:
    """put(client, value) -> ref"""

def get(*args: Any, **kwargs: Any) -> Any:
    """get(client, ref, timeout) -> value"""

def get_many(*args: Any, **kwargs: Any) -> Any:
    """get_many(client, refs, timeout) -> list of values"""

def wait(*args: Any, **kwargs: Any) -> Any:
    """wait(client, refs, num_returns, timeout) -> (ready, others)"""

def cancel(*args: Any, **kwargs: Any) -> Any:
    """
    cancel(client, ref, force, recursive) -> whether the task had not ended
    """

def is_waiting(*args: Any, **kwargs: Any) -> Any:
    """is_waiting(client, ref, cancel) -> whether no worker had the task"""

def note_own_socket(*args: Any, **kwargs: Any) -> Any:
    """note_own_socket(descriptor): only this process makes it readable"""

def make_queue(*args: Any, **kwargs: Any) -> Any:
    """make_queue(client) -> CompletionQueue"""

def run_worker(*args: Any, **kwargs: Any) -> Any:
    """run_worker(client, support, page_fd)"""

def interrupt_reason(*args: Any, **kwargs: Any) -> Any:
    """What ended the running task early, as a number of Interrupt."""

def hold_timeout(*args: Any, **kwargs: Any) -> Any:
    """
    hold_timeout(held): the running task's timeout stands still, or goes on
    """

def run_fork_server(*args: Any, **kwargs: Any) -> Any:
    """
    run_fork_server(fd, load_loop) -> (process, control_fd, page_fd), in each child
    """

def create_actor(*args: Any, **kwargs: Any) -> Any:
    """
    create_actor(client, class, plan, args, kwargs, namespace, class_name, name, get_if_exists, detached,
                 max_restarts, event_loop, description, settings) -> (ref, description) or None
    """

def find_actor(*args: Any, **kwargs: Any) -> Any:
    """find_actor(client, namespace, name) -> (ref, description) or None"""

def list_actors(*args: Any, **kwargs: Any) -> Any:
    """list_actors(client) -> [(namespace, name)]"""

def call_actor(*args: Any, **kwargs: Any) -> Any:
    """
    call_actor(client, actor, method, plan, args, kwargs, max_pending) -> ref or list of refs
    """

def kill_actor(*args: Any, **kwargs: Any) -> Any:
    """kill_actor(actor, no_restart)"""

def call_is_cancelled(*args: Any, **kwargs: Any) -> Any:
    """
    call_is_cancelled() -> whether the actor's method that this thread runs was cancelled
    """

class JobLog:
    """A job's output."""

    def read(self) -> bytes:
        """The next whole lines, once there are some; nothing at the end."""

class JobClient:
    """Asks the node at a socket about jobs."""

    def __init__(self, socket: str) -> None: ...
    def submit(self, order: dict[str, object]) -> str:
        """
        Starts a job: the keys are the fields of JobSpec in src/model/job_spec.h. Returns it as JSON.
        """

    def get(self, ids: Sequence[str]) -> str:
        """Jobs as a JSON array; all of them for no ids."""

    def wait(self, ids: Sequence[str], timeout: float | None = None) -> str:
        """Waits for the end of all."""

    def stop(self, ids: Sequence[str]) -> str:
        """Asks them to end."""

    def remove(self, ids: Sequence[str]) -> str:
        """Forgets jobs that have ended."""

    def open_log(self, id: str, follow: bool) -> JobLog:
        """The output of a job; with `follow` over all attempts, to its end."""
