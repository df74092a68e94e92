"""`fray.dashboard`: a link to the page of a node that logs a browser in, and the page itself in a notebook."""

from __future__ import annotations

import html
import http.client
import json
import os
from pathlib import Path
from urllib.parse import urlsplit

from fray.errors import NodeDiedError, UnsupportedError
from fray.job.context import JobContext
from fray.job.current import existing_job_context

__all__ = ["DashboardLink", "dashboard"]

_PATIENCE = 10.0
_HEIGHT = 720


def dashboard(*, context: JobContext | None = None) -> DashboardLink:
    """Return a link to the dashboard of a node; a notebook shows the page itself.

    The link works once, within five minutes; each call makes a new one. The address in the browser can be used again
    and sent on.

    Args:
        context: whose node; by default that of the current context.

    Raises:
        UnsupportedError: the context has no node of Fray's, or one that was started without a dashboard.
        NodeDiedError: the node does not answer.
    """
    chosen = context or existing_job_context()
    folder = getattr(getattr(chosen, "_client", None), "session_folder", None)
    if folder is None:
        what = "there is no context yet" if chosen is None else f"a {type(chosen).__name__} has no node of Fray's"
        raise UnsupportedError(
            f'{what}; fray.init(address="auto") uses the started node of this home, fray.init(dashboard=True) starts '
            "one for this program"
        )
    return DashboardLink(Path(folder()))


class DashboardLink:
    """A link to the page of a node that logs a browser in, once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.url = self._make(framed=False)

    def __str__(self) -> str:
        return self.url

    def __repr__(self) -> str:
        return f"<dashboard at {self.url}>"

    def _repr_html_(self) -> str:
        """Return the page in a frame, for notebooks; it has a link of its own."""
        source = html.escape(self._make(framed=True), quote=True)
        return (
            f'<iframe src="{source}" title="Fray\'s dashboard" width="100%" height="{_HEIGHT}" '
            'style="border: 1px solid #8884; border-radius: 4px"></iframe>'
        )

    def _make(self, framed: bool) -> str:
        try:
            address = urlsplit((self._folder / "http.url").read_text().strip())
            token = (self._folder / "http.token").read_text().strip()
        except FileNotFoundError:
            raise UnsupportedError(
                f"the node in {os.fspath(self._folder)} has no dashboard; start it with fray.init(dashboard=True), or "
                "use one that `fray start` has started"
            ) from None
        connection = http.client.HTTPConnection(address.hostname or "127.0.0.1", address.port, timeout=_PATIENCE)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        try:
            connection.request("POST", "/api/v1/dashboard/login-links", json.dumps({"framed": framed}), headers)
            answer = connection.getresponse()
            document = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NodeDiedError(f"the node at {address.geturl()} does not answer: {error}") from None
        finally:
            connection.close()
        if answer.status != 200:
            raise NodeDiedError(f"the node at {address.geturl()} makes no link: {document['error']['message']}")
        return str(document["url"])
