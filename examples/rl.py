"""Teach a policy to balance a pole, with one trainer, several rollout jobs, and actors that they share.

    python examples/rl.py --out DIR [--rollouts N] [--updates N] [--plot FILE]

    this program ─▶ job rl ─┬─▶ job rl-train      ◀──────── DIR/rollouts/*.npz ◀──┐
                            ├─▶ job rl-rollout-0  ────────────────────────────────┤
                            ├─▶ job rl-rollout-1  ────────────────────────────────┘
                            ├─▶ actor curriculum       which lesson is played next, and how the last ones went
                            └─▶ actor weight-transfer  the newest weights, from the trainer to the rollouts

The jobs run wherever FRAY_CLUSTER_SPEC says: `local` (the default), `ray?address=…` or `iris?controller=http://…`. Both
actors belong to the job `rl`, which does nothing but wait, and so they outlive all others. Whatever else dies is
started again while the rest goes on: a rollout job begins anew, the trainer continues at its checkpoint, an actor reads
what it has to know. Rollouts and checkpoint travel as files, so DIR must be on a file system that all machines see.

What is played and how the policy learns is in `cartpole.py`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pickle
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cartpole
import fray
import numpy as np
from cartpole import LESSONS, Learner, Lesson, Rollout, Weights, write_whole
from following import run_and_follow

PAUSE_SECONDS = 0.02
LATE_SECONDS = 2.0
PATIENCE_SECONDS = 120.0


@dataclass(frozen=True)
class Config:
    out: Path
    rollouts: int
    updates: int
    seed: int

    @property
    def storage(self) -> Path:
        return self.out / "rollouts"

    @property
    def checkpoint(self) -> Path:
        return self.out / "learner.pickle"

    @property
    def returns(self) -> Path:
        return self.out / "returns.jsonl"

    @property
    def processes(self) -> Path:
        return self.out / "processes"


# ---- the actors


class Curriculum:
    """Says what is played next: the hardest lesson that was reached, and now and then one before it."""

    def __init__(self, config: Config) -> None:
        note_process(config, "curriculum")
        self._file = config.out / "lesson"
        self._random = np.random.default_rng(config.seed)
        self._reached = int(self._file.read_text()) if self._file.exists() else 0
        self._recent: list[float] = []

    def sample_lesson(self) -> Lesson:
        earlier = self._reached > 0 and self._random.random() < 0.2
        return LESSONS[self._random.integers(self._reached) if earlier else self._reached]

    def update_lesson_stats(self, lesson: str, mean_return: float) -> None:
        hardest = LESSONS[self._reached]
        if lesson != hardest.name or hardest is LESSONS[-1]:
            return
        self._recent = [*self._recent[-2:], mean_return]
        if len(self._recent) == 3 and min(self._recent) > 0.8 * hardest.steps:
            self._reached, self._recent = self._reached + 1, []
            write_whole(self._file, str(self._reached).encode())


class WeightTransfer:
    """Has the newest weights for the rollout jobs; their version is the number of updates behind them."""

    def __init__(self, config: Config) -> None:
        note_process(config, "weight-transfer")
        learner = load_learner(config)
        self._version, self._weights = learner.updates, learner.weights

    def publish(self, version: int, weights: Weights) -> None:
        self._version, self._weights = version, weights

    def newer_than(self, version: int) -> tuple[int, Weights] | None:
        return (self._version, self._weights) if self._version > version else None


def shared_actor(cls: type[Any], config: Config) -> fray.ActorHandle:
    """Make the actor that all jobs share, or find it."""
    options = fray.ActorOptions(
        name=f"rl-{cls.__name__.lower()}",
        get_if_exists=True,
        schedule_on_head=True,  # what create_actor(preemptible=False) is short for
        resources={"CPU": 0},  # what num_cpus=0 is short for
        max_restarts=-1,
        max_task_retries=-1,
    )
    return fray.get_job_context().create_actor(cls, config, options=options)


# ---- the jobs


def experiment(config: Config) -> None:
    """Run trainer and rollouts. This is what the job `rl` does."""
    config.storage.mkdir(parents=True, exist_ok=True)
    _actors = [shared_actor(cls, config) for cls in (Curriculum, WeightTransfer)]  # held until this function ends
    cluster = fray.current_cluster()
    trainer = cluster.launch(request("rl-train", 0.5, train, config))
    players = [
        cluster.launch(request(f"rl-rollout-{number}", 0.25, roll_out, config, number))
        for number in range(config.rollouts)
    ]
    try:
        for output in cluster.follow(trainer):
            print(output, end="", flush=True)
        cluster.wait(trainer, raise_on_failure=True)
    finally:
        for job in (trainer, *players):
            cluster.terminate(job)
        cluster.wait([trainer, *players])


def request(name: str, cpus: float, function: Any, *args: Any) -> fray.JobRequest:
    return fray.JobRequest(
        name=name,
        entrypoint=fray.Entrypoint.from_callable(function, args=args),
        resources=fray.ResourceConfig.with_cpu(cpu=cpus),
        max_retries_failure=10,
    )


def roll_out(config: Config, number: int) -> None:
    """Play with the newest weights until this job is stopped, one rollout ahead of the trainer."""
    note_process(config, f"rollout-{number}")
    curriculum, transfer = shared_actor(Curriculum, config), shared_actor(WeightTransfer, config)
    random = np.random.default_rng()
    version, weights = -1, Weights()
    while True:
        while list(config.storage.glob(f"*-{number}.npz")):
            time.sleep(PAUSE_SECONDS)
        version, weights = transfer.newer_than(version).result() or (version, weights)
        lesson = curriculum.sample_lesson().result()
        rollout = cartpole.play(weights, lesson, random, version)
        curriculum.update_lesson_stats(lesson.name, rollout.mean_return).result()
        rollout.save(config.storage / f"{time.time_ns()}-{number}.npz")


def train(config: Config) -> None:
    """Learn from each round of rollouts, and publish the weights that come of it."""
    note_process(config, "trainer")
    learner = load_learner(config)
    transfer = shared_actor(WeightTransfer, config)
    if learner.updates:
        say(f"the trainer goes on after update {learner.updates}")
    forget_returns_after(config, learner.updates)
    began = time.perf_counter()
    while learner.updates < config.updates:
        rollouts = next_rollouts(config)
        learner.learn(rollouts)
        # A note without a checkpoint is forgotten and written anew; a checkpoint without a note would leave a gap.
        report(config, learner, rollouts, time.perf_counter() - began)
        save_learner(config, learner)
        transfer.publish(learner.updates, learner.weights).result()


def next_rollouts(config: Config) -> list[Rollout]:
    """Take a rollout of each job out of the storage; without those of jobs that are late, for they may be dead."""
    began = time.monotonic()
    while len(paths := sorted(config.storage.glob("*.npz"))) < config.rollouts:
        waited = time.monotonic() - began
        if paths and waited > LATE_SECONDS:
            break
        if waited > PATIENCE_SECONDS:
            raise TimeoutError(f"no rollout came for {PATIENCE_SECONDS:.0f} s; see the jobs rl-rollout-*")
        time.sleep(PAUSE_SECONDS)
    rollouts = [Rollout.load(path) for path in paths]
    for path in paths:
        path.unlink()
    return rollouts


def load_learner(config: Config) -> Learner:
    if not config.checkpoint.exists():
        return Learner(config.seed)
    return pickle.loads(config.checkpoint.read_bytes())


def save_learner(config: Config, learner: Learner) -> None:
    write_whole(config.checkpoint, pickle.dumps(learner))


# ---- what the user sees


def report(config: Config, learner: Learner, rollouts: Sequence[Rollout], seconds: float) -> None:
    """Note how good the policy is now: its return in the whole task, whatever the lesson is."""
    now = cartpole.play(learner.weights, LESSONS[-1], np.random.default_rng(0)).mean_return
    lag = learner.updates - 1 - np.mean([rollout.version for rollout in rollouts])
    row = {"update": learner.updates, "return": now, "lesson": rollouts[-1].lesson, "lag": lag, "seconds": seconds}
    with config.returns.open("a") as file:
        file.write(json.dumps(row) + "\n")
    if learner.updates % 5 == 0 or learner.updates == config.updates:
        say(
            f"update {learner.updates:3}/{config.updates}  return {now:5.1f} of {LESSONS[-1].steps}  "
            f"lesson {row['lesson']:6}  weights {lag:.1f} updates old  {seconds:5.1f} s"
        )


def note_process(config: Config, name: str) -> None:
    """Note where a job or an actor runs; a second line of the same name means that it was started again."""
    with config.processes.open("a") as file:
        file.write(f"{name}: process {os.getpid()} of {os.uname().nodename}\n")


def forget_returns_after(config: Config, update: int) -> None:
    """Drop what a trainer has noted that died before it had written its checkpoint."""
    lines = config.returns.read_text().splitlines(keepends=True) if config.returns.exists() else []
    kept = [line for line in lines if line.endswith("\n") and json.loads(line)["update"] <= update]
    write_whole(config.returns, "".join(kept).encode())


def plot(config: Config, file: Path) -> None:
    import plotly.graph_objects as go

    rows = [json.loads(line) for line in config.returns.read_text().splitlines()]
    figure = go.Figure()
    for lesson in LESSONS:
        some = [row for row in rows if row["lesson"] == lesson.name]
        figure.add_scatter(
            x=[row["update"] for row in some],
            y=[row["return"] for row in some],
            mode="markers",
            name=f"lesson {lesson.name}: {lesson.steps} steps",
        )
    figure.update_layout(
        template="plotly_white", height=460, xaxis_title="update", yaxis_title=f"mean return, of {LESSONS[-1].steps}"
    )
    figure.write_html(file)
    say(f"plot: {file}")


def say(line: str) -> None:
    print(line, flush=True)


# ---- the command


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="rl.py", description="Teach a policy to balance a pole.")
    parser.add_argument("--out", metavar="DIR", type=Path, required=True, help="for rollouts, checkpoint and returns")
    parser.add_argument("--rollouts", metavar="N", type=int, default=2, help="jobs that play (default 2)")
    parser.add_argument("--updates", metavar="N", type=int, default=60, help="of the policy (default 60)")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="of weights and lessons (default 0)")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="write the returns as a page; needs plotly")
    options = parser.parse_args(arguments)
    if options.rollouts < 1 or options.updates < 1:
        parser.error("--rollouts and --updates must be at least 1")
    if options.plot and importlib.util.find_spec("plotly") is None:
        parser.error("--plot needs plotly: pip install 'fray[report]'")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    # Absolute, because a job need not have this program's working folder.
    config = Config(options.out.absolute(), options.rollouts, options.updates, options.seed)
    code = run_and_follow(
        fray.JobRequest(
            name="rl",
            entrypoint=fray.Entrypoint.from_callable(experiment, args=[config]),
            resources=fray.ResourceConfig.with_cpu(cpu=0),
            environment=fray.create_environment(workspace=Path(__file__).parent),
        )
    )
    if code == 0 and options.plot:
        plot(config, options.plot)
    return code


if __name__ == "__main__":
    sys.exit(main())
