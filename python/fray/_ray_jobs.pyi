"""A client of Ray's job submission API that needs no Ray."""

class RayJobs:
    """The jobs of a Ray cluster, over the REST API of its dashboard."""

    def __init__(
        self, address: str, token: str | None = None, *, timeout: float = 60.0, ca_file: str = "", verify: bool = True
    ) -> None: ...
    @property
    def address(self) -> str: ...
    def version(self) -> str:
        """The cluster's release of Ray."""

    def submit(
        self,
        entrypoint: str | list[str],
        *,
        submission_id: str = "",
        runtime_env: dict[str, object] = {},
        metadata: dict[str, str] = {},
        cpus: float | None = None,
        gpus: float | None = None,
        memory_bytes: int | None = None,
        resources: dict[str, float] = {},
        label_selector: dict[str, str] = {},
    ) -> str:
        """
        Submits a job, once, and returns its submission id. A list is a command whose words no shell splits.
        """

    def get(self, submission_id: str) -> dict[str, object]:
        """What the cluster knows of a job."""

    def status(self, submission_id: str) -> str:
        """PENDING, RUNNING, STOPPED, SUCCEEDED or FAILED."""

    def list_jobs(self) -> list[dict[str, object]]:
        """All jobs that the cluster remembers."""

    def nodes(self) -> list[dict[str, float]]:
        """What each living node of the cluster has, by name of the resource."""

    def stop(self, submission_id: str) -> bool:
        """Asks a job to end; false when it had."""

    def delete(self, submission_id: str) -> bool:
        """Forgets a job that has ended."""

    def logs(self, submission_id: str) -> str:
        """All output so far."""

    def follow(self, submission_id: str, offset: int = 0) -> RayJobLog:
        """The output as it comes, from a byte on, to the job's end."""

class RayJobLog:
    """A job's output as it comes."""

    def read(self, timeout: float = 1.0) -> str | None:
        """
        The next text; empty when none came in time; None once the job is over and all was read.
        """

    @property
    def offset(self) -> int:
        """Bytes read, those before the first one included."""

    @property
    def job(self) -> dict[str, object] | None:
        """What the cluster said of the job at its end."""
