"""What becomes of the blocks of document 004, the guide from Ray to Fray."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import fray

from tests.snippets.document_000 import ray_alone
from tests.snippets.document_002 import NEW, write_packages
from tests.snippets.programs import CONTEXTS, Around, Book, Names

book = Book("004")


class StatusActor:
    def __init__(self, cache_size: int = 10_000):
        self.data: dict[str, object] = {"size": cache_size}

    def get_value(self, key: str) -> object:
        return self.data.get(key)


def same(value: Any) -> Any:
    return value


# ---- the head node


@book.runs("004.1", CONTEXTS, lambda around: {"StatusActor": StatusActor, "ctx": around.ctx})
def the_actor_is_found_by_its_name(around: Around, names: Names) -> None:
    assert around.ctx.get(names["actor"].get_value("size")) == 10_000
    found = around.ctx.get_actor("status_actor")
    assert around.ctx.get(found.get_value("size")) == 10_000


# ---- pattern 1


def for_a_file(around: Around) -> Names:
    """`result` is what the logic that the document leaves out computes."""
    return {"input_path": "in", "output_path": "out", "result": "processed"}


def on_chips(around: Around) -> Names:
    around.resource("big_node")
    return for_a_file(around)


@book.runs("004.2", "Ray itself", on_chips)
def ray_processes_the_file(around: Around, names: Names) -> None:
    assert names["result"] == "processed"


def on_chips_of_ray(around: Around) -> Names:
    return on_chips(around) if around.place == "Ray" else for_a_file(around)


@book.runs("004.3", CONTEXTS, on_chips_of_ray)
def fray_processes_the_file(around: Around, names: Names) -> None:
    assert names["ctx"] is around.ctx
    assert names["result"] == "processed"


@book.runs("004.4", "plain Python")
def the_names_are_frays(around: Around, names: Names) -> None:
    assert names["get_job_context"] is fray.get_job_context
    assert names["TaskOptions"] is fray.TaskOptions


# ---- pattern 2


def on_the_head(around: Around) -> Names:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    import ray

    head = ray.get_runtime_context().get_node_id()
    return {"schedule_on_head_node_strategy": lambda: NodeAffinitySchedulingStrategy(head, soft=False)}


@book.runs("004.5", "Ray itself", on_the_head)
def rays_actor_answers(around: Around, names: Names) -> None:
    ray = names["ray"]
    assert names["result"] is None
    assert ray.get(ray.get_actor("status_actor").get_value.remote("key")) is None
    ray.kill(names["actor"])


@book.runs("004.6", CONTEXTS)
def frays_actor_answers(around: Around, names: Names) -> None:
    assert names["result"] is None
    again = around.ctx.create_actor(names["StatusActor"], options=names["options"])
    around.ctx.get(again.get_value("key"))
    assert around.ctx.list_named_actors() == ["status_actor"]
    if around.place == "Ray":
        from fray.backend.ray.ray_job import RayActorHandle

        assert isinstance(names["actor"], RayActorHandle)


# ---- pattern 3


def is_like_ray(around: Around, names: Names) -> None:
    assert names["results"] == [1, 2, 3, 4]
    done, pending = names["done_refs"], names["pending_refs"]
    assert (len(done), len(pending)) == (3, 1)
    assert [ref for ref in names["refs"] if ref in done] == done
    assert names["done_results"] == [names["results"][names["refs"].index(ref)] for ref in done]


def for_rays_tasks(around: Around) -> Names:
    import ray

    return {"items": [1, 2, 3, 4], "task": ray.remote(same)}


book.runs("004.7", "Ray itself", for_rays_tasks)(is_like_ray)
book.runs("004.8", CONTEXTS, lambda around: {"items": [1, 2, 3, 4], "task": same})(is_like_ray)


# ---- pattern 4


def on_the_big_node(around: Around) -> Names:
    around.resource("big_node")
    return {**ray_alone(around), "process": str.upper}


@book.runs("004.9", "Ray itself", on_the_big_node, note="GPU, memory and chips are pretended")
def rays_task_is_big(around: Around, names: Names) -> None:
    assert names["ray"].get(names["big_task"].remote("data")) == "DATA"


def on_frays_big_node(around: Around) -> Names:
    if around.place == "Ray":
        around.resource("big_node")
    return {"ctx": around.ctx, "data": "data", "process": str.upper}


@book.runs("004.10", CONTEXTS, on_frays_big_node, note="GPU, memory and chips are pretended")
def frays_task_is_big(around: Around, names: Names) -> None:
    assert names["ctx"].get(names["ref"]) == "DATA"
    assert names["options"].demand() == {"CPU": 4, "GPU": 1, "memory": 8 << 30, "TPU": 8, "TPU-v4-32-head": 1}


# ---- pattern 5


def variable(name: str) -> str | None:
    return os.environ.get(name)


def for_a_variable(around: Around) -> Names:
    import ray

    return {"args": "FOO", "ray": ray, "task": ray.remote(variable)}


@book.runs(
    "004.11",
    "Ray itself",
    for_a_variable,
    long=True,
    note="the first function is defined and not called: it does nothing",
)
def rays_task_has_its_environment(around: Around, names: Names) -> None:
    assert names["ray"].get(names["ref"]) == "bar"


def for_packages(around: Around) -> Names:
    if around.place in ("native", "Ray"):
        write_packages(around, "torch", "transformers")
    return {"config": {"steps": 1}, "ctx": around.ctx}


OWN_PACKAGES = "torch and transformers are packages of the test; nothing is installed in this process (sync, thread)"


def what_it_has() -> tuple[str | None, str]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        torch = version("torch")
    except PackageNotFoundError:
        torch = ""
    return os.environ.get("PJRT_DEVICE"), torch


@book.runs("004.12", CONTEXTS, for_packages, long=True, note=OWN_PACKAGES)
def frays_task_has_its_environment(around: Around, names: Names) -> None:
    ctx = names["ctx"]
    assert ctx.get(names["ref"]) is None
    device, torch = ctx.get(ctx.create_task(what_it_has, options=names["options"]))
    assert device == "TPU"
    assert torch == (NEW if around.place in ("native", "Ray") else "")


# ---- pattern 6


def without_lockfile(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def call(*args: Any) -> Any:
        return fn(*args)

    return call


class TextGeneration:
    """Stands for the language model: says each prompt in capitals."""

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {"text": [str(prompt).upper() for prompt in batch["prompt"]]}


def for_inference(around: Around) -> Names:
    around.resource("big_node")
    return {
        "TextGenerationInferenceConfig": SimpleNamespace,
        "remove_tpu_lockfile_on_exit": without_lockfile,
        "vLLMTextGeneration": TextGeneration,
    }


@book.runs(
    "004.13", "Ray itself", for_inference, long=True, note="the language model is a small class; Ray Data is real"
)
def ray_data_stays_as_it_is(around: Around, names: Names) -> None:
    prompts, texts = around.folder / "prompts.json", around.folder / "texts"
    prompts.write_text("".join(json.dumps({"prompt": word}) + "\n" for word in ("one", "two", "three")))
    config = SimpleNamespace(input_path=str(prompts), output_path=str(texts), num_instances=1, batch_size=2)
    names["ray"].get(names["run_inference"].remote(config))
    lines = [line for path in texts.iterdir() for line in path.read_text().splitlines()]
    assert sorted(json.loads(line)["text"] for line in lines) == ["ONE", "THREE", "TWO"]


@book.runs("004.14", "Ray itself", note="the document's decision that Ray Data stays; there is nothing more to run")
def ray_data_imports(around: Around, names: Names) -> None:
    assert callable(names["ray"].data.read_json)


# ---- pattern 7


def for_an_executor(around: Around) -> Names:
    import ray

    return {
        **on_the_head(around),
        "StatusActor": ray.remote(num_cpus=0)(StatusActor),
        "is_local_ray_cluster": lambda: False,
        "self": SimpleNamespace(),
    }


@book.runs("004.15", "Ray itself", for_an_executor)
def rays_executor_has_its_actor(around: Around, names: Names) -> None:
    ray, actor = names["ray"], names["self"].status_actor
    assert ray.get(actor.get_value.remote("size")) == 10_000
    ray.kill(actor)


def for_frays_executor(around: Around) -> Names:
    return {"StatusActor": StatusActor, "is_local_ray_cluster": lambda: True, "self": SimpleNamespace()}


@book.runs("004.16", "Ray", for_frays_executor)
def frays_executor_has_its_actor(around: Around, names: Names) -> None:
    own = names["self"]
    assert fray.get_job_context() is own.ctx
    assert type(own.ctx) is fray.RayJobContext  # type: ignore[attr-defined]
    assert own.ctx.get(own.status_actor.get_value("size")) == 10_000
    own.ctx.kill(own.status_actor)


def name_of(fn: Callable[..., Any], short: bool) -> str:
    return getattr(fn, "__name__", "remote")


def environment_of(config: Any) -> tuple[Any, str | None]:
    return config, os.environ.get("STEP")


def for_a_step(around: Around) -> Names:
    import ray

    return {
        "config": 5,
        "get_fn_name": name_of,
        "ray": ray,
        "runtime_env": {"env_vars": {"STEP": "mine"}},
        "step": SimpleNamespace(fn=environment_of, name="step"),
    }


def for_a_remote_step(around: Around) -> Names:
    import ray

    return {**for_a_step(around), "step": SimpleNamespace(fn=ray.remote(environment_of), name="step")}


def rays_step_runs(around: Around, names: Names) -> None:
    assert names["ray"].get(names["ref"]) == (5, "mine")


book.runs("004.17", "Ray itself", for_a_step, "function")(rays_step_runs)
book.runs("004.17", "Ray itself", for_a_remote_step, "remote function")(rays_step_runs)


def for_an_own_step(around: Around) -> Names:
    return {"self": SimpleNamespace(ctx=around.ctx), "pip_packages": []}


def frays_step_runs(around: Around, names: Names) -> None:
    assert around.ctx.get(names["ref"]) == (5, "mine")
    assert names["options"].name == f"{name_of(names['step'].fn, True)}:step"


book.runs("004.18", "Ray", lambda around: {**for_a_step(around), **for_an_own_step(around)}, "function")(
    frays_step_runs
)
book.runs("004.18", "Ray", lambda around: {**for_a_remote_step(around), **for_an_own_step(around)}, "remote function")(
    frays_step_runs
)


# ---- pattern 8


def for_rays_start(around: Around) -> Names:
    import ray

    return {"args": 5, "is_local_ray_cluster": lambda: True, "some_task": ray.remote(same)}


@book.runs("004.19", "Ray itself", for_rays_start)
def rays_program_starts(around: Around, names: Names) -> None:
    assert names["result"] == 5


@book.runs("004.20", "Ray", lambda around: {"args": 5, "is_local_ray_cluster": lambda: True, "some_task": same})
def frays_program_starts(around: Around, names: Names) -> None:
    assert names["ctx"] is fray.get_job_context()
    assert isinstance(names["ctx"], names["RayJobContext"])
    assert names["result"] == 5


def for_a_local_start(around: Around) -> Names:
    seen: list[int] = []
    return {
        "args": 5,
        "get_job_context": fray.get_job_context,
        "some_task": lambda value: (seen.append(value), seen)[1],
    }


@book.runs("004.21", "sync", for_a_local_start)
def tasks_run_at_once_in_memory(around: Around, names: Names) -> None:
    assert fray.get_job_context() is names["ctx"]
    assert type(names["ctx"]) is fray.LocalJobContext
    assert names["result"] == [5]


@book.runs("004.22", "sync", lambda around: {"args": 5, "expected": 25, "my_function": lambda value: value * value})
def the_unit_test_passes(around: Around, names: Names) -> None:
    names["test_my_function"]()
    assert type(fray.get_job_context()) is fray.LocalJobContext


@book.runs(
    "004.23", "a Ray of its own", long=True, note="what the document's test does next is left to us: a task runs"
)
def the_integration_test_runs(around: Around, names: Names) -> None:
    names["test_distributed_workflow"]()
    ctx = fray.get_job_context()
    assert isinstance(ctx, names["RayJobContext"])
    assert ctx.get(ctx.create_task(same, (5,))) == 5
    assert names["ray"].is_initialized()
