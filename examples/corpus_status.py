"""How far a corpus job is, as its tasks report it to an actor.

    status = JobStatus.begin(ctx, folder)                   the driver; it passes `status` to tasks
    status.report("read", part=3, figures={"bytes": 4096})  a task, when the part is done
    status.totals("read")                                   anybody, at any time: {"parts": 1, "bytes": 4096}

A report says what came of one part of one stage, and takes the place of an earlier one about the same part. So nothing
is counted twice when a worker dies after its report and the task runs again, nor when the actor dies and the call is
repeated. The actor writes each report to a journal before it answers; one that is started again reads the journal.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import fray

Reports = dict[tuple[str, int], Mapping[str, int]]  # the figures of a part, by stage and number of the part


class StatusActor:
    """What was reported of each job that runs on this node. Jobs are told apart by their journals."""

    def __init__(self) -> None:
        self._jobs: dict[Path, Reports] = {}

    def begin(self, journal: Path) -> None:
        journal.write_bytes(b"")
        self._jobs[journal] = {}

    def report(self, journal: Path, stage: str, part: int, figures: Mapping[str, int]) -> None:
        reports = self._reports(journal)
        with journal.open("a") as file:
            file.write(json.dumps([stage, part, figures]) + "\n")
        reports[stage, part] = figures

    def totals(self, journal: Path, stage: str) -> Counter[str]:
        """The sums of the stage's figures, and as `parts` the number of parts that are done."""
        totals: Counter[str] = Counter()
        for (of_stage, _), figures in self._reports(journal).items():
            if of_stage == stage:
                totals.update(figures, parts=1)
        return totals

    def end(self, journal: Path) -> None:
        self._jobs.pop(journal, None)
        journal.unlink(missing_ok=True)

    def _reports(self, journal: Path) -> Reports:
        if journal not in self._jobs:
            self._jobs[journal] = read_journal(journal)
        return self._jobs[journal]


def read_journal(journal: Path) -> Reports:
    """The reports in `journal`. A last line without an end was being written when the writer died: it is cut off."""
    whole = journal.read_bytes().rfind(b"\n") + 1
    os.truncate(journal, whole)
    records = [json.loads(line) for line in journal.read_bytes().splitlines()]
    return {(stage, part): figures for stage, part, figures in records}


OPTIONS = fray.ActorOptions(
    name="status_actor",
    get_if_exists=True,
    lifetime=fray.Lifetime.DETACHED,
    resources={"CPU": 0, "head_node": 0.0001},
    max_restarts=-1,
    max_task_retries=-1,  # every call may be repeated
)


@dataclass(frozen=True)
class JobStatus:
    """One job's part of the actor. It can be passed to tasks."""

    actor: fray.ActorHandle
    journal: Path

    @classmethod
    def begin(cls, ctx: fray.JobContext, folder: Path) -> JobStatus:
        """Find or start the actor of the node, and keep the job's journal in `folder`."""
        status = cls(ctx.create_actor(StatusActor, options=OPTIONS), folder / "status.unfinished")
        status.actor.begin(status.journal).result()
        return status

    def report(self, stage: str, part: int, figures: Mapping[str, int]) -> None:
        """Return when the report is written down: a task that has ended has been counted."""
        self.actor.report(self.journal, stage, part, figures).result()

    def totals(self, stage: str) -> Counter[str]:
        return self.actor.totals(self.journal, stage).result()

    def end(self) -> None:
        self.actor.end(self.journal).result()
