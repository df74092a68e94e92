"""Functions that jobs run, and what tests of jobs share."""

from __future__ import annotations

import os
import time
from pathlib import Path

import fray

from tests.chaos.harness import PATIENCE


class Curriculum:
    """The shared actor of seed 003."""

    def __init__(self) -> None:
        self.reports: list[str] = []

    def report(self, who: str) -> int:
        self.reports.append(who)
        return len(self.reports)

    def everybody(self) -> list[str]:
        return sorted(self.reports)


def curriculum() -> fray.ActorHandle:
    return fray.get_default_job_ctx().create_actor(
        Curriculum, name="curriculum", get_if_exists=True, preemptible=False, num_cpus=0
    )


def rollout(number: int) -> None:
    ctx = fray.get_default_job_ctx()
    print(ctx.get(curriculum().report.remote(f"rollout-{number}")))


def train(rollouts: int) -> None:
    """Wait until all rollouts have reported."""
    ctx = fray.get_default_job_ctx()
    actor = curriculum()
    while len(ctx.get(actor.everybody.remote())) < rollouts:
        time.sleep(0.01)
    print("trained")


def train_lm(config: dict[str, int]) -> None:
    """Stands for the training that seed 003 launches."""
    print(os.environ["WANDB_PROJECT"], config["steps"])


def double(value: int) -> int:
    return 2 * value


def fan_out(tasks: int) -> None:
    ctx = fray.get_job_context()
    refs = [ctx.create_task(double, (number,)) for number in range(tasks)]
    print(sum(ctx.get(refs)))


def launch_child_and_wait() -> None:
    cluster = fray.current_cluster()
    info = cluster.wait(cluster.launch(fray.JobRequest(name="child", entrypoint=fray.Entrypoint.from_binary("true"))))
    assert isinstance(info, fray.JobInfo)
    print(info.status)


def until(path: Path) -> str:
    """Return the text of a file once it is there."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if path.exists() and path.read_text():
            return path.read_text()
        time.sleep(0.01)
    raise AssertionError(f"{path} did not come")
