"""A client of Iris's controller that needs no Iris."""

import enum
from collections.abc import Mapping, Sequence

class Existing(enum.Enum):
    """What is done with a job of the same id."""

    REFUSE = 0

    KEEP = 1

    REPLACE = 2

class Band(enum.Enum):
    """Which jobs come first."""

    DEFAULT = 0

    PRODUCTION = 1

    INTERACTIVE = 2

    BATCH = 3

class DeviceKind(enum.Enum):
    """Which accelerator a task needs."""

    CPU = 0

    GPU = 1

    TPU = 2

class ConstraintOp(enum.Enum):
    """How a machine's attribute is compared."""

    EQ = 0

    NE = 1

    EXISTS = 2

    NOT_EXISTS = 3

    GT = 4

    GE = 5

    LT = 6

    LE = 7

    IN = 8

class IrisJobRequest:
    """A job as it is asked for."""

    def __init__(self) -> None: ...
    @staticmethod
    def of(order: dict[str, object]) -> IrisJobRequest:
        """
        What a job that all clusters could run is on Iris: the keys are the fields of JobSpec in src/model/job_spec.h.
        """

    @property
    def name(self) -> str: ...
    @name.setter
    def name(self, arg: str, /) -> None: ...
    @property
    def parent(self) -> str: ...
    @parent.setter
    def parent(self, arg: str, /) -> None: ...
    @property
    def argv(self) -> list[str]: ...
    @argv.setter
    def argv(self, arg: Sequence[str], /) -> None: ...
    @property
    def setup(self) -> list[str]: ...
    @setup.setter
    def setup(self, arg: Sequence[str], /) -> None: ...
    @property
    def workspace(self) -> str: ...
    @workspace.setter
    def workspace(self, arg: str, /) -> None: ...
    @property
    def bundle_id(self) -> str: ...
    @bundle_id.setter
    def bundle_id(self, arg: str, /) -> None: ...
    @property
    def env_vars(self) -> dict[str, str]: ...
    @env_vars.setter
    def env_vars(self, arg: Mapping[str, str], /) -> None: ...
    @property
    def pip_packages(self) -> list[str]: ...
    @pip_packages.setter
    def pip_packages(self, arg: Sequence[str], /) -> None: ...
    @property
    def runner_packages(self) -> list[str]: ...
    @runner_packages.setter
    def runner_packages(self, arg: Sequence[str], /) -> None: ...
    @property
    def extras(self) -> list[str]: ...
    @extras.setter
    def extras(self, arg: Sequence[str], /) -> None: ...
    @property
    def python_version(self) -> str: ...
    @python_version.setter
    def python_version(self, arg: str, /) -> None: ...
    @property
    def cpu_millicores(self) -> int: ...
    @cpu_millicores.setter
    def cpu_millicores(self, arg: int, /) -> None: ...
    @property
    def memory_bytes(self) -> int: ...
    @memory_bytes.setter
    def memory_bytes(self, arg: int, /) -> None: ...
    @property
    def disk_bytes(self) -> int: ...
    @disk_bytes.setter
    def disk_bytes(self, arg: int, /) -> None: ...
    @property
    def replicas(self) -> int: ...
    @replicas.setter
    def replicas(self, arg: int, /) -> None: ...
    @property
    def group_by(self) -> str: ...
    @group_by.setter
    def group_by(self, arg: str, /) -> None: ...
    @property
    def ports(self) -> list[str]: ...
    @ports.setter
    def ports(self, arg: Sequence[str], /) -> None: ...
    @property
    def max_retries_failure(self) -> int: ...
    @max_retries_failure.setter
    def max_retries_failure(self, arg: int, /) -> None: ...
    @property
    def max_retries_preemption(self) -> int: ...
    @max_retries_preemption.setter
    def max_retries_preemption(self, arg: int, /) -> None: ...
    @property
    def existing(self) -> Existing: ...
    @existing.setter
    def existing(self, arg: Existing, /) -> None: ...
    @property
    def band(self) -> Band: ...
    @band.setter
    def band(self, arg: Band, /) -> None: ...
    @property
    def task_image(self) -> str: ...
    @task_image.setter
    def task_image(self, arg: str, /) -> None: ...
    def add_file(self, name: str, content: bytes) -> None:
        """Puts a file beside the workspace."""

    def set_device(self, kind: DeviceKind, variant: str, count: int, topology: str = "") -> None:
        """The accelerator of each task."""

    def add_constraint(self, key: str, op: ConstraintOp, values: Sequence[str], preferred: bool = False) -> None:
        """Which machines will do."""

    def choose(self, key: str, values: Sequence[str]) -> None:
        """Machines whose attribute is one of these will do."""

    def set_timeouts(self, run: float = 0.0, scheduling: float = 0.0) -> None:
        """Seconds for which a task may run, and wait; 0 for ever."""

def actor_call(method: str, actor: str, args: bytes, kwargs: bytes) -> bytes:
    """A call of one of Iris's own actors."""

def read_actor_call(message: bytes) -> tuple[str, str, bytes, bytes]:
    """The method, the actor, the arguments and the keywords of a call."""

def actor_value(value: bytes) -> bytes:
    """The answer of a call that has returned."""

def actor_error(type: str, message: str, exception: bytes) -> bytes:
    """The answer of a call that has failed."""

def read_actor_response(message: bytes) -> tuple[bytes | None, tuple[str, str, bytes] | None]:
    """
    The value of a call, or the type, the message and the exception of its failure.
    """

def actor_methods_question(actor: str) -> bytes:
    """Asks for the methods of an actor."""

def actor_methods(methods: Sequence[tuple[str, str, str]]) -> bytes:
    """Methods with their signatures and descriptions."""

def read_actor_methods(message: bytes) -> list[str]:
    """The names of methods."""

def healthy() -> bytes:
    """The answer of a host that lives."""

def usual_user() -> str:
    """Whose jobs are meant where nobody is named."""

class IrisJobs:
    """The jobs of an Iris cluster, as its controller serves them."""

    def __init__(
        self,
        controller: str = "",
        *,
        user: str = "",
        token_file: str = "",
        timeout: float = 60.0,
        patience: float = 120.0,
        ca_file: str = "",
        verify: bool = True,
    ) -> None: ...
    @property
    def controller(self) -> str: ...
    def user(self) -> str:
        """Whose jobs are meant: who has logged in, else who was given."""

    def is_own(self) -> bool:
        """Whether this process runs in a task of this cluster."""

    def resolve(self, job: str) -> str:
        """The id of a job that is named by its id, or is one of the user's."""

    def submit(self, request: IrisJobRequest) -> str:
        """Launches a job, once, and returns its id."""

    def get(self, job: str) -> dict[str, object]:
        """What the controller knows of a job."""

    def task(self, job: str, index: int) -> dict[str, object]:
        """A task with all its attempts."""

    def list_jobs(self, *, prefix: str = "", state: str = "", parent: str = "") -> list[dict[str, object]]:
        """Jobs, the newest first."""

    def states(self, ids: Sequence[str]) -> dict[str, str]:
        """How jobs are, by id; unknown ones are left out."""

    def wait(self, job: str, timeout: float | None = None) -> dict[str, object]:
        """What the controller knows of a job once it has ended."""

    def wait_all(self, jobs: Sequence[str], timeout: float | None = None) -> bool:
        """Whether all of these jobs have ended in time."""

    def stop(self, job: str) -> bool:
        """Asks a job and its children to end; false when it had."""

    def logs(self, job: str) -> list[tuple[str, int, int, str, int, str]]:
        """All lines so far, as IrisJobLog.read has them."""

    def register_endpoint(
        self, id: str, name: str, address: str, task: str, attempt: int, metadata: Mapping[str, str]
    ) -> None:
        """Puts a name of a running task into the registry."""

    def unregister_endpoint(self, id: str) -> None:
        """Takes it out again."""

    def endpoints(self, name: str, exact: bool = False) -> list[dict[str, object]]:
        """Those of that name, or those whose names begin with it."""

    def follow(self, job: str, cursor: int = 0, with_children: bool = False) -> IrisJobLog:
        """
        The output as it comes, from a cursor on, to what comes after the job's end.
        """

class IrisJobLog:
    """A job's output as it comes."""

    def read(self, timeout: float = 1.0) -> list[tuple[str, int, int, str, int, str]] | None:
        """
        Lines as job, task, attempt, stream, milliseconds and text; empty when none came in time; None at the end.
        """

    @property
    def cursor(self) -> int:
        """Where to go on."""
