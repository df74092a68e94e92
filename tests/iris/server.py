"""`Server`: HTTP/1.1 as a controller speaks it: every answer of a call in chunks, with a Content-Encoding."""

from __future__ import annotations

import gzip
import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from tests.iris import connect
from tests.iris.auth import Caller
from tests.iris.errors import ConnectError
from tests.iris.faults import Fault
from tests.iris.names import WrongNameError
from tests.iris.service import Call, Service

if TYPE_CHECKING:
    from tests.iris.controller import Controller


class Server:
    """Threading: any thread; a thread for each connection.

    Attributes:
        requests: path and size of each request, in the order in which they came.
    """

    def __init__(self, controller: Controller, service: Service, port: int) -> None:
        self._controller = controller
        self._service = service
        self._port = port
        self._listener: _Listener | None = None
        self.requests: list[tuple[str, int]] = []
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def count(self, call: str) -> int:
        """How often a call was asked for."""
        return sum(path.endswith("/" + call) for path, _ in self.requests)

    def start(self) -> None:
        """Listen, at the port of the first time."""
        context = {"controller": self._controller, "service": self._service, "requests": self.requests}
        self._listener = _Listener(("127.0.0.1", self._port), type("Bound", (_Visit,), context))
        self._port = self._listener.server_address[1]
        threading.Thread(target=self._listener.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        if self._listener is not None:
            self._listener.stop()
            self._listener = None


class _Listener(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self.stopped = threading.Event()
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._open.discard(request)
        super().shutdown_request(request)

    def stop(self) -> None:
        self.stopped.set()
        self.shutdown()
        with self._guard:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients go away when they like to."""


class _Visit(BaseHTTPRequestHandler):
    controller: Controller
    service: Service
    requests: list[tuple[str, int]]
    server: _Listener
    protocol_version = "HTTP/1.1"
    timeout = 120
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        pass

    # ---- Pages

    def do_GET(self) -> None:
        self.requests.append((self.path, 0))
        if self.path == "/health":
            self._page(200, b'{"status":"ok"}', "application/json")
        elif self.path.startswith("/bundles/") and self.path.endswith(".zip"):
            blob = self.controller.bundles.get(self.path.removeprefix("/bundles/").removesuffix(".zip"))
            self._page(200 if blob is not None else 404, blob or b"", "application/zip")
        else:
            self._page(405 if self.path in self.service.calls else 404, b"", "text/plain")

    do_HEAD = do_GET

    def _page(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    # ---- Calls

    def do_POST(self) -> None:
        body = self._body()
        self.requests.append((self.path, len(body)))
        call = self.service.calls.get(self.path)
        if call is None:
            self._page(404, b"", "text/plain")
            return
        codec = connect.codec_of(self.headers)
        if codec is None:
            self._page(415, b"", "text/plain")
            return
        fault = self.controller.faults.take(call.name)
        answer = self._carry_out(call, codec, body, fault)
        if fault.delay:
            self.server.stopped.wait(fault.delay)
        self._send(codec, answer, fault)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _carry_out(self, call: Call, codec: str, body: bytes, fault: Fault) -> tuple[int, bytes]:
        """Status and body of the answer."""
        answers = [self._answer(call, codec, body) for _ in range(fault.carried_out)]
        if fault.error is not None:
            return fault.error.status, connect.error_body(fault.error)
        return answers[0] if answers else (200, b"")

    def _answer(self, call: Call, codec: str, body: bytes) -> tuple[int, bytes]:
        try:
            connect.check_headers(self.headers)
            caller = self._caller(call)
            request = connect.decoded(call.takes, codec, connect.inflated(body, self.headers))
            return 200, connect.encoded(call.answer(request, caller), codec)
        except ConnectError as error:
            return error.status, connect.error_body(error)
        except WrongNameError as error:
            # What is wrong with a name is called the server's fault.
            internal = ConnectError("internal", f"RPC {call.name}: {error}")
            return internal.status, connect.error_body(internal, "builtins.ValueError")

    def _caller(self, call: Call) -> Caller:
        cookies = dict(part.strip().partition("=")[::2] for part in self.headers.get("Cookie", "").split(";"))
        return self.controller.auth.caller(call.name, self.headers.get("Authorization"), cookies.get("iris_session"))

    # ---- Answers

    def _send(self, codec: str, answer: tuple[int, bytes], fault: Fault) -> None:
        if fault.page is not None:
            self._page(fault.page[0], fault.page[1].encode(), "text/html")
            return
        if fault.answer == "silence":
            self._wait_for_end()
        if fault.answer in ("none", "silence"):
            self.close_connection = True
            return
        status, body = answer
        encoding = self._encoding()
        if status == 200 and encoding == "gzip":
            body = gzip.compress(body)
        headers = {"Content-Type": codec if status == 200 else connect.JSON, "Transfer-Encoding": "chunked"}
        if status == 200:
            headers |= {"Content-Encoding": encoding, "Vary": "Accept-Encoding"}
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if fault.answer == "half":
            self.wfile.write(b"%x\r\n%s" % (len(body) + 1, body[: len(body) // 2]))
            self.close_connection = True
            return
        # In several pieces, as a server that streams does.
        middle = len(body) // 2
        for piece in (body[:middle], body[middle:]):
            if piece:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def _encoding(self) -> str:
        offered = [each.partition(";")[0].strip() for each in self.headers.get("Accept-Encoding", "").split(",")]
        return next((each for each in offered if each in ("gzip", "identity")), "identity")

    def _wait_for_end(self) -> None:
        """Until the client gives up, or the server stops."""
        self.connection.settimeout(0.05)
        while not self.server.stopped.is_set():
            try:
                if not self.connection.recv(1):
                    return
            except TimeoutError:
                continue
            except OSError:
                return
