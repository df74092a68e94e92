"""The native engine's client and worker."""

import enum
import types
from collections.abc import Callable, Sequence
from typing import Any

RELEASE: str = "0.1.0"

class Client:
    def close(self) -> None:
        """Disconnects; unfinished tasks fail. Idempotent."""

    def define_key(
        self, command: Sequence[str], path: Sequence[str], folder: str, environment: Sequence[str], runtime_env: str
    ) -> int:
        """The number of a worker key."""

    def forget_key(self, number: int) -> None:
        """Nothing will be submitted with this key any more."""

    def status(self) -> str:
        """The node's status as JSON."""

    def timeline(self) -> list[tuple[str, int, int, int, int, TaskStatus, int | None, int | None, int, int]]:
        """
        [(name, task, started_ns, duration_ns, pid, status, cpu_ns, peak_memory_bytes, bytes_in, bytes_out)]
        """

    def failures(self) -> list[tuple[str, int, bool, bytes]]:
        """[(name, task, whether the bytes are a packed exception, bytes)]"""

    def total_resources(self) -> dict[str, float]:
        """What the node owns."""

    def session_folder(self) -> str:
        """The folder with the node's socket."""

    def id_of(self, owner: int, number: int) -> str:
        """The id of the first result of a task; owner 0: of this process."""

    def drain_output(self) -> None:
        """Waits, shortly, for what workers had written before their results."""

    def tell_last_runs(self) -> None:
        """Tells the node, where somebody looks at it, what ran since it asked."""

    def block(self) -> None:
        """
        Where this thread runs a worker's tasks: it waits from now on, and lends its resources.
        """

    def unblock(self) -> None:
        """It goes on."""

    def is_open(self) -> bool:
        """Whether the node is there."""

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

    def __aiter__(self, /):
        """Return an awaitable, that resolves in asynchronous iterator."""

    def __anext__(self, /):
        """Return a value or raise StopAsyncIteration."""

    def __reduce__(self) -> Any: ...
    def result(self, timeout: float | None = None) -> Any:
        """The value, waiting for it."""

class Function:
    __sizeof__: types.MethodDescriptorType = ...

class Plan:
    pass

def submit(client: Client, function: Function, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
    """The ref of the task's result, or a list of refs."""

def put(client: Client, value: Any) -> Any:
    """The ref of the value."""

class CompletionQueue:
    def fileno(self) -> int:
        """The descriptor that is readable when run() has something to do."""

    def add(self, ref: ObjectRef, callback: Callable[[], object]) -> None:
        """
        run() calls the callback once the ref is ready. Unless an event loop reads the queue, a task that is
        buffered behind running ones is sent when a thread calls wait(), so many refs can be added at little cost.
        """

    def remove(self, ref: ObjectRef, callback: Callable[[], object]) -> None:
        """The callback of add() is not called any more."""

    def serve_loop(self) -> None:
        """An event loop reads this queue."""

    def begin_wait(self, ref: ObjectRef) -> int:
        """A coroutine of the loop begins to wait; the number of its wait."""

    def end_wait(self, ref: ObjectRef, number: int) -> str | None:
        """The coroutine goes on. Why its wait could never end."""

    def wait(self, timeout: float | None) -> bool:
        """
        Whether run() has something to do; this thread reads the sockets meanwhile.
        """

    def run(self) -> None:
        """Calls the callbacks of refs that became ready."""

def get(client: Client, ref: Any, timeout: float | None) -> Any:
    """Its value."""

def get_many(client: Client, refs: list[Any], timeout: float | None) -> list[Any]:
    """Their values."""

def wait(client: Client, refs: list[Any], num_returns: int, timeout: float | None) -> tuple[list[Any], list[Any]]:
    """Those that are ready, and the others."""

def call_actor(
    client: Client,
    actor: Any,
    method: Function,
    plan: Plan,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    max_pending: int,
) -> Any:
    """The ref of its result, or a list of refs."""

class ActorHost:
    def settings(self) -> bytes:
        """What the creator's Python side sent along."""

    def cpus(self) -> float:
        """The CPUs that the actor holds."""

    def self_ref(self) -> Any:
        """The object that handles of this actor refer to; it does not count."""

    def open(self, name: str, mode: ActorMode, places: int) -> None:
        """
        Takes callers, of which so many calls run at once; `name` stands before the names of methods.
        """

    def load_class(self) -> Any:
        """The actor's class."""

    def construct(self) -> Any:
        """The instance; raises what its constructor raises."""

    def ready(self) -> None:
        """Tells the node that calls may come."""

    def failed(self, exception: BaseException, text: str) -> None:
        """Tells the node what the constructor raised."""

    def serve(self) -> None:
        """Runs calls on this thread until the actor ends."""

    def take(self, count: int, task: Any | None, context: Any | None) -> Any:
        """
        ([(call, result, generator)], (call, coroutine, what it waits for, context) or None): calls at most so many
        methods, for a moment. Those that raise or give a value are answered at once, and so are coroutines that end in
        their first step, which they take in the name of `task`.
        """

    def has_calls(self) -> bool:
        """Whether take() would find some without a look at the callers."""

    def finish(self, call: int, result: Any | None) -> None:
        """Answers the call."""

    def fail(self, call: int, exception: BaseException | None) -> None:
        """Answers the call; None: it was cancelled."""

    def item(self, call: int, index: int, value: Any | None) -> bool:
        """Sends an item; whether to go on."""

    def may_send(self, call: int) -> bool:
        """Whether a further item may be sent now."""

    def cancelled(self) -> list[int]:
        """Running calls that were cancelled since the last time."""

    def spin(self) -> bool:
        """Looks for calls for a moment; whether some have come."""

    def flush(self) -> None:
        """Sends the answers that wait."""

    def fileno(self) -> int:
        """Readable when take() may have something."""

    def say_wait(self, number: int, call: int, refs: list[Any]) -> int:
        """
        The call waits for one of these refs, and for nothing else; 0: not told now.
        """

    def forget_wait(self, number: int) -> None:
        """That wait has ended."""

    def refused_waits(self) -> list[tuple[int, str]]:
        """[(number, why it can never end)], since the last time."""

    def end_child(self) -> None:
        """Ends a forked child that would go on in its parent's event loop."""

    def has_ended(self) -> bool:
        """Whether the node has let go of this actor."""

class Snapshot:
    def add_function(self, function: types.FunctionType, names: tuple[Any, ...]) -> Any:
        """
        What the function refers to, with the globals of these names; None if a cell is empty.
        """

    def add_class(self, cls: type[Any]) -> Any:
        """What the class has, by its names."""

    def add_imported(self, things: list[Any]) -> None:
        """Whether they can be imported is looked at again."""

    def add_content(self, thing: Any | None) -> Any:
        """
        The functions and classes in a container, an array or another object; None if it could change unnoticed.
        """

    def classes(self) -> Any:
        """The classes that were added."""

    def addresses(self) -> Any:
        """The addresses of what is compared, of each as often as it is."""

    def are_apart(self, least: int) -> bool:
        """
        Whether containers with so many items are compared, none of which is in two of the contents.
        """

    def has_contents(self) -> bool:
        """Whether containers, arrays or other objects are compared."""

    def holds(self) -> bool:
        """Whether all that was added refers to what it referred to then."""

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

    RESERVATION_ENDED = 23

class FunctionKind(enum.IntEnum):
    PYTHON_NAME = 0

    PICKLE = 1

    METHOD = 2

    CPP = 3

    CPP_METHOD = 4

    CPP_RETRYING = 5

    STORED = 6

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

def find_node(address: str) -> str:
    """The path of the socket that 'auto', a home or a socket means."""

def content_hash(path: str) -> str:
    """What the file's content is known by."""

def begin_open(
    address: str | None,
    program: str,
    options: str,
    prestart: int,
    command: Sequence[str],
    path: Sequence[str],
    folder: str,
    environment: Sequence[str],
    socket: int,
) -> Any:
    """
    Opens a node at `address`, at `socket` (-1: none), or a new `program`; the rest is the key of usual workers.
    """

def finish_open(opening: Any | None) -> Client:
    """The client of what begin_open() began; once."""

def become_worker(process: int, fd: int) -> Client:
    """The client of a worker's process."""

def fork_below(command: Sequence[str], fds: Sequence[int]) -> bool:
    """
    Whether this is the copy of this process, which is the child of a program that is started; see forked.py.
    """

def empty(client: Client, bytes: int) -> Any:
    """Writable memory in the store."""

def extend_refs(methods: type[Any]) -> Any:
    """The type of new refs, which has these methods too."""

def share(ref: ObjectRef) -> None:
    """
    Other processes can find the object by its id, as long as this one holds it.
    """

def find_object(client: Client, epoch: int, owner: int, sequence: int) -> Any:
    """
    The ref to the object that has these numbers in its id and was shared; None: it is of another engine.
    """

def watch_pickles(watcher: Callable[[bytes], bool] | None) -> None:
    """
    Calls the watcher with each value that is pickled, until it returns false.
    """

def is_pickling() -> bool:
    """Whether this thread is pickling a value that goes to another process."""

def outside_values(function: Callable[[], object]) -> Any:
    """
    What the function returns, which makes pickles for later values; refs cannot be in these.
    """

def client_of_value(buffer_callback: Any | None) -> Client | None:
    """
    The client for whose value the pickle is that is being made with this buffer_callback; None: for no value.
    """

def refers_to_main(pickle: bytes) -> bool:
    """Whether a pickle refers to a class or function of the main script."""

def plain_pickle(value: Any | None) -> Any:
    """The pickle of plain data (plain_pickle.h); None of any other value."""

def receiving_client() -> Client | None:
    """The client whose value this thread is unpickling."""

def make_function(kind: FunctionKind, payload: bytes, name: str, max_calls: int) -> Function:
    """What tasks call."""

def store_function(client: Client, pickle: bytes, buffers: list[Any], name: str, max_calls: int) -> Function:
    """
    What tasks call, as an object: its pickle, and the buffers (memoryviews) outside of it.
    """

def make_same_function(known: Function, name: str, is_carried: bool) -> Function:
    """
    The same for workers, with another name. is_carried: its calls call their first argument with it.
    """

def make_plan(
    shape: dict[str, Any],
    max_retries: int,
    returns: int,
    generator: bool,
    timeout: float,
    item_budget: int,
    most_items: int,
) -> Plan:
    """How tasks of one TaskOptions are submitted."""

def set_aside(
    client: Client, name: str, resources: dict[str, Any], offered: dict[str, Any], about: str, detached: bool
) -> None:
    """
    Begins a reservation of resources, for work that asks for what it offers.
    """

def put_back(client: Client, name: str) -> None:
    """Ends it, and what runs inside of it."""

def make_snapshot() -> Snapshot:
    """A snapshot of nothing yet."""

def note_class(is_rewritten: bool) -> None:
    """
    That what is being loaded may have something in common with a class, which it may have brought anew.
    """

def set_tracer(
    calls: Callable[[str, str], Any] | None, waits: Callable[[str, list[bytes], int, float | None], Any] | None
) -> None:
    """
    What makes the spans of calls that are sent, and of waits; None for none.
    """

def cancel(client: Client, ref: ObjectRef, force: bool, recursive: bool) -> bool:
    """Whether the task had not ended."""

def is_waiting(client: Client, ref: ObjectRef, cancel: bool) -> bool:
    """
    Whether the task has not begun, as far as is known; with `cancel`, whether it never will.
    """

def note_own_socket(descriptor: int) -> None:
    """Only this process makes the descriptor readable."""

def make_queue(client: Client) -> CompletionQueue:
    """A queue of refs that became ready."""

def run_worker(client: Client, support: Any | None, page_fd: int) -> ActorHost | None:
    """
    Runs tasks until the node lets go of this process (None) or makes an actor of it.
    """

def interrupt_reason() -> Interrupt:
    """What ended the running task early."""

def hold_timeout(held: bool) -> None:
    """The running task's timeout stands still, or goes on."""

def run_fork_server(
    fd: int,
    load_rest: Callable[[], object],
    load_loop: Callable[[], object],
    load_actors: Callable[[], object],
    needs: Callable[[], int] | None,
    load: Callable[[], int] | None,
) -> tuple[int, int, int]:
    """(process, control_fd, page_fd), in each child."""

def call_is_cancelled() -> bool:
    """Whether the actor's method that this thread runs was cancelled."""

def running_task() -> tuple[int, int]:
    """
    (owner, number) of the task or the actor's call that this thread runs, see Client.id_of; (0, 0): none.
    """

def starter() -> int:
    """
    The number of the actor's call for which this thread submits tasks; 0: none.
    """

def set_starter(call: int) -> None:
    """This thread submits tasks for that call from now on."""

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
) -> tuple[Any, bytes] | None:
    """
    The ref to the actor, and the description of the one that existed, or empty; None: the name is taken.
    """

def find_actor(client: Client, namespace: str, name: str) -> tuple[Any, bytes] | None:
    """The ref to the actor of this name, and its description."""

def find_actor_by_id(client: Client, epoch: int, owner: int, sequence: int) -> tuple[Any, bytes] | None:
    """
    The same for the actor whose ref has these numbers in its id, wherever its handle comes from.
    """

def list_actors(client: Client) -> list[tuple[str, str]]:
    """[(namespace, name)]"""

def kill_actor(actor: ObjectRef, no_restart: bool) -> None:
    """Ends the actor's process; with `no_restart` the actor as well."""

def json_text(document: dict[str, object]) -> str:
    """The document as JSON; the module json takes a millisecond to import."""

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
