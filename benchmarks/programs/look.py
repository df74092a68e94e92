"""Looks at the node at the URL given as an open page of its dashboard does, with that cookie, until the input ends."""

import http.client
import sys
import threading
from urllib.parse import urlsplit


def read(answer: http.client.HTTPResponse) -> None:
    """Take what comes, as a browser does, and say when the first state of the node is there."""
    has_said = False
    for line in answer:
        if not has_said and line.startswith(b"event: now"):
            has_said = True
            print(flush=True)


url, cookie = sys.argv[1:]
connection = http.client.HTTPConnection(urlsplit(url).netloc)
connection.request("GET", "/api/v1/dashboard/live?topics=now,tasks", headers={"Cookie": cookie})
answer = connection.getresponse()
if answer.status != 200:
    raise SystemExit(f"the node answered {answer.status}")
threading.Thread(target=read, args=(answer,), daemon=True).start()
sys.stdin.read()
