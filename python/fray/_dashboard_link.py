"""`fray.dashboard`: a link to the page of a node that logs a browser in, and the page itself in a notebook."""

from __future__ import annotations

import html
from pathlib import Path

from fray._node_http import NodeHttp
from fray.errors import UnsupportedError
from fray.job.context import JobContext
from fray.job.current import existing_job_context

__all__ = ["DashboardLink", "dashboard"]

_HEIGHT = 720


def dashboard(*, context: JobContext | None = None) -> DashboardLink:
    """Return a link to the dashboard of a node; a notebook shows the page itself.

    The link works once, within five minutes; each call makes a new one. The address in the browser can be used again
    and sent on.

    Args:
        context: the context of the node; by default the current one.

    Raises:
        UnsupportedError: the context has no node of Fray, or a node that was started without a dashboard.
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
        self._node = NodeHttp(folder)
        self.url = self._make(framed=False)

    def __str__(self) -> str:
        return self.url

    def __repr__(self) -> str:
        return f"<dashboard at {self.url}>"

    def _repr_html_(self) -> str:
        """Return the page in a frame, for notebooks; the frame uses a new link."""
        source = html.escape(self._make(framed=True), quote=True)
        return (
            f'<iframe src="{source}" title="Fray\'s dashboard" width="100%" height="{_HEIGHT}" '
            'style="border: 1px solid #8884; border-radius: 4px"></iframe>'
        )

    def _make(self, framed: bool) -> str:
        return str(self._node.ask("POST", "/api/v1/dashboard/login-links", {"framed": framed})["url"])
