"""Tables of Ray's names: those that have a counterpart here, and why the others have none."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "EXCEPTIONS",
    "IGNORED_OPTIONS",
    "INIT_IGNORED",
    "LIBRARIES",
    "NO_COUNTERPART",
    "REFUSED_OPTIONS",
    "SAME",
    "TYPES",
    "Reason",
    "reason_for",
]


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason why a part of a program stays as it is.

    Args:
        why: a clause such as ``"Ray Data has no counterpart"``.
        what: a clause that says what the reader can do about it.
        apart: whether the part can stay beside code that is moved, because no ref or handle of Fray reaches it.
    """

    why: str
    what: str
    apart: bool = False

    def text(self) -> str:
        """Return the sentence of a comment or a report."""
        return f"{self.why}; {self.what}"


EXCEPTIONS = {
    "ActorAlreadyExistsError": "NameTakenError",
    "ActorDiedError": "ActorDiedError",
    "ActorUnavailableError": "ActorDiedError",
    "ActorUnschedulableError": "InfeasibleError",
    "GetTimeoutError": "GetTimeoutError",
    "NodeDiedError": "NodeDiedError",
    "ObjectFetchTimedOutError": "ObjectLostError",
    "ObjectFreedError": "ObjectLostError",
    "ObjectLostError": "ObjectLostError",
    "ObjectReconstructionFailedError": "ObjectLostError",
    "ObjectStoreFullError": "StoreFullError",
    "OutOfMemoryError": "OutOfMemoryError",
    "OwnerDiedError": "OwnerDiedError",
    "PendingCallsLimitExceeded": "PendingCallsLimitError",
    "RayActorError": "ActorDiedError",
    "RuntimeEnvSetupError": "RuntimeEnvError",
    "TaskCancelledError": "TaskCancelledError",
    "TaskUnschedulableError": "InfeasibleError",
    "UnserializableException": "TaskError",
    "WorkerCrashedError": "WorkerDiedError",
}
"""Exceptions of `ray.exceptions`, and their counterparts in `fray`."""

TYPES = {
    "ray.ObjectID": "ObjectRef",
    "ray.ObjectRef": "ObjectRef",
    "ray.ObjectRefGenerator": "ObjectRef",
    "ray._raylet.ObjectRef": "ObjectRef",
    "ray._raylet.ObjectRefGenerator": "ObjectRef",
    "ray.actor.ActorHandle": "ActorHandle",
    "ray.actor.ActorProxy": "ActorHandle",
    "ray.types.ObjectRef": "ObjectRef",
}
"""Types that occur in annotations and in isinstance, and their counterparts in `fray`."""

SAME = {
    "ray.util.ActorPool": "fray.ActorPool",
    "ray.util.actor_pool.ActorPool": "fray.ActorPool",
    "ray.util.queue.Empty": "fray.ActorQueue.Empty",
    "ray.util.queue.Full": "fray.ActorQueue.Full",
    "ray.util.queue.Queue": "fray.ActorQueue",
}
"""Classes of Ray, and the classes of Fray with the same methods."""

LIBRARIES = {
    "ray.air": "Ray AIR",
    "ray.data": "Ray Data",
    "ray.llm": "Ray LLM",
    "ray.rllib": "RLlib",
    "ray.serve": "Ray Serve",
    "ray.train": "Ray Train",
    "ray.tune": "Ray Tune",
    "ray.workflow": "Ray Workflows",
}

_ON_RAY = "it stays, and Fray's tasks run on the same Ray"
_ITSELF = "write it with Fray's own API, or keep this file on Ray"

NO_COUNTERPART = {
    "ray.available_resources": Reason("Fray does not list the resources of a cluster", _ON_RAY, True),
    "ray.cluster_resources": Reason("Fray does not list the resources of a cluster", _ON_RAY, True),
    "ray.nodes": Reason("Fray does not list the nodes of a cluster", _ON_RAY, True),
    "ray.get_runtime_context": Reason("this part of Ray's runtime context has no counterpart", _ON_RAY, True),
    "ray.runtime_context": Reason("Ray's runtime context has no counterpart as a whole", _ON_RAY, True),
    "ray.timeline": Reason("Ray's timeline is of Ray's own tasks", "fray.timeline(path) writes Fray's", True),
    "ray.util.state": Reason("the state API shows Ray's own tasks", "`fray status` shows Fray's", True),
    "ray.util.metrics": Reason("metrics of applications have no counterpart", _ON_RAY, True),
    "ray.job_submission": Reason("Ray's job client has no counterpart of the same form", "see fray.Cluster", True),
    "ray.util.get_node_ip_address": Reason("the node's address has no counterpart", _ON_RAY, True),
    "ray.util.inspect_serializability": Reason(
        "the check for pickling has no counterpart", "Fray's SerializationError names the part", True
    ),
    "ray.util.multiprocessing": Reason("Ray's Pool has no counterpart", "fray.Executor has map and submit"),
    "ray.util.joblib": Reason("joblib is registered in another way", "see fray.joblib.register", True),
    "ray.util.dask": Reason("Dask's scheduler has another name", "see fray.dask.get", True),
    "ray.util.placement_group": Reason("placement groups have no counterpart", _ITSELF),
    "ray.util.remove_placement_group": Reason("placement groups have no counterpart", _ITSELF),
    "ray.util.get_current_placement_group": Reason("placement groups have no counterpart", _ITSELF),
    "ray.util.placement_group_table": Reason("placement groups have no counterpart", _ITSELF),
    "ray.util.scheduling_strategies": Reason(
        "scheduling strategies have no counterpart", "ask for resources that only the wanted nodes have"
    ),
    "ray.util.collective": Reason("collective communication has no counterpart", _ITSELF),
    "ray.dag": Reason("graphs made with bind have no counterpart", "call the tasks with refs as arguments"),
    "ray.internal": Reason("this is internal to Ray", _ITSELF),
    "ray._private": Reason("this is internal to Ray", _ITSELF),
    "ray.experimental": Reason("Ray's experimental parts have no counterpart", _ITSELF),
    "ray.cross_language": Reason("calls of other languages have another form", "see the guide to C++"),
    "ray.java_function": Reason("Java has no counterpart", _ITSELF),
    "ray.java_actor_class": Reason("Java has no counterpart", _ITSELF),
    "ray.cpp_function": Reason("C++ functions are called in another way", "see fray.cpp"),
    "ray.actor.exit_actor": Reason("an actor cannot end itself", "let its creator call ctx.kill(actor)"),
    "ray.exceptions": Reason("this exception of Ray has no counterpart", "see the classes of fray.errors"),
    "ray.client": Reason("Ray's client has no counterpart", _ITSELF),
    "ray.cloudpickle": Reason("this is a package of its own", "import cloudpickle"),
    "ray.__version__": Reason("this is Ray's own version", "fray.__version__ is Fray's", True),
}

IGNORED_OPTIONS = (
    "_generator_backpressure_num_objects",
    "_labels",
    "_metadata",
    "enable_task_events",
    "object_store_memory",
)
"""Options of tasks and actors without an effect that a program could see in Fray; they are dropped."""

REFUSED_OPTIONS = {
    "accelerator_type": Reason("accelerator_type has no counterpart", "declare a resource of that name and ask for it"),
    "label_selector": Reason("labels of nodes have no counterpart", "ask for resources that only those nodes have"),
    "fallback_strategy": Reason("fallback strategies have no counterpart", "ask for resources instead"),
    "placement_group": Reason("placement groups have no counterpart", _ITSELF),
    "placement_group_bundle_index": Reason("placement groups have no counterpart", _ITSELF),
    "placement_group_capture_child_tasks": Reason("placement groups have no counterpart", _ITSELF),
    "concurrency_groups": Reason("concurrency groups have no counterpart", "make an actor of each group"),
    "concurrency_group": Reason("concurrency groups have no counterpart", "make an actor of each group"),
    "allow_out_of_order_execution": Reason("the order of an actor's calls cannot be chosen", _ITSELF),
}

INIT_IGNORED = (
    "configure_logging",
    "dashboard_host",
    "dashboard_port",
    "ignore_reinit_error",
    "include_dashboard",
    "include_webui",
    "log_to_driver",
    "logging_config",
    "logging_format",
    "logging_level",
    "_temp_dir",
    "_system_config",
    "_metrics_export_port",
    "_memory",
    "_node_name",
)
"""Arguments of ray.init that mean nothing to Fray; they are dropped."""

_UNKNOWN = Reason("this name of Ray has no counterpart", _ITSELF)


def reason_for(name: str) -> Reason:
    """Return the reason why the use of a name, such as ``"ray.data.range"``, stays."""
    parts = name.split(".")
    for length in range(len(parts), 1, -1):
        prefix = ".".join(parts[:length])
        if prefix in LIBRARIES:
            return Reason(f"{LIBRARIES[prefix]} has no counterpart", "it stays on Ray", True)
        if prefix in NO_COUNTERPART:
            return NO_COUNTERPART[prefix]
    return Reason(f"{name} has no counterpart", _UNKNOWN.what)
