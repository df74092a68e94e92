"""The Python side of a worker process that has become an actor."""

from __future__ import annotations

import gc
import threading

from fray._failures import summary
from fray._native import ActorHost, ActorMode
from fray.backend.native.actors import ActorDescription, AnyMethods, NativeActorLink
from fray.backend.native.threads import use_threads
from fray.job.actor_methods import methods_of, runs_on_loop
from fray.job.actors import ActorContext, ActorHandle, enter_actor

__all__ = ["host_actor"]


# How many new objects the garbage collector waits for. A call in flight has about six: with 700, Python's default, the
# collector went through those of a thousand calls again and again, which took a tenth of an actor's time.
_YOUNG_OBJECTS = 10_000


def host_actor(host: ActorHost) -> None:
    """Build the actor's instance and run its calls until the node lets go of it."""
    description = ActorDescription.unpack(host.settings())
    if type(description.methods) is AnyMethods:
        try:
            description = _look_at_class(host, description)
        except BaseException as error:
            host.open(description.class_name, ActorMode.SERIAL, 1)
            host.failed(error, summary(error))
            return
    on_loop = runs_on_loop(description.methods)
    mode = (
        ActorMode.EVENT_LOOP if on_loop else ActorMode.THREADS if description.max_concurrency > 1 else ActorMode.SERIAL
    )
    use_threads(max(1, int(host.cpus())))
    host.open(description.class_name, mode, description.max_concurrency)
    context = ActorContext(
        ActorHandle(NativeActorLink(host.self_ref(), description)),
        group_name=description.name or description.class_name,
    )
    enter_actor(context)
    if on_loop:
        gc.set_threshold(_YOUNG_OBJECTS, *gc.get_threshold()[1:])  # the constructor may set another number
    try:
        host.construct()
    except BaseException as error:
        host.failed(error, summary(error))
        return
    if mode == ActorMode.EVENT_LOOP:
        from fray.backend.native.actor_event_loop import serve_on_loop

        serve_on_loop(host, description.max_concurrency)
    elif mode == ActorMode.THREADS:
        _serve_on_threads(host, description.max_concurrency, context)
    else:
        host.ready()
        host.serve()


def _look_at_class(host: ActorHost, description: ActorDescription) -> ActorDescription:
    """Return the description with what its creator, a C++ program, could not know."""
    methods = methods_of(host.load_class())
    concurrency = description.max_concurrency or (1000 if runs_on_loop(methods) else 1)
    return description._replace(methods=methods, max_concurrency=concurrency)


def _serve_on_threads(host: ActorHost, count: int, context: ActorContext) -> None:
    """Run calls on the main thread and `count` - 1 others, which all start at once."""

    def serve() -> None:
        enter_actor(context)
        host.serve()

    for number in range(1, count):
        threading.Thread(target=serve, name=f"fray-actor-{number}", daemon=True).start()
    host.ready()
    host.serve()
