"""The session: the context that the program's calls go to, from `init` or the first use to `shutdown`."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from fray._settings import PRELOAD_VARIABLE
from fray.errors import NodeDiedError, UnsupportedError
from fray.job import current
from fray.job.context import JobContext
from fray.job.factory import worker_context
from fray.job.watch import RefCallbacks
from fray.ray._ids import JobID, NodeID, TaskID, the_job

# fmt: off
__all__ = [
    "HEAD_MARKS", "IP", "RAY_VERSION", "RayContext", "context", "give_refs", "home_of_ray", "init", "is_initialized",
    "job_id", "node_id", "shutdown", "started_node", "state", "when_ready",
]
# fmt: on

RAY_VERSION = "2.60.0"
"""The version that programs see as `ray.__version__`."""
_COMMIT = "{{RAY_COMMIT_SHA}}"
IP = "127.0.0.1"
HEAD_MARKS = (f"node:{IP}", "node:__internal_head__")
"""Resources that programs ask for to be on the head node."""
_THRESHOLD_VARIABLE = "RAY_memory_usage_threshold"  # as Ray spells it
_THIS_MACHINE = ("localhost", IP, "0.0.0.0")

_logger = logging.getLogger("ray")
# fmt: off
_TAKEN = {
    "labels", "include_dashboard", "dashboard_host", "dashboard_port", "logging_format", "logging_config",
    "log_to_driver", "enable_resource_isolation", "cgroup_path", "system_reserved_cpu", "system_reserved_memory",
    "proxy_server_url", "include_webui", "_temp_dir", "_system_config", "_metrics_export_port", "_node_name",
    "_node_ip_address", "_plasma_directory", "_enable_object_reconstruction", "_driver_object_store_memory",
    "_redis_max_memory", "_redis_password", "_redis_username", "_tracing_startup_hook", "_skip_env_hook",
    "_cgroup_path", "local_mode",
}
# fmt: on
"""Arguments of `init` that have no meaning here."""


class _State:
    """The state of the session. It is written under `lock` and read without it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.context: JobContext | None = None
        self.number = 0
        """The number of sessions of this process so far; functions are frozen anew for each of them."""
        self.runtime_env: dict[str, Any] = {}
        self.info: RayContext | None = None


state = _State()
os.register_at_fork(after_in_child=lambda: setattr(state, "lock", threading.RLock()))


class RayContext(dict[str, Any]):
    """Facts about the session, which ends with the ``with`` block that this is used in."""

    def __init__(self, address_info: dict[str, Any]) -> None:
        import platform

        super().__init__(address_info)
        self.address_info = address_info
        self.dashboard_url = ""
        self.python_version = platform.python_version()
        self.ray_version = RAY_VERSION
        self.ray_commit = _COMMIT

    def disconnect(self) -> None:
        shutdown()

    def __enter__(self) -> RayContext:
        return self

    def __exit__(self, *exc: object) -> None:
        self.disconnect()

    def __repr__(self) -> str:
        return f"RayContext(dashboard_url={self.dashboard_url!r}, ray_version={self.ray_version!r})"


def context() -> JobContext:
    """Return the session's context; the first use begins a session with the defaults."""
    found = state.context
    return found if found is not None else _begin_by_itself()


def _begin_by_itself() -> JobContext:
    with state.lock:
        if state.context is None:
            worker = worker_context()
            if worker is not None:
                _use(worker)
            else:
                init()
        assert state.context is not None
        return state.context


def is_initialized() -> bool:
    """Return whether there is a session; in a worker there always is one."""
    found = state.context
    if found is not None:
        return not found.closed
    return worker_context() is not None


def init(
    address: str | None = None,
    *,
    num_cpus: float | None = None,
    num_gpus: float | None = None,
    resources: Mapping[str, float] | None = None,
    object_store_memory: int | None = None,
    ignore_reinit_error: bool = False,
    namespace: str | None = None,
    runtime_env: Any = None,
    configure_logging: bool = True,
    logging_level: int | str = logging.INFO,
    job_config: Any = None,
    _memory: int | None = None,
    object_spilling_directory: str | None = None,
    **others: Any,
) -> RayContext:
    """Start the engine on this machine, or connect to a started node; see the guide on Ray programs.

    Raises:
        RuntimeError: there is a session already, or an argument that Ray does not know.
        ConnectionError: there is no node at that address.
        ValueError: amounts of a node together with an address.
    """
    unknown = sorted(set(others) - _TAKEN)
    if unknown:
        raise RuntimeError(f"Unknown keyword argument(s): {', '.join(unknown)}")
    if namespace is not None and not isinstance(namespace, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"ray.init: namespace must be a text or None, got {namespace!r}")
    if namespace == "":
        raise ValueError('ray.init: "" is not a valid namespace; leave it out for one of the program\'s own')
    if job_config is not None:
        namespace = namespace or job_config.ray_namespace
        runtime_env = runtime_env or job_config.runtime_env
    if "include_webui" in others:
        _logger.warning("ray.init: include_webui is gone from Ray; it is ignored")
    if others:
        _logger.debug("ray.init: without a meaning on one machine, and ignored: %s", ", ".join(sorted(others)))
    with state.lock:
        if is_initialized():
            if ignore_reinit_error:
                _logger.info("Calling ray.init() again after it has already been called.")
                context()
                assert state.info is not None
                return state.info
            raise RuntimeError(
                "Maybe you called ray.init twice by accident? This error can be suppressed by passing in "
                "'ignore_reinit_error=True' or by calling 'ray.shutdown()' prior to 'ray.init()'."
            )
        amounts: dict[str, Any] = {"num_cpus": num_cpus, "num_gpus": num_gpus, "resources": resources}
        amounts |= {"object_store_memory": object_store_memory, "_memory": _memory}
        given = {name: amount for name, amount in amounts.items() if amount is not None}
        threshold = _memory_threshold(others.get("_system_config"))
        where = _address(address)
        if runtime_env is not None:
            state.runtime_env = dict(runtime_env)
        if configure_logging:
            _logger.setLevel(logging_level.upper() if isinstance(logging_level, str) else logging_level)
        if where is not None and given:
            raise ValueError(f"{', '.join(given)} must not be provided when connecting to an existing cluster")
        existing = current.existing_job_context()
        try:
            if where is None:
                _use(_start(given, object_spilling_directory, namespace, threshold))
            else:
                _use(_connect(where, namespace))
        except BaseException:  # Ctrl-C: what has begun is to be ended, for it would refuse the next attempt
            if existing is None:
                current.shutdown()
            raise
        assert state.info is not None
        return state.info


def home_of_ray() -> str:
    """Return the home of the node that the command ``ray start`` starts."""
    if home := os.environ.get("FRAY_HOME"):
        return os.path.join(home, "ray")
    return os.path.join(os.environ.get("XDG_RUNTIME_DIR") or "/tmp", f"fray-ray-{os.getuid()}")


def started_node() -> str | None:
    """Return the address of that node, None where none was started."""
    home = home_of_ray()
    path = os.path.join(home, "run", "node", "node.sock")
    if not os.path.exists(path):
        return None
    import socket  # seldom needed

    with socket.socket(socket.AF_UNIX) as probe:
        return home if probe.connect_ex(path) == 0 else None  # a node that was killed leaves its socket behind


def _address(address: str | None) -> str | None:
    """Return the address of a node that runs, None to start one."""
    if address in (None, "auto"):
        address = os.environ.get("RAY_ADDRESS") or address
    if address == "local":
        return None
    if not address:
        return started_node()
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address == "auto" or (port.isdigit() and host in (*_THIS_MACHINE, os.uname().nodename)):
        return started_node() or "auto"
    if "://" in address:
        raise UnsupportedError(
            f"ray.init: {address!r} is a Ray cluster; fray.ray runs on one machine. Run the program with Ray's own "
            "client there, or write it for fray.JobContext, which runs on Ray too"
        )
    return address


def _connect(address: str, namespace: str | None) -> Any:
    try:
        return current.init(address=address, namespace=namespace or str(uuid.uuid4()))
    except (NodeDiedError, ValueError, OSError) as error:
        raise ConnectionError(
            f"ray.init: there is no node at {address!r} ({error}); `fray start` starts one, and address='auto' finds it"
        ) from error


def _start(given: Mapping[str, Any], spill_dir: str | None, namespace: str | None, threshold: float | None) -> Any:
    own = _own_resources(given.get("resources"))
    if given.get("num_gpus") is not None:
        own["GPU"] = _amount("num_gpus", given["num_gpus"])
    cpus = given.get("num_cpus")
    existing = current.existing_job_context() if not given and namespace is None else None
    if existing is not None:
        return existing
    return _init_preloading(
        cpus=None if cpus is None else max(_amount("num_cpus", cpus), 0.0001),
        memory=given.get("_memory"),
        store_memory=given.get("object_store_memory"),
        memory_threshold=threshold,
        spill_dir=spill_dir,
        resources={**dict.fromkeys(HEAD_MARKS, 1.0), **own},
        namespace=namespace or str(uuid.uuid4()),
    )


def _memory_threshold(config: Any) -> float | None:
    """Return the share of the memory above which tasks are ended, by `_system_config` or the environment."""
    if isinstance(config, str):
        import json  # seldom needed

        config = json.loads(config)
    given = (config or {}).get("memory_usage_threshold", os.environ.get(_THRESHOLD_VARIABLE))
    if given is None:
        return None
    with suppress(TypeError, ValueError):
        if 0 < (share := float(given)) <= 1:
            return share
    raise ValueError(
        f"ray.init: memory_usage_threshold must be a share above 0 and at most 1, such as 0.9, got {given!r}"
    )


def _init_preloading(**settings: Any) -> Any:
    """Start a node whose workers have this package loaded when they begin."""
    before = os.environ.get(PRELOAD_VARIABLE)
    try:
        os.environ[PRELOAD_VARIABLE] = "fray.ray._workers"
        return current.init(**settings)
    finally:
        if before is None:
            os.environ.pop(PRELOAD_VARIABLE, None)
        else:
            os.environ[PRELOAD_VARIABLE] = before


def _own_resources(resources: Mapping[str, float] | None) -> dict[str, float]:
    named = dict(resources or {})
    for name in ("CPU", "GPU", "memory", "object_store_memory"):
        assert name not in named, f"ray.init: {name} is an argument of its own, not one of resources"
    return {name: _amount(name, amount) for name, amount in named.items()}


def _amount(name: str, amount: float) -> float:
    if amount < 0:
        raise ValueError(f"ray.init: {name} cannot be negative, got {amount}")
    return amount


_ref_methods: list[type[Any]] = []
"""The class of the methods that refs of a session have beyond those of the context API."""


def give_refs(methods: type[Any]) -> None:
    """Give the refs of every session these methods; refs of a worker get them before it reads its first arguments."""
    _ref_methods.append(methods)
    worker = worker_context()
    if worker is not None:
        type(worker).extend_refs(methods)


def _use(made: Any) -> None:
    for methods in _ref_methods:
        type(made).extend_refs(methods)
    state.number += 1
    state.info = RayContext(_address_info(made))
    state.context = made


def _address_info(made: Any) -> dict[str, Any]:
    folder = made.session_name()
    return {
        **dict.fromkeys(("object_store_address", "session_dir", "address"), folder),
        **dict.fromkeys(("metrics_export_port", "dashboard_agent_listen_port"), 0),
        "node_ip_address": IP,
        "redis_address": None,
        "raylet_socket_name": os.path.join(folder, "node.sock"),
        "webui_url": "",
        "gcs_address": f"{IP}:0",
        "node_id": node_id(made).hex(),
    }


def shutdown(*, wait_for_processes: bool = False, _exiting_interpreter: bool = False) -> None:
    """End the session; safe without one. Remote functions and classes work again in the next session."""
    del wait_for_processes
    with state.lock:
        ended, state.context, state.info = state.context, None, None
        state.runtime_env = {}
    if ended is None or _exiting_interpreter or worker_context() is ended:
        return
    current.shutdown()
    with suppress(Exception):
        ended.close()


atexit.register(shutdown, _exiting_interpreter=True)


def node_id(made: Any = None) -> NodeID:
    """Return the id of this machine's node."""
    return NodeID.of((made or context()).session_name())


def job_id() -> JobID:
    """Return the id of the program, which is the only one of its session."""
    return the_job


def task_id(owner: int, number: int) -> TaskID:
    """Return the id of a task, which that of its first ref is made of; `owner` 0 stands for this process."""
    engine: Any = context().engine
    return TaskID.of(engine.client.id_of(owner, number))


# ---- callbacks of refs

_callbacks: dict[Any, RefCallbacks] = {}
"""By engine: those of the present session, or none."""


def when_ready(ref: Any, then: Callable[[], None]) -> None:
    """Call `then` in another thread once `ref` is ready."""
    engine = context().engine
    with state.lock:
        if engine not in _callbacks:
            _callbacks.clear()
            _callbacks[engine] = RefCallbacks(engine.watch())
        callbacks = _callbacks[engine]
    callbacks.add(ref, then)
