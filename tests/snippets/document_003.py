"""What becomes of the blocks of document 003, on what Fray must have."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import fray
from fray import Entrypoint, EnvironmentConfig, JobRequest, JobStatus, ResourceConfig

from tests.snippets.declared import assert_has, assert_takes, methods_of
from tests.snippets.programs import CONTEXTS, Around, Book, Names
from tests.snippets.reading import Block

book = Book("003")

CLUSTERS = ("LocalCluster", "RayCluster")
OF_IRIS = "is the API of Iris, not of Fray; see the table's left column, which is compared"


# ---- the two interfaces


@book.declares("003.1", "the methods of `Cluster`, on every cluster")
def clusters_have_these_methods(block: Block) -> None:
    for name, declared in methods_of(block).items():
        for cluster in (fray.Cluster, fray.LocalCluster, fray.RayCluster):
            assert_has(declared, getattr(cluster, name))


BY_POSITION = {"put": {"obj": "value"}, "get": {"ref": "refs"}, "wait": {"futures": "refs"}}
"""What the document calls otherwise, in a list of signatures without types."""


@book.declares("003.2", "the methods of `JobContext`; the arguments of `put`, `get` and `wait` by position")
def contexts_have_these_methods(block: Block) -> None:
    from fray.backend.native import NativeJobContext

    for name, declared in methods_of(block).items():
        for context in (fray.JobContext, fray.LocalJobContext, fray.ThreadContext, NativeJobContext):
            assert_has(declared, getattr(context, name), BY_POSITION.get(name, {}))


# ---- Zephyr


@book.runs("003.3", CONTEXTS, lambda around: {"context": around.ctx, "data": [1, 2, 3]})
def data_is_stored(around: Around, names: Names) -> None:
    assert around.ctx.get(names["_"]) == [1, 2, 3]


def for_a_stage(around: Around) -> Names:
    """A stage gets a context that holds refs and the job's context, as Zephyr's do, and operations."""

    def run_stage(stage: SimpleNamespace, operations: list[object]) -> list[int]:
        assert stage.job is fray.get_job_context()
        chunk = stage.job.get(stage.chunk)
        for operation in operations:
            chunk = [operation(item) for item in chunk]  # type: ignore[operator]
        return chunk

    stage = SimpleNamespace(chunk=around.ctx.put([1, 2, 3]), job=around.ctx)
    operations = [lambda item: item + 1, lambda item: item * 10]
    return {"context": around.ctx, "run_stage": run_stage, "ctx": stage, "ops": operations}


@book.runs("003.4", CONTEXTS, for_a_stage)
def a_stage_runs(around: Around, names: Names) -> None:
    assert around.ctx.get(names["_"]) == [20, 30, 40]


@book.runs("003.5", CONTEXTS, lambda around: {"context": around.ctx, "futures": [around.ctx.run(pow, 2, 5)]})
def one_future_is_waited_for(around: Around, names: Names) -> None:
    ready, pending = names["_"]
    assert (ready, pending) == (names["futures"], [])
    assert around.ctx.get(ready) == [32]


@book.runs("003.6", CONTEXTS, lambda around: {"context": around.ctx, "ref": around.ctx.run(pow, 2, 5)})
def a_result_is_retrieved(around: Around, names: Names) -> None:
    assert names["_"] == 32


# ---- reinforcement learning


class LaunchedJobs(Sequence[str]):
    """The ids of what a cluster has launched: the document does not say how it comes to its `jobs`."""

    def __init__(self, around: Around) -> None:
        self._around = around

    def _ids(self) -> list[str]:
        return [info.job_id for info in self._around.cluster.list_jobs() if info.name in ("train", "rollout-N")]

    def __getitem__(self, index: int) -> str:  # type: ignore[override]
        return self._ids()[index]

    def __len__(self) -> int:
        return len(self._ids())

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids())


def mark(path: str) -> None:
    Path(path).write_text("done")


def for_reinforcement(around: Around) -> Names:
    def touch(name: str) -> Entrypoint:
        return Entrypoint.from_callable(mark, args=[str(around.folder / name)])

    assert around.cluster is fray.current_cluster()
    return {
        "JobRequest": JobRequest,
        "current_cluster": fray.current_cluster,
        "jobs": LaunchedJobs(around),
        "rollout": touch("rollout"),
        "rollout_resources": ResourceConfig.with_cpu(cpu=1, ram="64m", disk="1m"),
        "train": touch("train"),
        "train_resources": ResourceConfig.with_cpu(cpu=1, ram="64m", disk="1m"),
    }


@book.runs("003.7", CLUSTERS, for_reinforcement, fills=("train", "rollout"))
def both_jobs_run(around: Around, names: Names) -> None:
    assert [info.status for info in names["_"]] == [JobStatus.SUCCEEDED] * 2
    assert sorted(path.name for path in around.folder.iterdir()) == ["rollout", "train"]


class Curriculum:
    def __init__(self) -> None:
        self.lessons: list[str] = []

    def update_lesson_stats(self, lesson: str) -> None:
        self.lessons.append(lesson)

    def sample_lesson(self) -> str:
        return self.lessons[-1]


@book.runs(
    "003.8",
    CONTEXTS,
    lambda around: {"Curriculum": Curriculum, "get_default_job_ctx": fray.get_default_job_ctx},
)
def workers_share_one_curriculum(around: Around, names: Names) -> None:
    first, ctx = names["_"], around.ctx
    other = ctx.create_actor(Curriculum, name="curriculum", get_if_exists=True, preemptible=False, num_cpus=0)
    ctx.get(first.update_lesson_stats.remote("algebra"))
    assert ctx.get(other.sample_lesson.remote()) == "algebra"


def for_a_method(around: Around) -> Names:
    actor = around.ctx.create_actor(Curriculum, preemptible=False, num_cpus=0)
    actor.update_lesson_stats.remote("algebra")
    return {"ctx": around.ctx, "future": actor.sample_lesson.remote()}


@book.runs("003.9", CONTEXTS, for_a_method)
def a_methods_future_is_retrieved(around: Around, names: Names) -> None:
    assert names["_"] == "algebra"


# ---- Levanter


def train(config: SimpleNamespace) -> None:
    Path(config.path).write_text(os.environ["WANDB_PROJECT"])


def for_training(around: Around) -> Names:
    assert around.cluster is fray.current_cluster()
    config = SimpleNamespace(path=str(around.folder / "model"), resources=ResourceConfig.with_cpu(ram="64m", disk="1m"))
    return {
        "Entrypoint": Entrypoint,
        "EnvironmentConfig": EnvironmentConfig,
        "JobRequest": JobRequest,
        "config": config,
        "current_cluster": fray.current_cluster,
        "env": {"WANDB_PROJECT": "mine"},
        "train_lm": SimpleNamespace(main=train),
    }


@book.runs("003.10", CLUSTERS, for_training)
def the_model_is_trained(around: Around, names: Names) -> None:
    assert names["_"].status is JobStatus.SUCCEEDED
    assert (around.folder / "model").read_text() == "mine"
    assert around.cluster.poll(names["job_id"]).name == "train_lm"


# ---- the table of equivalents


def is_a_method_of_clusters(block: Block) -> None:
    for cluster in (fray.Cluster, fray.LocalCluster, fray.RayCluster):
        assert_takes(block, cluster)


for number in (11, 13, 15, 16):
    book.declares(f"003.{number}", "the method of every cluster, with as many arguments")(is_a_method_of_clusters)

for number in (12, 14, 17):
    book.leaves_out(f"003.{number}", f"it {OF_IRIS}")


@book.declares("003.18", "the spec that `current_cluster` reads")
def a_spec_names_rays_namespace(block: Block) -> None:
    from fray.job.spec import parse_spec

    name, _, spec = block.code.strip().partition("=")
    assert name == "FRAY_CLUSTER_SPEC"
    parsed = parse_spec(spec.replace("...", "mine"))
    assert (parsed.scheme, parsed.settings) == ("ray", {"namespace": "mine"})
