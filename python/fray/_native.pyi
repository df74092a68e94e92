"""The native engine's client and worker."""

import enum
import types
from collections.abc import Callable, Sequence
from types import ModuleType
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

class Client:
    def close(self, /) -> None:
        """Disconnects; unfinished tasks fail. Idempotent."""

    def forget_key(self, number: int, /) -> None:
        """forget_key(number): nothing will be submitted with it any more"""

    def define_key(
        self,
        command: Sequence[str],
        path: Sequence[str],
        folder: str,
        environment: Sequence[str],
        runtime_env: str = "",
        /,
    ) -> int:
        """
        define_key(command, path, folder, environment, runtime_env='') -> number
        """

    def status(self, /) -> str:
        """The node's status as JSON."""

    def timeline(self, /) -> list[tuple[str, int, int, int, int, int, int | None, int | None, int, int]]:
        """
        [(name, task, started_ns, duration_ns, pid, status, cpu_ns, peak_memory_bytes, bytes_in, bytes_out)]
        """

    def failures(self, /) -> list[tuple[str, int, int, bytes]]:
        """[(name, task, is a packed exception, bytes)]"""

    def total_resources(self, /) -> dict[str, float]:
        """What the node owns."""

    def session_folder(self, /) -> str:
        """The folder with the node's socket."""

    def drain_output(self, /) -> None:
        """Waits, shortly, for what workers had written before their results."""

    def is_open(self, /) -> bool:
        """Whether the node is there."""

def find_node(address: str, /) -> str:
    """
    find_node(address) -> the path of the socket that 'auto', a home or a socket means
    """

def content_hash(path: str, /) -> str:
    """content_hash(path) -> what the file's content is known by"""

def open_node(
    address: str | None,
    program: str,
    options: str,
    prestart: int,
    command: Sequence[str],
    path: Sequence[str],
    folder: str,
    environment: Sequence[str],
    /,
) -> Client:
    """
    open_node(address or None, program, options, prestart, command, path, folder, environment) -> Client
    """

def become_worker(process: int, fd: int, /) -> Client:
    """become_worker(process, fd) -> Client"""

def empty(client: Client, bytes: int, /) -> Any:
    """empty(client, bytes) -> Room"""

def extend_refs(methods: type[Any], /) -> type[Any]:
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

    def __reduce__(self) -> Any: ...
    def result(self, timeout: float | None = None) -> Any:
        """result(timeout=None): the value, waiting for it."""

def is_pickling() -> bool:
    """Whether this thread is pickling a value that goes to another process."""

def receiving_client() -> Client | None:
    """The client whose value this thread is unpickling, or None."""

class Function:
    __sizeof__: types.MethodDescriptorType = ...

class Plan:
    pass

def make_function(kind: int, payload: bytes, name: str, max_calls: int, /) -> Function:
    """make_function(kind, payload, name, max_calls) -> Function"""

def make_plan(
    shape: dict[str, Any], max_retries: int, returns: int, generator: bool, timeout: float, item_budget: int, /
) -> Plan:
    """
    make_plan(shape, max_retries, returns, generator, timeout, item_budget) -> Plan
    """

def submit(
    client: Client, function: Function, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any] | None, /
) -> Any:
    """submit(client, function, plan, args, kwargs) -> ref or list of refs"""

def put(client: Client, value: Any, /) -> Any:
    """put(client, value) -> ref"""

class CompletionQueue:
    def fileno(self, /) -> int:
        """The descriptor that is readable when run() has something to do."""

    def add(self, ref: Any, callback: Callable[[], object], /) -> None:
        """add(ref, callback)"""

    def watch(self, ref: Any, callback: Callable[[], object], /) -> None:
        """watch(ref, callback), for a thread that waits"""

    def remove(self, ref: Any, callback: Callable[[], object], /) -> None:
        """remove(ref, callback): the callback of add() is not called any more"""

    def serve_loop(self, /) -> None:
        """An event loop reads this queue."""

    def begin_wait(self, ref: Any, /) -> int:
        """begin_wait(ref) -> number: a coroutine begins to wait"""

    def end_wait(self, number: int, /) -> str | None:
        """end_wait(number) -> why the wait could never end, or None"""

    def wait(self, timeout: float | None, /) -> bool:
        """wait(timeout) -> whether run() has something to do"""

    def run(self, /) -> None:
        """Calls the callbacks of refs that became ready."""

def get(client: Client, ref: Any, timeout: float | None, /) -> Any:
    """get(client, ref, timeout) -> value"""

def get_many(client: Client, refs: list[Any], timeout: float | None, /) -> list[Any]:
    """get_many(client, refs, timeout) -> list of values"""

def wait(client: Client, refs: list[Any], num_returns: int, timeout: float | None, /) -> tuple[list[Any], list[Any]]:
    """wait(client, refs, num_returns, timeout) -> (ready, others)"""

def cancel(client: Client, ref: Any, force: bool, recursive: bool, /) -> bool:
    """
    cancel(client, ref, force, recursive) -> whether the task had not ended
    """

def is_waiting(client: Client, ref: Any, cancel: bool, /) -> bool:
    """is_waiting(client, ref, cancel) -> whether no worker had the task"""

def note_own_socket(descriptor: int, /) -> None:
    """note_own_socket(descriptor): only this process makes it readable"""

def make_queue(client: Client, /) -> CompletionQueue:
    """make_queue(client) -> CompletionQueue"""

def run_worker(client: Client, support: ModuleType, page_fd: int, /) -> ActorHost | None:
    """run_worker(client, support, page_fd)"""

def interrupt_reason() -> int:
    """What ended the running task early, as a number of Interrupt."""

def hold_timeout(held: bool, /) -> None:
    """
    hold_timeout(held): the running task's timeout stands still, or goes on
    """

def run_fork_server(
    fd: int, load_loop: Callable[[], object], load_for_many: Callable[[], object], /
) -> tuple[int, int, int]:
    """
    run_fork_server(fd, load_loop, load_for_many) -> (process, control_fd, page_fd), in each child
    """

def create_actor(
    client: Client,
    cls: Function,
    plan: Plan,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    namespace: str,
    class_name: str,
    name: str | None,
    get_if_exists: bool,
    detached: bool,
    max_restarts: int,
    event_loop: bool,
    description: bytes,
    settings: bytes,
    /,
) -> tuple[Any, bytes] | None:
    """
    create_actor(client, class, plan, args, kwargs, namespace, class_name, name, get_if_exists, detached,
                 max_restarts, event_loop, description, settings) -> (ref, description) or None
    """

def find_actor(client: Client, namespace: str, name: str, /) -> tuple[Any, bytes] | None:
    """find_actor(client, namespace, name) -> (ref, description) or None"""

def list_actors(client: Client, /) -> list[tuple[str, str]]:
    """list_actors(client) -> [(namespace, name)]"""

def call_actor(
    client: Client,
    actor: Any,
    method: Function,
    plan: Plan,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    max_pending: int,
    /,
) -> Any:
    """
    call_actor(client, actor, method, plan, args, kwargs, max_pending) -> ref or list of refs
    """

def kill_actor(actor: Any, no_restart: bool, /) -> None:
    """kill_actor(actor, no_restart)"""

class ActorHost:
    def settings(self, /) -> bytes:
        """What the creator's Python side sent along, as bytes."""

    def cpus(self, /) -> float:
        """The CPUs that the actor holds."""

    def self_ref(self, /) -> Any:
        """The object that handles of this actor refer to; it does not count."""

    def open(self, name: str, mode: int, places: int, /) -> None:
        """
        open(name, mode, places): take callers; `name` stands before the names of methods.
        `mode`: an ActorMode. `places`: calls that run at once.
        """

    def load_class(self, /) -> Any:
        """The actor's class."""

    def construct(self, /) -> Any:
        """The instance; raises what its constructor raises."""

    def ready(self, /) -> None:
        """Tells the node that calls may come."""

    def failed(self, exception: BaseException, text: str, /) -> None:
        """failed(exception, text): tells the node what the constructor raised."""

    def serve(self, /) -> None:
        """Runs calls on this thread until the actor ends."""

    def take(self, count: int, task: Any, context: Any, /) -> tuple[list[Any], Any]:
        """
        take(count, task, context) -> ([(call, result, generator)], (call, coroutine, waits for, context) or None)
        """

    def has_calls(self, /) -> bool:
        """Whether take() would find some without a look at the callers."""

    def finish(self, call: int, result: Any, /) -> None:
        """finish(call, result)"""

    def fail(self, call: int, exception: BaseException | None, /) -> None:
        """fail(call, exception), or None for a cancelled call"""

    def item(self, call: int, index: int, value: Any, /) -> bool:
        """item(call, index, value) -> whether to go on"""

    def may_send(self, call: int, /) -> bool:
        """may_send(call): whether a further item may be sent now"""

    def cancelled(self, /) -> list[int]:
        """Running calls that were cancelled since the last time."""

    def spin(self, /) -> bool:
        """Looks for calls for a moment; whether some have come."""

    def flush(self, /) -> None:
        """Sends the answers that wait."""

    def fileno(self, /) -> int:
        """Readable when take() may have something."""

    def say_wait(self, number: int, call: int, refs: list[Any], /) -> int:
        """say_wait(number, call, refs) -> number, 0 when it cannot be said now"""

    def forget_wait(self, number: int, /) -> None:
        """forget_wait(number)"""

    def refused_waits(self, /) -> list[tuple[int, str]]:
        """[(number, why it can never end)], since the last time."""

    def end_child(self, /) -> None:
        """Ends a forked child that would go on in its parent's event loop."""

    def has_ended(self, /) -> bool:
        """Whether the node has let go of this actor."""

def call_is_cancelled() -> bool:
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
