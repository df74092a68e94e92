"""The token of a Ray cluster, from a file or from the secrets of a Google Cloud project. It is never shown."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from fray.errors import UnsupportedError

__all__ = ["maybe_fetch_local_ray_token", "ray_auth_secret"]

_SECRET = "RAY_AUTH_TOKEN"


def ray_auth_secret(secret_override: str | None = None) -> str:
    """Return the name of the secret that holds the token."""
    return secret_override or _SECRET


def maybe_fetch_local_ray_token(*, gcp_project: str | None = None) -> str:
    """Return the path of a file with the token: ``RAY_AUTH_TOKEN_PATH``, or Ray's own, which is written if need be.

    Raises:
        UnsupportedError: there is no file, and ``gcloud`` is missing or has no such secret.
    """
    named = os.environ.get("RAY_AUTH_TOKEN_PATH")
    if named and Path(named).expanduser().exists():
        return str(Path(named).expanduser())
    path = Path.home() / ".ray" / "auth_token"
    if path.exists():
        return str(path)
    token = _fetch(gcp_project)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(token)
    return str(path)


def _fetch(project: str | None) -> str:
    secret = ray_auth_secret()
    command = ["gcloud", "secrets", "versions", "access", "latest", f"--secret={secret}"]
    if project:
        command.append(f"--project={project}")
    advice = "set RAY_AUTH_TOKEN_PATH to a file with the cluster's token"
    try:
        token = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except FileNotFoundError:
        raise UnsupportedError(f"there is no token for Ray here, and gcloud is not installed; {advice}") from None
    except subprocess.CalledProcessError as error:
        last = error.stderr.strip().splitlines()[-1:] or ["it says nothing"]
        raise UnsupportedError(f"gcloud cannot read the secret {secret}: {last[0]}; {advice}") from None
    if not token:
        raise UnsupportedError(f"the secret {secret} is empty; {advice}")
    return token
