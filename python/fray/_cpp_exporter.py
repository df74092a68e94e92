"""``python -m fray._cpp_exporter PIPE SERVICE``: exports the spans of a C++ program and its workers.

src/capi/span_exporter.h starts this process beside the program. It ends when the program closes the socket between
the two, which is descriptor 3 here.
"""

from __future__ import annotations

import os
import select
import sys

from fray import _traces

__all__: list[str] = []

_PROGRAM = 3


def _export(path: str, service: str) -> None:
    os.environ["OTEL_SERVICE_NAME"] = service
    recorder = _traces.switch_on(True)
    if recorder is None:
        return
    from fray._cpp_spans import CppSpans

    spans = CppSpans(path, recorder)
    select.select([_PROGRAM], [], [])  # the program sends nothing, so the socket is readable when it is closed
    spans.close()
    recorder.settle()


# The exporter is a grandchild of the program: a program that waits for all its children must not wait for it.
if __name__ == "__main__" and os.fork() == 0:
    _export(*sys.argv[1:])
