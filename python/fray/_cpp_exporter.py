"""``python -m fray._cpp_exporter PIPE SERVICE``: exports the spans of a C++ program, and of its workers, beside it.

It ends with the socket between the two, which is descriptor 3. src/capi/span_exporter.h starts it.
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
    select.select([_PROGRAM], [], [])  # it says nothing, and ends
    spans.close()
    recorder.settle()


if __name__ == "__main__" and os.fork() == 0:  # a program that waits for its children has none of ours
    _export(*sys.argv[1:])
